//! Bounds: the distance of a run from the best possible one. The accesses to buffer and FTL are recorded during the
//! run, and their bounds computed from the record; for the scheduler, the run is repeated in every order.

mod orders;
mod record;

use std::collections::BTreeMap;

use flashloom_buffer::order::belady::{self, Best};
use flashloom_ftl::collection::clairvoyant::{self, Array};

use super::{Failure, Input};
use flashloom_config::Config;
use flashloom_figures::result::{BoundsResult, BufferBound, FtlBound, RunResult};
use flashloom_units::{Violation, violation};

pub(super) use record::Record;

/// A bound, or the reason why there is none.
type Bound<T> = Result<T, String>;

/// Computes the bounds of a recorded run.
///
/// # Errors
/// A figure of the run beats its bound: one of the two is wrong.
pub(super) fn of(input: Input<'_>, record: Record, result: &RunResult) -> Result<BoundsResult, Failure> {
    let config = input.with.config;
    let scheduler = orders::scheduler(input, &record, result)?;
    let record = match result.end_of_life {
        Some(_) => Err("the drive's life ended".to_owned()),
        None => record.complete(config.run.drain),
    };
    let mut left_out = BTreeMap::new();
    let mut told = |part: &str, why: String| drop(left_out.insert(part.to_owned(), why));
    let buffer = record.as_ref().map_err(Clone::clone).and_then(|record| buffer(record, result));
    let ftl = record.map(|record| ftl(config, &record, result));
    let bounds = BoundsResult {
        buffer: buffer.map_err(|why| told("buffer", why)).ok(),
        ftl: ftl.map_err(|why| told("ftl", why)).ok(),
        scheduler: scheduler.map_err(|why| told("scheduler", why)).ok(),
        left_out,
    };
    hold(&bounds, result).map_err(Failure::Check)?;
    Ok(bounds)
}

fn buffer(record: &Record, result: &RunResult) -> Bound<BufferBound> {
    let Some(run) = &result.buffer else { return Err("the drive has no write buffer".to_owned()) };
    let capacity = run.occupancy.capacity_pages as u32;
    let Best { page_writes, write_hits, evicted_pages } = belady::best(&record.accesses, capacity);
    if page_writes == 0 {
        return Err("no page was written".to_owned());
    }
    Ok(BufferBound {
        most_write_hits: write_hits,
        most_write_hits_share: write_hits as f64 / page_writes as f64,
        fewest_evicted_pages: evicted_pages,
        misses_over_fewest: (run.page_writes - run.write_hits) as f64 / (page_writes - write_hits) as f64,
    })
}

fn ftl(config: &Config, record: &Record, result: &RunResult) -> FtlBound {
    let geometry = config.device.geometry();
    let bad = config.device.nand.bad_blocks_a_plane() * geometry.total_planes();
    let array = Array { blocks: geometry.total_blocks() as u32 - bad, block_pages: geometry.pages };
    let fewest = clairvoyant::least_erases(geometry.pages, record.erased_pages, record.page_writes());
    // As in the write amplification of a result, padding is the buffer's work.
    let written = record.page_writes() - record.padding;
    let waf = |copies: u64| (written > 0).then(|| (record.page_writes() + copies) as f64 / written as f64);
    FtlBound {
        fewest_block_erases: fewest,
        erases_over_fewest: (fewest > 0).then(|| result.ftl.block_erases as f64 / fewest as f64),
        clairvoyant_waf: clairvoyant::copies(array, record.valid.iter().copied(), &record.changes).and_then(waf),
    }
}

/// Checks that no figure of a run beats its bound.
fn hold(bounds: &BoundsResult, result: &RunResult) -> Result<(), Violation> {
    if let (Some(bound), Some(buffer)) = (&bounds.buffer, &result.buffer) {
        let (hits, evicted) = (buffer.write_hits, buffer.evicted_pages);
        if hits > bound.most_write_hits || evicted < bound.fewest_evicted_pages {
            let BufferBound { most_write_hits, fewest_evicted_pages, .. } = bound;
            return Err(violation!(
                "bounds: {hits} write hits of at most {most_write_hits}, {evicted} pages evicted of at least \
                 {fewest_evicted_pages}"
            ));
        }
    }
    if let Some(bound) = &bounds.ftl
        && result.ftl.block_erases < bound.fewest_block_erases
    {
        let fewest = bound.fewest_block_erases;
        return Err(violation!("bounds: {} erases of at least {fewest}", result.ftl.block_erases));
    }
    if let Some(bound) = &bounds.scheduler
        && (bound.duration_over_shortest < 1.0 || bound.mean_latency_over_least < 1.0)
    {
        let (duration, latency) = (bound.duration_over_shortest, bound.mean_latency_over_least);
        return Err(violation!("bounds: {duration} of the shortest duration, {latency} of the least mean latency"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prepared, Quiet};
    use flashloom_config::{Catalog, Experiment, Source};

    const EXPERIMENT: &str = r#"
workload = { kind = "synthetic", replay = "closed", queue_depth = 4, synthetic = { requests = 4, read_share = 0.0 } }
device = { channels = 1, ways = 1, planes = 1, blocks = 16, pages = 8, over_provisioning = 0.5 }
buffer.capacity = "16KiB"
"#;

    #[test]
    fn a_run_that_beats_any_of_its_bounds_fails() {
        let source = Source::text("bounds.toml", EXPERIMENT);
        let varies = ["run.seed=1".to_owned()];
        let experiment = Experiment::from_source(&Catalog::builtin(), source, &[], Some(&varies)).expect("it is sound");
        let prepared = Prepared::new(&experiment).expect("it reads no files").with_bounds(true);
        let run = prepared.compare(false, &Quiet).expect("it runs").runs.remove(0).result;
        let bounds = run.bounds.clone().expect("they were asked for");
        assert_eq!(hold(&bounds, &run), Ok(()));
        let beaten: [fn(&mut BoundsResult, &mut RunResult); 5] = [
            |_, run| run.buffer.as_mut().expect("it has a buffer").write_hits = u64::MAX,
            |_, run| run.buffer.as_mut().expect("it has a buffer").evicted_pages = 0,
            |bounds, _| bounds.ftl.as_mut().expect("it has an FTL").fewest_block_erases = u64::MAX,
            |bounds, _| bounds.scheduler.as_mut().expect("it is short").duration_over_shortest = 0.999,
            |bounds, _| bounds.scheduler.as_mut().expect("it is short").mean_latency_over_least = 0.999,
        ];
        for (case, beat) in beaten.iter().enumerate() {
            let (mut bounds, mut run) = (bounds.clone(), run.clone());
            beat(&mut bounds, &mut run);
            assert!(hold(&bounds, &run).is_err(), "case {case}: {bounds:?}");
        }
    }
}
