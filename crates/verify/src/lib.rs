//! The independent checks of a verified run: is every command legal, and does every read return what was written?
//!
//! Two observers that know nothing of the FTL, of the buffer's policies or of the timing model: the [`Checker`] follows
//! the commands as the chips see them, the [`Oracle`] the contents of every sector. A [`Verifier`] is both.

mod checker;
pub mod closed_forms;
mod contents;
mod oracle;

use flashloom_nand::{Event, Geometry, Nand};
use flashloom_units::BlockId;

pub use checker::Checker;
pub use oracle::Oracle;

/// The NAND checker and the integrity oracle.
#[derive(Debug)]
pub struct Verifier {
    checker: Checker,
    /// What the host and the buffer do is told to the oracle alone.
    pub oracle: Oracle,
}

flashloom_units::state! { Verifier { nested checker, oracle; } }

impl Verifier {
    /// Checks for a new array, which tells its events from now on, under a logical space that was never written.
    pub fn new(nand: &mut Nand, logical_pages: u64) -> Self {
        nand.watch();
        let geometry: Geometry = *nand.geometry();
        let blocks = (0..geometry.total_blocks() as u32).map(BlockId);
        let bad = blocks.map(|block| nand.is_bad(block)).collect::<Vec<_>>();
        Self { checker: Checker::new(geometry, &bad), oracle: Oracle::new(geometry, logical_pages) }
    }

    /// Something happened in the array.
    #[inline]
    pub fn flash(&mut self, event: &Event) {
        self.checker.flash(event);
        self.oracle.flash(event);
    }

    /// Takes what the array has to say.
    pub fn follow(&mut self, nand: &mut Nand) {
        nand.events().for_each(|event| self.flash(&event));
    }

    /// Checks that no violation was found so far.
    ///
    /// # Errors
    /// The first one, in words.
    pub fn check(&self) -> Result<(), String> {
        match self.checker.violation().or(self.oracle.violation()) {
            Some(violation) => Err(format!("verification: {violation}")),
            None => Ok(()),
        }
    }
}
