//! Independent checks of a verified run: is every command legal, and does every read return what was written?
//!
//! Two observers share no code with the FTL, the buffer's policies or the timing model: the [`Checker`] follows the
//! commands as the chips see them, the [`Oracle`] the contents of every sector. A [`Verifier`] holds both.

mod checker;
pub mod closed_forms;
mod contents;
mod oracle;

use flashloom_nand::{BlockId, Event, Geometry, Nand};
use flashloom_units::{Violation, violation};

pub use checker::Checker;
pub use oracle::Oracle;

/// The NAND checker and the integrity oracle.
#[derive(Debug)]
pub struct Verifier {
    checker: Checker,
    /// The integrity oracle. The caller reports to it directly what the host and the buffer do.
    pub oracle: Oracle,
}

flashloom_units::state! { Verifier { nested checker, oracle; } }

impl Verifier {
    /// Makes the checks of a new array below a logical space that was never written, and has the array record its
    /// events.
    pub fn new(nand: &mut Nand, logical_pages: u64) -> Self {
        nand.watch();
        let geometry: Geometry = *nand.geometry();
        let blocks = (0..geometry.total_blocks() as u32).map(BlockId);
        let bad = blocks.map(|block| nand.is_bad(block)).collect::<Vec<_>>();
        Self { checker: Checker::new(geometry, &bad, nand.other_cells()), oracle: Oracle::new(geometry, logical_pages) }
    }

    /// Passes an event of the array to both checks.
    #[inline]
    pub fn flash(&mut self, event: &Event) {
        self.checker.flash(event);
        self.oracle.flash(event);
    }

    /// Takes the events that the array has recorded since the last call.
    pub fn follow(&mut self, nand: &mut Nand) {
        nand.events().for_each(|event| self.flash(&event));
    }

    /// Checks a state that was loaded with that of the array, for a drive that has served no request.
    ///
    /// # Errors
    /// What cannot be, or a violation that was saved.
    pub fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        self.checker.check_loaded(nand)?;
        self.oracle.check_loaded()?;
        self.check()
    }

    /// Fails if a violation was found so far.
    ///
    /// # Errors
    /// The first violation, in words.
    pub fn check(&self) -> Result<(), Violation> {
        match self.checker.violation().or(self.oracle.violation()) {
            Some(violation) => Err(violation!("verification: {violation}")),
            None => Ok(()),
        }
    }
}
