//! Saved state of a drive.
//!
//! A state can be loaded into a drive that was built from the same [`DriveSetup`](super::DriveSetup) and is in the same
//! mode: a state saved after [`Engine::start_timing`](crate::Engine::start_timing) needs a drive on which that was
//! called.

use flashloom_units::{Reader, State, StateError, Writer};

use super::Drive;
use super::flash::Flash;

/// Array and FTL of an aged drive that has served a run, for a drive of the same device and FTL ([`Drive::over`]).
/// There they are rolled back to what they were when they were aged.
pub struct SpentFlash(pub(crate) Flash);

// The parts of `Drive` are an implementation detail. An error therefore names their fields as fields of the drive:
// `drive.nand.written`.
impl State for Drive {
    fn save(&self, to: &mut Writer) {
        let Self { interface, path, flash, is_read_only } = self;
        flash.save(to);
        path.save(to);
        interface.save(to);
        to.value(is_read_only);
        flash.cache.iter().for_each(|cache| cache.save(to));
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let Self { interface, path, flash, is_read_only } = self;
        flash.load(from)?;
        path.load(from)?;
        interface.load(from)?;
        *is_read_only = from.value().map_err(|error| error.within("is_read_only"))?;
        flash.cache.as_mut().map_or(Ok(()), |cache| cache.load(from).map_err(|error| error.within("read_cache")))
    }
}
