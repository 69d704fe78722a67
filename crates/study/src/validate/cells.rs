//! Latencies by operation and class of sizes, of both sides.

use flashloom_device::{Interest, Observer, Served, Status};
use flashloom_figures::number::count;
use flashloom_units::{KIB, Latency, Ns, SECTOR_BYTES};
use flashloom_workload::{LatencySource, Op, Request};

use super::distribution::Likeness;
use super::result::{CellResult, Compared, RateResult};

/// Largest size of each class but the last.
const CLASSES: [(u64, &str); 4] =
    [(4 * KIB, "to 4 KiB"), (16 * KIB, "to 16 KiB"), (64 * KIB, "to 64 KiB"), (256 * KIB, "to 256 KiB")];
/// The class of all that are larger.
const LARGER: &str = "above 256 KiB";

/// Latencies that a cell needs on each side to be compared.
pub const LEAST: u64 = 100;

/// Recorded and simulated latencies.
type Both = [Latency; 2];

/// Interval that a recorded latency is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// From the dispatch of a request to the drive to its completion.
    InDrive,
    /// From its arrival at the host to its completion.
    Whole,
}

impl Interval {
    /// It, of a request that was simulated.
    pub fn latency_ns(self, served: &Served) -> Ns {
        match self {
            Self::InDrive => served.ended_ns - served.dispatched_ns,
            Self::Whole => served.latency_ns(),
        }
    }
}

/// An observer that puts the simulated latency of every request beside the one that its recording has.
pub struct Cells {
    source: LatencySource,
    interval: Interval,
    /// By operation: all sizes, then each class.
    cells: [[Both; CLASSES.len() + 2]; 4],
    bytes: u64,
    /// Time of the last completion: recorded, simulated.
    ends_ns: [Ns; 2],
    unknown: u64,
    failed: u64,
    /// Requests that waited in the host for the drive, and their waits.
    pub waits: Latency,
}

impl Cells {
    /// Cells without a latency.
    pub fn new(source: LatencySource, interval: Interval) -> Self {
        Self {
            source,
            interval,
            cells: Default::default(),
            bytes: 0,
            ends_ns: [0; 2],
            unknown: 0,
            failed: 0,
            waits: Latency::new(),
        }
    }

    fn class(request: &Request) -> usize {
        let bytes = u64::from(request.sectors) * SECTOR_BYTES;
        CLASSES.iter().position(|(most, _)| bytes <= *most).unwrap_or(CLASSES.len()) + 1
    }

    /// The cells that can be compared; adds the others, and what else could not be, to a list.
    pub fn compared(&self, not_compared: &mut Vec<String>) -> Vec<CellResult> {
        let mut compared = Vec::new();
        for op in Op::ALL {
            let [all, classes @ ..] = &self.cells[op as usize];
            let is_one_class = classes.iter().filter(|both| both[0].count() > 0).count() <= 1;
            let classes = if is_one_class { &[][..] } else { classes };
            let names = CLASSES.iter().map(|(_, name)| *name).chain([LARGER]).map(Some);
            for (size, [recorded, simulated]) in [(None, all)].into_iter().chain(names.zip(classes)) {
                match cell(op, size, recorded, simulated) {
                    Ok(cell) => compared.push(cell),
                    Err(reason) => not_compared.extend(reason),
                }
            }
        }
        let left_out =
            [(self.unknown, "requests have no recorded latency"), (self.failed, "simulated requests failed")];
        let left_out = left_out.into_iter().filter(|(requests, _)| *requests > 0);
        not_compared.extend(left_out.map(|(requests, what)| format!("{} {what}", count(requests))));
        compared
    }

