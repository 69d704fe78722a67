//! Erased pages that a run used up, and the charge for them.
//!
//! The charge extrapolates the erases and copies of the run to all that it wrote. It is given up to 2: a run has to
//! write at least twice as many pages as it took from those that were erased before.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest charge: with more, the run has paid for less than half of what it wrote.
const MOST_CHARGE: f64 = 2.0;

result_types! {
    /// What a run used up and did not pay for: in steady state every page programmed is paid for by erasing one, but a
    /// drive that rested, or was never filled, has erased pages before the first request. In pages of the array's own
    /// cell mode, in which a page in SLC mode takes the room of several:
    ///
    /// ```text
    /// taken  = before_pages - after_pages
    /// paid   = written_pages - taken
    /// charge = (written_pages + unwritten_pages) / paid
    /// ```
    ///
    /// What was not paid for would have cost erases and copies as the rest did: both are multiplied by the charge in
    /// the lifetime and in `steady_waf_bytes`.
    RoomResult {
        /// Pages that could be programmed before an erase when the workload began.
        before_pages: u64,
        /// Pages that can be programmed before an erase at the end.
        after_pages: u64,
        /// Pages programmed that are no copies.
        written_pages: u64,
        /// Pages that have still to be programmed: dirty ones in the buffer, and changed map pages more than before.
        unwritten_pages: i64,
        /// By how much erases and copies are multiplied; absent if the run has paid for less than half.
        charge?: f64,
    }
}

impl RoomResult {
    /// With its charge.
    #[must_use]
    pub fn charged(self) -> Self {
        let paid = self.written_pages as f64 - self.taken_pages();
        let charge = (self.written_pages as f64 + self.unwritten_pages as f64) / paid;
        let is_told = self.written_pages > 0 && paid > 0.0 && charge > 0.0 && charge <= MOST_CHARGE;
        Self { charge: is_told.then_some(charge), ..self }
    }

    /// Erased pages used up.
    pub fn taken_pages(&self) -> f64 {
        self.before_pages as f64 - self.after_pages as f64
    }

    /// Pages to write until the charge is 2. While all that was written was taken, the rest of what is erased will be.
    pub fn pages_until_charged(&self) -> f64 {
        let taken = self.taken_pages();
        let taken = if taken < self.written_pages as f64 { taken } else { self.before_pages as f64 };
        MOST_CHARGE / (MOST_CHARGE - 1.0) * taken + self.unwritten_pages as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(written_pages: u64, taken: i64, unwritten_pages: i64) -> RoomResult {
        let after_pages = 1_000_u64.checked_add_signed(-taken).unwrap();
        RoomResult { before_pages: 1_000, after_pages, written_pages, unwritten_pages, charge: None }.charged()
    }

    #[test]
    fn what_was_taken_from_erased_pages_is_charged_at_the_cost_of_the_rest() {
        assert_eq!(room(100, 0, 0).charge, Some(1.0), "in steady state");
        assert_eq!(room(100, 20, 0).charge, Some(1.25));
        assert_eq!(room(100, 20, 20).charge, Some(1.5), "pages in memory have to be written as well");
        assert_eq!(room(100, -25, 0).charge, Some(0.8), "a run that leaves more room than it found");
    }

    #[test]
    fn a_run_that_paid_for_less_than_half_is_not_extrapolated() {
        assert_eq!(room(100, 50, 0).charge, Some(2.0));
        assert_eq!(room(100, 51, 0).charge, None);
        assert_eq!(room(100, 51, 0).pages_until_charged(), 102.0);
        assert_eq!(room(100, 100, 0).charge, None, "nothing was paid for");
        assert_eq!(room(0, 0, 0).charge, None, "nothing was written");
        assert_eq!(room(0, -50, 8).charge, None, "nor where idle time made room");
        assert_eq!(room(100, 0, -100).charge, None, "all that was written was a map's, and as much is still to come");
    }
}
