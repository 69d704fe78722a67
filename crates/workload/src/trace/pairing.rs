//! Pairs of the issue and the completion of a request, of which a recording has one event each: the time between them
//! is the latency of the device.
//!
//! ```text
//! issue       waits, in the order of issues
//! completion  of the oldest request that waits at its device, operation and first sector; if it is shorter than what
//!             is left of the request, the request waits on for the rest
//! returned    the front of those that wait, once it has completed
//! ```
//! A completion whose request was issued before the recording began, or is missing, pairs with none. A request whose
//! completion is missing is returned without a latency: at the end, or when [`WINDOW`] others have been issued after
//! it. A request that ended with an error has no latency either.

use std::collections::{BTreeMap, VecDeque};

use super::record::{Moment, Record};
use crate::Op;

/// Requests that wait for their completion at most: 64 MB. More than any host has outstanding.
const WINDOW: usize = 1 << 20;

/// Completions without a request that are remembered, to tell a clock that goes backwards.
const REMEMBERED: usize = 1 << 16;

/// Device, operation and first sector.
type Key = (u32, Op, u64);

/// Counts of the pairs of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Requests with a latency.
    pub paired: u64,
    /// Requests that ended with an error.
    pub failed: u64,
    /// Requests whose completion is missing.
    pub unpaired: u64,
    /// Of these, requests with a completion that lies before their issue and belongs to no other request: the clock
    /// went backwards between the two.
    pub completed_before_issue: u64,
    /// Completions, but for those that pair with a request: of requests that were issued before the recording began.
    pub strays: u64,
}

/// A request that was issued.
struct Issued {
    record: Record,
    /// First sector and length of what has not completed.
    rest: (u64, u32),
    /// True once it has ended.
    is_over: bool,
    /// True if a completion that pairs with no other request lies before it.
    follows_stray: bool,
}

/// Pairs the records of a recording, which are given in order of time.
#[derive(Default)]
pub(crate) struct Pairing {
    issued: VecDeque<Issued>,
    /// Number of the first of them, counted from the start of the recording.
    first: u64,
    /// Numbers of those that have not ended, by what they wait for.
    waiting: BTreeMap<Key, VecDeque<u64>>,
    strays: BTreeMap<Key, u32>,
    pairs: Pairs,
    is_ended: bool,
}

impl Pairing {
    /// Counts of what was returned so far.
    pub fn pairs(&self) -> Pairs {
        self.pairs
    }

    /// Takes the next record.
    pub fn take(&mut self, record: Record) {
        match record.moment {
            Moment::Begins => self.issue(record),
            Moment::Completes | Moment::Fails => self.complete(&record),
        }
    }

    /// The recording has ended.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// Returns the next request whose completion is known, or known to be missing.
    pub fn next(&mut self) -> Option<Record> {
        let front = self.issued.front()?;
        if !front.is_over && !self.is_ended && self.issued.len() <= WINDOW {
            return None;
        }
        let Issued { record, rest, is_over, follows_stray } = self.issued.pop_front()?;
        if !is_over {
            self.wait_no_longer(key(&record, rest.0), self.first);
            self.pairs.unpaired += 1;
            self.pairs.completed_before_issue += u64::from(follows_stray);
        }
        self.first += 1;
        Some(record)
    }

    fn issue(&mut self, record: Record) {
        let rest = (record.request.lba, record.request.sectors);
        let key = key(&record, rest.0);
        let follows_stray = self.strays.get_mut(&key).is_some_and(|strays| {
            let has_one = *strays > 0;
            *strays = strays.saturating_sub(1);
            has_one
        });
        let number = self.first + self.issued.len() as u64;
        self.waiting.entry(key).or_default().push_back(number);
        self.issued.push_back(Issued { record, rest, is_over: false, follows_stray });
    }

    fn complete(&mut self, completion: &Record) {
        let completed = completion.request;
        let key_of_completion = key(completion, completed.lba);
        let Some(&number) = self.waiting.get(&key_of_completion).and_then(VecDeque::front) else {
            self.pairs.strays += 1;
            if self.strays.len() < REMEMBERED {
                *self.strays.entry(key_of_completion).or_default() += 1;
            }
            return;
        };
        self.wait_no_longer(key_of_completion, number);
        let issued = &mut self.issued[(number - self.first) as usize];
        let (lba, left) = issued.rest;
        if completed.sectors < left && completion.moment == Moment::Completes {
            issued.rest = (lba + u64::from(completed.sectors), left - completed.sectors);
            let rest = key(completion, issued.rest.0);
            self.waiting.entry(rest).or_default().push_back(number);
            return;
        }
        issued.is_over = true;
        if completion.moment == Moment::Fails {
            self.pairs.failed += 1;
            return;
        }
        self.pairs.paired += 1;
        let latency_ns = completed.arrival_ns - issued.record.request.arrival_ns;
        issued.record = issued.record.with_latency(latency_ns);
    }

    fn wait_no_longer(&mut self, key: Key, number: u64) {
        let Some(numbers) = self.waiting.get_mut(&key) else { return };
        numbers.retain(|&other| other != number);
        if numbers.is_empty() {
            self.waiting.remove(&key);
        }
    }
}

