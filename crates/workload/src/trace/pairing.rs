//! Pairs of the issue and the completion of a request, of which a recording has one event each: the time between them
//! is the latency of the device.
//!
//! ```text
//! issue       the request waits, in the order of issues
//! requeue     the request that waits at this device, operation and first sector was not issued
//! completion  of the request that waits at this device, operation and first sector; a shorter one completes a part,
//!             and the request waits for the rest
//! returned    the first request that waits, once its completion is known, or known to be missing
//! ```
//! Two requests may be outstanding at one device, operation and first sector:
//!
//! - Writes and discards: the second issue is the first request again, and its requeue was not recorded. The first
//!   issue is dropped. A second completion shows that there were two requests; it counts as a void pair.
//! - Reads and flushes: both are requests. A completion does not say whose it is, so their pairs are void.
//!
//! Other rules: the rest of a request that completed in part may be requeued and issued again; the request stays one.
//! A completion is missing after [`TIMEOUT_NS`], at the end of the recording, or after [`WINDOW`] further issues. A
//! completion without an issue is a stray: the issue lies before the start of the recording. A request that failed has
//! no latency.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use flashloom_units::{Ns, S};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use super::record::{Key, Moment, Record, make_room};
use crate::Op;

/// Requests that wait for their completion at most: 64 MB. More than any host has outstanding.
const WINDOW: usize = 1 << 20;

/// Completions without a request that are remembered, to tell a clock that goes backwards.
const REMEMBERED: usize = 1 << 16;

/// Time after which a completion does not come any more: Linux fails a request that takes longer.
const TIMEOUT_NS: Ns = 30 * S;

/// Counts of the pairs of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Pairs {
    /// Requests with a latency.
    pub paired: u64,
    /// Requests that ended with an error.
    pub failed: u64,
    /// Requests whose completion is missing.
    pub unpaired: u64,
    /// Requests that were outstanding together with another one of the same kind and first sector, so that a completion
    /// does not say whose it is.
    pub void: u64,
    /// Issues that are no requests: the same request was issued again later.
    pub reissued: u64,
    /// Of the requests without completion, those with one that lies before their issue and belongs to no other request:
    /// the clock went backwards between the two.
    pub completed_before_issue: u64,
    /// Completions, but for those that pair with a request: of requests that were issued before the recording began.
    pub strays: u64,
}

impl Pairs {
    /// Share of the issued requests without a latency, because their completion is missing or their pair is void.
    pub fn lost_share(&self) -> f64 {
        let lost = self.unpaired + self.void;
        lost as f64 / (self.paired + self.failed + lost).max(1) as f64
    }
}

/// A request that was issued.
struct Issued {
    record: Record,
    /// First sector and length of what has not completed.
    rest: (u64, u32),
    /// What is known of it.
    fate: Fate,
    /// True if a completion that pairs with no other request lies before it.
    follows_stray: bool,
    /// True after a requeue of the part that has not completed.
    is_back: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It waits for its completion.
    Waits,
    /// It has ended, or its pair is void.
    Over,
    /// Its completion does not come any more.
    Lost,
    /// It was issued again later: this issue is no request.
    Reissued,
}

/// Completions that are due at a place where several requests are outstanding.
struct Due {
    completions: u32,
    /// Time of the last issue at which two or more requests were outstanding.
    last_issue_ns: Ns,
}

/// Pairs the records of a recording, which are given in order of time.
#[derive(Default)]
pub(crate) struct Pairing {
    issued: VecDeque<Issued>,
    /// Number of the first of them, counted from the start of the recording.
    first: u64,
    /// Number of the request that waits, by what it waits for.
    waiting: BTreeMap<Key, u64>,
    /// Places whose pairs are void.
    void: BTreeMap<Key, Due>,
    /// Places of writes and discards that counted as issued again, with the time of the second issue.
    reissued: BTreeMap<Key, Ns>,
    strays: BTreeMap<Key, u32>,
    /// Completions that pair with none, by device; and the devices that issues were recorded of. A volume has
    /// completions and no issues.
    strays_of: BTreeMap<u32, u64>,
    issuing: BTreeSet<u32>,
    pairs: Pairs,
    is_ended: bool,
}

