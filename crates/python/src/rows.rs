//! Rows into batches of columns: the log of a run, its timeline, the requests of a recording.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use flashloom::device::{Interest, Observer, Sample, Served};
use flashloom::run::log::{Content, Row, content, row};
use flashloom::run::timeline::{COLUMNS, Column, Lines, columns};
use flashloom::units::Interrupt;
use flashloom::workload::{LOG_COLUMNS, Request};

/// Columns of a recording: those of a log that a trace has.
const TRACE_COLUMNS: usize = 10;
/// Column of a recording behind those: the number of the device.
const DEVICE: &str = "device";
/// Columns of the timeline with a fraction.
const FRACTIONS: [&str; 2] = ["iops", "waf"];

/// Cells of a column that is being filled.
enum Cells {
    Wide(Vec<u64>),
    Small(Vec<u32>),
    Flag(Vec<bool>),
    Word(&'static [&'static str], Vec<i8>),
}

impl Cells {
    fn of(content: Content) -> Self {
        match content {
            Content::Wide => Self::Wide(Vec::new()),
            Content::Small => Self::Small(Vec::new()),
            Content::Flag => Self::Flag(Vec::new()),
            Content::Word(words) => Self::Word(words, Vec::new()),
        }
    }

    fn push(&mut self, number: u64) {
        match self {
            Self::Wide(cells) => cells.push(number),
            Self::Small(cells) => cells.push(number as u32),
            Self::Flag(cells) => cells.push(number > 0),
            Self::Word(_, cells) => cells.push(number as i8),
        }
    }

    /// Takes the cells as an array, and leaves none.
    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Wide(cells) => Arc::new(UInt64Array::from(std::mem::take(cells))),
            Self::Small(cells) => Arc::new(UInt32Array::from(std::mem::take(cells))),
            Self::Flag(cells) => Arc::new(BooleanArray::from(std::mem::take(cells))),
            Self::Word(words, cells) => {
                let keys = Int8Array::from(std::mem::take(cells));
                let words = Arc::new(StringArray::from(words.to_vec()));
                Arc::new(DictionaryArray::<Int8Type>::try_new(keys, words).expect("every index is that of a word"))
            }
        }
    }
}

fn field(name: &str, content: Content) -> Field {
    let of = match content {
        Content::Wide => DataType::UInt64,
        Content::Small => DataType::UInt32,
        Content::Flag => DataType::Boolean,
        Content::Word(_) => DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
    };
    Field::new(name, of, false)
}

/// Schema of a log.
pub(crate) fn log_schema() -> SchemaRef {
    let fields: Vec<_> = LOG_COLUMNS.iter().map(|name| field(name, content(name))).collect();
    Arc::new(Schema::new(fields))
}

/// Schema of a recording.
pub(crate) fn trace_schema() -> SchemaRef {
    let of_log = LOG_COLUMNS[..TRACE_COLUMNS].iter().map(|name| field(name, content(name)));
    Arc::new(Schema::new(of_log.chain([field(DEVICE, Content::Small)]).collect::<Vec<_>>()))
}

/// Schema of the timeline of a drive with or without an SLC cache.
pub(crate) fn timeline_schema(has_cache: bool) -> SchemaRef {
    let of = |name: &str| if FRACTIONS.contains(&name) { DataType::Float64 } else { DataType::UInt64 };
    let field = |column: &Column| Field::new(column.name, of(column.name), true);
    Arc::new(Schema::new(columns(has_cache).iter().map(field).collect::<Vec<_>>()))
}

/// Where full batches go: a reader that may fall behind, and then holds up whoever fills them.
pub(crate) struct Outlet {
    pub(crate) sender: SyncSender<RecordBatch>,
    /// Rows of a batch.
    pub(crate) rows: usize,
    /// Raised when nobody reads any more.
    pub(crate) interrupt: Interrupt,
}

impl Outlet {
    fn send(&self, batch: RecordBatch) {
        if batch.num_rows() > 0 && self.sender.send(batch).is_err() {
            self.interrupt.raise();
        }
    }
}

/// Requests on their way into batches.
pub(crate) struct Requests {
    schema: SchemaRef,
    columns: Vec<Cells>,
    rows: usize,
    outlet: Outlet,
}

impl Requests {
    fn new(schema: SchemaRef, outlet: Outlet) -> Self {
        let of = |name: &str| if name == DEVICE { Content::Small } else { content(name) };
        let columns = schema.fields().iter().map(|field| Cells::of(of(field.name()))).collect();
        Self { schema, columns, rows: 0, outlet }
    }

    /// The log of a run, as its observer.
    pub(crate) fn of_log(outlet: Outlet) -> Self {
        Self::new(log_schema(), outlet)
    }

    /// The requests of a recording.
    pub(crate) fn of_trace(outlet: Outlet) -> Self {
        Self::new(trace_schema(), outlet)
    }

    fn push(&mut self, row: &[u64]) {
        self.columns.iter_mut().zip(row).for_each(|(cells, &number)| cells.push(number));
        self.rows += 1;
        if self.rows == self.outlet.rows {
            self.flush();
        }
    }

    /// Adds a request of a device of a recording.
    pub(crate) fn push_request(&mut self, request: &Request, device: u32) {
        let has = |flag| u64::from(request.has(flag));
        self.push(&[
            request.arrival_ns,
            request.op as u64,
            request.lba,
            u64::from(request.sectors),
            u64::from(request.task),
            has(Request::SYNC),
            has(Request::PREFLUSH),
            has(Request::FUA),
            request.priority().index() as u64,
            u64::from(request.recorded_latency_ns),
            u64::from(device),
        ]);
    }

    /// Sends the rows that are left.
    pub(crate) fn flush(&mut self) {
        self.rows = 0;
        let columns = self.columns.iter_mut().map(Cells::take).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        self.outlet.send(batch.expect("every row has a cell in every column"));
    }
}

impl Observer for Requests {
    fn interest(&self) -> Interest {
        Interest { served: true, ..Interest::default() }
    }

    fn served(&mut self, served: &Served) {
        let row: Row = row(served);
        self.push(&row);
    }
}

/// Lines of a timeline on their way into batches, as an observer.
pub(crate) struct Timeline {
    lines: Lines,
    rows: Vec<[Option<String>; COLUMNS.len()]>,
    has_cache: bool,
    outlet: Outlet,
}

impl Timeline {
    pub(crate) fn new(outlet: Outlet, has_cache: bool) -> Self {
        Self { lines: Lines::default(), rows: Vec::new(), has_cache, outlet }
    }

    /// Sends the lines that are left.
    pub(crate) fn flush(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let column = |at: usize| -> ArrayRef {
            let cells = rows.iter().map(|row| row[at].as_deref());
            if FRACTIONS.contains(&COLUMNS[at].name) {
                Arc::new(cells.map(|cell| cell.and_then(|text| text.parse().ok())).collect::<Float64Array>())
            } else {
                Arc::new(cells.map(|cell| cell.and_then(|text| text.parse().ok())).collect::<UInt64Array>())
            }
        };
        let schema = timeline_schema(self.has_cache);
        let columns = (0..schema.fields().len()).map(column).collect();
        let batch = RecordBatch::try_new(schema, columns);
        self.outlet.send(batch.expect("every line has a cell in every column"));
    }
}

impl Observer for Timeline {
    fn interest(&self) -> Interest {
        Interest { samples: true, ..Interest::default() }
    }

    fn sample(&mut self, sample: &Sample) {
        if let Some(line) = self.lines.next(sample) {
            self.rows.push(line);
            if self.rows.len() == self.outlet.rows {
                self.flush();
            }
        }
    }
}
