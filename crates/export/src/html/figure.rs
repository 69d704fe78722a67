//! Core figures of a run, which tables list, axes show and fronts weigh.

use std::sync::LazyLock;

use flashloom_figures::core_figure::{CORE_FIGURES, CoreFigure};
use flashloom_figures::estimate::Estimate;
use flashloom_figures::number::Format;
use flashloom_figures::result::RunResult;
use serde_json::json;

/// The figures, in the order of the tables' columns.
pub(super) static FIGURES: LazyLock<Vec<CoreFigure>> =
    LazyLock::new(|| CORE_FIGURES.into_iter().filter(|figure| !figure.title.is_empty()).collect());

/// Index of p99.9 of all requests.
pub(super) const P99_9: usize = 6;
/// Index of write amplification in bytes.
pub(super) const WAF: usize = 7;
/// Index of the erases.
pub(super) const ERASES: usize = 9;

/// The figures of a run; nothing for those that it lacks.
pub(super) fn figures(result: &RunResult) -> Vec<Option<f64>> {
    // Without its configuration and its series, which are most of a result.
    let parts = json!({ "host": result.host, "ftl": result.ftl, "nand": result.nand });
    FIGURES.iter().map(|figure| figure.value(&parts)).collect()
}

/// The requests that a picture is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requests {
    Reads,
    Writes,
    All,
}

impl Requests {
    pub(super) const KINDS: [Self; 3] = [Self::Reads, Self::Writes, Self::All];

    /// Its name among others.
    pub(super) const fn name(self) -> &'static str {
        ["reads", "writes", "all"][self as usize]
    }

    /// Its name in a sentence.
    pub(super) const fn title(self) -> &'static str {
        ["reads", "writes", "all requests"][self as usize]
    }

    /// That of these requests among those of reads, writes and all.
    pub(super) fn among<T>(self, kinds: [&Option<T>; 3]) -> Option<&T> {
        kinds[self as usize].as_ref()
    }
}

/// A figure over some runs: its mean, and half the width of its interval if there are several.
pub(super) fn estimated(Estimate { mean, half_width }: Estimate, runs: usize, format: Format) -> String {
    if runs > 1 { format!("{} ± {}", format.text(mean), format.text(half_width)) } else { format.text(mean) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_that_of_its_figure_and_every_figure_is_read() {
        let paths = [P99_9, WAF, ERASES].map(|figure| FIGURES[figure].path);
        assert_eq!(paths, ["host.latency_ns.all.p99_9", "ftl.waf_bytes", "nand.erases.total"]);
        let is_read = |figure: &CoreFigure| ["host.", "ftl.", "nand."].iter().any(|part| figure.path.starts_with(part));
        assert!(FIGURES.iter().all(is_read), "`figures` has the parts that they are in");
    }
}
