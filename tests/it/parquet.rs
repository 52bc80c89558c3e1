//! Parquet: what is read back equals the other formats, cell by cell. `formats::agree` compares every report of every log that
//! the tests of formats write.

use ccstat::internal::{
    render::{Format, human},
    report::{REPORTS, ReportSpec, Shape},
};
use parquet::{
    basic::{Compression, ConvertedType},
    data_type::Decimal,
    file::{
        metadata::RowGroupMetaData,
        reader::{FileReader, SerializedFileReader},
    },
    record::{Field, reader::RowIter},
    schema::types::Type,
};
use serde_json::Value;

use crate::{
    formats::words,
    support::{ccstat, log, run_with},
};

const ALL: &str = "recordings/2.1.325/transcript";

/// A file that was read back.
pub(crate) struct File {
    /// Name and type of each column.
    columns: Vec<(String, String)>,
    pub(crate) rows: Vec<Vec<Field>>,
    /// The metadata of the file, in their order.
    pub(crate) metadata: Vec<(String, String)>,
    /// Rows of each row group.
    groups: Vec<i64>,
}

impl File {
    pub(crate) fn read(bytes: Vec<u8>) -> Self {
        let reader = SerializedFileReader::new(log(bytes).reopen().unwrap()).unwrap();
        let metadata = reader.metadata().file_metadata();
        let pairs = metadata.key_value_metadata().unwrap().iter();
        let fields = metadata.schema().get_fields();
        for group in reader.metadata().row_groups() {
            for column in group.columns() {
                assert!(matches!(column.compression(), Compression::ZSTD(_)), "{column:?}");
            }
        }
        let row =
            |row: parquet::record::Row| row.into_columns().into_iter().map(|(_, field)| field).collect();
        Self {
            columns: fields.iter().map(|field| (field.name().to_owned(), type_name(field))).collect(),
            metadata: pairs.map(|pair| (pair.key.clone(), pair.value.clone().unwrap())).collect(),
            groups: reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect(),
            rows: RowIter::from_file_into(Box::new(reader)).map(|found| row(found.unwrap())).collect(),
        }
    }

    /// All texts in it, for tests that look for some.
    pub(crate) fn text(&self) -> String {
        format!("{:?} {:?} {:?}", self.columns, self.metadata, self.rows)
    }

    fn keys(&self) -> Vec<&str> {
        self.columns.iter().map(|(key, _)| &**key).collect()
    }
}

/// The type of a column, as `ccstat schema` names it.
fn type_name(field: &Type) -> String {
    assert!(field.is_optional(), "{field:?}");
    if field.is_group() {
        return "LIST<STRING>".to_owned();
    }
    let logical = field.get_basic_info().logical_type_ref();
    match (logical, field.get_basic_info().converted_type()) {
        (Some(parquet::basic::LogicalType::String), _) => "STRING".to_owned(),
        (_, ConvertedType::DECIMAL) => format!("DECIMAL({},{})", field.get_precision(), field.get_scale()),
        (_, ConvertedType::TIMESTAMP_MILLIS) => "TIMESTAMP(MILLIS,UTC)".to_owned(),
        (None, ConvertedType::NONE) => field.get_physical_type().to_string(),
        other => panic!("{other:?}"),
    }
}

/// Asserts that a file has the keys, rows and cells of the CSV and of the lines of JSON.
pub(crate) fn equals(report: &str, file: &File, csv: &[csv::StringRecord], jsonl: &[Value]) {
    assert_eq!(file.keys(), csv[0].iter().collect::<Vec<_>>(), "{report}");
    assert_eq!((file.rows.len(), file.rows.len()), (csv.len() - 1, jsonl.len()), "{report}");
    for ((row, cells), object) in file.rows.iter().zip(&csv[1..]).zip(jsonl) {
        for ((field, cell), key) in row.iter().zip(cells).zip(file.keys()) {
            let what = format!("{report}.{key}: {field:?}, {cell:?}, {}", object[key]);
            assert!(is_cell(field, cell), "CSV {what}");
            assert!(is_value(field, &object[key]), "JSON {what}");
        }
    }
}

/// Whether a cell of the CSV is the same.
fn is_cell(field: &Field, cell: &str) -> bool {
    match field {
        Field::Null => cell.is_empty(),
        Field::Bool(flag) => cell == flag.to_string(),
        Field::Long(count) => cell == count.to_string(),
        Field::Double(number) => cell.parse() == Ok(*number),
        Field::TimestampMillis(time) => cell == rfc3339(*time),
        Field::Decimal(amount) => cell == dollars(amount),
        // An apostrophe keeps a spreadsheet from running the text.
        Field::Str(text) => [cell, cell.strip_prefix('\'').unwrap_or(cell)].contains(&&*human::text(text)),
        Field::ListInternal(_) => serde_json::from_str(cell).is_ok_and(|value| is_value(field, &value)),
        other => panic!("{other:?}"),
    }
}

/// Whether a value in JSON is the same.
fn is_value(field: &Field, value: &Value) -> bool {
    match field {
        Field::Null => value.is_null(),
        Field::Bool(flag) => value == flag,
        Field::Long(count) => value == count,
        Field::Double(number) => value.as_f64() == Some(*number),
        Field::TimestampMillis(time) => *value == rfc3339(*time),
        Field::Decimal(amount) => value.as_f64() == dollars(amount).parse().ok(),
        Field::Str(text) => value == text,
        Field::ListInternal(list) => {
            let values = value.as_array().unwrap();
            list.elements().len() == values.len()
                && list.elements().iter().zip(values).all(|(field, value)| is_value(field, value))
        }
        other => panic!("{other:?}"),
    }
}

