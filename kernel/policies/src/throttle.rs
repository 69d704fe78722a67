//! The kernel's write-back throttling (`shim/throttle.h`).

use std::ptr::NonNull;

use flashloom_units::Ns;

use crate::compiled::Version;

/// Throttling that runs, behind a pointer.
#[repr(C)]
struct Running {
    _opaque: [u8; 0],
}

type At = NonNull<Running>;

/// `struct throttle_setup`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ThrottleSetup {
    /// Numbers of requests are below it.
    pub capacity: u32,
    /// Depth of the device.
    pub depth: u32,
    /// Target of the least latency of reads, in nanoseconds.
    pub latency_ns: Ns,
    /// Whether the device has a volatile cache.
    pub has_volatile_cache: bool,
    /// Whether tasks are held up for making pages dirty.
    pub is_held_up: bool,
}

/// `struct throttle_request`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Throttled {
    /// Read, write, discard: 0, 1, 2.
    pub op: u32,
    /// Whether a task waits for it.
    pub is_sync: bool,
    /// Whether it is a direct write.
    pub is_direct: bool,
    /// Whether it is written back in the background.
    pub is_background: bool,
}

/// `struct throttle_state`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleState {
    /// Tokens of writes.
    pub writes: u32,
    /// Tokens of discards.
    pub discards: u32,
    /// Limit of writes that a task waits for.
    pub most: u32,
    /// Limit of others.
    pub normal: u32,
    /// Limit of the background.
    pub background: u32,
    /// Step, below zero for more than at first.
    pub step: i32,
    /// Length of the last window that began, in nanoseconds.
    pub window_ns: Ns,
}

/// `struct throttle_calls`.
#[repr(C)]
struct Calls {
    new: unsafe extern "C" fn(*const ThrottleSetup) -> At,
    free: unsafe extern "C" fn(At),
    submit: unsafe extern "C" fn(At, Ns, u32, *const Throttled),
    pass: unsafe extern "C" fn(At, Ns),
    let_in: unsafe extern "C" fn(At) -> u32,
    issue: unsafe extern "C" fn(At, Ns, u32),
    requeue: unsafe extern "C" fn(At, Ns, u32),
    complete: unsafe extern "C" fn(At, Ns, u32, bool),
    state: unsafe extern "C" fn(At) -> ThrottleState,
}

unsafe extern "C" {
    static throttle_6_1: Calls;
    static throttle_6_12: Calls;
}

/// Throttling of a version of Linux, with the tasks that sleep in it.
///
/// Safety of all calls below: they pass the pointer that `new` made and `drop` frees, on the one thread that holds this
/// value; numbers are below the capacity; structures that are passed outlive the call.
pub struct KernelThrottle {
    calls: &'static Calls,
    running: At,
    capacity: u32,
}

impl Drop for KernelThrottle {
    fn drop(&mut self) {
        // SAFETY: as the type says.
        unsafe { (self.calls.free)(self.running) };
    }
}

impl KernelThrottle {
    /// Throttling of a device.
    pub fn new(version: Version, setup: &ThrottleSetup) -> Self {
        // SAFETY: the tables are constants of the shim; the setup outlives the call.
        unsafe {
            let calls = match version {
                Version::V6_1 => &throttle_6_1,
                Version::V6_12 => &throttle_6_12,
            };
            Self { calls, running: (calls.new)(setup), capacity: setup.capacity }
        }
    }

    fn check(&self, id: u32) {
        assert!(id < self.capacity, "request {id} of {}", self.capacity);
    }

    /// Submits a request, whose task may fall asleep.
    pub fn submit(&mut self, now: Ns, id: u32, request: &Throttled) {
        self.check(id);
        // SAFETY: as the type says.
        unsafe { (self.calls.submit)(self.running, now, id, request) };
    }

    /// Time passes.
    pub fn pass(&mut self, now: Ns) {
        // SAFETY: as the type says.
        unsafe { (self.calls.pass)(self.running, now) };
    }

    /// The requests that were let in since this was last asked, in order.
    pub fn let_in(&mut self) -> Vec<u32> {
        // SAFETY: as the type says.
        let next = || unsafe { (self.calls.let_in)(self.running) };
        std::iter::from_fn(|| Some(next()).filter(|&id| id != u32::MAX)).collect()
    }

    /// A request goes to the device.
    pub fn issue(&mut self, now: Ns, id: u32) {
        self.check(id);
        // SAFETY: as the type says.
        unsafe { (self.calls.issue)(self.running, now, id) };
    }

    /// The device has returned a request.
    pub fn requeue(&mut self, now: Ns, id: u32) {
        self.check(id);
        // SAFETY: as the type says.
        unsafe { (self.calls.requeue)(self.running, now, id) };
    }

    /// A request has completed, or became part of another one before it was sent.
    pub fn complete(&mut self, now: Ns, id: u32, is_joined: bool) {
        self.check(id);
        // SAFETY: as the type says.
        unsafe { (self.calls.complete)(self.running, now, id, is_joined) };
    }

    /// What it holds.
    pub fn state(&self) -> ThrottleState {
        // SAFETY: as the type says.
        unsafe { (self.calls.state)(self.running) }
    }
}
