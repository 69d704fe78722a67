//! The chips that have nothing to do, for a replacement policy that looks at them.

use flashloom_buffer::Chips;
use flashloom_nand::{DieId, Lpn};

use crate::drive::flash::Flash;

/// The idle dies of a drive, while victims are chosen that leave together.
pub(super) struct IdleChips<'a> {
    pub(super) flash: &'a Flash,
    /// The dies of the victims chosen so far.
    pub(super) taken: &'a mut Vec<DieId>,
}

impl Chips for IdleChips<'_> {
    fn is_idle(&self, lpn: Lpn) -> bool {
        let is_idle = |die| !self.taken.contains(&die) && self.flash.nand.is_idle(die);
        self.flash.ftl.die_of(lpn).is_none_or(is_idle)
    }

    fn is_whole(&self, mask: u32) -> bool {
        mask == self.flash.nand.geometry().full_mask()
    }

    fn send(&mut self, lpn: Lpn) {
        let die = self.flash.ftl.die_of(lpn);
        if let Some(die) = die.filter(|die| !self.taken.contains(die)) {
            self.taken.push(die);
        }
    }
}
