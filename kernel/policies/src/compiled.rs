//! A compiled scheduler as a [`Scheduler`].

use std::ffi::{CStr, CString};
use std::ptr::NonNull;
use std::sync::Mutex;

use flashloom_host::scheduler::{Choice, Join, Merge};
use flashloom_host::{QueueMap, RequestId, Requests, Scheduler, SchedulerSetup, Serves, Stage, Tags};
use flashloom_units::{Component, Figure, MS, Ns, Param, Refusal, S, Value, Violation, violation};
use flashloom_workload::{Op, Priority, PriorityClass, Request};

use crate::calls::{Calls, Incoming, Running, Setup, linux_6_1, linux_6_12, some};

/// Ticks a second that the kernel's files are compiled for, as Debian's are.
pub const HZ: u32 = 250;
/// Time after which a scheduler that had requests and gave none is asked again: BLK_MQ_BUDGET_DELAY in ticks.
const RETRY_TICKS: u64 = (3 * MS).div_ceil(S / HZ as u64);

/// A version of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 6.1.
    V6_1,
    /// 6.12.
    V6_12,
}

impl Version {
    /// The version as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        }
    }

    fn calls(self) -> &'static Calls {
        // SAFETY: the tables are constants of the shim.
        unsafe {
            match self {
                Self::V6_1 => &linux_6_1,
                Self::V6_12 => &linux_6_12,
            }
        }
    }
}

/// Held while a scheduler is made: the first one of a version registers all of them.
static REGISTERING: Mutex<()> = Mutex::new(());

/// A compiled scheduler with its requests.
///
/// Safety of all calls below: they pass the pointer that `new` made and `drop` frees, on the one thread that holds this
/// value; ids are of the pool that it was made for, in the state that the block layer's contract guarantees; structures
/// that are passed outlive the call, and are those of the shim.
pub struct Compiled {
    calls: &'static Calls,
    running: NonNull<Running>,
    params: &'static [Param],
    queues: QueueMap,
    /// How it deals with several hardware queues.
    serves: Serves,
    is_throttled: bool,
    now: Ns,
    merges: Merges,
}

/// Merges by kind, counted.
#[derive(Clone, Copy, Debug, Default)]
struct Merges {
    back: u64,
    front: u64,
    joined: u64,
}

// SAFETY: this value is the only owner of what it points to, which is not tied to a thread: the shim is told at each
// call which machine runs.
unsafe impl Send for Compiled {}

impl Drop for Compiled {
    fn drop(&mut self) {
        // SAFETY: as the type says.
        unsafe { (self.calls.free)(self.running) };
    }
}

/// A priority as Linux numbers it: the class in the upper three of 16 bits.
fn ioprio(flags: u8) -> u16 {
    let priority = Priority::of_flags(flags);
    let class = match priority.class() {
        PriorityClass::None => 0,
        PriorityClass::RealTime => 1,
        PriorityClass::BestEffort => 2,
        PriorityClass::Idle => 3,
    };
    class << 13 | u16::from(priority.level())
}

/// A request, of a task that runs on a processor.
fn incoming(request: &Request, processor: u32) -> Incoming {
    let Request { lba, sectors, task, op, flags, queue, handle, .. } = *request;
    Incoming {
        sector: lba,
        sectors,
        task,
        processor,
        op: match op {
            Op::Read => 0,
            Op::Discard => 2,
            _ => 1,
        },
        ioprio: ioprio(flags),
        is_sync: flags & Request::SYNC != 0,
        is_fua: flags & Request::FUA != 0,
        is_preflush: flags & Request::PREFLUSH != 0,
        // Of both the result of a merge has one, which the kernel does not know.
        is_alone: (queue, handle) != (0, 0),
    }
}