    /// Rates over the time to the last completion of each side.
    pub fn rates(&self) -> Vec<RateResult> {
        let mut sums = [(0, 0); 2];
        for [all, ..] in &self.cells {
            for (sum, side) in sums.iter_mut().zip(all) {
                *sum = (sum.0 + side.count(), sum.1 + side.sum());
            }
        }
        let rates = |quantity: &str, values: [f64; 2]| {
            let [recorded, simulated] = values;
            RateResult { quantity: quantity.to_owned(), rate: Compared::of(recorded, simulated) }
        };
        if self.ends_ns.contains(&0) {
            return Vec::new();
        }
        let over = |side: usize, value: f64| value / self.ends_ns[side] as f64;
        vec![
            rates("requests/s", [0, 1].map(|side| over(side, sums[side].0 as f64 * 1e9))),
            rates("bytes/s", [0, 1].map(|side| over(side, self.bytes as f64 * 1e9))),
            rates("outstanding on average", [0, 1].map(|side| over(side, sums[side].1 as f64))),
        ]
    }
}

impl Observer for Cells {
    fn interest(&self) -> Interest {
        Interest { served: true, ..Interest::default() }
    }

    fn served(&mut self, served: &Served) {
        let request = &served.request;
        let recorded_ns = Ns::from(request.recorded_latency_ns);
        if !self.source.is_known(recorded_ns) {
            self.unknown += 1;
            return;
        }
        if let Status::Failed(_) = served.status {
            self.failed += 1;
            return;
        }
        let simulated_ns = self.interval.latency_ns(served);
        let wait_ns = served.dispatched_ns - request.arrival_ns;
        if self.interval == Interval::InDrive && wait_ns > 0 {
            self.waits.record(wait_ns);
        }
        let of_op = &mut self.cells[request.op as usize];
        for cell in [0, Self::class(request)] {
            of_op[cell][0].record(recorded_ns);
            of_op[cell][1].record(simulated_ns);
        }
        self.bytes += u64::from(request.sectors) * SECTOR_BYTES;
        let ends_ns = [request.arrival_ns + recorded_ns, served.ended_ns];
        self.ends_ns = [0, 1].map(|side| self.ends_ns[side].max(ends_ns[side]));
    }
}

/// Compares a cell; the error says why it cannot be, of one that has any request.
fn cell(
    op: Op,
    size: Option<&'static str>,
    recorded: &Latency,
    simulated: &Latency,
) -> Result<CellResult, Option<String>> {
    let has = recorded.count().min(simulated.count());
    let plural = if op == Op::Flush { "es" } else { "s" };
    let name = || format!("{}{plural}{}", op.name(), size.map_or(String::new(), |size| format!(" {size}")));
    if has == 0 {
        return Err(None);
    }
    if has < LEAST {
        let latencies = if has == 1 { "latency" } else { "latencies" };
        return Err(Some(format!("{}: {} {latencies}, of which a cell takes {LEAST}", name(), count(has))));
    }
    let Some(likeness) = Likeness::of(recorded, simulated) else {
        return Err(Some(format!("{}: all latencies are shorter than a tick of the recording's clock", name())));
    };
    Ok(result(op, size, [recorded.count(), simulated.count()], likeness))
}