fn rfc3339(millis: i64) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(millis).unwrap())
}

/// The amount, without the zeros at its end.
fn dollars(amount: &Decimal) -> String {
    assert_eq!((amount.precision(), amount.scale()), (38, 9));
    let nanos = i128::from_be_bytes(amount.data().try_into().unwrap());
    ccstat::Usd::from_nanos(nanos).to_string()
}

/// Writes a report to a pipe and reads it back.
pub(crate) fn piped(words: &[&str]) -> File {
    let output = ccstat(words).args(["--format", "parquet"]).output().unwrap();
    assert!(output.status.code().unwrap() < 2, "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    File::read(output.stdout)
}

/// The reports that can be written as Parquet.
pub(crate) fn reports() -> impl Iterator<Item = &'static ReportSpec> {
    REPORTS.iter().filter(|spec| Format::Parquet.fits(spec.name))
}

#[test]
fn every_report_of_rows_and_every_export_has_it() {
    for spec in REPORTS {
        assert_eq!(Format::Parquet.fits(spec.name), matches!(spec.shape, Shape::Rows(_)), "{}", spec.name);
    }
    assert!(ReportSpec::exports().all(|spec| Format::Parquet.fits(spec.name)));
    let (code, _, stderr) = run_with(&["summarize", ALL, "-f", "parquet"]);
    assert_eq!(code, 2);
    assert!(
        stderr.starts_with("ccstat: the report `summary` cannot be written as parquet: use one of "),
        "{stderr}"
    );
}

#[test]
fn a_file_describes_its_columns_as_the_schema_does() {
    for spec in reports() {
        let file = piped(&words(spec, &["logs/week"]));
        let schema: Value = serde_json::from_str(&run_with(&["schema", spec.name]).1).unwrap();
        let columns = &schema["properties"]["rows"]["items"]["properties"];
        let found = |key: &str| file.metadata.iter().find(|(name, _)| name == key).map(|(_, value)| &**value);
        assert_eq!(found("ccstat.report"), Some(spec.name));
        assert_eq!(found("ccstat.doc"), Some(spec.doc));
        assert_eq!(found("ccstat.schema_version"), Some("1"));
        for (key, type_name) in &file.columns {
            let doc = columns[key]["description"].as_str();
            assert_eq!(found(&format!("ccstat.column.{key}")), doc, "{}.{key}", spec.name);
            assert_eq!(columns[key]["parquet"], **type_name, "{}.{key}", spec.name);
        }
    }
}

#[test]
fn nothing_is_a_file_with_columns_and_without_rows() {
    let empty = log("");
    let path = empty.path().to_str().unwrap();
    for spec in ReportSpec::exports() {
        let output = ccstat(&["export", spec.name, path, "-f", "parquet"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", spec.name);
        let file = File::read(output.stdout);
        assert!(file.columns.len() > 5, "{}", spec.name);
        assert_eq!((file.rows.len(), file.groups.len()), (0, 0), "{}", spec.name);
    }
}

#[test]
fn a_file_and_a_pipe_get_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.parquet");
    let (code, stdout, _) = run_with(&["export", "calls", ALL, "-q", "-o", path.to_str().unwrap()]);
    assert_eq!((code, &*stdout), (0, ""));
    let piped = ccstat(&["export", "calls", ALL, "-f", "parquet"]).output().unwrap().stdout;
    assert!(std::fs::read(path).unwrap() == piped);
    assert_eq!(File::read(piped).rows.len(), 85);
}

#[test]
fn texts_are_exact_and_content_needs_the_option() {
    let text = "a\u{1b}[31m\n=1\u{202e}";
    let line = serde_json::json!({"type": "assistant", "session_id": "s", "message": {"id": "m", "model": text,
        "content": [{"type": "tool_use", "id": "t", "name": text, "input": {"secret": text}}]}});
    let log = log(format!("{line}\n"));
    let path = log.path().to_str().unwrap();
    let calls = piped(&["export", "calls", path]);
    let cell = |file: &File, key: &str| {
        file.rows[0][file.keys().iter().position(|found| *found == key).unwrap()].clone()
    };
    assert_eq!(cell(&calls, "tool"), Field::Str(text.to_owned()));
    assert!(!calls.text().contains("secret"));
    let whole = piped(&["export", "calls", "--content", path]);
    assert!(whole.text().contains("secret"), "{}", whole.text());
}

#[test]
fn columns_are_sorted_limited_and_chosen_as_in_other_formats() {
    let file = piped(&["prices", "--sort", "output:asc", "--limit", "2", "--columns", "output,model,source"]);
    assert_eq!((file.keys(), file.rows.len()), (vec!["output", "model", "source"], 2));
}

#[cfg(unix)]
#[test]
fn a_terminal_is_refused_before_anything_is_read() {
    use crate::terminal::screen;
    let (code, seen) = screen(80, &["export", "calls", ALL, "--format", "parquet"]);
    assert_eq!((code, &*seen), (2, ""));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.parquet");
    let quiet = ["export", "calls", ALL, "--format", "parquet", "-q", "-o", path.to_str().unwrap()];
    assert_eq!(screen(80, &quiet), (0, String::new()));
    assert_eq!(File::read(std::fs::read(path).unwrap()).rows.len(), 85);
}
