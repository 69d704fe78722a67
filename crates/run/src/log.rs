//! The log of a run: one row per request, in the order of completion, with its latency by cause. As CSV it is a trace
//! as well.

mod column;

use std::io::{self, Write};

use flashloom_device::{Interest, Observer, Served};
use flashloom_units::choice;
use flashloom_workload::LOG_COLUMNS;

pub use column::{Content, Row, content, row};

choice! {
    /// File format of a log.
    pub enum LogFormat {
        /// Flashloom's own CSV with further columns; it can be replayed as a trace.
        Csv = "csv",
        /// Apache Parquet, compressed.
        Parquet = "parquet",
    }
}

impl LogFormat {
    /// The format implied by the extension of a file's name.
    pub fn of_path(path: &str) -> Option<Self> {
        path.rsplit_once('.').and_then(|(_, ending)| Self::named(ending))
    }
}

/// Observer that writes a line of CSV for every request that has ended. The first error stops the log, not the run;
/// [`Self::finish`] returns it.
pub struct Log<W: Write + Send> {
    output: W,
    contents: [Content; LOG_COLUMNS.len()],
    line: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: Write + Send> Log<W> {
    /// Starts a log on an output.
    pub fn new(mut output: W) -> Self {
        let error = writeln!(output, "{}", LOG_COLUMNS.join(",")).err();
        Self { output, contents: LOG_COLUMNS.map(content), line: Vec::new(), error }
    }

    /// Returns the output.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> io::Result<W> {
        self.error.map_or(Ok(self.output), Err)
    }
}

impl<W: Write + Send> Observer for Log<W> {
    fn interest(&self) -> Interest {
        Interest { served: true, ..Interest::default() }
    }

    fn served(&mut self, served: &Served) {
        if self.error.is_some() {
            return;
        }
        self.line.clear();
        for (&number, content) in row(served).iter().zip(&self.contents) {
            match content {
                Content::Word(words) => self.line.extend_from_slice(words[number as usize].as_bytes()),
                Content::Wide | Content::Small | Content::Flag => {
                    self.line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                }
            }
            self.line.push(b',');
        }
        *self.line.last_mut().expect("a row has cells") = b'\n';
        self.error = self.output.write_all(&self.line).err();
    }
}

#[cfg(test)]
mod tests {
    use flashloom_device::{Cause, Parts, Reason, Status};
    use flashloom_units::Ns;
    use flashloom_workload::{LOG_COLUMNS, Op, Request, Source, TraceOptions, read_trace};

    use super::*;

    /// A request that arrives at `arrival_ns` and takes the sum of `causes`.
    fn served(arrival_ns: Ns, op: Op, flags: u8, status: Status, causes: &[(Cause, Ns)]) -> Served {
        let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (8 * arrival_ns, 16) };
        let mut parts = Parts::default();
        causes.iter().for_each(|&(cause, ns)| parts[cause] = ns);
        Served {
            request: Request::new(op, lba, sectors).arriving_at(arrival_ns).of_task(7).with_flags(flags),
            admitted_ns: arrival_ns,
            dispatched_ns: arrival_ns,
            ended_ns: arrival_ns + parts.total(),
            status,
            command: (lba, sectors),
            parts,
            last: None,
        }
    }

    fn some() -> Vec<Served> {
        let failed = Status::Failed(Reason::EndOfLife);
        vec![
            served(5, Op::Read, Request::SYNC, Status::DONE, &[(Cause::Collection, 70), (Cause::Served, 30)]),
            served(2, Op::Write, Request::FUA | Request::PREFLUSH, Status::DONE, &[(Cause::Flush, 5_000_000_000)]),
            served(9, Op::Flush, 0, failed, &[(Cause::Flush, 1)]),
            served(9, Op::Discard, 0, Status::Failed(Reason::ReadOnly), &[]),
        ]
    }

    fn csv(requests: &[Served]) -> String {
        let mut log = Log::new(Vec::new());
        requests.iter().for_each(|request| log.served(request));
        String::from_utf8(log.finish().expect("memory takes everything")).expect("CSV is text")
    }

    #[test]
    fn a_row_tells_when_how_and_why_and_the_causes_add_up() {
        let text = csv(&some());
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].ends_with(
            "latency_ns,admitted_ns,dispatched_ns,completed_ns,status,nr_requests_ns,tag_ns,\
             scheduler_ns,controller_ns,link_ns,flush_ns,slot_ns,host_read_ns,host_program_ns,collection_ns,merge_ns,\
             map_ns,wear_ns,erase_ns,suspension_ns,channel_ns,served_ns"
        ));
        assert_eq!(lines[1], "5,R,40,16,7,1,0,0,none,100,5,5,105,done,0,0,0,0,0,0,0,0,0,70,0,0,0,0,0,0,30");
        assert!(lines[2].starts_with("2,W,16,16,7,0,1,1,none,5000000000,2,2,5000000002,done,"), "{}", lines[2]);
        assert!(lines[3].starts_with("9,F,0,0,7,0,0,0,none,1,9,9,10,end_of_life,"), "{}", lines[3]);
        assert!(lines[4].starts_with("9,D,72,16,7,0,0,0,none,0,9,9,9,read_only,"), "{}", lines[4]);
        for line in &lines[1..] {
            let cells: Vec<_> = line.split(',').collect();
            let causes: u64 = cells[14..].iter().map(|cell| cell.parse::<u64>().unwrap()).sum();
            assert_eq!(causes.to_string(), cells[9]);
        }
    }

    #[test]
    fn a_log_without_requests_has_its_columns() {
        assert_eq!(csv(&[]), LOG_COLUMNS.join(",") + "\n");
    }

    #[test]
    fn a_log_is_a_trace_of_the_same_requests_in_order_of_arrival() {
        let options = TraceOptions { sort: true, ..TraceOptions::default() };
        let mut trace = read_trace("log.csv", csv(&some()).into_bytes().into(), &options).unwrap();
        let read: Vec<_> = std::iter::from_fn(|| trace.next_request().unwrap()).collect();
        let mut expected: Vec<_> = some().iter().map(|served| (served.request, served.latency_ns())).collect();
        expected.sort_by_key(|(request, _)| request.arrival_ns);
        let of_trace = |(request, latency_ns): (Request, Ns)| {
            let latency_ns = u32::try_from(latency_ns).unwrap_or(u32::MAX);
            request.arriving_at(request.arrival_ns - 2).with_recorded_latency(latency_ns)
        };
        assert_eq!(read, expected.into_iter().map(of_trace).collect::<Vec<_>>());
    }

    #[test]
    fn the_ending_tells_the_format() {
        assert_eq!(LogFormat::of_path("a/log.csv"), Some(LogFormat::Csv));
        assert_eq!(LogFormat::of_path("log.parquet"), Some(LogFormat::Parquet));
        for path in ["log", "log.csv.gz", "log.json", "csv", ""] {
            assert_eq!(LogFormat::of_path(path), None, "{path}");
        }
    }

    #[test]
    fn the_first_error_of_the_output_is_told_at_the_end() {
        for room in [0, 400] {
            let mut output = vec![0; room];
            let mut log = Log::new(&mut output[..]);
            some().iter().for_each(|request| log.served(request));
            assert!(log.finish().is_err(), "{room} bytes");
        }
    }
}
