//! How runs tell what they have done.

use flashloom_units::Interrupt;

/// Progress of runs, reported from several threads at once. What is not overridden is ignored.
pub trait Progress: Sync {
    /// Reports requests newly handed to the host.
    fn requests(&self, _count: u64) {}
    /// Reports pages newly written to age a drive.
    fn ageing(&self, _pages: u64) {}
    /// Reports the end of ageing a drive: the pages that it took, and those expected.
    fn ageing_ended(&self, _pages: u64, _expected: u64) {}
    /// Reports the end of a run.
    fn run_ended(&self) {}

    /// The flag that ends the runs early, with [`Failure::Interrupted`](crate::Failure). Ageing and runs ask for it
    /// every few microseconds; what reads inputs does not.
    fn interrupt(&self) -> Interrupt {
        Interrupt::default()
    }
}

/// A [`Progress`] that ignores everything.
pub struct Quiet;

impl Progress for Quiet {}
