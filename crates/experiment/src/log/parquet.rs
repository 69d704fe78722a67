//! A log as Parquet. Rows are collected by column, and written as a row group when there are enough of them, so that
//! memory does not grow with the run except for the footer of the file, which lists the row groups.

use std::io::{self, Write};
use std::sync::Arc;

use flashloom_workload::LOG_COLUMNS;
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::column::{Content, Row, content};

/// Rows of a row group: they take 15 MiB of memory while they are collected.
const GROUP_ROWS: usize = 65_536;

/// Writer of row groups.
pub struct ParquetRows<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    /// Values collected since the last row group, by column.
    columns: [Vec<u64>; LOG_COLUMNS.len()],
}

impl<W: Write + Send> ParquetRows<W> {
    pub fn new(output: W) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let writer = SerializedFileWriter::new(output, schema()?, Arc::new(properties))?;
        Ok(Self { writer, columns: LOG_COLUMNS.map(|_| Vec::new()) })
    }

    pub fn add(&mut self, row: &Row) -> io::Result<()> {
        self.columns.iter_mut().zip(row).for_each(|(column, &number)| column.push(number));
        if self.columns[0].len() == GROUP_ROWS { Ok(self.write_group()?) } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for (column, name) in self.columns.iter_mut().zip(LOG_COLUMNS) {
            let mut writer = group.next_column()?.expect("the schema has every column");
            write_column(&mut writer, content(name), column)?;
            writer.close()?;
            column.clear();
        }
        group.close().map(drop)
    }

    pub fn finish(mut self) -> io::Result<W> {
        if !self.columns[0].is_empty() {
            self.write_group()?;
        }
        Ok(self.writer.into_inner()?)
    }
}

/// The schema: every column has a value in every row. Parquet stores unsigned numbers in the bits of signed ones.
fn schema() -> Result<TypePtr> {
    let field = |name| {
        let (physical, logical) = match content(name) {
            Content::Wide => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
            Content::Small => (PhysicalType::INT32, Some(LogicalType::integer(32, false))),
            Content::Flag => (PhysicalType::BOOLEAN, None),
            Content::Word(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        field.with_logical_type(logical).build().map(Arc::new)
    };
    let fields = LOG_COLUMNS.into_iter().map(field).collect::<Result<_>>()?;
    Type::group_type_builder("request").with_fields(fields).build().map(Arc::new)
}

fn write_column(writer: &mut SerializedColumnWriter<'_>, content: Content, numbers: &[u64]) -> Result<()> {
    match content {
        Content::Wide => write_as::<Int64Type>(writer, numbers, u64::cast_signed),
        Content::Small => write_as::<Int32Type>(writer, numbers, |number| (number as u32).cast_signed()),
        Content::Flag => write_as::<BoolType>(writer, numbers, |number| number != 0),
        Content::Word(words) => {
            let words: Vec<ByteArray> = words.iter().map(|&word| word.into()).collect();
            write_as::<ByteArrayType>(writer, numbers, |number| words[number as usize].clone())
        }
    }
}

fn write_as<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    numbers: &[u64],
    value: impl Fn(u64) -> T::T,
) -> Result<()> {
    let values: Vec<T::T> = numbers.iter().map(|&number| value(number)).collect();
    writer.typed::<T>().write_batch(&values, None, None).map(drop)
}
