//! Lines alone: what a build without a bar shows.

use flashloom::run::Progress;

use crate::output::say;

/// Stands where a bar would.
pub struct Bar;

impl Bar {
    /// Shows nothing.
    pub fn new(_: u64, _: u64) -> Self {
        Self
    }

    /// Shows nothing.
    pub fn with_ageing(_: u64, _: u64, _: u64) -> Self {
        Self
    }

    /// Shows nothing.
    #[cfg(any(feature = "live", feature = "study"))]
    pub fn counting() -> Self {
        Self
    }

    /// The same.
    #[must_use]
    pub fn unless(self, _: bool) -> Self {
        self
    }

    /// Writes a line to standard error.
    pub fn say(&self, line: impl std::fmt::Display) {
        say(line);
    }

    /// Runs something; there is nothing to remove.
    pub fn over<T>(&self, run: impl FnOnce(&Self) -> T) -> T {
        run(self)
    }
}

impl Progress for Bar {
    fn requests(&self, _: u64) {}

    fn ageing(&self, _: u64) {}

    fn ageing_ended(&self, _: u64, _: u64) {}

    fn run_ended(&self) {}
}
