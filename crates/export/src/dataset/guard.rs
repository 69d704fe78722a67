//! Damaged files: the library that decodes Parquet asserts some of what damage breaks, where it should return an error.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// True while a failed assertion of this thread is not to be printed.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Returns what a function returns, or nothing if one of its assertions fails.
pub(super) fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |failed| {
            if !IS_QUIET.get() {
                print(failed);
            }
        }));
    });
    IS_QUIET.set(true);
    let read = panic::catch_unwind(AssertUnwindSafe(read));
    IS_QUIET.set(false);
    read.ok()
}
