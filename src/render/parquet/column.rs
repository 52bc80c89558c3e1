//! A column of a Parquet file: its type, and the cells of one row group.

use std::io;

use parquet::{
    basic::{LogicalType, Repetition, TimeUnit, Type as PhysicalType},
    data_type::{
        BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int64Type,
    },
    errors::ParquetError,
    file::writer::SerializedColumnWriter,
    schema::types::{PrimitiveTypeBuilder, Type},
};

use crate::{
    measure::{Time, Usd},
    render::json::{Tree, compact, short},
    report::{Head, Text, Unit, Value},
};

/// Digits of a DECIMAL; amounts have nine decimals, as nano-dollars.
const DIGITS: i32 = 38;
const DECIMALS: i32 = 9;

/// Definition levels of a list: missing, empty, a missing element, an element.
const NO_LIST: i16 = 0;
const EMPTY_LIST: i16 = 1;
const NO_ELEMENT: i16 = 2;
const ELEMENT: i16 = 3;

/// The type of the cells, as the schema of the report names it.
pub(in crate::render) fn type_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Text => "STRING",
        Unit::Count | Unit::Bytes => "INT64",
        Unit::Usd => "DECIMAL(38,9)",
        Unit::Number | Unit::Millis | Unit::Share => "DOUBLE",
        Unit::Time => "TIMESTAMP(MILLIS,UTC)",
        Unit::Flag => "BOOLEAN",
        Unit::List | Unit::Bar => "LIST<STRING>",
    }
}

/// The column in the schema of the file. Every column may be missing, so that files of several versions can be read together.
pub(super) fn field(head: &Head) -> Result<Type, ParquetError> {
    let optional =
        |physical| Type::primitive_type_builder(head.key, physical).with_repetition(Repetition::OPTIONAL);
    match head.unit {
        Unit::Text => text(optional(PhysicalType::BYTE_ARRAY)),
        Unit::Count | Unit::Bytes => optional(PhysicalType::INT64).build(),
        Unit::Usd => optional(PhysicalType::FIXED_LEN_BYTE_ARRAY)
            .with_length(size_of::<i128>() as i32)
            .with_logical_type(Some(LogicalType::decimal(DECIMALS, DIGITS)))
            .with_precision(DIGITS)
            .with_scale(DECIMALS)
            .build(),
        Unit::Number | Unit::Millis | Unit::Share => optional(PhysicalType::DOUBLE).build(),
        Unit::Time => optional(PhysicalType::INT64)
            .with_logical_type(Some(LogicalType::timestamp(true, TimeUnit::MILLIS)))
            .build(),
        Unit::Flag => optional(PhysicalType::BOOLEAN).build(),
        Unit::List | Unit::Bar => list(head.key),
    }
}

fn text(builder: PrimitiveTypeBuilder<'_>) -> Result<Type, ParquetError> {
    builder.with_logical_type(Some(LogicalType::String)).build()
}

/// A list of texts, in the three levels that the format prescribes.
fn list(name: &str) -> Result<Type, ParquetError> {
    let element = Type::primitive_type_builder("element", PhysicalType::BYTE_ARRAY);
    let element = text(element.with_repetition(Repetition::OPTIONAL))?;
    let repeated = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
    let repeated = repeated.with_fields(vec![element.into()]).build()?;
    Type::group_type_builder(name)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![repeated.into()])
        .build()
}

/// The cells of one row group, without the missing ones.
enum Cells {
    Texts(Vec<Text>),
    Integers(Vec<i64>),
    Times(Vec<i64>),
    Amounts(Vec<i128>),
    Numbers(Vec<f64>),
    Flags(Vec<bool>),
    Lists(Vec<Text>),
}

/// A column of one row group.
pub(super) struct Buffer {
    cells: Cells,
    /// For each row, or each element of a list: how much of it is there.
    definitions: Vec<i16>,
    /// For each element of a list: 0 if it is the first.
    repetitions: Vec<i16>,
    text_bytes: usize,
}

impl Buffer {
    pub(super) fn of(unit: Unit) -> Self {
        let cells = match unit {
            Unit::Text => Cells::Texts(Vec::new()),
            Unit::Count | Unit::Bytes => Cells::Integers(Vec::new()),
            Unit::Usd => Cells::Amounts(Vec::new()),
            Unit::Number | Unit::Millis | Unit::Share => Cells::Numbers(Vec::new()),
            Unit::Time => Cells::Times(Vec::new()),
            Unit::Flag => Cells::Flags(Vec::new()),
            Unit::List | Unit::Bar => Cells::Lists(Vec::new()),
        };
        Self { cells, definitions: Vec::new(), repetitions: Vec::new(), text_bytes: 0 }
    }

