//! The table of calls of a compiled kernel: `shim/policy.h`.

use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

use flashloom_host::RequestId;

/// A scheduler that runs, behind a pointer.
#[repr(C)]
pub struct Running {
    _opaque: [u8; 0],
}

/// `struct policy_setup`.
#[repr(C)]
pub struct Setup {
    pub capacity: u32,
    pub queue_depth: u32,
    pub selected_tags: u32,
    pub tags: u32,
    pub max_sectors: u32,
    pub device_sectors: u64,
    pub seed: u64,
    pub processors: u32,
    pub queues: u32,
    pub queue_of: *const u32,
}

/// `struct policy_request`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Incoming {
    pub sector: u64,
    pub sectors: u32,
    pub task: u32,
    pub processor: u32,
    pub op: u32,
    pub ioprio: u16,
    pub is_sync: bool,
    pub is_fua: bool,
    pub is_preflush: bool,
    pub is_alone: bool,
}

/// `struct policy_merge`.
#[repr(C)]
pub struct Merged {
    pub into: u32,
    pub is_front: bool,
}

/// `struct policy_join`.
#[repr(C)]
pub struct Joined {
    pub kept: u32,
    pub gone: u32,
}

type At = NonNull<Running>;

/// `struct policy_calls`.
#[repr(C)]
pub struct Calls {
    pub new: unsafe extern "C" fn(*const c_char, *const Setup) -> At,
    pub free: unsafe extern "C" fn(At),
    pub store: unsafe extern "C" fn(At, *const c_char, *const c_char) -> c_int,
    pub show: unsafe extern "C" fn(At, *const c_char, *mut c_char) -> c_int,
    pub merge: unsafe extern "C" fn(At, u64, *const Incoming) -> Merged,
    pub insert: unsafe extern "C" fn(At, u64, u32, *const u32, *const Incoming, *mut u64),
    pub take_join: unsafe extern "C" fn(At) -> Joined,
    pub dispatch: unsafe extern "C" fn(At, u64, u32) -> u32,
    pub has_work: unsafe extern "C" fn(At, u32) -> bool,
    pub next_timer: unsafe extern "C" fn(At) -> u64,
    pub complete: unsafe extern "C" fn(At, u64, u32, u64),
    pub requeue: unsafe extern "C" fn(At, u64, u32) -> u64,
    pub tags: unsafe extern "C" fn(At, u64, *const Incoming) -> u32,
    pub count: unsafe extern "C" fn(At, *mut u32, *mut u32),
}

unsafe extern "C" {
    pub static linux_6_1: Calls;
    pub static linux_6_12: Calls;
}

/// A request, by its number; none for `NONE`.
pub fn some(number: u32) -> Option<RequestId> {
    (number != u32::MAX).then_some(RequestId(number))
}
