//! Measurements of one drive, and their order.
//!
//! A drive changes while it is written to: its buffer fills, its spare blocks are used up, and garbage collection
//! begins. Therefore reads go first, writes to each span begin on a drive in its initial state, the buffer is filled
//! before anything counts, and queues are visited forth and back several times, so that changes meanwhile weigh equally
//! on all of them.

use std::ops::Range;

use flashloom_workload::Op;

use super::judge::{self, Effect};
use super::{Failure, Load, Measure, Places, Size, Target};

/// Visits of each queue at a span: an even number, forth and back.
const VISITS: u32 = 8;
/// The smallest span is this fraction of the drive.
const SMALLEST_PART: u64 = 1_024;
/// A region's boundary is found to this fraction of the smallest span.
const BOUNDARY_PART: u64 = 16;

/// Points of the curves.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Spans from the start of the drive, in requests, the smallest first; the last one is the whole drive.
    pub spans: Vec<u64>,
    /// Numbers of outstanding requests, in ascending order.
    pub outstanding: Vec<u32>,
    /// Requests measured at a point.
    requests: u32,
}

impl Grid {
    /// Minimum size of a span, in requests.
    pub const LEAST_SPAN: u64 = 64;

    /// Spans of a drive of `capacity` requests, each twice the one before, and queues up to `most`, each a half or a
    /// third longer than the one before.
    pub fn new(capacity: u64, most: u32, requests: u32) -> Self {
        let parts = (0..=SMALLEST_PART.ilog2()).rev();
        let spans = parts.map(|power| capacity >> power).filter(|&span| span >= Self::LEAST_SPAN).collect();
        let powers = (0..32).map(|power| 1_u64 << power).flat_map(|queue| [queue, queue * 3 / 2]);
        let mut outstanding: Vec<u32> =
            powers.take_while(|&queue| queue < u64::from(most)).map(|queue| queue as u32).chain([most]).collect();
        outstanding.dedup();
        Self { spans, outstanding, requests }
    }

    /// Approximate number of requests that a sweep measures.
    pub fn requests(&self) -> u64 {
        let points = self.spans.len() * (1 + 2 * self.outstanding.len());
        points as u64 * u64::from(self.requests)
    }

    fn longest(&self) -> u32 {
        *self.outstanding.last().expect("there is at least one queue")
    }

    fn whole(&self) -> u64 {
        *self.spans.last().expect("there is at least the whole drive")
    }
}

/// Measurements of one drive, in requests per second.
#[derive(Clone, Debug)]
pub struct Swept {
    /// Reads of one sector with the longest queue, by span.
    pub search: Vec<f64>,
    /// End of the first region, in requests, if the span has the effect of regions.
    pub boundary: Option<u64>,
    /// Reads by span and then by outstanding requests.
    pub reads: Vec<Vec<f64>>,
    /// Writes by span and then by outstanding requests.
    pub writes: Vec<Vec<f64>>,
}

/// Measures everything about a drive.
///
/// # Errors
/// Reason why the drive could not serve a load.
pub fn sweep(target: &mut dyn Target, grid: &Grid, reach: f64) -> Result<Swept, Failure> {
    let search =
        grid.spans.iter().map(|&span| sectors(target, grid, [0..span, 0..0])).collect::<Result<Vec<_>, _>>()?;
    let boundary = match judge::effect(&search, reach) {
        Effect::Parallel(span) => boundary(target, grid, span, reach)?,
        Effect::None | Effect::Cached(_) => None,
    };
    let mut rows = |op| grid.spans.iter().map(|&span| by_queue(target, grid, op, span)).collect::<Result<Vec<_>, _>>();
    let (reads, writes) = (rows(Op::Read)?, rows(Op::Write)?);
    Ok(Swept { search, boundary, reads, writes })
}

/// Reads of one sector per second, with the longest queue.
fn sectors(target: &mut dyn Target, grid: &Grid, places: Places) -> Result<f64, Failure> {
    let outstanding = grid.longest();
    let requests = grid.requests.max(8 * outstanding);
    let load = Load { op: Op::Read, size: Size::Sector, places, outstanding, requests };
    target.measure(&load).map(|measure| measure.iops())
}

/// Requests per second within a span, for each queue.
fn by_queue(target: &mut dyn Target, grid: &Grid, op: Op, span: u64) -> Result<Vec<f64>, Failure> {
    let load =
        |outstanding: u32, requests| Load { op, size: Size::Request, places: [0..span, 0..0], outstanding, requests };
    if op == Op::Write {
        target.renew()?;
        if target.buffered() > 0 {
            target.measure(&load(grid.longest(), target.buffered()))?;
        }
    }
    let mut measures = vec![Measure::default(); grid.outstanding.len()];
    for step in 0..measures.len() * VISITS as usize {
        let (visit, step) = (step / measures.len(), step % measures.len());
        let index = if visit % 2 == 0 { step } else { measures.len() - 1 - step };
        let outstanding = grid.outstanding[index];
        // A long queue needs many requests to pass through it.
        let requests = grid.requests.div_ceil(VISITS).max(2 * outstanding);
        let measure = target.measure(&load(outstanding, requests))?;
        measures[index].requests += measure.requests;
        measures[index].elapsed_ns += measure.elapsed_ns;
    }
    Ok(measures.iter().map(Measure::iops).collect())
}

