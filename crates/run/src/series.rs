//! The course of a run in bounded memory: what `run.series` adds to a result.
//!
//! ```text
//! at the end of each interval: keep the counters of the run so far (a mark)
//! with more than 512 intervals: drop every second mark, and go on with intervals twice as long
//! at the end: the differences of neighbouring marks
//! ```
//!
//! Marks hold counters since the start, so that dropping one joins its two intervals exactly, percentiles included. The
//! intervals of a run depend on its simulated time alone. Nothing is recorded between two marks: see decision 0067.

use flashloom_device::{Engine, Observer, Outcome, Sample, Target};
use flashloom_nand::Geometry;
use flashloom_units::{Histogram, Ns};

use flashloom_figures::result::{BusySeries, EraseMap, HistogramResult, HistogramsResult, LatencySeries, SeriesResult};

/// Intervals of a result, at most.
const MAX_INTERVALS: usize = 512;
/// Rows of a map, and columns of the map of erases, at most.
const MAX_GROUPS: usize = 64;

/// The counters of a run at one moment.
struct Mark {
    sample: Sample,
    reads: Histogram,
    writes: Histogram,
    /// Busy time by row.
    channels: Vec<Ns>,
    dies: Vec<Ns>,
}

impl Mark {
    fn of(engine: &Engine, time_ns: Ns) -> Self {
        let (host, nand) = (engine.host_report(), engine.nand());
        Self {
            sample: engine.sample_at(time_ns),
            reads: host.read_latency.histogram(),
            writes: host.write_latency.histogram(),
            channels: in_rows(nand.channel_busy_ns(time_ns).collect()),
            dies: in_rows(nand.die_busy_ns(time_ns).collect()),
        }
    }
}

/// Observer that keeps the course of a run, of the first engine of its target.
pub struct Series {
    interval_ns: Ns,
    marks: Vec<Mark>,
}

impl Series {
    /// The course of a run in intervals of at least this length.
    pub fn new(interval_ns: Ns) -> Self {
        Self { interval_ns, marks: Vec::new() }
    }

    /// The part of the result, after the run.
    pub fn result(&self, geometry: &Geometry, outcome: &Outcome) -> SeriesResult {
        let state = |of: fn(&Sample) -> u64| self.marks.iter().skip(1).map(|mark| of(&mark.sample)).collect();
        SeriesResult {
            interval_ns: self.interval_ns,
            end_ns: state(|sample| sample.time_ns),
            completed: self.differences(|mark| mark.sample.completed),
            read_bytes: self.differences(|mark| mark.sample.read_bytes),
            write_bytes: self.differences(|mark| mark.sample.write_bytes),
            read_latency_ns: self.latency(|mark| &mark.reads),
            write_latency_ns: self.latency(|mark| &mark.writes),
            outstanding: state(|sample| sample.outstanding),
            dirty_pages: self.marks.iter().skip(1).map(|mark| mark.sample.dirty_pages).collect(),
            host_page_writes: self.differences(|mark| mark.sample.host_page_writes),
            programs: self.differences(|mark| mark.sample.programs.iter().sum()),
            erases: self.differences(|mark| mark.sample.erases),
            free_blocks: state(|sample| sample.free_blocks),
            channel_busy: self.busy(geometry.channels, |mark| &mark.channels),
            die_busy: self.busy(geometry.total_dies(), |mark| &mark.dies),
            erase_map: erase_map(geometry, &outcome.erase_counts),
            histograms: HistogramsResult {
                read: HistogramResult::of(&outcome.host.read_latency.histogram()),
                write: HistogramResult::of(&outcome.host.write_latency.histogram()),
                all: HistogramResult::of(&outcome.host.latency().histogram()),
            },
        }
    }

    /// What a counter gained in each interval. Padding that the mapping has not stored yet can make the pages of the
    /// host fewer than before: that is no gain, and what comes back is none either, so that gains add up to the total.
    fn differences(&self, of: impl Fn(&Mark) -> u64) -> Vec<u64> {
        let mut most = self.marks.first().map_or(0, &of);
        let gain = |count: u64| {
            let gained = count.saturating_sub(most);
            most = most.max(count);
            gained
        };
        self.marks.iter().skip(1).map(of).map(gain).collect()
    }

    fn latency(&self, of: fn(&Mark) -> &Histogram) -> Option<LatencySeries> {
        self.marks.last().filter(|mark| of(mark).count() > 0)?;
        let intervals: Vec<Histogram> = self.marks.windows(2).map(|pair| of(&pair[1]).since(of(&pair[0]))).collect();
        let percentile = |percent| intervals.iter().map(|interval| interval.percentile(percent)).collect();
        Some(LatencySeries { p50: percentile(50.0), p99: percentile(99.0), p99_9: percentile(99.9) })
    }

    fn busy(&self, parts: u32, of: fn(&Mark) -> &[Ns]) -> BusySeries {
        let rows = self.marks.first().map_or(0, |mark| of(mark).len());
        let rows = (0..rows).map(|row| self.differences(|mark| of(mark)[row])).collect();
        BusySeries { parts_per_row: per_group(parts as usize) as u32, rows }
    }

