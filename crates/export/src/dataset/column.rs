//! A column of a row group: text, numbers or flags, of which some may be missing.

use std::fs::File;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::RowGroupReader;
use serde_json::Value;

use super::budget::Budget;
use super::pages;

/// Rows that are decoded at a time.
const BATCH: usize = 4_096;

/// A column.
pub(super) struct Column<'a> {
    name: String,
    reader: ColumnReader,
    /// True if rows may have no value.
    is_optional: bool,
    /// True if whole numbers are stored in the bits of signed ones.
    is_unsigned: bool,
    rows: usize,
    budget: &'a Budget,
}

impl<'a> Column<'a> {
    /// The column at a place in a row group of a file; one that has lists or parts is refused, and one whose pages are
    /// too large.
    pub(super) fn at(
        file: &File,
        group: &dyn RowGroupReader,
        at: usize,
        budget: &'a Budget,
    ) -> std::result::Result<Self, String> {
        let metadata = group.metadata();
        let column = metadata.schema_descr().column(at);
        let name = column.name().to_owned();
        if column.max_rep_level() > 0 || column.max_def_level() > 1 {
            return Err(format!("column `{name}` has lists in place of values"));
        }
        let (start, length) = metadata.column(at).byte_range();
        pages::check(file, start..start.saturating_add(length), budget)
            .map_err(|found| format!("column `{name}`: {found}"))?;
        let reader = group.get_column_reader(at).map_err(|error| format!("column `{name}`: {error}"))?;
        let is_unsigned = column.converted_type().to_string().starts_with("UINT");
        let rows = usize::try_from(metadata.num_rows()).unwrap_or(0);
        Ok(Self { name, reader, is_optional: column.max_def_level() == 1, is_unsigned, rows, budget })
    }

    /// Reads the values of its first `most` rows; those that are missing are null.
    pub(super) fn read(self, most: usize) -> std::result::Result<Vec<Value>, String> {
        let (name, optional, unsigned, rows) = (self.name, self.is_optional, self.is_unsigned, self.rows.min(most));
        let whole32 = |number: i32| if unsigned { number.cast_unsigned().into() } else { number.into() };
        let whole64 = |number: i64| if unsigned { number.cast_unsigned().into() } else { number.into() };
        // Many cells can be one text of a dictionary, which is a text of its own in each of them.
        let text = |bytes: ByteArray| {
            self.budget.take_text(bytes.data())?;
            Ok(String::from_utf8_lossy(bytes.data()).into_owned().into())
        };
        let values = match self.reader {
            ColumnReader::BoolColumnReader(reader) => values(reader, optional, rows, |flag| Ok(flag.into())),
            ColumnReader::Int32ColumnReader(reader) => values(reader, optional, rows, |number| Ok(whole32(number))),
            ColumnReader::Int64ColumnReader(reader) => values(reader, optional, rows, |number| Ok(whole64(number))),
            ColumnReader::FloatColumnReader(reader) => values(reader, optional, rows, |number| Ok(number.into())),
            ColumnReader::DoubleColumnReader(reader) => values(reader, optional, rows, |number| Ok(number.into())),
            ColumnReader::ByteArrayColumnReader(reader) => values(reader, optional, rows, text),
            ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
                return Err(format!("column `{name}` has neither text nor numbers nor flags"));
            }
        };
        let values = values.map_err(|error| format!("column `{name}`: {error}"))?;
        if values.len() < rows {
            return Err(format!("column `{name}` has {} of {rows} rows", values.len()));
        }
        Ok(values)
    }
}

/// Reads the first `rows` values of a column.
fn values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    is_optional: bool,
    rows: usize,
    value: impl Fn(T::T) -> Result<Value, String>,
) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    let (mut levels, mut present): (Vec<i16>, Vec<T::T>) = (Vec::new(), Vec::new());
    while found.len() < rows {
        let batch = BATCH.min(rows - found.len());
        levels.clear();
        present.clear();
        let (records, ..) = reader
            .read_records(batch, is_optional.then_some(&mut levels), None, &mut present)
            .map_err(|error| error.to_string())?;
        if records == 0 {
            break;
        }
        let mut present = present.drain(..).map(&value);
        if is_optional {
            for &level in &levels {
                found.push(if level > 0 { present.next().unwrap_or(Ok(Value::Null))? } else { Value::Null });
            }
        } else {
            for cell in present {
                found.push(cell?);
            }
        }
    }
    Ok(found)
}
