//! Erased pages that a run used up, and the charge for them.
//!
//! The charge extrapolates the erases and copies of the run to all that it wrote. It is given up to 2: a run has to
//! write at least twice as many pages as it took from those that were erased before.

use flashloom_device::{DeviceParams, Outcome};
use flashloom_nand::Origin;

use crate::result::RoomResult;

/// The largest charge: with more, the run has paid for less than half of what it wrote.
const MOST_CHARGE: f64 = 2.0;

/// Pages programmed that move what was written before.
pub(super) fn copies(outcome: &Outcome) -> u64 {
    let copies = [Origin::Gc, Origin::Merge, Origin::Wear, Origin::Fold];
    copies.into_iter().map(|origin| outcome.counts.programs[origin as usize]).sum()
}

impl RoomResult {
    pub(super) fn of(device: &DeviceParams, outcome: &Outcome) -> Self {
        let programs = outcome.counts.programs.iter().sum::<u64>() - copies(outcome);
        // A page in SLC mode takes the room of as many pages as a cell has bits.
        let cached = outcome.ftl.slc_cache.map_or(0, |cache| cache.cached_writes);
        let unwritten = &outcome.unwritten;
        let of_map = unwritten.map_pages.cast_signed() - unwritten.map_pages_before.cast_signed();
        Self {
            before_pages: outcome.room_before,
            after_pages: outcome.room,
            written_pages: programs + cached * u64::from(device.nand.bits_per_cell - 1),
            unwritten_pages: i64::from(unwritten.buffered_pages) + of_map,
            charge: None,
        }
        .charged()
    }

    fn charged(self) -> Self {
        let paid = self.written_pages as f64 - self.taken_pages();
        let charge = (self.written_pages as f64 + self.unwritten_pages as f64) / paid;
        let is_told = self.written_pages > 0 && paid > 0.0 && charge > 0.0 && charge <= MOST_CHARGE;
        Self { charge: is_told.then_some(charge), ..self }
    }

    /// Erased pages used up.
    pub(crate) fn taken_pages(&self) -> f64 {
        self.before_pages as f64 - self.after_pages as f64
    }

    /// Pages to write until the charge is 2. While all that was written was taken, the rest of what is erased will be.
    pub(crate) fn pages_until_charged(&self) -> f64 {
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
