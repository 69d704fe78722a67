//! Event queue of a discrete-event simulation: a calendar of the near future, and a heap for what lies beyond it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{NO_INDEX, Ns, Reader, State, StateError, Writer};

/// Priority queue of future events. Those of one time leave it in the order in which they were scheduled.
///
/// Events are numbered, and their owner defines what each of them means. An event is scheduled at most once at a time:
/// so each has its place in an array, and none has to be found for it. Times are below [`Ns::MAX`], and not before that
/// of the last event removed.
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
    /// All events, by number.
    events: Vec<Entry>,
    /// Events beyond the last day when they were scheduled, and how many were before each. Of events at one time these
    /// were scheduled first.
    later: BinaryHeap<Reverse<(Ns, u64, u32)>>,
    /// Time of the first of them, or [`Ns::MAX`].
    later_ns: Ns,
    scheduled_later: u64,
}

/// An event, and its place in the calendar.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When it was scheduled for last.
    at: Ns,
    /// The next of its day, while it is in one.
    next: u32,
}

const DAYS: usize = 1024;
const WORDS: usize = DAYS / 64;

impl EventQueue {
    /// An empty queue for the events `0..events`, of which most are scheduled at most `reach_ns` ahead.
    pub fn new(events: u32, reach_ns: Ns) -> Self {
        let day_ns = reach_ns / DAYS as u64 + 1;
        Self {
            next_ns: Ns::MAX,
            today: 0,
            day_bits: day_ns.next_power_of_two().trailing_zeros(),
            busy: [0; WORDS],
            days: Box::new([NO_INDEX; DAYS]),
            events: vec![Entry { at: 0, next: NO_INDEX }; events as usize],
            later: BinaryHeap::new(),
            later_ns: Ns::MAX,
            scheduled_later: 0,
        }
    }

    /// Schedules an event that is not.
    #[inline(always)] // Once or twice for every operation of an array.
    pub fn schedule(&mut self, at: Ns, event: u32) {
        debug_assert!(at < Ns::MAX && at >> self.day_bits >= self.today, "nothing is scheduled in the past");
        self.next_ns = self.next_ns.min(at);
        let day = at >> self.day_bits;
        if day - self.today >= DAYS as u64 {
            return self.schedule_later(at, event);
        }
        let day = day as usize % DAYS;
        self.busy[day / 64] |= 1 << (day % 64);
        let first = self.days[day];
        debug_assert!(self.from(first).all(|other| other != event), "an event is scheduled once at a time");
        self.events[event as usize] = Entry { at, next: first };
        if first == NO_INDEX || self.events[first as usize].at > at {
            self.days[day] = event;
        } else {
            self.insert_after(first, event, at);
        }
    }

    #[cold]
    fn schedule_later(&mut self, at: Ns, event: u32) {
        self.events[event as usize].at = at;
        self.later.push(Reverse((at, self.scheduled_later, event)));
        self.scheduled_later += 1;
        self.later_ns = self.later_ns.min(at);
    }

    /// Inserts an event in the list of its day behind all that are not later than it; `first` is not.
    fn insert_after(&mut self, first: u32, event: u32, at: Ns) {
        let mut before = first;
        loop {
            let next = self.events[before as usize].next;
            if next == NO_INDEX || self.events[next as usize].at > at {
                self.events[event as usize].next = next;
                self.events[before as usize].next = event;
                return;
            }
            before = next;
        }
    }

    /// Time of the next event; none in an empty queue.
    #[inline]
    pub fn next_ns(&self) -> Option<Ns> {
        (self.next_ns != Ns::MAX).then_some(self.next_ns)
    }