impl Measure {
    fn iops(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.requests as f64 * 1e9 / self.elapsed_ns as f64 }
    }
}

/// End of the first region, which the spans of the grid have shown to lie above `span` (less what `reach` tolerates)
/// and below the next one. Requests alternate between a range at the start of the drive and another one at X; while X
/// is in the first region too they are as slow as in one place, and beyond it as fast as at both ends of the drive.
/// With half of the second range in the region, throughput is between the two ([`judge::between`]).
fn boundary(target: &mut dyn Target, grid: &Grid, span: usize, reach: f64) -> Result<Option<u64>, Failure> {
    let stretch = grid.spans[0];
    if span == 0 {
        // There may be several regions in the smallest span.
        return Ok(Some(stretch));
    }
    let mut iops = |second: Range<u64>| sectors(target, grid, [0..stretch, second]);
    let (same, apart) = (iops(0..stretch)?, iops(grid.whole() - stretch..grid.whole())?);
    if same >= reach * apart {
        return Ok(None);
    }
    let limit = judge::between(same, apart);
    let mut low = (grid.spans[span] as f64 * reach) as u64 - stretch.min(grid.spans[span] / 2);
    let mut high = grid.spans[span + 1];
    while high - low > stretch.div_ceil(BOUNDARY_PART) {
        let middle = low.midpoint(high);
        let end = (middle + stretch).min(grid.whole());
        if iops(end - stretch..end)? < limit { low = middle } else { high = middle }
    }
    let found = low.midpoint(high) + stretch / 2;
    Ok(Some(judge::rounded(found, grid.whole(), stretch / 4)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_halves_down_to_a_thousandth_and_queues_end_at_the_longest() {
        let grid = Grid::new(1 << 20, 31, 100);
        assert_eq!((grid.spans[0], grid.spans.len(), grid.whole()), (1 << 10, 11, 1 << 20));
        assert_eq!(grid.outstanding, [1, 2, 3, 4, 6, 8, 12, 16, 24, 31]);
        assert_eq!(Grid::new(1_000, 1, 100).spans, [125, 250, 500, 1_000]);
        assert_eq!(Grid::new(1_000, 1, 100).outstanding, [1]);
    }

    /// A drive of regions without chance: a request takes a unit of time in its region, and regions work in parallel.
    struct Ideal {
        capacity: u64,
        region: u64,
    }

    impl Target for Ideal {
        fn capacity(&self) -> u64 {
            self.capacity
        }

        fn buffered(&self) -> u32 {
            0
        }

        fn renew(&mut self) -> Result<(), Failure> {
            Ok(())
        }

        fn measure(&mut self, load: &Load) -> Result<Measure, Failure> {
            let places: Vec<_> = load.places.iter().filter(|place| !place.is_empty()).collect();
            let share = |region: u64| -> f64 {
                let own = region * self.region..(region + 1) * self.region;
                let within = |place: &Range<u64>| place.end.min(own.end).saturating_sub(place.start.max(own.start));
                places.iter().map(|place| within(place) as f64 / (place.end - place.start) as f64).sum()
            };
            let busiest = (0..self.capacity.div_ceil(self.region)).map(share).fold(0.0, f64::max) / places.len() as f64;
            // One request alone is never served by two regions at once.
            let parts = (1.0 / busiest).min(f64::from(load.outstanding));
            let elapsed_ns = (f64::from(load.requests) * 1_000.0 / parts) as u64;
            Ok(Measure { requests: u64::from(load.requests), elapsed_ns })
        }
    }

    #[test]
    fn the_boundary_of_a_region_is_found_whatever_its_size() {
        for region in [1 << 16, 100_000, 99_991, 333_333, 1_024 * 17] {
            let grid = Grid::new(1 << 20, 32, 10_000);
            let swept = sweep(&mut Ideal { capacity: 1 << 20, region }, &grid, 0.9).expect("it cannot fail");
            let found = swept.boundary.expect("span matters");
            assert!(found.abs_diff(region) <= (1 << 10) / 4, "{found} for {region}");
        }
    }

    #[test]
    fn a_drive_without_regions_has_no_boundary() {
        let grid = Grid::new(1 << 20, 32, 10_000);
        let swept = sweep(&mut Ideal { capacity: 1 << 20, region: 1 << 20 }, &grid, 0.9).expect("it cannot fail");
        assert_eq!(swept.boundary, None);
    }
}
