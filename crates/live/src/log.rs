//! The log of a live drive: a trace in Flashloom's own CSV, in order of submission.
//!
//! Requests of one time are submitted in an order that matters, so that rows cannot be in the order of completion as
//! those of a run's log are: a row waits until its request and all before it have ended.

use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};

use flashloom_units::Ns;
use flashloom_workload::{Op, Request};

const HEADER: &str = "timestamp_ns,op,lba,sectors,sync,fua,latency_ns\n";

struct Row {
    request: Request,
    latency_ns: Option<Ns>,
}

/// Writes a row for every request, in order. The first error stops it; [`Self::finish`] returns it.
pub(crate) struct RequestLog {
    output: BufWriter<Box<dyn Write + Send>>,
    /// Rows that are not written yet, and the number of those that are.
    rows: VecDeque<Row>,
    written: u64,
    /// Numbers of the rows of outstanding requests, by cookie.
    numbers: Vec<u64>,
    line: Vec<u8>,
    outcome: io::Result<()>,
}

impl RequestLog {
    pub(crate) fn new(output: Box<dyn Write + Send>) -> io::Result<Self> {
        let mut output = BufWriter::new(output);
        output.write_all(HEADER.as_bytes())?;
        let (rows, numbers, line) = (VecDeque::new(), Vec::new(), Vec::new());
        Ok(Self { output, rows, written: 0, numbers, line, outcome: Ok(()) })
    }

    pub(crate) fn submitted(&mut self, cookie: u32, request: Request) {
        let number = self.written + self.rows.len() as u64;
        self.rows.push_back(Row { request, latency_ns: None });
        let cookie = cookie as usize;
        self.numbers.resize(self.numbers.len().max(cookie + 1), 0);
        self.numbers[cookie] = number;
    }

    pub(crate) fn ended(&mut self, cookie: u32, latency_ns: Ns) {
        let number = self.numbers[cookie as usize];
        self.rows[(number - self.written) as usize].latency_ns = Some(latency_ns);
        while let Some(&Row { request, latency_ns: Some(latency_ns) }) = self.rows.front() {
            self.rows.pop_front();
            self.written += 1;
            self.write(&request, latency_ns);
        }
    }

    fn write(&mut self, request: &Request, latency_ns: Ns) {
        if self.outcome.is_err() {
            return;
        }
        let op = match request.op {
            Op::Read => b'R',
            Op::Write => b'W',
            Op::Discard => b'D',
            Op::Flush => b'F',
        };
        let flags = [Request::SYNC, Request::FUA].map(|flag| u64::from(request.has(flag)));
        let mut number = itoa::Buffer::new();
        self.line.clear();
        self.line.extend_from_slice(number.format(request.arrival_ns).as_bytes());
        self.line.extend_from_slice(&[b',', op]);
        for cell in [request.lba, request.sectors.into(), flags[0], flags[1], latency_ns] {
            self.line.push(b',');
            self.line.extend_from_slice(number.format(cell).as_bytes());
        }
        self.line.push(b'\n');
        self.outcome = self.output.write_all(&self.line);
    }

    /// Writes everything; requests that have not ended are left out.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.outcome?;
        self.output.flush()
    }
}
