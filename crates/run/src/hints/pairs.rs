//! A recording of which completions are missing.

use flashloom_workload::Pairs;

use flashloom_figures::number::{count, percent};

/// Share of the issued requests without a latency that is warned of.
const MOST_LOST: f64 = 0.01;

/// Warning that more than 1 % of the issued requests have no latency.
pub fn doubt_of_pairs(pairs: &Pairs) -> Option<String> {
    (pairs.lost_share() > MOST_LOST).then(|| {
        format!(
            "{} of the issued requests have no latency: {} completions are missing, {} pairs are void because two of \
             one place were outstanding at once; the others may not stand for all",
            percent(pairs.lost_share()),
            count(pairs.unpaired),
            count(pairs.void)
        )
    })
}