impl Pairing {
    /// Counts of what was returned so far.
    pub fn pairs(&self) -> Pairs {
        let strays = self.strays_of.iter().filter(|(device, _)| self.issuing.contains(device));
        Pairs { strays: strays.map(|(_, strays)| strays).sum(), ..self.pairs }
    }

    /// Takes the next record.
    pub fn take(&mut self, record: Record) {
        match record.moment {
            Moment::Begins => self.issue(record),
            Moment::Requeued => self.requeue(&record),
            Moment::HandedDown => {}
            Moment::Completes | Moment::Fails => self.complete(&record),
        }
    }

    /// The recording has ended.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// Returns the next request whose completion is known, or known to be missing.
    pub fn next(&mut self) -> Option<Record> {
        loop {
            let front = self.issued.front()?;
            if front.fate == Fate::Waits && !self.is_ended && self.issued.len() <= WINDOW {
                return None;
            }
            let Issued { record, rest, fate, follows_stray, .. } = self.issued.pop_front()?;
            if fate == Fate::Waits {
                self.waiting.remove(&record.key(rest.0));
            }
            self.first += 1;
            match fate {
                Fate::Reissued => {
                    self.pairs.reissued += 1;
                    continue;
                }
                Fate::Waits | Fate::Lost => {
                    self.pairs.unpaired += 1;
                    self.pairs.completed_before_issue += u64::from(follows_stray);
                }
                Fate::Over => {}
            }
            return Some(record);
        }
    }

    fn issue(&mut self, record: Record) {
        let rest = (record.request.lba, record.request.sectors);
        let key = record.key(rest.0);
        if self.is_rest(&key) {
            return;
        }
        let number = self.first + self.issued.len() as u64;
        let follows_stray = self.strays.get_mut(&key).is_some_and(|strays| {
            let has_one = *strays > 0;
            *strays = strays.saturating_sub(1);
            has_one
        });
        self.issuing.insert(record.device);
        let may_be_reissued = matches!(key.1, Op::Write | Op::Discard);
        let is_void = self.is_void(key, record.request.arrival_ns, may_be_reissued);
        let fate = if is_void { Fate::Over } else { Fate::Waits };
        if fate == Fate::Waits {
            self.waiting.insert(key, number);
        }
        self.pairs.void += u64::from(fate == Fate::Over);
        self.issued.push_back(Issued { record, rest, fate, follows_stray, is_back: false });
    }

    /// Settles the request that waits at a place where another begins to wait. True if the pair of the other is void.
    fn is_void(&mut self, key: Key, now_ns: Ns, may_be_reissued: bool) -> bool {
        let is_recent = |issued_ns: Ns| now_ns - issued_ns <= TIMEOUT_NS;
        if let Some(due) = self.void.get_mut(&key) {
            if is_recent(due.last_issue_ns) {
                // A single completion that is due may never come. Two or more show that the place is still shared.
                if due.completions > 1 {
                    due.last_issue_ns = now_ns;
                }
                due.completions += 1;
                return true;
            }
            self.void.remove(&key);
        }
        let Some(earlier) = self.waiting.remove(&key) else { return false };
        let earlier = &mut self.issued[(earlier - self.first) as usize];
        if !is_recent(earlier.record.request.arrival_ns) {
            earlier.fate = Fate::Lost;
            return false;
        }
        if may_be_reissued {
            earlier.fate = Fate::Reissued;
            make_room(&mut self.reissued, REMEMBERED, |issued_ns| is_recent(*issued_ns));
            self.reissued.insert(key, now_ns);
            return false;
        }
        earlier.fate = Fate::Over;
        self.pairs.void += 1;
        make_room(&mut self.void, REMEMBERED, |due| is_recent(due.last_issue_ns));
        self.void.insert(key, Due { completions: 2, last_issue_ns: now_ns });
        true
    }

    fn requeue(&mut self, record: &Record) {
        let key = record.key(record.request.lba);
        let Some(&number) = self.waiting.get(&key) else {
            self.is_due(&key);
            return;
        };
        let issued = &mut self.issued[(number - self.first) as usize];
        if issued.rest.1 < issued.record.request.sectors {
            issued.is_back = true;
            return;
        }
        issued.fate = Fate::Reissued;
        self.waiting.remove(&key);
    }