    /// Removes the next event and returns its time and its number.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Ns, u32)> {
        let at = self.next_ns()?;
        self.today = at >> self.day_bits;
        if self.later_ns == at {
            return Some((at, self.pop_later()));
        }
        let day = self.today as usize % DAYS;
        let event = self.days[day];
        let next = self.events[event as usize].next;
        self.days[day] = next;
        self.next_ns = if next == NO_INDEX {
            self.busy[day / 64] &= !(1 << (day % 64));
            self.first_from(day)
        } else {
            self.events[next as usize].at
        };
        self.next_ns = self.next_ns.min(self.later_ns);
        Some((at, event))
    }

    #[cold]
    fn pop_later(&mut self) -> u32 {
        let Reverse((_, _, event)) = self.later.pop().expect("there is one at this time");
        self.find_next();
        event
    }

    /// Looks for the next event, from today on.
    fn find_next(&mut self) {
        self.later_ns = self.later.peek().map_or(Ns::MAX, |next| next.0.0);
        self.next_ns = self.later_ns.min(self.first_from(self.today as usize % DAYS));
    }

    /// Removes an event if it is scheduled for a time.
    #[cold]
    pub fn cancel(&mut self, at: Ns, event: u32) {
        let Entry { at: scheduled_ns, next } = self.events[event as usize];
        if scheduled_ns != at {
            return;
        }
        let day = (at >> self.day_bits) as usize % DAYS;
        let before = self.from(self.days[day]).take_while(|&other| other != event).last();
        let place = before.map_or(self.days[day], |before| self.events[before as usize].next);
        match before {
            // It was beyond the calendar when it was scheduled, or has been removed since.
            _ if place != event => self.later.retain(|other| other.0.2 != event),
            Some(before) => self.events[before as usize].next = next,
            None => self.days[day] = next,
        }
        if self.days[day] == NO_INDEX {
            self.busy[day / 64] &= !(1 << (day % 64));
        }
        self.find_next();
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

    /// All events in order, each with its time.
    fn sorted(&self) -> Vec<(Ns, u32)> {
        let mut later: Vec<_> = self.later.iter().map(|event| event.0).collect();
        later.sort_unstable();
        let near =
            self.days.iter().flat_map(|&head| self.from(head)).map(|event| (self.events[event as usize].at, event));
        let mut all: Vec<(Ns, u32)> = later.into_iter().map(|(at, _, event)| (at, event)).chain(near).collect();
        // Stable: of one time those of the heap come first, and a day is in order.
        all.sort_by_key(|&(at, _)| at);
        all
    }

    /// Events of a day, from one on.
    fn from(&self, head: u32) -> impl Iterator<Item = u32> + '_ {
        let known = |event: u32| (event != NO_INDEX).then_some(event);
        std::iter::successors(known(head), move |&event| known(self.events[event as usize].next))
    }
}

