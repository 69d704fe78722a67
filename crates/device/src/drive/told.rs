//! What a drive tells those who look, in the order in which it happens.

use flashloom_nand::Nand;
use flashloom_verify::Verifier;

use super::Drive;
use crate::event::{DriveEvent, Event};

impl Drive {
    /// From now on [`Self::take_told`] has something to say.
    pub(crate) fn watch(&mut self) {
        self.nand.watch();
    }

    /// The checks of a new drive.
    pub(crate) fn verifier(&mut self) -> Verifier {
        Verifier::new(&mut self.nand, u64::from(self.logical_pages))
    }

    /// Whether anybody looks.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.nand.is_watched()
    }

    /// Something happened, if anybody looks.
    #[inline]
    pub(super) fn tell(&mut self, event: impl FnOnce() -> DriveEvent) {
        if self.nand.is_watched() {
            tell(&mut self.told, &mut self.nand, event());
        }
    }

    /// Adds what happened since this was called last, in order.
    pub(crate) fn take_told(&mut self, to: &mut Vec<Event>) {
        to.append(&mut self.told);
        to.extend(self.nand.events().map(Event::Flash));
    }
}

/// Something happened in the drive, after what the array has not told yet.
#[cold]
pub(super) fn tell(told: &mut Vec<Event>, nand: &mut Nand, event: DriveEvent) {
    told.extend(nand.events().map(Event::Flash));
    told.push(Event::Drive(event));
}