    /// True if an issue continues a request that completed in part and was requeued.
    fn is_rest(&mut self, key: &Key) -> bool {
        let Some(number) = self.waiting.get(key) else { return false };
        std::mem::take(&mut self.issued[(number - self.first) as usize].is_back)
    }

    /// True if a completion belongs to a pair that is void.
    fn is_due(&mut self, key: &Key) -> bool {
        let Some(due) = self.void.get_mut(key) else { return false };
        due.completions -= 1;
        if due.completions == 0 {
            self.void.remove(key);
        }
        true
    }

    fn complete(&mut self, completion: &Record) {
        let completed = completion.request;
        let key_of_completion = completion.key(completed.lba);
        let Some(number) = self.waiting.remove(&key_of_completion) else {
            if !self.is_due(&key_of_completion) && !self.was_another(&key_of_completion, completed.arrival_ns) {
                self.stray(key_of_completion);
            }
            return;
        };
        let issued = &mut self.issued[(number - self.first) as usize];
        let (lba, left) = issued.rest;
        if completed.sectors < left && completion.moment == Moment::Completes {
            issued.rest = (lba + u64::from(completed.sectors), left - completed.sectors);
            let rest = completion.key(issued.rest.0);
            let issued_ns = issued.record.request.arrival_ns;
            if !self.is_void(rest, issued_ns.max(completed.arrival_ns), false) {
                self.waiting.insert(rest, number);
                return;
            }
            self.issued[(number - self.first) as usize].fate = Fate::Over;
            self.pairs.void += 1;
            return;
        }
        issued.fate = Fate::Over;
        if completion.moment == Moment::Fails {
            self.pairs.failed += 1;
            return;
        }
        self.pairs.paired += 1;
        let latency_ns = completed.arrival_ns - issued.record.request.arrival_ns;
        issued.record = issued.record.with_latency(latency_ns);
    }

    /// True for a second completion after a write or discard that counted as issued again: there were two requests.
    fn was_another(&mut self, key: &Key, now_ns: Ns) -> bool {
        let is_another = self.reissued.remove(key).is_some_and(|issued_ns| now_ns - issued_ns <= TIMEOUT_NS);
        self.pairs.void += u64::from(is_another);
        is_another
    }

    fn stray(&mut self, key: Key) {
        *self.strays_of.entry(key.0).or_default() += 1;
        if self.strays.len() < REMEMBERED {
            *self.strays.entry(key).or_default() += 1;
        }
    }
}

/// Drops repeated issues of a request where issues are not paired with completions. The first issue counts. A requeue
/// without an issue before it is ignored: the driver had no room for the request.
#[derive(Default)]
pub(crate) struct Requeues {
    /// Requests that are outstanding, by the first sector that has not completed.
    outstanding: BTreeMap<Key, Outstanding>,
}

#[derive(Default)]
struct Outstanding {
    issued_ns: Ns,
    /// Sectors that have not completed, of the last issued one.
    sectors: u32,
    requests: u32,
    /// Requests that have been given back.
    back: u32,
}

impl Requeues {
    /// True for a request; false for one that was issued before, and for events that are none.
    pub fn admits(&mut self, record: &Record) -> bool {
        let request = &record.request;
        let place = record.key(request.lba);
        match record.moment {
            Moment::Begins => return self.is_new(place, request.sectors, request.arrival_ns),
            Moment::Requeued => {
                if let Some(outstanding) = self.outstanding.get_mut(&place) {
                    outstanding.back += 1;
                }
            }
            Moment::HandedDown => {}
            Moment::Completes | Moment::Fails => {
                let Some(mut left) = self.outstanding.remove(&place) else { return false };
                if request.sectors < left.sectors && record.moment == Moment::Completes {
                    left.sectors -= request.sectors;
                    self.outstanding.insert(record.key(request.end()), left);
                } else if left.requests > 1 {
                    left.requests -= 1;
                    self.outstanding.insert(place, left);
                }
            }
        }
        false
    }