// Which events are in the calendar follows from where time has come to, which the events do not say: all that are
// loaded count as later ones, and their order is the same.
impl State for EventQueue {
    fn save(&self, to: &mut Writer) {
        to.value(&self.sorted());
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let events: Vec<(Ns, u32)> = from.value()?;
        let count = self.events.len() as u32;
        let mut is_loaded = vec![false; count as usize];
        let mut loads = |event: u32| is_loaded.get_mut(event as usize).is_some_and(|is| !std::mem::replace(is, true));
        if let Some((_, event)) = events.iter().find(|&&(_, event)| !loads(event)) {
            return Err(from.error(format!("events below {count}, each once"), event.to_string()));
        }
        let day_ns = 1 << self.day_bits;
        *self = Self::new(count, (day_ns - 1) * DAYS as u64);
        events.into_iter().for_each(|(at, event)| self.schedule_later(at, event));
        self.next_ns = self.later_ns;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Days of 4 ns.
    const REACH_NS: Ns = 4_000;
    const EVENTS: u32 = 40;

    /// How long after the event before it an event is scheduled: within a day, the calendar, or beyond.
    fn ahead() -> impl Strategy<Value = Ns> {
        prop_oneof![4 => 0..3u64, 4 => 0..REACH_NS, 1 => 0..5 * REACH_NS]
    }

    /// An event and how long ahead it is scheduled, or else cancelled if it is; and how many are removed then.
    fn steps() -> impl Strategy<Value = Vec<(u32, Ns, usize)>> {
        prop::collection::vec((0..EVENTS, ahead(), 0..3usize), 0..400)
    }

    /// Events with their times, in order of scheduling.
    type Model = Vec<(Ns, u32)>;

    /// Schedules an event in both, or cancels it.
    fn schedule_or_cancel(queue: &mut EventQueue, model: &mut Model, at: Ns, event: u32) {
        if let Some(index) = model.iter().position(|&(_, other)| other == event) {
            queue.cancel(model.remove(index).0, event);
        } else {
            // Nothing to cancel.
            queue.cancel(at, event);
            queue.schedule(at, event);
            model.push((at, event));
        }
    }

    fn pop(model: &mut Model) -> Option<(Ns, u32)> {
        let first = *model.iter().min_by_key(|&&(at, _)| at)?;
        model.retain(|&event| event != first);
        Some(first)
    }

    proptest! {
        #[test]
        fn events_come_by_time_and_then_as_they_were_scheduled(steps in steps()) {
            let (mut queue, mut model) = (EventQueue::new(EVENTS, REACH_NS), Model::new());
            let mut now = 0;
            for (event, ahead, removed) in steps {
                schedule_or_cancel(&mut queue, &mut model, now + ahead, event);
                for _ in 0..removed {
                    let expected = pop(&mut model);
                    prop_assert_eq!(queue.next_ns(), expected.map(|event| event.0));
                    prop_assert_eq!(queue.pop(), expected);
                    now = expected.map_or(now, |event| event.0);
                }
            }
            while let Some(expected) = pop(&mut model) {
                prop_assert_eq!(queue.pop(), Some(expected));
            }
            prop_assert_eq!((queue.next_ns(), queue.pop()), (None, None));
        }

        #[test]
        fn a_loaded_queue_goes_on_as_the_saved_one(steps in steps()) {
            let (mut queue, mut model) = (EventQueue::new(EVENTS, REACH_NS), Model::new());
            let mut now = 0;
            for (event, ahead, removed) in steps.into_iter().take(100) {
                schedule_or_cancel(&mut queue, &mut model, now + ahead, event);
                for _ in 0..removed {
                    now = queue.pop().map_or(now, |event| event.0);
                    pop(&mut model);
                }
                let mut loaded = EventQueue::new(EVENTS, REACH_NS);
                let bytes = crate::save_state(&queue).unwrap();
                crate::load_state(&mut loaded, &bytes).unwrap();
                prop_assert_eq!(crate::save_state(&loaded).unwrap(), bytes);
                let (mut other, mut expected) = (queue.clone(), model.clone());
                schedule_or_cancel(&mut loaded, &mut model.clone(), now + ahead, event);
                schedule_or_cancel(&mut other, &mut expected, now + ahead, event);
                while let Some(event) = pop(&mut expected) {
                    prop_assert_eq!((loaded.pop(), other.pop()), (Some(event), Some(event)));
                }
            }
        }
    }

    #[test]
    fn the_extremes_fit() {
        for reach_ns in [0, REACH_NS, Ns::MAX / 2] {
            let mut queue = EventQueue::new(2, reach_ns);
            queue.schedule(Ns::MAX - 1, 1);
            queue.schedule(0, 0);
            assert_eq!(queue.pop(), Some((0, 0)));
            assert_eq!(queue.pop(), Some((Ns::MAX - 1, 1)));
        }
    }

    #[test]
    fn an_event_that_the_queue_does_not_have_or_has_already_is_not_loaded() {
        let mut queue = EventQueue::new(3, REACH_NS);
        queue.schedule(7, 2);
        let bytes = crate::save_state(&queue).unwrap();
        let message = crate::load_state(&mut EventQueue::new(2, REACH_NS), &bytes).unwrap_err().to_string();
        assert!(message.contains("events below 2"), "{message}");
        let twice = crate::save_with(|to| to.value(&vec![(7u64, 1u32), (9, 1)])).unwrap();
        let message = crate::load_state(&mut queue, &twice).unwrap_err().to_string();
        assert!(message.contains("each once"), "{message}");
    }
}
