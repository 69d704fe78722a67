//! Event queue of a discrete-event simulation: a calendar of the near future, and a heap for what lies beyond it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{NO_INDEX, Ns, Reader, State, StateError, Writer};

/// Priority queue of future events. Those of one time leave it in the order in which they were scheduled.
///
/// An event is a 28-bit code whose meaning its owner defines. Times are below [`Ns::MAX`], and not before that of the
/// last event removed.
///
/// ```text
/// days       1024 of 2^k ns each, of which the one of the last event removed is today; a list of events each, sorted
/// schedule   into the list of its day, nearly always an empty one; beyond the last day into the heap
/// remove     the head of the first day that has any, found by a bit map, or the top of the heap
/// ```
///
/// A drive schedules nearly all of its events a fixed time ahead (tR, tPROG, tBERS, a transfer), so that a calendar of
/// that length has room for them (Brown, CACM 1988); a heap would compare and move each several times.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Time of the next event; [`Ns::MAX`] in an empty queue.
    next_ns: Ns,
    /// The present day, counted from the beginning of time.
    today: u64,
    /// A day has two to the power of this nanoseconds.
    day_bits: u32,
    /// A bit for each day that has events.
    busy: [u64; WORDS],
    /// First event of each day.
    days: Box<[u32; DAYS]>,
    /// Events of all days; `next` is the next of the day, or of those that are free.
    events: Vec<Entry>,
    free: u32,
    /// Events beyond the last day when they were scheduled. Of events at one time these were scheduled first.
    later: BinaryHeap<Reverse<u128>>,
    /// Time of the first of them, or [`Ns::MAX`].
    later_ns: Ns,
    scheduled: u64,
}

/// Number of an event among all that were ever scheduled, from 1.
pub type EventNumber = u64;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Ns,
    number_and_code: u64,
    next: u32,
}

const CODE_BITS: u32 = 28;
const DAYS: usize = 1024;
const WORDS: usize = DAYS / 64;

impl EventQueue {
    /// Greatest code that an event can have.
    pub const MAX_CODE: u32 = (1 << CODE_BITS) - 1;

    /// An empty queue for events of which most are scheduled at most `reach_ns` ahead.
    pub fn new(reach_ns: Ns) -> Self {
        let day_ns = reach_ns / DAYS as u64 + 1;
        Self {
            next_ns: Ns::MAX,
            today: 0,
            day_bits: day_ns.next_power_of_two().trailing_zeros(),
            busy: [0; WORDS],
            days: Box::new([NO_INDEX; DAYS]),
            events: Vec::new(),
            free: NO_INDEX,
            later: BinaryHeap::new(),
            later_ns: Ns::MAX,
            scheduled: 0,
        }
    }

    /// Schedules an event, and returns its number.
    #[inline(always)] // Once or twice for every operation of an array.
    pub fn schedule(&mut self, at: Ns, code: u32) -> EventNumber {
        debug_assert!(code <= Self::MAX_CODE, "a code has {CODE_BITS} bits");
        debug_assert!(at < Ns::MAX && at >> self.day_bits >= self.today, "nothing is scheduled in the past");
        self.scheduled += 1;
        debug_assert!(self.scheduled < 1 << (64 - CODE_BITS), "so many events would lose their order");
        let number_and_code = self.scheduled << CODE_BITS | u64::from(code);
        self.next_ns = self.next_ns.min(at);
        let day = at >> self.day_bits;
        if day - self.today >= DAYS as u64 {
            self.schedule_later(at, number_and_code);
            return self.scheduled;
        }
        let day = day as usize % DAYS;
        self.busy[day / 64] |= 1 << (day % 64);
        if self.free == NO_INDEX {
            self.add_entry();
        }
        let (event, events) = (self.free, &mut self.events[..]);
        let entry = &mut events[event as usize];
        self.free = entry.next;
        let first = self.days[day];
        *entry = Entry { at, number_and_code, next: first };
        if first == NO_INDEX || events[first as usize].at > at {
            self.days[day] = event;
        } else {
            insert_after(events, first, event, at);
        }
        self.scheduled
    }