    /// Bytes of the texts in it.
    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Adds a cell.
    pub(super) fn push(&mut self, value: &Value) -> io::Result<()> {
        if let Cells::Lists(_) = self.cells {
            return self.push_list(value);
        }
        let is_there = match &mut self.cells {
            Cells::Texts(cells) => push_text(cells, value, &mut self.text_bytes)?,
            Cells::Integers(cells) => push(cells, integer(value)),
            Cells::Times(cells) => push(cells, time(value).map(|time| time.micros().div_euclid(1000))),
            Cells::Amounts(cells) => push(cells, amount(value).map(Usd::nanos)),
            Cells::Numbers(cells) => push(cells, number(value)),
            Cells::Flags(cells) => {
                push(cells, if let Value::Flag(flag) = value { Some(*flag) } else { None })
            }
            Cells::Lists(_) => false,
        };
        self.definitions.push(i16::from(is_there));
        Ok(())
    }

    fn push_list(&mut self, value: &Value) -> io::Result<()> {
        let Cells::Lists(cells) = &mut self.cells else { return Ok(()) };
        let empty = match value {
            Value::List(values) if !values.is_empty() => {
                for (at, value) in values.iter().enumerate() {
                    let is_there = push_text(cells, value, &mut self.text_bytes)?;
                    self.definitions.push(if is_there { ELEMENT } else { NO_ELEMENT });
                    self.repetitions.push(i16::from(at > 0));
                }
                return Ok(());
            }
            Value::List(_) => EMPTY_LIST,
            _ => NO_LIST,
        };
        self.definitions.push(empty);
        self.repetitions.push(0);
        Ok(())
    }

    /// Writes the cells and removes them.
    pub(super) fn drain(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let definitions = Some(&*self.definitions);
        match &mut self.cells {
            Cells::Texts(cells) => {
                writer.typed::<ByteArrayType>().write_batch(&byte_arrays(cells), definitions, None)?
            }
            Cells::Integers(cells) | Cells::Times(cells) => {
                let written = writer.typed::<Int64Type>().write_batch(cells, definitions, None)?;
                cells.clear();
                written
            }
            Cells::Amounts(cells) => {
                // Big-endian two's complement, as the format prescribes.
                let bytes =
                    cells.drain(..).map(|nanos| FixedLenByteArray::from(nanos.to_be_bytes().to_vec()));
                writer.typed::<FixedLenByteArrayType>().write_batch(
                    &bytes.collect::<Vec<_>>(),
                    definitions,
                    None,
                )?
            }
            Cells::Numbers(cells) => {
                let written = writer.typed::<DoubleType>().write_batch(cells, definitions, None)?;
                cells.clear();
                written
            }
            Cells::Flags(cells) => {
                let written = writer.typed::<BoolType>().write_batch(cells, definitions, None)?;
                cells.clear();
                written
            }
            Cells::Lists(cells) => writer.typed::<ByteArrayType>().write_batch(
                &byte_arrays(cells),
                definitions,
                Some(&self.repetitions),
            )?,
        };
        self.definitions.clear();
        self.repetitions.clear();
        self.text_bytes = 0;
        Ok(())
    }
}

/// Adds a value that is not missing, and returns whether there was one.
fn push<T>(cells: &mut Vec<T>, value: Option<T>) -> bool {
    let is_there = value.is_some();
    cells.extend(value);
    is_there
}

/// Adds a text, and its length to `bytes`.
fn push_text(cells: &mut Vec<Text>, value: &Value, bytes: &mut usize) -> io::Result<bool> {
    let text = text_of(value)?;
    *bytes += text.as_ref().map_or(0, Text::len);
    Ok(push(cells, text))
}

fn byte_arrays(texts: &mut Vec<Text>) -> Vec<ByteArray> {
    texts.drain(..).map(|text| ByteArray::from(&*text)).collect()
}

/// The text, exactly as in the log: a binary file is not shown on a terminal.
fn text_of(value: &Value) -> io::Result<Option<Text>> {
    Ok(match value {
        Value::Missing => None,
        Value::Text(text) => Some(Text::clone(text)),
        Value::Time(time) | Value::Local(time, _) => Some(time.to_string().into()),
        other => Some(compact(&Tree(other))?.into()),
    })
}

/// The number, unless it is too large for the column.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Count(count) | Value::Bytes(count) => i64::try_from(*count).ok(),
        _ => None,
    }
}

/// The number, rounded as in the other formats.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) | Value::Share(number) => Some(short(*number)),
        Value::Change(amount) => number(amount),
        other => other.number(),
    }
}

fn time(value: &Value) -> Option<Time> {
    match value {
        Value::Time(time) | Value::Local(time, _) => Some(*time),
        _ => None,
    }
}

fn amount(value: &Value) -> Option<Usd> {
    match value {
        Value::Usd(amount) => Some(*amount),
        _ => None,
    }
}
