//! Statistics of log-block mappings, and their values.

use flashloom_units::{Best, Figure, Latency, Ns, Statistic, Unit};
use serde::{Deserialize, Serialize};

use super::costs::Costs;
use crate::store::Upkeep;

/// Counts of merges of the three kinds: what each is.
pub(in crate::mapping) const fn merges([switch, partial, full]: [&'static str; 3]) -> [Statistic; 3] {
    [
        Statistic::count("switch_merges", switch).best(Best::Lowest).in_column("switch merges", "merges"),
        Statistic::count("partial_merges", partial).best(Best::Lowest).in_column("partial merges", "merges"),
        Statistic::count("full_merges", full).best(Best::Lowest).in_column("full merges", "merges"),
    ]
}

/// Times that merges take a chip and the host waits for them, each with its bound: what each is.
pub(in crate::mapping) const fn times([blocking, bound, wait, wait_bound]: [&'static str; 4]) -> [Statistic; 4] {
    [
        Statistic::new("blocking_ns", Unit::Times, blocking).best(Best::Lowest).part_as_column("max", "longest merge"),
        Statistic::new("blocking_bound_ns", Unit::Time, bound).in_summary("merge bound"),
        Statistic::new("longest_wait_ns", Unit::Time, wait).best(Best::Lowest).in_summary("longest wait for merges"),
        Statistic::new("wait_bound_ns", Unit::Time, wait_bound).in_summary("wait bound"),
    ]
}

/// The values of [`times`].
pub(in crate::mapping) fn time_figures(blocking_ns: &Latency, others_ns: [Ns; 3]) -> impl Iterator<Item = Figure> {
    std::iter::once(Figure::Times(Box::new(blocking_ns.clone()))).chain(others_ns.map(Figure::Time))
}

/// Statistics of every log-block mapping. A mapping that looks for streams appends those of streams.
pub(in crate::mapping) const MERGES: &[Statistic] = &Statistic::joined::<10>(&[
    &merges([
        "Switch merges: log blocks that became data blocks without a copy.",
        "Partial merges: log blocks that became data blocks after their missing pages were copied in.",
        "Full merges: log blocks whose pages were copied with those of their data blocks into new data blocks.",
    ]),
    &[
        Statistic::count(
            "filler_pages",
            "Filler pages, programmed without data because the page at their offset was never written.",
        ),
        Statistic::new(
            "associativity",
            Unit::Histogram,
            "Merged log blocks by the number of data blocks that they were associated with when their merge began: \
             k(L) in KAST's terms.",
        )
        .best(Best::Lowest)
        .part_as_column("max", "largest k"),
    ],
    &times([
        "Time for which a merge occupies an otherwise idle chip: its copies and erases at their cost.",
        "Upper bound of that time: N k C_copy + (k + 1) C_erase for the largest k that the mapping allows.",
        "Longest time that merges put between two pages of the host on a chip; the whole merge without preemption.",
        "Upper bound of that time.",
    ]),
    &[Statistic::count(
        "reserved_pages",
        "Log pages that preemption reserves, so that writes can go on during a merge.",
    )],
]);

/// Guarantees of a mapping about its merges.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Upper bound of the time that a merge blocks its chip.
    pub(crate) blocking_ns: Ns,
    /// Upper bound of the time that a host page waits for merges.
    pub(crate) wait_ns: Ns,
    /// Log pages that preemption reserves, so that writes can go on during a merge.
    pub(crate) reserved_pages: u64,
}

/// The longest wait of a host page; the most failed programs and the most exchanges in one wait.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LongestWait {
    pub(crate) wait_ns: Ns,
    failures: u32,
    exchanges: u32,
}

impl LongestWait {
    /// Notes what a page waited for beside what blocks took, and that.
    pub(crate) fn note(&mut self, costs: &Costs, wait_ns: Ns, upkeep: Upkeep) {
        let of_blocks = if upkeep != Upkeep::default() { costs.of_upkeep(upkeep) } else { 0 };
        self.wait_ns = self.wait_ns.max(wait_ns + of_blocks);
        self.failures = self.failures.max(upkeep.failures);
        self.exchanges = self.exchanges.max(upkeep.exchanges);
    }

    /// Upper bound of every wait of the run. `bound_ns` is that of a wait without failures and exchanges, `pages` the
    /// pages of a block.
    pub(crate) fn bound_ns(&self, bound_ns: Ns, costs: &Costs, pages: u32) -> Ns {
        let of_failure = costs.of_upkeep(Upkeep { failures: 1, exchanges: 0, copies: pages - 1 });
        let of_exchange = costs.of_upkeep(Upkeep { failures: 0, exchanges: 1, copies: pages });
        let of_blocks = [(of_failure, self.failures), (of_exchange, self.exchanges)];
        of_blocks
            .into_iter()
            .fold(bound_ns, |sum, (of_one, most)| sum.saturating_add(of_one.saturating_mul(most.into())))
    }
}

/// Merges of a log-block mapping.
#[derive(Clone, Debug, Default)]
pub(crate) struct MergeReport {
    pub(crate) switch: u64,
    pub(crate) partial: u64,
    pub(crate) full: u64,
    pub(crate) filler_pages: u64,
    /// Pages moved because their logical block was placed on another chip.
    pub(crate) migrated_pages: u64,
    /// Number of merges by the associativity of the log block.
    pub(crate) associativity: Vec<u64>,
    pub(crate) blocking_ns: Latency,
    pub(crate) longest: LongestWait,
}

flashloom_units::state! {
    MergeReport {
        value switch, partial, full, filler_pages, migrated_pages, associativity, longest;
        nested blocking_ns;
    }
}

impl MergeReport {
    /// The values of [`MERGES`].
    pub(super) fn figures(&self, bounds: Bounds) -> Vec<Figure> {
        let counts = [self.switch, self.partial, self.full, self.filler_pages].map(Figure::Count);
        let associativity = Figure::Histogram(self.associativity.clone());
        let times = time_figures(&self.blocking_ns, [bounds.blocking_ns, self.longest.wait_ns, bounds.wait_ns]);
        let reserved = Figure::Count(bounds.reserved_pages);
        counts.into_iter().chain([associativity]).chain(times).chain([reserved]).collect()
    }
}
