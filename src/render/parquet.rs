//! Parquet: typed columns with their documentation, for engines that read columns.
//!
//! The crate's writer of columns is enough: Arrow would double the time to build for a conversion that needs a page.

mod column;

use std::{
    io::{self, Write},
    sync::Arc,
};

use ::parquet::{
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::{metadata::KeyValue, properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};

use self::column::Buffer;
pub(super) use self::column::type_name;
use super::{RowWriter, json::SCHEMA_VERSION, rows::write_all};
use crate::report::{Data, Head, Report, ReportSpec, Value};

/// Rows of a row group. Engines read row groups in parallel, and DuckDB's own have as many.
const GROUP_ROWS: usize = 120_000;

/// Bytes of texts after which a row group ends early, so that whole inputs and outputs of calls do not fill the memory.
const GROUP_BYTES: usize = 32 << 20;

const ZSTD_LEVEL: i32 = 3;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Data::Rows(table) = &report.data else {
        return Err(io::Error::other("only reports of rows can be written as Parquet"));
    };
    write_all(Box::new(Writer::new(report.name, &table.for_programs(), Box::new(out))?), &table.rows)
}

/// Writes rows as they come. Holds one row group.
pub(super) struct Writer<'o> {
    out: Box<dyn Write + 'o>,
    /// Drained to `out` after each row group: the crate wants a writer that can be sent to another thread.
    file: SerializedFileWriter<Vec<u8>>,
    /// The columns, each with the index of its cell.
    columns: Vec<(usize, Buffer)>,
    rows: usize,
}

impl<'o> Writer<'o> {
    /// Starts a file with these columns, each with the index of its cell in a row.
    pub(super) fn new(report: &str, heads: &[(usize, &Head)], out: Box<dyn Write + 'o>) -> io::Result<Self> {
        let fields = heads.iter().map(|(_, head)| column::field(head).map(Arc::new));
        let fields = fields.collect::<Result<_, _>>().map_err(failed)?;
        let schema = Type::group_type_builder("ccstat").with_fields(fields).build().map_err(failed)?;
        let file =
            SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties(report, heads)?))
                .map_err(failed)?;
        let columns = heads.iter().map(|(at, head)| (*at, Buffer::of(head.unit))).collect();
        Ok(Self { out, file, columns, rows: 0 })
    }

    fn end_group(&mut self) -> io::Result<()> {
        let mut group = self.file.next_row_group().map_err(failed)?;
        for (_, column) in &mut self.columns {
            let mut writer =
                group.next_column().map_err(failed)?.ok_or_else(|| io::Error::other("a column too few"))?;
            column.drain(&mut writer).map_err(failed)?;
            writer.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        self.rows = 0;
        self.file.flush()?;
        self.out.write_all(self.file.inner())?;
        self.file.inner_mut().clear();
        Ok(())
    }
}

impl RowWriter for Writer<'_> {
    fn row(&mut self, cells: &[Value]) -> io::Result<()> {
        let mut bytes = 0;
        for (at, column) in &mut self.columns {
            column.push(&cells[*at])?;
            bytes += column.text_bytes();
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS || bytes > GROUP_BYTES { self.end_group() } else { Ok(()) }
    }

    /// Writes the last row group and the metadata.
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if self.rows > 0 {
            self.end_group()?;
        }
        let rest = self.file.into_inner().map_err(failed)?;
        self.out.write_all(&rest)?;
        self.out.flush()
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

/// Compression, and the documentation: one key for the report and one for each column.
fn properties(report: &str, heads: &[(usize, &Head)]) -> io::Result<WriterProperties> {
    let pair = |key: &str, value: &str| KeyValue::new(format!("ccstat.{key}"), value.to_owned());
    let mut metadata = vec![pair("report", report), pair("schema_version", &SCHEMA_VERSION.to_string())];
    metadata.extend(ReportSpec::named(report).map(|spec| pair("doc", spec.doc)));
    metadata.extend(heads.iter().map(|(_, head)| pair(&format!("column.{}", head.key), head.doc)));
    Ok(WriterProperties::builder()
        .set_created_by(concat!("ccstat version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).map_err(failed)?))
        .set_key_value_metadata(Some(metadata))
        .build())
}
