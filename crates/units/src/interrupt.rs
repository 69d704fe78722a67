//! A request from outside to end a run before its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Flag that ends a run early, raised by another thread (Ctrl-C) or by a policy that cannot go on. Clones share it.
///
/// A run that is interrupted has no result, so that the moment at which it notices does not matter.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Raises the flag; it stays raised.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once the flag was raised.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