    /// Joins every two intervals.
    fn halve(&mut self) {
        let mut at = 0;
        self.marks.retain(|_| {
            at += 1;
            at % 2 == 1
        });
        self.interval_ns *= 2;
    }
}

impl Observer for Series {
    fn begin(&mut self, target: &dyn Target) {
        self.marks.extend(target.engines().first().map(|engine| Mark::of(engine, 0)));
    }

    fn next_look_ns(&self) -> Ns {
        self.marks.last().map_or(Ns::MAX, |mark| mark.sample.time_ns.saturating_add(self.interval_ns))
    }

    /// Adds a mark; at the end of a run there may be one at the same time, before which less had happened.
    fn look(&mut self, time_ns: Ns, target: &dyn Target) {
        let engines = target.engines();
        let Some(engine) = engines.first() else { return };
        if self.marks.len() > 1 && self.marks.last().is_some_and(|mark| mark.sample.time_ns == time_ns) {
            self.marks.pop();
        }
        self.marks.push(Mark::of(engine, time_ns));
        if self.marks.len() > MAX_INTERVALS {
            self.halve();
        }
    }
}

/// Neighbours that share a row or a column, so that a map of this many has at most [`MAX_GROUPS`].
fn per_group(parts: usize) -> usize {
    parts.div_ceil(MAX_GROUPS).max(1)
}

/// Sums of neighbours that share a row.
fn in_rows(parts: Vec<Ns>) -> Vec<Ns> {
    parts.chunks(per_group(parts.len())).map(|row| row.iter().sum()).collect()
}

/// Erases summed to a map: planes by rows, the blocks of a plane by columns.
fn erase_map(geometry: &Geometry, counts: &[u32]) -> EraseMap {
    let (planes, blocks) = (geometry.total_planes() as usize, geometry.blocks as usize);
    let (planes_per_row, blocks_per_column) = (per_group(planes), per_group(blocks));
    let mut rows = vec![vec![0; blocks.div_ceil(blocks_per_column)]; planes.div_ceil(planes_per_row)];
    for (plane, counts) in counts.chunks(blocks).enumerate() {
        let columns = counts.chunks(blocks_per_column).map(|column| column.iter().copied().map(u64::from).sum::<u64>());
        rows[plane / planes_per_row].iter_mut().zip(columns).for_each(|(cell, erases)| *cell += erases);
    }
    EraseMap { planes_per_row: planes_per_row as u32, blocks_per_column: blocks_per_column as u32, rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_nand::Shape;

    fn mark(time_ns: Ns) -> Mark {
        let sample = Sample { time_ns, completed: time_ns / 10, ..Sample::default() };
        Mark {
            sample,
            reads: Histogram::default(),
            writes: Histogram::default(),
            channels: vec![time_ns / 2],
            dies: vec![time_ns / 4, time_ns],
        }
    }

    #[test]
    fn joined_intervals_have_the_sums_of_both() {
        let mut series = Series { interval_ns: 100, marks: (0..5).map(|at| mark(100 * at)).collect() };
        assert_eq!(series.differences(|mark| mark.sample.completed), [10, 10, 10, 10]);
        series.halve();
        assert_eq!((series.interval_ns, series.next_look_ns()), (200, 600));
        assert_eq!(series.differences(|mark| mark.sample.completed), [20, 20]);
        let busy = series.busy(2, |mark| &mark.dies);
        assert_eq!((busy.parts_per_row, busy.rows), (1, vec![vec![50, 50], vec![200, 200]]));
    }

    #[test]
    fn gains_add_up_where_a_counter_falls_back() {
        let mut series = Series { interval_ns: 100, marks: (0..5).map(|at| mark(100 * at)).collect() };
        for (mark, pages) in series.marks.iter_mut().zip([3, 10, 8, 9, 15]) {
            mark.sample.host_page_writes = pages;
        }
        assert_eq!(series.differences(|mark| mark.sample.host_page_writes), [7, 0, 0, 5]);
    }

    #[test]
    fn maps_have_at_most_64_rows_and_columns_that_add_up() {
        assert_eq!(in_rows((1..=64).collect()), (1..=64).collect::<Vec<_>>());
        assert_eq!(in_rows(vec![1; 65]), [[2; 32].as_slice(), &[1]].concat());
        let shape = Shape { channels: 7, ways: 5, dies: 2, planes: 2, blocks: 100, pages: 8, page_bytes: 4096 };
        let geometry = Geometry::new(shape);
        let counts: Vec<u32> = (0..geometry.total_blocks()).map(|block| block as u32 / 100).collect();
        let map = erase_map(&geometry, &counts);
        assert_eq!((map.planes_per_row, map.blocks_per_column), (3, 2));
        assert_eq!((map.rows.len(), map.rows[0].len()), (47, 50));
        assert_eq!((map.rows[0][0], map.rows[1][49]), (2 * (1 + 2), 2 * (3 + 4 + 5)));
        let sum = |counts: &[u32]| counts.iter().copied().map(u64::from).sum::<u64>();
        assert_eq!(map.rows.iter().flatten().sum::<u64>(), sum(&counts));
    }
}
