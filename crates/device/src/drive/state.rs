//! Saved state of a drive.
//!
//! A state can be loaded into a drive that was built from the same [`DriveSetup`](super::DriveSetup) and is in the same
//! mode: a state saved after [`Drive::start_timing`] needs a drive on which that was called.

use flashloom_units::{
    Reader, State, StateError, Violation, Writer, load_with, roll_back_with, save_for_rollback, save_with,
};

use super::Drive;
use super::flash::Flash;

/// Array and FTL of an aged drive that has served a run, for a drive of the same device and FTL ([`Drive::over`]).
/// There they are rolled back to what they were when they were aged.
pub struct SpentFlash(pub(super) Flash);

// The parts of `Drive` are an implementation detail. An error therefore names their fields as fields of the drive:
// `drive.nand.written`.
impl State for Drive {
    fn save(&self, to: &mut Writer) {
        let Self { interface, path, flash, is_read_only } = self;
        flash.save(to);
        path.save(to);
        interface.save(to);
        to.value(is_read_only);
        flash.read_cache().into_iter().for_each(|cache| cache.save(to));
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let Self { interface, path, flash, is_read_only } = self;
        flash.load(from)?;
        path.load(from)?;
        interface.load(from)?;
        *is_read_only = from.value().map_err(|error| error.within("is_read_only"))?;
        flash.read_cache_mut().map_or(Ok(()), |cache| cache.load(from).map_err(|error| error.within("read_cache")))
    }
}

/// State of array and FTL alone, for a drive that has served nothing yet, or is switched off.
impl Drive {
    /// Saves array and FTL; `checks` appends the state of the checks that belong to them.
    pub(crate) fn save_flash(&self, checks: impl FnOnce(&mut Writer)) -> Result<Vec<u8>, StateError> {
        save_with(|to| {
            self.flash.save(to);
            checks(to);
        })
    }

    /// Ends the time of a drive at rest. Only its flash can be used from then on, by [`Self::save_flash`].
    pub(crate) fn stop_timing(&mut self) {
        self.flash.stop_timing();
    }

    /// Loads array and FTL; `checks` loads what [`Self::save_flash`] appended.
    pub(crate) fn load_flash(
        &mut self,
        state: &[u8],
        checks: impl FnOnce(&mut Reader) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        load_with(state, |from| {
            self.flash.load(from)?;
            checks(from)
        })
    }

    /// Checks what [`Self::load_flash`] has loaded, whatever the file contained.
    pub(crate) fn check_loaded(&self) -> Result<(), Violation> {
        self.flash.check_loaded()
    }

    /// Called when what was loaded is known to pass [`Self::check_loaded`].
    pub(crate) fn trust_loaded(&mut self) {
        self.flash.trust_loaded();
    }

    /// Checks the counters and invariants of array and FTL.
    pub(crate) fn check_flash(&self) -> Result<(), Violation> {
        self.flash.check()
    }

    /// Called when array and FTL are known to be right, to keep what rolling back to them needs.
    pub(crate) fn keep_for_rollback(&mut self) {
        self.flash.keep_for_rollback();
    }

    /// [`Self::save_flash`] without what array and FTL roll back themselves.
    pub(crate) fn save_flash_for_rollback(&self, checks: impl FnOnce(&mut Writer)) -> Result<Vec<u8>, StateError> {
        save_for_rollback(|to| {
            self.flash.save(to);
            checks(to);
        })
    }

    /// Rolls array and FTL back to a state of [`Self::save_flash`] or [`Self::save_flash_for_rollback`]; `checks` loads
    /// what these appended.
    pub(crate) fn roll_back_flash(
        &mut self,
        state: &[u8],
        checks: impl FnOnce(&mut Reader) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        roll_back_with(state, |from| {
            self.flash.load(from)?;
            checks(from)
        })
    }

    /// Array and FTL alone.
    pub(crate) fn into_spent(self) -> SpentFlash {
        SpentFlash(self.flash.broken_off())
    }

    /// Number of mapped pages.
    pub(crate) fn stored_pages(&self) -> u64 {
        self.flash.stored_pages()
    }
}