impl Compiled {
    /// Makes a scheduler of that name in the kernel, with a value for each of `params`. Random numbers begin with
    /// `seed`; with 0 all of them are 0.
    ///
    /// # Errors
    /// An attribute does not take its value.
    pub fn new(
        version: Version,
        name: &str,
        params: &'static [Param],
        values: &[Value],
        setup: &SchedulerSetup,
        seed: u64,
    ) -> Result<Self, Refusal> {
        // kyber has queues for each; the others have one order for all.
        let serves = if name == "kyber" { Serves::Each } else { Serves::Any };
        // bfq turns throttling off when it is selected (`bfq_init_queue`).
        let is_throttled = name != "bfq";
        let name = CString::new(name).expect("names have no zero in them");
        let queues = setup.queues;
        // A task with the number of a processor runs on it.
        let queue_of: Vec<u32> = (0..queues.processors()).map(|processor| queues.queue_of(processor)).collect();
        let kernel_setup = Setup {
            capacity: setup.requests,
            queue_depth: setup.queue_depth,
            selected_tags: setup.tags.selected,
            tags: setup.tags.tags,
            max_sectors: u32::try_from(setup.max_request_sectors).unwrap_or(u32::MAX),
            device_sectors: setup.capacity_sectors,
            seed,
            processors: queues.processors(),
            queues: queues.queues(),
            queue_of: queue_of.as_ptr(),
        };
        let calls = version.calls();
        let running = {
            let _guard = REGISTERING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            // SAFETY: name and setup outlive the call.
            unsafe { (calls.new)(name.as_ptr(), &kernel_setup) }
        };
        let mut compiled =
            Self { calls, running, params, queues, serves, is_throttled, now: 0, merges: Merges::default() };
        compiled.store(values)?;
        Ok(compiled)
    }

    /// Writes values into the attributes.
    fn store(&mut self, values: &[Value]) -> Result<(), Refusal> {
        for (param, value) in self.params.iter().zip(values) {
            let text = match value {
                Value::Time(ns) if param.name.ends_with("_lat") || param.name.ends_with("lat_nsec") => ns.to_string(),
                Value::Time(ns) if param.name.ends_with("_us") => (ns / 1_000).to_string(),
                Value::Time(ns) => {
                    if ns % MS != 0 {
                        return Err(Refusal::new(format!("{ns} ns for {}", param.name), "whole milliseconds"));
                    }
                    (ns / MS).to_string()
                }
                Value::Count(count) => count.to_string(),
                Value::Flag(flag) => u8::from(*flag).to_string(),
                // The kernel's own default.
                Value::Name(_) => continue,
                other => return Err(Refusal::new(format!("{other:?} for {}", param.name), "a number")),
            };
            let attribute = CString::new(attribute_of(param.name)).expect("names have no zero in them");
            let text = CString::new(text).expect("numbers have no zero in them");
            // SAFETY: as the type says.
            let error = unsafe { (self.calls.store)(self.running, attribute.as_ptr(), text.as_ptr()) };
            if error != 0 {
                return Err(Refusal::new(format!("{text:?} for {}, error {error}", param.name), "what Linux takes"));
            }
        }
        Ok(())
    }

    /// What an attribute shows.
    pub fn show(&self, attribute: &str) -> Option<String> {
        let attribute = CString::new(attribute).ok()?;
        let mut text = [0; 4096];
        // SAFETY: as the type says; an attribute shows less than a page.
        let error = unsafe { (self.calls.show)(self.running, attribute.as_ptr(), text.as_mut_ptr()) };
        // SAFETY: the text ends with the zero that it was filled with, at the latest.
        let shown = unsafe { CStr::from_ptr(text.as_ptr()) };
        (error == 0).then(|| shown.to_string_lossy().trim_end().to_owned())
    }

    /// Inserts a list of requests in one call, and returns their deadlines.
    fn insert_into(&mut self, now: Ns, requests: &Requests, list: &[RequestId]) -> Vec<Ns> {
        self.now = now;
        let as_they_came = |id: &RequestId| {
            let queued = &requests[*id];
            let request = Request::new(queued.op, queued.lba, queued.sectors).of_task(queued.task);
            let request = request.on_queue(queued.queue).with_handle(queued.handle);
            let request = incoming(&request.with_flags(queued.flags), self.queues.processor_of(queued.task));
            Incoming { is_alone: request.is_alone || queued.is_closed, ..request }
        };
        let incoming: Vec<Incoming> = list.iter().map(as_they_came).collect();
        let ids: Vec<u32> = list.iter().map(|id| id.0).collect();
        let mut deadlines = vec![Ns::MAX; list.len()];
        let length = list.len() as u32;
        // SAFETY: as the type says; the three have an entry for each request.
        unsafe {
            (self.calls.insert)(self.running, now, length, ids.as_ptr(), incoming.as_ptr(), deadlines.as_mut_ptr());
        }
        deadlines
    }

    fn tags_for(&self, op: u32, is_sync: bool) -> u32 {
        let request = Incoming {
            sector: 0,
            sectors: 8,
            task: 0,
            processor: 0,
            op,
            ioprio: 0,
            is_sync,
            is_fua: false,
            is_preflush: false,
            is_alone: false,
        };
        // SAFETY: as the type says.
        unsafe { (self.calls.tags)(self.running, self.now, &request) }
    }
}

