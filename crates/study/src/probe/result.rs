//! The result of a probe, as JSON: the means over all drives, and the judgement of them.

use flashloom_figures::result_types;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Probe;
use super::judge::{self, Effect};
use super::sweep::Swept;

/// Format identifier of [`ProbeResult`]; the number changes if programs that read it have to.
pub const PROBE_SCHEMA: &str = "flashloom/probe/1";

result_types! {
    /// Result of probing a drive.
    ProbeResult {
        /// Format identifier of this object.
        schema: String,
        /// Effective configuration, with every default filled in; workload and scheduler were not used.
        config: serde_json::Value,
        /// Number of requests measured at each point on each drive.
        requests: u32,
        /// Seed of each drive.
        seeds: Vec<u64>,
        /// Share of a throughput that counts as reaching it.
        reach: f64,
        /// The search for regions: reads of one sector, by span.
        search: SearchResult,
        /// Size of the requests of `read` and `write`.
        request_bytes: u64,
        /// Reads by span and queue.
        read: DirectionResult,
        /// Writes by span and queue, each span on a drive of its own.
        write: DirectionResult,
        /// Resulting region size and batches; absent if there are no regions.
        region?: RegionResult,
    }

    /// Reads of one sector with the longest queue.
    SearchResult {
        /// Throughput by span, the smallest first.
        points: Vec<PointResult>,
        /// Effect of the span on throughput.
        effect: SpanEffect,
    }

    /// Curves of reads, or of writes.
    DirectionResult {
        /// Throughput by span and by outstanding requests, the smallest span first.
        points: Vec<PointResult>,
    }

    /// Throughput at one point.
    PointResult {
        /// Size of the span: requests fall into this many bytes from the start of the drive.
        span_bytes: u64,
        /// Requests outstanding at all times.
        outstanding: u32,
        /// Requests per second.
        iops: IopsResult,
    }

    /// Requests per second, over all drives.
    IopsResult {
        /// The mean.
        mean: f64,
        /// The lowest of all drives.
        min: f64,
        /// The highest of all drives.
        max: f64,
    }

    /// Region size and batches, as `[host.pardispatcher]` takes them.
    RegionResult {
        /// Size of a region.
        region_size_bytes: u64,
        /// True if regions may be smaller still, because this is the smallest span that was measured.
        at_most: bool,
        /// Shortest queue of reads that reaches the best throughput in the region's span.
        read_batch: u32,
        /// Shortest queue of writes that reaches the best throughput in the region's span.
        write_batch: u32,
    }
}

/// Effect of the span's size on throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum SpanEffect {
    /// Every span reaches the next one, and the whole drive reaches every span.
    None,
    /// Small spans are slower: their requests share parts of the drive.
    Parallel {
        /// The smallest span that does not reach the next one.
        span_bytes: u64,
    },
    /// Small spans are faster, and every span reaches the next one.
    Cached {
        /// The largest span that reaches the fastest one.
        span_bytes: u64,
    },
}

impl IopsResult {
    fn over(values: impl Iterator<Item = f64> + Clone) -> Self {
        Self {
            mean: values.clone().sum::<f64>() / values.clone().count() as f64,
            min: values.clone().fold(f64::INFINITY, f64::min),
            max: values.fold(0.0, f64::max),
        }
    }
}

fn means(points: &[PointResult]) -> Vec<f64> {
    points.iter().map(|point| point.iops.mean).collect()
}

/// The result: means over all drives, and the conclusions from them.
pub(super) fn describe(probe: &Probe<'_>, seeds: &[u64], drives: &[Swept]) -> ProbeResult {
    let (grid, reach) = (&probe.grid, probe.params.reach);
    let bytes = |span: usize| grid.spans[span] * probe.request_bytes;
    let point = |span: usize, queue: usize, of: &dyn Fn(&Swept) -> f64| PointResult {
        span_bytes: bytes(span),
        outstanding: grid.outstanding[queue],
        iops: IopsResult::over(drives.iter().map(of)),
    };
    let queues = grid.outstanding.len();
    let all = || (0..grid.spans.len()).flat_map(|span| (0..queues).map(move |queue| (span, queue)));
    let read: Vec<_> = all().map(|(span, queue)| point(span, queue, &|swept| swept.reads[span][queue])).collect();
    let write: Vec<_> = all().map(|(span, queue)| point(span, queue, &|swept| swept.writes[span][queue])).collect();
    let search: Vec<_> =
        (0..grid.spans.len()).map(|span| point(span, queues - 1, &|swept| swept.search[span])).collect();
    let judged = judge::effect(&means(&search), reach);
    let batch = |points: &[PointResult], span: usize| {
        judge::batch(&grid.outstanding, &means(&points[span * queues..(span + 1) * queues]), reach)
    };
    let (effect, region) = match judged {
        Effect::None => (SpanEffect::None, None),
        Effect::Cached(span) => (SpanEffect::Cached { span_bytes: bytes(span) }, None),
        Effect::Parallel(span) => {
            let region = RegionResult {
                region_size_bytes: median_boundary(drives).unwrap_or(grid.spans[span]) * probe.request_bytes,
                at_most: span == 0,
                read_batch: batch(&read, span),
                write_batch: batch(&write, span),
            };
            (SpanEffect::Parallel { span_bytes: bytes(span) }, Some(region))
        }
    };
    ProbeResult {
        schema: PROBE_SCHEMA.to_owned(),
        config: probe.config.to_json(),
        requests: probe.params.requests,
        seeds: seeds.to_vec(),
        reach,
        search: SearchResult { points: search, effect },
        request_bytes: probe.request_bytes,
        read: DirectionResult { points: read },
        write: DirectionResult { points: write },
        region,
    }
}

/// Median boundary over the drives, so that one drive whose boundary chance moved or hid counts as one.
fn median_boundary(drives: &[Swept]) -> Option<u64> {
    let mut boundaries: Vec<u64> = drives.iter().filter_map(|swept| swept.boundary).collect();
    boundaries.sort_unstable();
    boundaries.get(boundaries.len() / 2).copied()
}