    #[cold]
    fn schedule_later(&mut self, at: Ns, number_and_code: u64) {
        self.later.push(Reverse(u128::from(at) << 64 | u128::from(number_and_code)));
        self.later_ns = self.later_ns.min(at);
    }

    /// Makes room where more events are scheduled than ever before.
    #[cold]
    fn add_entry(&mut self) {
        self.free = self.events.len() as u32;
        self.events.push(Entry { at: 0, number_and_code: 0, next: NO_INDEX });
    }

    /// Time of the next event; none in an empty queue.
    #[inline]
    pub fn next_ns(&self) -> Option<Ns> {
        (self.next_ns != Ns::MAX).then_some(self.next_ns)
    }

    /// Removes the next event and returns its time, its number and its code.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Ns, EventNumber, u32)> {
        let at = self.next_ns()?;
        self.today = at >> self.day_bits;
        let day = self.today as usize % DAYS;
        if self.later_ns == at {
            return Some(self.pop_later());
        }
        let (event, events) = (self.days[day], &mut self.events[..]);
        let entry = &mut events[event as usize];
        let Entry { number_and_code, next, .. } = *entry;
        entry.next = std::mem::replace(&mut self.free, event);
        self.days[day] = next;
        if next == NO_INDEX {
            self.busy[day / 64] &= !(1 << (day % 64));
            self.next_ns = self.first_from(day);
        } else {
            self.next_ns = events[next as usize].at;
        }
        self.next_ns = self.next_ns.min(self.later_ns);
        Some((at, number_and_code >> CODE_BITS, number_and_code as u32 & Self::MAX_CODE))
    }

    #[cold]
    fn pop_later(&mut self) -> (Ns, EventNumber, u32) {
        let Reverse(event) = self.later.pop().expect("there is one at this time");
        let (at, low) = ((event >> 64) as Ns, event as u64);
        self.later_ns = self.later.peek().map_or(Ns::MAX, |next| (next.0 >> 64) as Ns);
        self.next_ns = self.later_ns.min(self.first_from((at >> self.day_bits) as usize % DAYS));
        (at, low >> CODE_BITS, low as u32 & Self::MAX_CODE)
    }

    /// Time of the first event in the calendar, whose first day is the given one.
    #[inline(always)]
    fn first_from(&self, today: usize) -> Ns {
        let mut index = today / 64;
        let mut word = self.busy[index] & (u64::MAX << (today % 64));
        if word == 0 {
            // The words that follow, and at the end the days of this one that lie behind today: the calendar's last.
            let following = (1..=WORDS).map(|ahead| (index + ahead) % WORDS);
            let Some(busy) = following.into_iter().find(|&index| self.busy[index] != 0) else { return Ns::MAX };
            (index, word) = (busy, self.busy[busy]);
        }
        let head = self.days[index * 64 + word.trailing_zeros() as usize];
        self.events[head as usize].at
    }

    /// All events in order, as words of time, number and code.
    fn sorted(&self) -> Vec<u128> {
        let heads = self.days.iter().filter(|&&head| head != NO_INDEX);
        let near = heads.flat_map(|&head| {
            let next = |&id: &u32| Some(self.events[id as usize].next).filter(|&next| next != NO_INDEX);
            std::iter::successors(Some(head), next)
        });
        let word = |id: u32| {
            let Entry { at, number_and_code, .. } = self.events[id as usize];
            u128::from(at) << 64 | u128::from(number_and_code)
        };
        let later = self.later.iter().map(|event| event.0);
        let mut all: Vec<u128> = near.map(word).chain(later).collect();
        all.sort_unstable();
        all
    }
}

