//! One request of the host's block layer: the command that every layer below sees.

use flashloom_units::{Capability, Ns};
use serde::{Deserialize, Serialize};

/// Requests that carry task ids. It depends on the workload.
pub const TASK_IDS: Capability = Capability::new("requests that carry task ids");

/// A scheduler that follows the I/O priorities of requests.
pub const IO_PRIORITIES: Capability = Capability::new("a scheduler that follows I/O priorities");

/// Operation that a request asks of the device.
// Not `#[non_exhaustive]`: who serves operations has to decide about a new one, and the compiler is to name the places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Op {
    /// Transfers data to the host.
    Read,
    /// Transfers data to the device.
    Write,
    /// Tells the device that the data is no longer needed (TRIM, UNMAP).
    Discard,
    /// Makes completed writes durable (flush); carries no data and has neither address nor length.
    Flush,
}

impl Op {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Discard, Self::Flush];

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
        }
    }
}

/// A request as it arrives at the host's block layer. 32 bytes, because millions of them pass through.
///
/// [`Self::new`] makes one, and the methods behind it set what only some requests have:
///
/// ```
/// use flashloom_workload::{Op, Priority, PriorityClass, Request};
///
/// let commit = Request::new(Op::Write, 4_096, 8).of_task(7).with_flags(Request::SYNC | Request::FUA);
/// let urgent = commit.with_priority(Priority::new(PriorityClass::RealTime, 0)).on_queue(1);
/// assert!(urgent.has(Request::FUA) && urgent.priority().class() == PriorityClass::RealTime);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Request {
    /// Arrival time, in nanoseconds from the start of the workload.
    pub arrival_ns: Ns,
    /// First 512-byte sector; zero for a flush.
    pub lba: u64,
    /// Length in sectors, at least one; zero for a flush.
    pub sectors: u32,
    /// Id of the issuing task (process); zero for all requests of a workload without task ids.
    pub task: u32,
    /// Latency on the recorded device, in nanoseconds up to 4.2 s; zero if the trace does not record it.
    pub recorded_latency_ns: u32,
    /// Operation.
    pub op: Op,
    /// [`Request::SYNC`], [`Request::FUA`] and [`Request::PREFLUSH`], or-ed together; the other five bits are the
    /// priority.
    pub flags: u8,
    /// Queue of the host that it is submitted to: zero where there is one.
    pub queue: u8,
    /// Placement handle: data of one handle is expected to die together. Zero if the host says nothing of it.
    pub handle: u8,
}

const _: () = assert!(size_of::<Request>() == 32);

/// Making a request.
impl Request {
    /// A request of no task, without flags and priority, that arrives at time zero.
    #[inline]
    pub const fn new(op: Op, lba: u64, sectors: u32) -> Self {
        Self { arrival_ns: 0, lba, sectors, task: 0, recorded_latency_ns: 0, op, flags: 0, queue: 0, handle: 0 }
    }

    /// A flush, which has neither address nor length.
    #[inline]
    pub const fn flush() -> Self {
        Self::new(Op::Flush, 0, 0)
    }

    /// The same request, arriving at that time.
    #[inline]
    #[must_use]
    pub const fn arriving_at(self, arrival_ns: Ns) -> Self {
        Self { arrival_ns, ..self }
    }

    /// The same request, issued by that task.
    #[inline]
    #[must_use]
    pub const fn of_task(self, task: u32) -> Self {
        Self { task, ..self }
    }

    /// The same request with these flags beside those that it has.
    #[inline]
    #[must_use]
    pub const fn with_flags(self, flags: u8) -> Self {
        Self { flags: self.flags | flags, ..self }
    }

    /// The same request with the latency that a trace records for it.
    #[inline]
    #[must_use]
    pub const fn with_recorded_latency(self, recorded_latency_ns: u32) -> Self {
        Self { recorded_latency_ns, ..self }
    }

    /// The same request, submitted to that queue of the host.
    #[inline]
    #[must_use]
    pub const fn on_queue(self, queue: u8) -> Self {
        Self { queue, ..self }
    }

    /// The same request with that placement handle.
    #[inline]
    #[must_use]
    pub const fn with_handle(self, handle: u8) -> Self {
        Self { handle, ..self }
    }

    /// The same request with that priority in place of its own.
    #[inline]
    #[must_use]
    pub const fn with_priority(self, priority: Priority) -> Self {
        Self { flags: self.flags & !Priority::MASK | priority.bits(), ..self }
    }
}

impl Request {
    /// Latest possible arrival time: 146 years after the first request of the workload.
    pub const LAST_ARRIVAL_NS: Ns = 1 << 62;
    /// A task waits for the request: set on every read, and on synchronous writes.
    pub const SYNC: u8 = 1;
    /// A write that must be durable when it completes (force unit access).
    pub const FUA: u8 = 2;
    /// A write that the device precedes with a flush.
    pub const PREFLUSH: u8 = 4;

    /// True if a flag is set.
    #[inline]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The I/O priority.
    #[inline]
    pub const fn priority(&self) -> Priority {
        Priority::of_flags(self.flags)
    }

