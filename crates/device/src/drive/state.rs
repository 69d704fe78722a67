//! What of a drive is saved.
//!
//! A state is loaded into a drive that was built from the same [`DriveSetup`](super::DriveSetup), and that is in the
//! same mode: one that was saved after [`Drive::start_timing`] needs a drive on which that was called.

use flashloom_units::{Reader, State, StateError, Writer, load_with, save_with};

use super::{Drive, Evictions};

flashloom_units::state! {
    Drive {
        nested nand;
        policy ftl;
        nested buffer, slot_eviction, slot_waiter, evictions, link, events;
        value commands, free, held, stalled, waiting_pages, flushes, completed, end, next_write,
            unmapped_read_sectors;
        scratch evicted, writes, told;
        fixed gathers, timed, controller_ns, logical_pages, sectors_per_page, page_shift;
    }
}

/// The array and the FTL of a drive that has served nothing yet.
impl Drive {
    /// `checks` adds what belongs to the flash besides.
    pub(crate) fn save_flash(&self, checks: impl FnOnce(&mut Writer)) -> Result<Vec<u8>, StateError> {
        save_with(|to| {
            self.nand.save(to);
            to.policy("ftl", self.ftl.state());
            to.value(&self.next_write);
            checks(to);
        })
    }

    /// `checks` takes what [`Self::save_flash`] was given besides.
    pub(crate) fn load_flash(
        &mut self,
        state: &[u8],
        checks: impl FnOnce(&mut Reader) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        load_with(state, |from| {
            self.nand.load(from).map_err(|error| error.within("nand"))?;
            from.policy(self.ftl.state_mut()).map_err(|error| error.within("ftl"))?;
            self.next_write = from.value().map_err(|error| error.within("next_write"))?;
            checks(from)
        })
    }
}

flashloom_units::state! { Evictions { value first, ended; } }
