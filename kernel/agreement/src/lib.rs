//! The decision core of the kernel module as a scheduler of the simulator.
//!
//! The C core, from which the module is built too, makes the decisions; the simulator's block layer merges and counts
//! around it, as it does around its own `pardispatcher`. A test of this crate compares the two. The programs of this
//! crate compare recordings of real schedulers with the simulator's schedulers. The crate is not distributed: it links
//! code under the licence of the kernel.
#![expect(unsafe_code, reason = "the core is C")]

pub mod recording;

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr::NonNull;

use flashloom_host::scheduler::Choice;
use flashloom_host::scheduler::pardispatcher::{ParDispatcherParams, Scan};
use flashloom_host::{Direction, RequestId, Requests, Scheduler, SchedulerSetup, Stage};
use flashloom_units::{Component, Figure, Ns, ParamSet, Refusal, SECTOR_BYTES, Value, Violation, violation};
use flashloom_workload::Request;

/// Counters of the core: `struct pd_stats`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CoreStats {
    /// Turns started.
    pub turns: u64,
    /// Turns started early by a request past its deadline.
    pub expired_turns: u64,
    /// Turns started in another region than the previous turn.
    pub region_switches: u64,
    /// Requests dispatched in the other direction than the previous request.
    pub direction_switches: u64,
    /// Requests dispatched after their deadline.
    pub expired: u64,
    /// By direction: the number of requests that waited, their total wait, and the longest wait.
    pub wait: [[u64; 3]; 2],
}

#[repr(C)]
struct Tunables {
    batch: [u32; 2],
    scan: c_uint,
    expire: [u64; 2],
    front_merges: bool,
}

#[repr(C)]
struct Binding {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn binding_new(capacity: u32, region_sectors: u64, tunables: *const Tunables) -> Option<NonNull<Binding>>;
    fn binding_free(binding: NonNull<Binding>);
    fn binding_set_tunables(binding: NonNull<Binding>, tunables: *const Tunables);
    fn binding_set_region_sectors(binding: NonNull<Binding>, region_sectors: u64);
    fn binding_insert(binding: NonNull<Binding>, id: u32, direction: c_int, sector: u64, now: u64) -> u64;
    fn binding_dispatch(binding: NonNull<Binding>, now: u64) -> u32;
    fn binding_front_merge_candidate(binding: NonNull<Binding>, end: u64, direction: c_int) -> u32;
    fn binding_same_region(binding: NonNull<Binding>, id: u32, sector: u64) -> bool;
    fn binding_former(binding: NonNull<Binding>, id: u32) -> u32;
    fn binding_latter(binding: NonNull<Binding>, id: u32) -> u32;
    fn binding_moved(binding: NonNull<Binding>, id: u32, sector: u64);
    fn binding_absorb(binding: NonNull<Binding>, kept: u32, gone: u32);
    fn binding_check(binding: NonNull<Binding>, waiting: u64) -> *const c_char;
    fn binding_stats(binding: NonNull<Binding>, stats: *mut CoreStats);
}

fn tunables(params: &ParDispatcherParams) -> Tunables {
    Tunables {
        batch: [params.read_batch, params.write_batch],
        scan: match params.scan {
            Scan::Lowest => 0,
            Scan::Continue => 1,
        },
        expire: [params.read_expire_ns, params.write_expire_ns],
        front_merges: params.front_merges,
    }
}

fn some(number: u32) -> Option<RequestId> {
    (number != u32::MAX).then_some(RequestId(number))
}

/// The core with its requests.
///
/// Safety of all calls below. They pass the binding that `new` created and `drop` frees. They run on the one thread
/// that holds the `&mut`, or the `&` where the core only reads. They pass ids from the pool that the core was made for,
/// in the state that the contract between scheduler and block layer guarantees. The core requires nothing else of its
/// callers.
pub struct KernelCore {
    binding: NonNull<Binding>,
    region_size_bytes: u64,
}