    /// The sector after the last.
    #[inline]
    pub fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }

    /// True if a task waits for it.
    #[inline]
    pub fn is_sync(&self) -> bool {
        self.op == Op::Read || self.has(Self::SYNC)
    }
}

/// An I/O priority as Linux has it (`ioprio`): a class, and in it a level from 0, the most urgent, to 7. It takes the
/// five bits of a request's flags that no flag has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priority {
    class: PriorityClass,
    level: u8,
}

/// Class of an I/O priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PriorityClass {
    /// None was given. Linux then takes best effort, at a level that follows from the task's niceness.
    #[default]
    None,
    /// Before all others.
    RealTime,
    /// After real time, before idle.
    BestEffort,
    /// Only while nobody else has requests.
    Idle,
}

impl Priority {
    /// Levels of a class.
    pub const LEVELS: u8 = 8;
    /// The bits of a request's flags that hold its priority.
    pub const MASK: u8 = !(Request::SYNC | Request::FUA | Request::PREFLUSH);
    const CLASS_SHIFT: u32 = 6;
    const LEVEL_SHIFT: u32 = 3;

    /// That level of a class.
    ///
    /// # Panics
    /// A level beyond the last: there are [`Self::LEVELS`].
    #[inline]
    pub const fn new(class: PriorityClass, level: u8) -> Self {
        assert!(level < Self::LEVELS, "a class has eight levels");
        Self { class, level }
    }

    /// The class.
    #[inline]
    pub const fn class(self) -> PriorityClass {
        self.class
    }

    /// The level in it, 0 for the most urgent.
    #[inline]
    pub const fn level(self) -> u8 {
        self.level
    }

    /// Text of every priority, in the order of [`Self::index`]: `none`, or a class and a level.
    pub const NAMES: [&'static str; 25] = [
        "none", "rt/0", "rt/1", "rt/2", "rt/3", "rt/4", "rt/5", "rt/6", "rt/7", "be/0", "be/1", "be/2", "be/3", "be/4",
        "be/5", "be/6", "be/7", "idle/0", "idle/1", "idle/2", "idle/3", "idle/4", "idle/5", "idle/6", "idle/7",
    ];

    /// Its place in [`Self::NAMES`]. A level without a class says nothing, as in Linux.
    #[inline]
    pub const fn index(self) -> usize {
        match self.class {
            PriorityClass::None => 0,
            class => 1 + (class as usize - 1) * Self::LEVELS as usize + self.level as usize,
        }
    }

    /// The priority of that text in [`Self::NAMES`].
    pub fn of_name(name: &[u8]) -> Option<Self> {
        let index = Self::NAMES.iter().position(|known| known.as_bytes() == name)?;
        let Some(at) = index.checked_sub(1) else { return Some(Self::default()) };
        let class = [PriorityClass::RealTime, PriorityClass::BestEffort, PriorityClass::Idle][at / 8];
        Some(Self::new(class, at as u8 % Self::LEVELS))
    }

    #[inline]
    const fn bits(self) -> u8 {
        (self.class as u8) << Self::CLASS_SHIFT | self.level << Self::LEVEL_SHIFT
    }

    /// The priority in the flags of a request.
    #[inline]
    pub const fn of_flags(flags: u8) -> Self {
        let class = match flags >> Self::CLASS_SHIFT {
            0 => PriorityClass::None,
            1 => PriorityClass::RealTime,
            2 => PriorityClass::BestEffort,
            _ => PriorityClass::Idle,
        };
        Self { class, level: flags >> Self::LEVEL_SHIFT & (Self::LEVELS - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: [PriorityClass; 4] =
        [PriorityClass::None, PriorityClass::RealTime, PriorityClass::BestEffort, PriorityClass::Idle];

    #[test]
    fn every_priority_is_kept_beside_every_flag() {
        for flags in 0..8 {
            for class in CLASSES {
                for level in 0..Priority::LEVELS {
                    let priority = Priority::new(class, level);
                    let request = Request::new(Op::Write, 0, 8).with_priority(priority).with_flags(flags);
                    assert_eq!((request.priority(), request.flags & !Priority::MASK), (priority, flags));
                    let plain = request.with_priority(Priority::default());
                    assert_eq!(plain, Request::new(Op::Write, 0, 8).with_flags(flags));
                }
            }
        }
    }

    #[test]
    fn every_priority_has_a_name_and_the_name_is_read_as_it() {
        for class in &CLASSES[1..] {
            for level in 0..Priority::LEVELS {
                let priority = Priority::new(*class, level);
                assert_eq!(Priority::of_name(Priority::NAMES[priority.index()].as_bytes()), Some(priority));
            }
        }
        let named = |name: &[u8]| Priority::of_name(name).map(|priority| (priority.class(), priority.level()));
        assert_eq!(named(b"be/4"), Some((PriorityClass::BestEffort, 4)));
        assert_eq!((named(b"none"), named(b"be/8")), (Some((PriorityClass::None, 0)), None));
        assert_eq!(Priority::new(PriorityClass::None, 3).index(), 0);
    }
}