/// Keys are named as in the built-in schedulers, which have no units in them.
fn attribute_of(param: &str) -> &str {
    match param {
        "read_lat" => "read_lat_nsec",
        "write_lat" => "write_lat_nsec",
        other => other,
    }
}

impl Component for Compiled {
    fn figures(&self) -> Vec<Figure> {
        let Merges { back, front, joined } = self.merges;
        [back, front, joined].map(Figure::Count).to_vec()
    }
}

impl Scheduler for Compiled {
    fn tags(&self) -> Option<Tags> {
        let [reads, sync_writes, async_writes] =
            [self.tags_for(0, false), self.tags_for(1, true), self.tags_for(1, false)];
        Some(Tags { reads, sync_writes, async_writes })
    }

    fn is_throttled(&self) -> bool {
        self.is_throttled
    }

    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        self.insert_into(now, requests, &[id])[0]
    }

    fn insert_list(&mut self, now: Ns, requests: &Requests, list: &[RequestId]) -> Option<Vec<Ns>> {
        Some(self.insert_into(now, requests, list))
    }

    fn merges_itself(&self) -> bool {
        true
    }

    fn merge(&mut self, now: Ns, _requests: &Requests, request: &Request) -> Option<Merge> {
        self.now = now;
        let request = incoming(request, self.queues.processor_of(request.task));
        // SAFETY: as the type says.
        let merged = unsafe { (self.calls.merge)(self.running, now, &request) };
        let into = some(merged.into)?;
        if merged.is_front {
            self.merges.front += 1;
        } else {
            self.merges.back += 1;
        }
        Some(Merge { into, is_front: merged.is_front })
    }

    fn join(&mut self, _requests: &Requests) -> Option<Join> {
        // SAFETY: as the type says.
        let joined = unsafe { (self.calls.take_join)(self.running) };
        let (kept, gone) = some(joined.kept).zip(some(joined.gone))?;
        self.merges.joined += 1;
        Some(Join { kept, gone })
    }

    fn requeue(&mut self, now: Ns, _requests: &Requests, id: RequestId) -> Ns {
        self.now = now;
        // SAFETY: as the type says.
        unsafe { (self.calls.requeue)(self.running, now, id.0) }
    }

    fn serves(&self) -> Serves {
        if self.queues.queues() == 1 { Serves::One } else { self.serves }
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        self.dispatch_for(now, requests, 0)
    }

    fn dispatch_for(&mut self, now: Ns, _requests: &Requests, queue: u32) -> Choice {
        self.now = now;
        // SAFETY: as the type says, and the queue is one of the setup's.
        if let Some(id) = some(unsafe { (self.calls.dispatch)(self.running, now, queue) }) {
            return Choice::Request(id);
        }
        // SAFETY: likewise.
        let (has_work, timer) =
            unsafe { ((self.calls.has_work)(self.running, queue), (self.calls.next_timer)(self.running)) };
        let tick_ns = S / u64::from(HZ);
        let retry = if has_work { (now / tick_ns + RETRY_TICKS) * tick_ns } else { Ns::MAX };
        match retry.min(timer) {
            Ns::MAX => Choice::Idle,
            time => Choice::NotBefore(time),
        }
    }

    fn completed(&mut self, now: Ns, requests: &Requests, id: RequestId) {
        self.now = now;
        // SAFETY: as the type says.
        unsafe { (self.calls.complete)(self.running, now, id.0, requests[id].dispatched_ns) };
    }

    fn reconfigure(&mut self, _requests: &Requests, values: &[Value]) -> Result<(), Refusal> {
        self.store(values)
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let (mut queued, mut started) = (0, 0);
        // SAFETY: as the type says.
        unsafe { (self.calls.count)(self.running, &mut queued, &mut started) };
        let is_not_flush = |id: &RequestId| requests[*id].op != Op::Flush;
        let [waiting, taken, at_device] = [Stage::Queued, Stage::Taken, Stage::InFlight]
            .map(|stage| requests.at_stage(stage).filter(is_not_flush).count() as u32);
        if (queued, started) == (waiting, taken + at_device) {
            return Ok(());
        }
        Err(violation!(
            "{waiting} requests wait, {taken} for a tag of the device, and {at_device} are there; in the kernel \
             {queued} wait and {started} were given"
        ))
    }
}