    fn is_new(&mut self, place: Key, sectors: u32, now_ns: Ns) -> bool {
        // Without completions nothing would ever leave.
        make_room(&mut self.outstanding, REMEMBERED, |there| now_ns - there.issued_ns <= TIMEOUT_NS);
        let there = self.outstanding.entry(place).or_default();
        if now_ns - there.issued_ns > TIMEOUT_NS {
            *there = Outstanding::default();
        }
        let is_again = there.back > 0 || there.requests > 0 && matches!(place.1, Op::Write | Op::Discard);
        there.back = there.back.saturating_sub(1);
        there.requests += u32::from(!is_again);
        (there.issued_ns, there.sectors) = (now_ns, sectors);
        !is_again
    }
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
        assert_eq!(paired(&records), (vec![(10, 80), (20, 5)], Pairs { paired: 2, ..Pairs::default() }));
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
    fn a_write_issued_again_is_one_request_from_its_last_issue_to_its_completion() {
        let requeue = |time_ns| record(time_ns, Moment::Requeued, Op::Write, 0, 8);
        let later = [issue(50, 0, 8), completion(53, 0, 8)];
        for again in [vec![requeue(2)], vec![]] {
            let records = [vec![issue(1, 0, 8)], again, vec![issue(6, 0, 8), completion(10, 0, 8)], later.to_vec()];
            let pairs = Pairs { paired: 2, reissued: 1, ..Pairs::default() };
            assert_eq!(paired(&records.concat()), (vec![(6, 4), (50, 3)], pairs));
        }
    }

    #[test]
    fn two_reads_of_one_place_at_once_are_two_requests_whose_pairs_are_void() {
        let read = |time_ns, moment| record(time_ns, moment, Op::Read, 0, 8);
        let at_once = [read(1, Moment::Begins), read(2, Moment::Begins)];
        let ends = [read(10, Moment::Completes), read(30, Moment::Completes)];
        let later = [read(40, Moment::Begins), read(47, Moment::Completes)];
        let void = Pairs { paired: 1, void: 2, ..Pairs::default() };
        assert_eq!(paired(&[&at_once[..], &ends, &later].concat()), (vec![(1, 0), (2, 0), (40, 7)], void));
        // One of them was requeued, and never recorded so: what is read there much later is sound again.
        let lost = [read(100 * S, Moment::Begins), read(100 * S + 5, Moment::Completes)];
        assert_eq!(paired(&[&at_once[..], &ends[..1], &lost].concat()), (vec![(1, 0), (2, 0), (100 * S, 5)], void));
        // A requeue says whose completion it is.
        let requeued = [at_once[0], read(2, Moment::Requeued), read(3, Moment::Begins), ends[0]];
        assert_eq!(paired(&requeued), (vec![(3, 7)], Pairs { paired: 1, reissued: 1, ..Pairs::default() }));
    }

    #[test]
    fn a_completion_that_did_not_come_in_time_belongs_to_none() {
        let records = [issue(1, 0, 8), issue(31 * S, 0, 8), completion(31 * S + 9, 0, 8)];
        let pairs = Pairs { paired: 1, unpaired: 1, ..Pairs::default() };
        assert_eq!(paired(&records), (vec![(1, 0), (31 * S, 9)], pairs));
    }

    #[test]
    fn completions_of_a_volume_that_issues_nothing_are_no_strays() {
        let volume = completion(9, 4_096, 8).on_device(1);
        let records = [issue(1, 0, 8), completion(8, 0, 8), volume, completion(20, 64, 8)];
        assert_eq!(paired(&records).1, Pairs { paired: 1, strays: 1, ..Pairs::default() });
    }

    #[test]
    fn without_pairs_a_request_issued_again_counts_once() {
        let mut requeues = Requeues::default();
        let requeue = record(2, Moment::Requeued, Op::Write, 0, 8);
        let records = [requeue, issue(1, 0, 8), requeue, issue(3, 64, 8), issue(4, 0, 8), issue(5, 0, 8)];
        let later = [completion(6, 0, 8), requeue, issue(8, 0, 8)];
        // The requeue before the fourth issue was not recorded: a host does not write one place twice at once.
        let admitted: Vec<_> = records.iter().chain(&later).filter(|record| requeues.admits(record)).collect();
        assert_eq!(admitted.iter().map(|record| record.request.arrival_ns).collect::<Vec<_>>(), [1, 3, 8]);
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
        let pairs = Pairs { failed: 1, unpaired: 2, strays: 1, ..Pairs::default() };
        assert_eq!(paired(&records), (vec![(2, 0), (3, 0), (10, 0)], pairs));
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