impl KernelCore {
    /// A core without requests, for a pool of this size.
    pub fn new(params: &ParDispatcherParams, setup: &SchedulerSetup) -> Self {
        let region_sectors = params.region_size_bytes / SECTOR_BYTES;
        // SAFETY: the tunables outlive the call, which copies them.
        let binding = unsafe { binding_new(setup.requests, region_sectors, &tunables(params)) };
        Self { binding: binding.expect("there is memory for the core"), region_size_bytes: params.region_size_bytes }
    }

    /// The counters of the core.
    pub fn stats(&self) -> CoreStats {
        let mut stats = CoreStats::default();
        // SAFETY: as at the type; the two structures have the same fields.
        unsafe { binding_stats(self.binding, &mut stats) };
        stats
    }
}

// SAFETY: this value is the only owner of the binding, whose memory is not tied to a thread; nothing else refers to it.
unsafe impl Send for KernelCore {}

impl Drop for KernelCore {
    fn drop(&mut self) {
        // SAFETY: as at the type; nothing uses the binding afterwards.
        unsafe { binding_free(self.binding) };
    }
}

impl Component for KernelCore {
    fn figures(&self) -> Vec<Figure> {
        let stats = self.stats();
        [stats.turns, stats.expired_turns, stats.region_switches].map(Figure::Count).to_vec()
    }
}

impl Scheduler for KernelCore {
    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        let direction = requests[id].direction().at() as c_int;
        // SAFETY: as the type says.
        let deadline = unsafe { binding_insert(self.binding, id.0, direction, requests[id].lba, now) };
        assert_ne!(deadline, 0, "there is memory for a region");
        deadline
    }

    fn front_merge_candidate(&self, _requests: &Requests, incoming: &Request) -> Option<RequestId> {
        let direction = Direction::of(incoming.op).at() as c_int;
        // SAFETY: as the type says.
        some(unsafe { binding_front_merge_candidate(self.binding, incoming.end(), direction) })
    }

    fn allows_merge(&self, _requests: &Requests, id: RequestId, incoming: &Request) -> bool {
        // SAFETY: as the type says.
        unsafe { binding_same_region(self.binding, id.0, incoming.lba) }
    }

    fn former(&self, _requests: &Requests, id: RequestId) -> Option<RequestId> {
        // SAFETY: as the type says.
        some(unsafe { binding_former(self.binding, id.0) })
    }

    fn latter(&self, _requests: &Requests, id: RequestId) -> Option<RequestId> {
        // SAFETY: as the type says.
        some(unsafe { binding_latter(self.binding, id.0) })
    }

    fn moved(&mut self, requests: &Requests, id: RequestId) {
        // SAFETY: as the type says.
        unsafe { binding_moved(self.binding, id.0, requests[id].lba) };
    }

    fn absorb(&mut self, _requests: &Requests, kept: RequestId, gone: RequestId) {
        // SAFETY: as the type says.
        unsafe { binding_absorb(self.binding, kept.0, gone.0) };
    }

    fn dispatch(&mut self, now: Ns, _requests: &Requests) -> Choice {
        // SAFETY: as the type says.
        some(unsafe { binding_dispatch(self.binding, now) }).map_or(Choice::Idle, Choice::Request)
    }

    fn reconfigure(&mut self, requests: &Requests, values: &[Value]) -> Result<(), Refusal> {
        let params = ParDispatcherParams::from_values(values);
        if params.region_size_bytes != self.region_size_bytes {
            assert_eq!(requests.count(Stage::Queued), 0, "the module changes the size in a frozen queue");
            // SAFETY: as the type says; no request is queued.
            unsafe { binding_set_region_sectors(self.binding, params.region_size_bytes / SECTOR_BYTES) };
            self.region_size_bytes = params.region_size_bytes;
        }
        // SAFETY: as the type says; the tunables live through the call, which copies them.
        unsafe { binding_set_tunables(self.binding, &tunables(&params)) };
        Ok(())
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        // SAFETY: as the type says; the rule is a string that is never freed.
        let broken = unsafe { binding_check(self.binding, requests.count(Stage::Queued)) };
        // SAFETY: likewise.
        let rule = NonNull::new(broken.cast_mut()).map(|rule| unsafe { CStr::from_ptr(rule.as_ptr()) });
        rule.map_or(Ok(()), |rule| Err(violation!("the module's core breaks the rule {}", rule.to_string_lossy())))
    }
}
