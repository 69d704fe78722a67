//! What is counted of streams, by an allocation or a mapping that looks for them.

use flashloom_units::{Figure, Reader, State, StateError, Statistic, Writer};

/// Statistics of whoever looks for streams; absent where it does not.
pub const STREAMS: &[Statistic] = &[
    Statistic::count("streams", "Streams detected: runs of pages that were written together."),
    Statistic::count("stream_pages", "Pages in them."),
    Statistic::count(
        "stream_threshold",
        "Stream threshold in pages at the end of the run; an adaptive threshold changes.",
    ),
];

/// Counters of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamReport {
    /// Streams found.
    pub(crate) detected: u64,
    /// Pages in them.
    pub(crate) pages: u64,
    /// Pages a stream at the moment: an adaptive threshold moves.
    pub(crate) threshold: u64,
}

/// Figures that states of older drives have behind these counters, always zero.
const OLDER_FIGURES: usize = 1;

impl State for StreamReport {
    fn save(&self, to: &mut Writer) {
        let Self { detected, pages, threshold } = self;
        to.value(&(detected, pages, threshold));
        to.zeros(OLDER_FIGURES);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        (self.detected, self.pages, self.threshold) = from.value()?;
        from.zeros(OLDER_FIGURES)
    }
}

/// The values of [`STREAMS`], if there is a search for streams.
pub(crate) fn figures(report: Option<StreamReport>) -> [Figure; STREAMS.len()] {
    let counted = |of: fn(StreamReport) -> u64| Figure::count_or_absent(report.map(of));
    [counted(|streams| streams.detected), counted(|streams| streams.pages), counted(|streams| streams.threshold)]
}
