//! The log of a run as Parquet, compressed, for tools that read columns.
//!
//! Rows are collected by column, and written as a row group when there are enough of them, so that memory does not grow
//! with the run except for the footer of the file, which lists the row groups.

use std::io::{self, Write};
use std::sync::Arc;

use flashloom_device::{Interest, Observer, Served};
use flashloom_run::log::{Content, Row, content, row};
use flashloom_workload::LOG_COLUMNS;
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

/// Rows of a row group: they take 15 MiB of memory while they are collected.
const GROUP_ROWS: usize = 65_536;

/// Observer that writes a row for every request that has ended. The first error stops the log, not the run;
/// [`Self::finish`] returns it.
pub struct ParquetLog<W: Write + Send> {
    rows: io::Result<Rows<W>>,
}

impl<W: Write + Send> ParquetLog<W> {
    /// Starts a log on an output.
    pub fn new(output: W) -> Self {
        Self { rows: Rows::new(output) }
    }

    /// Writes the remaining rows, and returns the output.
    ///
    /// # Errors
    /// The first error of the output, now or before.
    pub fn finish(self) -> io::Result<W> {
        self.rows?.finish()
    }
}

impl<W: Write + Send> Observer for ParquetLog<W> {
    fn interest(&self) -> Interest {
        Interest { served: true, ..Interest::default() }
    }

    fn served(&mut self, served: &Served) {
        let Ok(rows) = &mut self.rows else { return };
        if let Err(error) = rows.add(&row(served)) {
            self.rows = Err(error);
        }
    }
}

/// Writer of row groups.
struct Rows<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    /// Values collected since the last row group, by column.
    columns: [Vec<u64>; LOG_COLUMNS.len()],
}

impl<W: Write + Send> Rows<W> {
    fn new(output: W) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let writer = SerializedFileWriter::new(output, schema()?, Arc::new(properties))?;
        Ok(Self { writer, columns: LOG_COLUMNS.map(|_| Vec::new()) })
    }

    fn add(&mut self, row: &Row) -> io::Result<()> {
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

    fn finish(mut self) -> io::Result<W> {
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

#[cfg(test)]
mod tests {
    use flashloom_device::{Cause, Parts, Reason, Status};
    use flashloom_run::log::Log;
    use flashloom_workload::{Op, Request};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    /// A request that arrives at `arrival_ns` and is served for so long, or fails.
    fn served(arrival_ns: u64, op: Op, flags: u8, status: Status, ns: u64) -> Served {
        let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (8 * arrival_ns, 16) };
        let mut parts = Parts::default();
        parts[Cause::Served] = ns;
        Served {
            request: Request::new(op, lba, sectors).arriving_at(arrival_ns).of_task(7).with_flags(flags),
            admitted_ns: arrival_ns,
            dispatched_ns: arrival_ns,
            ended_ns: arrival_ns + ns,
            status,
            command: (lba, sectors),
            parts,
            last: None,
        }
    }

    fn some() -> Vec<Served> {
        vec![
            served(5, Op::Read, Request::SYNC, Status::DONE, 100),
            served(2, Op::Write, Request::FUA | Request::PREFLUSH, Status::DONE, 5_000_000_000),
            served(9, Op::Flush, 0, Status::Failed(Reason::EndOfLife), 1),
            served(9, Op::Discard, 0, Status::Failed(Reason::ReadOnly), 0),
        ]
    }

    fn logged(requests: &[Served]) -> Vec<u8> {
        let mut log = ParquetLog::new(Vec::new());
        requests.iter().for_each(|request| log.served(request));
        log.finish().expect("memory takes everything")
    }

    fn csv(requests: &[Served]) -> String {
        let mut log = Log::new(Vec::new());
        requests.iter().for_each(|request| log.served(request));
        String::from_utf8(log.finish().expect("memory takes everything")).expect("CSV is text")
    }

    fn reader(parquet: &[u8]) -> SerializedFileReader<std::fs::File> {
        let mut file = tempfile::tempfile().expect("a temporary file can be made");
        file.write_all(parquet).expect("it can be written");
        SerializedFileReader::new(file).expect("it is a file of Parquet")
    }

    /// The rows of a Parquet log, as they would appear in CSV.
    fn read_back(parquet: &[u8]) -> String {
        let reader = reader(parquet);
        let mut text = LOG_COLUMNS.join(",") + "\n";
        for row in reader.get_row_iter(None).expect("it has rows") {
            let row = row.expect("a row can be read");
            assert!(row.get_column_iter().map(|(name, _)| name.as_str()).eq(LOG_COLUMNS));
            let cell = |field: &Field| match field {
                Field::ULong(number) => number.to_string(),
                Field::UInt(number) => number.to_string(),
                Field::Bool(flag) => u8::from(*flag).to_string(),
                Field::Str(word) => word.clone(),
                other => panic!("a log has no {other:?}"),
            };
            let cells: Vec<String> = row.get_column_iter().map(|(_, field)| cell(field)).collect();
            text += &(cells.join(",") + "\n");
        }
        text
    }

    #[test]
    fn parquet_holds_what_csv_holds_in_bounded_row_groups() {
        let mut requests = some();
        requests.extend((0..70_000).map(|at| served(at, Op::Read, 0, Status::DONE, at % 977)));
        let parquet = logged(&requests);
        assert_eq!(reader(&parquet).metadata().num_row_groups(), 2);
        assert_eq!(logged(&requests), parquet, "the same run gives the same bytes");
        assert_eq!(read_back(&parquet), csv(&requests));
    }

    #[test]
    fn a_log_without_requests_has_its_columns() {
        assert_eq!(read_back(&logged(&[])), csv(&[]));
    }

    #[test]
    fn the_first_error_of_the_output_is_told_at_the_end() {
        for room in [0, 400] {
            let mut output = vec![0; room];
            let mut log = ParquetLog::new(&mut output[..]);
            some().iter().for_each(|request| log.served(request));
            assert!(log.finish().is_err(), "{room} bytes");
        }
    }
}
