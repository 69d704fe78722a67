//! Event queue of a discrete-event simulation: one 128-bit word an event, in a binary heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Ns;

/// Priority queue of future events. Those of one time leave it in the order in which they were scheduled.
///
/// An event is a 28-bit code whose meaning its owner defines. Time, number and code share one 128-bit word, so that the
/// heap compares and moves single words. The number has 36 bits: enough for 68 thousand million events.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<u128>>,
    scheduled: u64,
}

// The heap is saved in the order of its array. Loading an array that is a heap already moves nothing.
crate::state! { EventQueue { value heap, scheduled; } }

/// Number of an event among all that were ever scheduled, from 1.
pub type EventNumber = u64;

const CODE_BITS: u32 = 28;

impl EventQueue {
    /// Greatest code that an event can have.
    pub const MAX_CODE: u32 = (1 << CODE_BITS) - 1;

    /// Schedules an event, and returns its number.
    #[inline]
    pub fn schedule(&mut self, at: Ns, code: u32) -> EventNumber {
        debug_assert!(code <= Self::MAX_CODE, "a code has {CODE_BITS} bits");
        self.scheduled += 1;
        debug_assert!(self.scheduled < 1 << (64 - CODE_BITS), "so many events would lose their order");
        let low = self.scheduled << CODE_BITS | u64::from(code);
        self.heap.push(Reverse(u128::from(at) << 64 | u128::from(low)));
        self.scheduled
    }

    /// Time of the next event; none in an empty queue.
    #[inline]
    pub fn next_ns(&self) -> Option<Ns> {
        self.heap.peek().map(|event| (event.0 >> 64) as Ns)
    }

    /// Removes the next event and returns its time, its number and its code.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ns, EventNumber, u32)> {
        let Reverse(event) = self.heap.pop()?;
        let low = event as u64;
        Some(((event >> 64) as Ns, low >> CODE_BITS, low as u32 & Self::MAX_CODE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_by_time_and_then_as_they_were_scheduled(times in prop::collection::vec(0u64..20, 0..100)) {
            let mut queue = EventQueue::default();
            let events = times.iter().enumerate();
            let mut expected: Vec<_> = events.map(|(code, &at)| (at, code as u64 + 1, code as u32)).collect();
            for (code, &at) in times.iter().enumerate() {
                queue.schedule(at, code as u32);
            }
            expected.sort();
            for event in expected {
                prop_assert_eq!(queue.next_ns(), Some(event.0));
                prop_assert_eq!(queue.pop(), Some(event));
            }
            prop_assert_eq!(queue.pop(), None);
        }

        #[test]
        fn a_loaded_queue_goes_on_as_the_saved_one(steps in prop::collection::vec((0u64..20, any::<bool>()), 0..100)) {
            let mut queue = EventQueue::default();
            for (at, pops) in steps {
                queue.schedule(at, 5);
                if pops {
                    queue.pop();
                }
                let mut loaded = EventQueue::default();
                let bytes = crate::save_state(&queue).unwrap();
                crate::load_state(&mut loaded, &bytes).unwrap();
                prop_assert_eq!(crate::save_state(&loaded).unwrap(), bytes);
                prop_assert_eq!(loaded.schedule(at, 6), queue.schedule(at, 6));
                while let Some(event) = queue.pop() {
                    prop_assert_eq!(loaded.pop(), Some(event));
                }
                queue = loaded;
            }
        }
    }

    #[test]
    fn the_extremes_fit() {
        let mut queue = EventQueue::default();
        queue.schedule(Ns::MAX, EventQueue::MAX_CODE);
        assert_eq!(queue.pop(), Some((Ns::MAX, 1, EventQueue::MAX_CODE)));
    }
}