/// Inserts an event in the list of its day behind all that are not later than it; `first` is not.
fn insert_after(events: &mut [Entry], first: u32, event: u32, at: Ns) {
    let mut before = first;
    loop {
        let next = events[before as usize].next;
        if next == NO_INDEX || events[next as usize].at > at {
            events[event as usize].next = next;
            events[before as usize].next = event;
            return;
        }
        before = next;
    }
}

// Which events are in the calendar follows from where time has come to, which the events do not say: all that are
// loaded count as later ones, and their order is the same.
impl State for EventQueue {
    fn save(&self, to: &mut Writer) {
        to.value(&(self.sorted(), self.scheduled));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let (events, scheduled): (Vec<u128>, u64) = from.value()?;
        let day_ns = 1 << self.day_bits;
        *self = Self { scheduled, ..Self::new((day_ns - 1) * DAYS as u64) };
        self.later_ns = events.first().map_or(Ns::MAX, |&event| (event >> 64) as Ns);
        self.next_ns = self.later_ns;
        self.later = events.into_iter().map(Reverse).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Days of 4 ns.
    const REACH_NS: Ns = 4_000;

    /// How long after the event before it an event is scheduled: within a day, the calendar, or beyond.
    fn ahead() -> impl Strategy<Value = Ns> {
        prop_oneof![4 => 0..3u64, 4 => 0..REACH_NS, 1 => 0..5 * REACH_NS]
    }

    proptest! {
        #[test]
        fn events_come_by_time_and_then_as_they_were_scheduled(
            steps in prop::collection::vec((prop::collection::vec(ahead(), 0..5), 0..5usize), 0..200),
        ) {
            let (mut queue, mut expected) = (EventQueue::new(REACH_NS), BinaryHeap::new());
            let (mut now, mut number) = (0, 0);
            for (scheduled, removed) in steps {
                for ahead in scheduled {
                    number += 1;
                    let code = number as u32 * 3;
                    prop_assert_eq!(queue.schedule(now + ahead, code), number);
                    expected.push(Reverse((now + ahead, number, code)));
                }
                for _ in 0..removed {
                    let event = expected.pop().map(|event| event.0);
                    prop_assert_eq!(queue.next_ns(), event.map(|event| event.0));
                    prop_assert_eq!(queue.pop(), event);
                    now = event.map_or(now, |event| event.0);
                }
            }
            while let Some(Reverse(event)) = expected.pop() {
                prop_assert_eq!(queue.pop(), Some(event));
            }
            prop_assert_eq!((queue.next_ns(), queue.pop()), (None, None));
        }

        #[test]
        fn a_loaded_queue_goes_on_as_the_saved_one(steps in prop::collection::vec((ahead(), any::<bool>()), 0..100)) {
            let mut queue = EventQueue::new(REACH_NS);
            let mut now = 0;
            for (ahead, pops) in steps {
                queue.schedule(now + ahead, 5);
                if pops {
                    now = queue.pop().map_or(now, |event| event.0);
                }
                let mut loaded = EventQueue::new(REACH_NS);
                let bytes = crate::save_state(&queue).unwrap();
                crate::load_state(&mut loaded, &bytes).unwrap();
                prop_assert_eq!(crate::save_state(&loaded).unwrap(), bytes);
                prop_assert_eq!(loaded.schedule(now + ahead, 6), queue.schedule(now + ahead, 6));
                let mut other = queue.clone();
                while let Some(event) = other.pop() {
                    prop_assert_eq!(loaded.pop(), Some(event));
                }
            }
        }
    }

    #[test]
    fn the_extremes_fit() {
        for reach_ns in [0, REACH_NS, Ns::MAX / 2] {
            let mut queue = EventQueue::new(reach_ns);
            queue.schedule(Ns::MAX - 1, EventQueue::MAX_CODE);
            queue.schedule(0, 0);
            assert_eq!(queue.pop(), Some((0, 2, 0)));
            assert_eq!(queue.pop(), Some((Ns::MAX - 1, 1, EventQueue::MAX_CODE)));
        }
    }
}
