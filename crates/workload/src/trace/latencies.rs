//! Latencies that a recording has of its own device, read in one pass.

use flashloom_units::{Latency, Ns, Problem, Refusal};

use super::devices::{DeviceInfo, Tally, overlaid};
use super::pairing::Pairs;
use super::{Format, TraceOptions, open_trace};
use crate::Op;

/// Where the latencies of a format's requests are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencySource {
    /// The format has none.
    None,
    /// In every request, from its arrival to its completion; 0 if it is not known.
    Column,
    /// Likewise, of a clock so coarse that 0 is a latency: one shorter than its tick.
    CoarseColumn,
    /// Between events: from the issue of a request to the device to its completion, if
    /// [`TraceOptions::completions`] asks for it.
    Events,
}

impl LatencySource {
    /// True if a request of this recorded latency has one.
    pub fn is_known(self, latency_ns: Ns) -> bool {
        match self {
            Self::None => false,
            Self::CoarseColumn => true,
            Self::Column | Self::Events => latency_ns > 0,
        }
    }
}

/// Summary of the latencies of a recording.
#[derive(Clone, Debug)]
pub struct RecordedLatencies {
    /// Format of the recording.
    pub format: Format,
    /// Number of requests.
    pub requests: u64,
    /// Latencies of the requests that have one.
    pub latencies: Latency,
    /// Latencies of 4.294967295 s and longer, which a replay takes for that.
    pub capped: u64,
    /// Time from the first arrival to the last completion that is known.
    pub duration_ns: Ns,
    /// Devices of the recording.
    pub devices: Vec<DeviceInfo>,
    /// Latencies of lone reads: nothing else was outstanding, and they do not begin where the last request ended. They
    /// are the seeks of a disk.
    pub lone_reads: Latency,
    /// Counts of requests and completions, of a format that has events.
    pub pairs: Option<Pairs>,
}

impl RecordedLatencies {
    /// Refuses a recording of several devices, none of which was chosen.
    pub fn overlaid(&self) -> Option<Refusal> {
        overlaid(&self.devices)
    }
}

