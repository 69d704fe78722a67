//! Erased pages that a run used up.

use flashloom_device::{DeviceParams, Outcome};
use flashloom_nand::Origin;

use flashloom_figures::result::RoomResult;

/// Pages programmed that move what was written before.
pub(super) fn copies(outcome: &Outcome) -> u64 {
    let copies = [Origin::Gc, Origin::Merge, Origin::Wear, Origin::Fold];
    copies.into_iter().map(|origin| outcome.counts.programs[origin as usize]).sum()
}

/// What the run took of erased pages, and the charge for it.
pub(super) fn room(device: &DeviceParams, outcome: &Outcome) -> RoomResult {
    let programs = outcome.counts.programs.iter().sum::<u64>() - copies(outcome);
    // A page in SLC mode takes the room of as many pages as a cell has bits.
    let cached = outcome.ftl.slc_cache.map_or(0, |cache| cache.cached_writes);
    let unwritten = &outcome.unwritten;
    let of_map = unwritten.map_pages.cast_signed() - unwritten.map_pages_before.cast_signed();
    RoomResult {
        before_pages: outcome.room_before,
        after_pages: outcome.room,
        written_pages: programs + cached * u64::from(device.nand.bits_per_cell - 1),
        unwritten_pages: i64::from(unwritten.buffered_pages) + of_map,
        charge: None,
    }
    .charged()
}
