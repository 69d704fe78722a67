//! Statistics of streams, for allocations and mappings that look for them.

use flashloom_units::{Figure, Reader, State, StateError, Statistic, Writer};
use serde::{Deserialize, Serialize};

/// Statistics of a search for streams; absent if the search is off.
pub const STREAMS: &[Statistic] = &[
    Statistic::count("streams", "Streams detected: runs of pages that were written together.").in_summary("streams"),
    Statistic::count("stream_pages", "Pages in them.").in_summary("pages in streams"),
    Statistic::count(
        "stream_threshold",
        "Stream threshold in pages at the end of the run; an adaptive threshold changes.",
    ),
];

/// Counters of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamReport {
    /// Number of streams found.
    pub(crate) detected: u64,
    /// Pages in them.
    pub(crate) pages: u64,
    /// Current minimum length of a stream in pages; an adaptive threshold changes it.
    pub(crate) threshold: u64,
}

impl State for StreamReport {
    fn save(&self, to: &mut Writer) {
        to.value(self);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        *self = from.value()?;
        Ok(())
    }
}

/// The values of [`STREAMS`]; absent if there is no search for streams.
pub(crate) fn figures(report: Option<StreamReport>) -> [Figure; STREAMS.len()] {
    let counted = |of: fn(StreamReport) -> u64| Figure::count_or_absent(report.map(of));
    [counted(|streams| streams.detected), counted(|streams| streams.pages), counted(|streams| streams.threshold)]
}
