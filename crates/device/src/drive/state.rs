//! What of a drive is saved.
//!
//! A state is loaded into a drive that was built from the same [`DriveSetup`](super::DriveSetup), and that is in the
//! same mode: one that was saved after [`Drive::start_timing`] needs a drive on which that was called.

use super::{Drive, Evictions};

flashloom_units::state! {
    Drive {
        nested nand;
        policy ftl;
        nested buffer, buffered, slot_eviction, slot_waiter, evictions, link, events;
        value commands, free, held, stalled, waiting_pages, flushes, completed;
        scratch evicted, writes;
        fixed gathers, timed, controller_ns, logical_pages, sectors_per_page, page_shift;
    }
}

flashloom_units::state! { Evictions { value first, ended; } }