/// What identifies a request whose next sector to complete is `lba`.
fn key(record: &Record, lba: u64) -> Key {
    (record.device, record.request.op, lba)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;

    fn record(time_ns: u64, moment: Moment, op: Op, lba: u64, sectors: u32) -> Record {
        Record { moment, ..Record::new(time_ns, op, lba, sectors) }
    }

    fn issue(time_ns: u64, lba: u64, sectors: u32) -> Record {
        record(time_ns, Moment::Begins, Op::Write, lba, sectors)
    }

    fn completion(time_ns: u64, lba: u64, sectors: u32) -> Record {
        record(time_ns, Moment::Completes, Op::Write, lba, sectors)
    }

    /// Time and latency of every request, and the counts.
    fn paired(records: &[Record]) -> (Vec<(u64, u64)>, Pairs) {
        let mut pairing = Pairing::default();
        let mut returned = Vec::new();
        for &record in records {
            pairing.take(record);
            returned.extend(std::iter::from_fn(|| pairing.next()));
        }
        pairing.end();
        returned.extend(std::iter::from_fn(|| pairing.next()));
        let of = |record: &Record| (record.request.arrival_ns, record.latency_ns());
        (returned.iter().map(of).collect(), pairing.pairs())
    }

    #[test]
    fn latency_is_the_time_from_issue_to_completion_in_the_order_of_issues() {
        let records = [issue(10, 0, 8), issue(20, 64, 8), completion(25, 64, 8), completion(90, 0, 8)];
        let (requests, pairs) = paired(&records);
        assert_eq!(requests, [(10, 80), (20, 5)]);
        assert_eq!(pairs, Pairs { paired: 2, ..Pairs::default() });
    }

    #[test]
    fn a_read_and_a_write_of_one_sector_and_of_two_devices_are_told_apart() {
        let read = |time_ns, moment| record(time_ns, moment, Op::Read, 0, 8);
        let other = |record: Record| record.on_device(1);
        let records = [
            issue(1, 0, 8),
            read(2, Moment::Begins),
            other(issue(3, 0, 8)),
            other(completion(10, 0, 8)),
            read(20, Moment::Completes),
            completion(30, 0, 8),
        ];
        assert_eq!(paired(&records).0, [(1, 29), (2, 18), (3, 7)]);
    }

    #[test]
    fn of_two_alike_the_older_completes_first() {
        assert_eq!(
            paired(&[issue(1, 0, 8), issue(2, 0, 8), completion(10, 0, 8), completion(30, 0, 8)]).0,
            [(1, 9), (2, 28)]
        );
    }

    #[test]
    fn a_request_that_completes_in_parts_completes_with_the_last() {
        let records = [issue(0, 0, 32), completion(5, 0, 8), completion(6, 8, 16), completion(9, 24, 8)];
        assert_eq!(paired(&records), (vec![(0, 9)], Pairs { paired: 1, ..Pairs::default() }));
    }

    #[test]
    fn a_flush_pairs_with_a_flush() {
        let flush = |time_ns, moment| Record { moment, ..Record::of(Request::flush().arriving_at(time_ns)) };
        assert_eq!(paired(&[flush(1, Moment::Begins), flush(8, Moment::Completes)]).0, [(1, 7)]);
    }

    #[test]
    fn what_pairs_with_nothing_is_counted() {
        let failed = record(9, Moment::Fails, Op::Write, 64, 8);
        let records = [completion(1, 512, 8), issue(2, 0, 8), issue(3, 64, 8), failed, issue(10, 128, 8)];
        let (requests, pairs) = paired(&records);
        assert_eq!(requests, [(2, 0), (3, 0), (10, 0)]);
        assert_eq!(pairs, Pairs { failed: 1, unpaired: 2, strays: 1, ..Pairs::default() });
    }

    #[test]
    fn a_completion_before_its_issue_is_a_clock_that_went_backwards() {
        let (_, pairs) = paired(&[completion(1, 0, 8), issue(2, 0, 8), issue(3, 64, 8)]);
        assert_eq!(pairs, Pairs { unpaired: 2, completed_before_issue: 1, strays: 1, ..Pairs::default() });
        // One of a request from before the recording, whose sectors are written again.
        let (_, pairs) = paired(&[completion(1, 0, 8), issue(2, 0, 8), completion(3, 0, 8)]);
        assert_eq!(pairs, Pairs { paired: 1, strays: 1, ..Pairs::default() });
    }

    #[test]
    fn a_missing_completion_holds_back_a_bounded_number_of_requests() {
        let mut pairing = Pairing::default();
        pairing.take(issue(0, 0, 8));
        for number in 1..=WINDOW as u64 {
            assert!(pairing.next().is_none(), "{number}");
            pairing.take(issue(number, 64, 8));
            pairing.take(completion(number, 64, 8));
        }
        assert_eq!(pairing.next().map(|record| record.request.lba), Some(0));
        assert_eq!(pairing.pairs().unpaired, 1);
        assert!(pairing.next().is_some_and(|record| record.request.lba == 64));
    }
}