/// Reads the latencies of at most `requests` requests of a recording; those of blktrace and blkparse if
/// [`TraceOptions::completions`] asks for them.
///
/// # Errors
/// A recording that cannot be read.
pub fn scan_latencies(path: &str, options: &TraceOptions, requests: Option<u64>) -> Result<RecordedLatencies, Problem> {
    let mut trace = open_trace(path, options)?;
    let source = trace.format().spec().latencies;
    let mut scan = RecordedLatencies {
        format: trace.format(),
        requests: 0,
        latencies: Latency::new(),
        capped: 0,
        duration_ns: 0,
        devices: Vec::new(),
        lone_reads: Latency::new(),
        pairs: None,
    };
    // The last completion so far, and the end of the last request.
    let (mut busy_until_ns, mut last_end) = (0, None);
    let mut tally = Tally::default();
    while scan.requests < requests.unwrap_or(u64::MAX)
        && let Some(record) = trace.next_record()?
    {
        let (request, latency_ns) = (&record.request, record.latency_ns());
        scan.requests += 1;
        tally.add(&record);
        let ends_ns = request.arrival_ns.saturating_add(latency_ns);
        if source.is_known(latency_ns) {
            scan.latencies.record(latency_ns);
            scan.capped += u64::from(record.has_capped_latency());
            let is_elsewhere = last_end.is_some_and(|end| end != request.lba);
            if request.op == Op::Read && is_elsewhere && request.arrival_ns >= busy_until_ns {
                scan.lone_reads.record(latency_ns);
            }
        }
        last_end = Some(request.end());
        busy_until_ns = busy_until_ns.max(ends_ns);
        scan.duration_ns = busy_until_ns;
    }
    scan.pairs = trace.pairs();
    scan.devices = trace.devices(&tally);
    Ok(scan)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::Source;

    fn scan(text: &str, options: &TraceOptions) -> Result<RecordedLatencies, Problem> {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
        file.write_all(text.as_bytes()).expect("it can be written");
        scan_latencies(file.path().to_str().expect("its name is UTF-8"), options, None)
    }

    fn completions() -> TraceOptions {
        TraceOptions { completions: true, ..TraceOptions::default() }
    }

    #[test]
    fn events_of_blkparse_become_latencies_in_the_order_of_issues() {
        let text = "8,0 1 1 0.001 7 Q W 0 + 8 [a]\n8,0 1 2 0.002 7 D W 0 + 8 [a]\n8,0 1 3 0.003 7 D R 64 + 8 [a]\n\
                    8,0 1 4 0.0035 0 C R 64 + 8 [0]\n8,0 1 5 0.004 0 C W 0 + 8 [0]\n8,0 1 6 0.005 7 D R 8 + 8 [a]\n";
        let scan = scan(text, &completions()).unwrap();
        assert_eq!((scan.requests, scan.latencies.count(), scan.latencies.sum()), (3, 2, 2_500_000));
        assert_eq!(scan.pairs, Some(Pairs { paired: 2, unpaired: 1, ..Pairs::default() }));
        let mut trace = crate::read_trace("t", text.as_bytes().into(), &completions()).unwrap();
        let read: Vec<_> = std::iter::from_fn(|| trace.next_request().unwrap()).collect();
        let seen: Vec<_> = read.iter().map(|one| (one.arrival_ns, one.lba, one.recorded_latency_ns)).collect();
        assert_eq!(seen, [(0, 0, 2_000_000), (1_000_000, 64, 500_000), (3_000_000, 8, 0)]);
    }

    #[test]
    fn events_are_paired_after_they_are_sorted() {
        let text = "8,0 1 5 0.004 0 C W 0 + 8 [0]\n8,0 1 2 0.002 7 D W 0 + 8 [a]\n";
        let sorted = scan(text, &TraceOptions { sort: true, ..completions() }).unwrap();
        assert_eq!((sorted.latencies.count(), sorted.latencies.max()), (1, 2_000_000));
    }

    #[test]
    fn a_latency_is_seen_as_it_was_recorded_however_long() {
        let text = "timestamp_ns,op,lba,sectors,latency_ns\n0,R,0,8,17179869183\n5,R,64,8,4294967295\n9,R,8,8,100\n";
        let scan = scan(text, &TraceOptions::default()).unwrap();
        assert_eq!((scan.latencies.max(), scan.capped), (17_000_000_000, 2));
        assert_eq!((scan.latencies.min(), scan.duration_ns), (100, 17_000_000_000));
    }

    #[test]
    fn zero_is_a_latency_of_a_coarse_clock_alone() {
        let own = "timestamp_ns,op,lba,sectors,latency_ns\n0,R,0,8,0\n5,R,64,8,7\n";
        assert_eq!(scan(own, &TraceOptions::default()).unwrap().latencies.count(), 1);
        let diskmon = "0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8\n1\t0.017\t0\t1\tWrite\t3271215\t8\n";
        let scan = scan(diskmon, &TraceOptions::default()).unwrap();
        assert_eq!((scan.latencies.count(), scan.latencies.min()), (2, 0));
        let devices: Vec<_> = scan.devices.iter().map(|device| (&*device.name, device.requests)).collect();
        assert_eq!(devices, [("0", 1), ("1", 1)]);
    }

    #[test]
    fn one_device_is_read_with_its_own_beginning_and_its_own_order() {
        let text = "timestamp_ns,op,lba,sectors,latency_ns,device\n7,R,0,8,100,1\n9,R,8,8,50,0\n8,R,64,8,200,1\n";
        for sort in [false, true] {
            let options = TraceOptions { device: Some("1".to_owned()), sort, ..TraceOptions::default() };
            let read = scan(text, &options).unwrap();
            assert_eq!((read.requests, read.latencies.sum(), read.duration_ns), (2, 300, 201));
            let problem = scan(text, &TraceOptions { device: Some("5".to_owned()), ..options }).unwrap_err();
            assert_eq!(problem.refusal.found, "holds no request of device `5`");
            assert_eq!(problem.refusal.expected, "a device that has such: `0`, `1`");
        }
        assert!(scan(text, &TraceOptions::default()).is_err(), "the times of both go back");
        let events = "8,0 1 1 0.001 7 D W 0 + 8 [a]\n8,16 1 2 0.002 7 D W 0 + 8 [a]\n8,16 1 3 0.0025 0 C W 0 + 8 [0]\n\
                      8,0 1 4 0.004 0 C W 0 + 8 [0]\n";
        let second = scan(events, &TraceOptions { device: Some("8,16".to_owned()), ..completions() }).unwrap();
        assert_eq!((second.requests, second.latencies.sum()), (1, 500_000));
    }

    #[test]
    fn lone_reads_are_those_elsewhere_while_nothing_is_outstanding() {
        let text = "timestamp_ns,op,lba,sectors,latency_ns\n0,R,0,8,100\n100,R,8,8,100\n300,R,64,8,70\n310,R,0,8,100\n\
                    500,W,0,8,10\n";
        let scan = scan(text, &TraceOptions::default()).unwrap();
        assert_eq!((scan.lone_reads.count(), scan.lone_reads.max()), (1, 70));
    }
}
