//! pardispatcher under hostile arrivals: no request waits longer than the number of turns that its source file proves.
//!
//! The test uses only the dispatched requests and the number of turns begun. For each request it notes the number of
//! requests of the same region and direction that were waiting when it arrived, an upper bound of what is left of the
//! sweep under way, and the most that were waiting at once until it was sent, an upper bound of its own sweep. Their
//! sum bounds the requests that are sent before it, and so the turns. Arrivals are streams that ascend or descend,
//! floods of the lowest or highest sectors, and sectors drawn at random, each mixed with the others in a few regions,
//! while deadlines pass now and then.

use std::collections::BTreeMap;

use flashloom_host::scheduler::pardispatcher::{ParDispatcher, ParDispatcherParams, Scan};
use flashloom_host::{Admission, BlockLayer, Decision, HostParams};
use flashloom_units::{Figure, MIB, MS, Ns, OrName, ParamSet};
use flashloom_workload::{Op, Request};
use proptest::prelude::*;

/// Size of a region in sectors, and the number of regions.
const REGION: u64 = MIB / 512;
const REGIONS: u64 = 3;
/// Distance of requests, so that none are adjacent and merge.
const STEP: u64 = 8;
const LENGTH: u32 = 4;

/// Position of a load's requests in their region, in steps from the first or from the last.
#[derive(Clone, Copy, Debug)]
enum Arrivals {
    Ascending,
    Descending,
    Lowest,
    Highest,
    Random(u64),
}

#[derive(Clone, Debug)]
enum Action {
    Submit { arrivals: Arrivals, region: u64, read: bool, flags: u8 },
    Dispatch,
    Pass(Ns),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let steps = REGION / STEP;
    let arrivals = prop_oneof![
        4 => Just(Arrivals::Ascending),
        2 => Just(Arrivals::Descending),
        2 => Just(Arrivals::Lowest),
        1 => Just(Arrivals::Highest),
        1 => (0..steps).prop_map(Arrivals::Random),
    ];
    // Mostly one region and one direction, in which the loads meet.
    let place = (prop_oneof![4 => Just(0), 1 => 0..REGIONS], prop::bool::weighted(0.2));
    // Writes that a task waits for and those that none does are counted apart by the block layer, but wait in one
    // sweep.
    let flags = prop_oneof![Just(0), Just(Request::SYNC)];
    let submit = (arrivals, place, flags).prop_map(|(arrivals, (region, read), flags)| {
        let flags = if read { 0 } else { flags };
        Action::Submit { arrivals, region, read, flags }
    });
    let action = prop_oneof![8 => submit, 8 => Just(Action::Dispatch), 1 => (0..30 * MS).prop_map(Action::Pass)];
    prop::collection::vec(action, 100..1_500)
}

/// A waiting request, and the events in its region and direction since it arrived.
#[derive(Default)]
struct Waiting {
    /// Number of requests that were waiting at its arrival, and the maximum since.
    older: u64,
    most: u64,
    sent: u64,
    turns: u64,
}

/// The block layer, and its queue as seen from outside.
struct Observer {
    layer: BlockLayer,
    now: Ns,
    submitted: u64,
    /// Waiting requests by first sector and direction.
    waiting: BTreeMap<(u64, bool), Waiting>,
    turns: u64,
}

impl Observer {
    fn new(params: ParDispatcherParams) -> Self {
        let host = HostParams { nr_requests: OrName::Number(64), queue_depth: 1, ..HostParams::defaults() };
        let setup = BlockLayer::setup(&host, REGIONS * REGION);
        let scheduler = ParDispatcher::new(params, &setup).expect("the parameters are in order");
        Self {
            layer: BlockLayer::new(&host, Box::new(scheduler)),
            now: 0,
            submitted: 0,
            waiting: BTreeMap::new(),
            turns: 0,
        }
    }

    fn submit(&mut self, arrivals: Arrivals, region: u64, read: bool, flags: u8) {
        let steps = REGION / STEP;
        self.submitted += 1;
        let at = match arrivals {
            Arrivals::Ascending => self.submitted % steps,
            Arrivals::Descending => steps - 1 - self.submitted % steps,
            Arrivals::Lowest => self.submitted % 4,
            Arrivals::Highest => steps - 1 - self.submitted % 4,
            Arrivals::Random(at) => at,
        };
        let lba = region * REGION + at * STEP;
        if self.waiting.contains_key(&(lba, read)) {
            return;
        }
        let op = if read { Op::Read } else { Op::Write };
        let request = Request::new(op, lba, LENGTH).arriving_at(self.now).with_flags(flags);
        match self.layer.submit(self.now, &request, 0) {
            Admission::Queued => {}
            Admission::Full => return,
            Admission::Merged => panic!("nothing touches"),
        }
        let older = self.beside(lba, read).count() as u64;
        self.waiting.insert((lba, read), Waiting { older, ..Waiting::default() });
        self.beside(lba, read).for_each(|waiting| waiting.most = waiting.most.max(older + 1));
    }

    /// Requests that wait in the region and direction of a request.
    fn beside(&mut self, lba: u64, read: bool) -> impl Iterator<Item = &mut Waiting> {
        let same = move |(other, is_read): (u64, bool)| other / REGION == lba / REGION && is_read == read;
        self.waiting.iter_mut().filter(move |(key, _)| same(**key)).map(|(_, waiting)| waiting)
    }

    /// Sends the next request, and returns its record.
    fn dispatch(&mut self) -> Option<(Waiting, bool)> {
        let Decision::Dispatch(sent) = self.layer.dispatch(self.now) else { return None };
        self.layer.complete(self.now, sent.id, |_| {});
        let read = sent.op == Op::Read;
        let Figure::Count(turns) = self.layer.figures()[flashloom_host::scheduler::SLOT.statistics.len()] else {
            panic!("turns are counted")
        };
        let begun = turns - std::mem::replace(&mut self.turns, turns);
        for waiting in self.beside(sent.lba, read) {
            waiting.turns += begun;
            waiting.sent += 1;
        }
        Some((self.waiting.remove(&(sent.lba, read)).expect("it was submitted"), read))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_request_waits_longer_than_a_bounded_number_of_turns_of_its_region_and_direction(
        actions in actions(),
        batch in [1..5u32, 1..5u32],
        expire_ms in [1..2_000u64, 1..2_000u64],
        scan in prop::sample::select(vec![Scan::Lowest, Scan::Continue]),
    ) {
        let mut observer = Observer::new(ParDispatcherParams {
            region_size_bytes: MIB,
            read_batch: batch[0],
            write_batch: batch[1],
            read_expire_ns: expire_ms[0] * MS,
            write_expire_ns: expire_ms[1] * MS,
            scan,
            ..ParDispatcherParams::defaults()
        });
        let drain = std::iter::repeat_n(Action::Dispatch, 2 * 64);
        for action in actions.into_iter().chain(drain) {
            match action {
                Action::Submit { arrivals, region, read, flags } => observer.submit(arrivals, region, read, flags),
                Action::Pass(ns) => observer.now += ns,
                Action::Dispatch => {
                    if let Some((Waiting { older, most, sent, turns }, read)) = observer.dispatch() {
                        let bound = older + most;
                        prop_assert!(sent <= bound, "as number {sent} after {older} older ones, of {most} at most");
                        let bound = bound.div_ceil(batch[usize::from(!read)].into());
                        prop_assert!(turns <= bound, "in turn {turns} after {older} older ones, of {most} at most");
                    }
                }
            }
        }
        prop_assert!(observer.waiting.is_empty());
        observer.layer.check()?;
    }
}