/// A cell of so many recorded and simulated latencies.
pub fn result(op: Op, size: Option<&str>, requests: [u64; 2], likeness: Likeness) -> CellResult {
    CellResult {
        operation: op.name().to_owned(),
        size: size.map(str::to_owned),
        recorded_requests: requests[0],
        simulated_requests: requests[1],
        mean_ns: likeness.mean,
        percentiles: likeness.percentiles,
        distance: likeness.distance,
        kolmogorov_smirnov: likeness.kolmogorov_smirnov,
        stalls: likeness.stalls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_device::{Parts, Reason};

    /// A request of so many sectors that took `recorded_ns` on the recorded drive, and in the simulated one `wait_ns`
    /// in the host and `served_ns` in the drive.
    fn served(arrival_ns: Ns, op: Op, sectors: u32, recorded_ns: u32, wait_ns: Ns, served_ns: Ns) -> Served {
        let request = Request::new(op, 0, sectors).arriving_at(arrival_ns).with_recorded_latency(recorded_ns);
        Served {
            request,
            admitted_ns: arrival_ns,
            dispatched_ns: arrival_ns + wait_ns,
            ended_ns: arrival_ns + wait_ns + served_ns,
            status: Status::DONE,
            command: (0, sectors),
            parts: Parts::default(),
            last: None,
        }
    }

    fn cells(interval: Interval, requests: &[Served]) -> Cells {
        let mut cells = Cells::new(LatencySource::Column, interval);
        requests.iter().for_each(|served| cells.served(served));
        cells
    }

    #[test]
    fn requests_fall_into_classes_by_operation_and_size() {
        let mut requests = Vec::new();
        for number in 0..100 {
            let at = number * 1_000;
            requests.push(served(at, Op::Read, 8, 100, 0, 100));
            requests.push(served(at, Op::Read, 9, 300, 0, 300));
            requests.push(served(at, Op::Write, 1_024, 500, 0, 250));
        }
        requests.push(served(100_000, Op::Read, 512, 900, 0, 900));
        let mut not_compared = Vec::new();
        let compared = cells(Interval::Whole, &requests).compared(&mut not_compared);
        let seen: Vec<_> = compared
            .iter()
            .map(|cell| (&cell.operation[..], cell.size.as_deref(), cell.recorded_requests, cell.mean_ns.recorded))
            .collect();
        let all_reads = (100.0 * 400.0 + 900.0) / 201.0;
        let expected = [
            ("read", None, 201, all_reads),
            ("read", Some("to 4 KiB"), 100, 100.0),
            ("read", Some("to 16 KiB"), 100, 300.0),
            ("write", None, 100, 500.0),
        ];
        assert_eq!(seen, expected);
        assert_eq!(compared[3].mean_ns.error, Some(-0.5));
        assert_eq!(not_compared, ["reads to 256 KiB: 1 latency, of which a cell takes 100"]);
    }

    #[test]
    fn a_latency_in_the_drive_leaves_out_the_wait_before_it_and_counts_it() {
        let requests: Vec<_> = (0..100).map(|at| served(at, Op::Read, 8, 100, 40 * (at % 2), 100)).collect();
        let in_drive = cells(Interval::InDrive, &requests);
        assert_eq!(in_drive.compared(&mut Vec::new())[0].mean_ns, Compared::of(100.0, 100.0));
        assert_eq!((in_drive.waits.count(), in_drive.waits.max()), (50, 40));
        let whole = cells(Interval::Whole, &requests);
        assert_eq!(whole.compared(&mut Vec::new())[0].mean_ns, Compared::of(100.0, 120.0));
    }

    #[test]
    fn requests_without_a_latency_and_failed_ones_are_counted() {
        let mut requests: Vec<_> = (0..100).map(|at| served(at, Op::Flush, 0, 100, 0, 100)).collect();
        requests.push(served(0, Op::Flush, 0, 0, 0, 100));
        requests.push(Served { status: Status::Failed(Reason::ReadOnly), ..requests[0] });
        let mut not_compared = Vec::new();
        let compared = cells(Interval::Whole, &requests).compared(&mut not_compared);
        assert_eq!((compared.len(), compared[0].recorded_requests), (1, 100));
        assert_eq!(not_compared, ["1 requests have no recorded latency", "1 simulated requests failed"]);
    }

    #[test]
    fn rates_are_over_the_time_to_the_last_completion_of_each_side() {
        let requests = [served(0, Op::Read, 2, 500, 0, 250), served(500, Op::Write, 2, 500, 250, 250)];
        let rates = cells(Interval::Whole, &requests).rates();
        let seen: Vec<_> = rates.iter().map(|one| (&one.quantity[..], one.rate.recorded, one.rate.simulated)).collect();
        assert_eq!(
            seen,
            [("requests/s", 2e6, 2e6), ("bytes/s", 2_048e6, 2_048e6), ("outstanding on average", 1.0, 0.75)]
        );
    }
}
