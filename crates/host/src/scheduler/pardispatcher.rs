//! ParDispatcher: one subqueue a region of the address space, served round-robin, one direction a turn.
//!
//! ```text
//! region(r) = first sector of r / S                 S = region_size; ceil(C / S) regions on a device of C sectors
//! insert:   into the sorted tree and the FIFO of its region and direction, and into the FIFO of its direction;
//!           deadline = now + read_expire or write_expire
//! dispatch: if no turn is under way, begin one:
//!             expired turn, if the request with the earliest deadline of all has expired and the last turn was not an
//!               expired one: that request's region and direction, starting from that request
//!             ordinary turn otherwise: the next region with requests, in address order and round the end; the
//!               direction opposite to that region's last turn, or the other one if that has nothing pending;
//!               starting from the oldest request of that region and direction if turns_starved of their turns have
//!               begun since it came, otherwise where scan says
//!           send the next request in ascending order of the first sector (after the highest, the lowest)
//!           the turn ends when its direction is empty in that region, or after read_batch reads or write_batch writes
//! merge:    within a region: what is merged begins in the same region as the request that it joins
//! ```
//! Source: Wang et al., "A Novel I/O Scheduler for SSD with Improved Performance and Lifetime" (ParDispatcher), section
//! II. Left open there and decided here:
//! - A region's first turn takes reads, because a task waits for them.
//! - A turn ends with the dispatch that empties its direction, not when the next request is asked for.
//! - Where an ordinary turn begins is the parameter `scan`. By itself neither choice bounds a wait: above a stream of
//!   ascending requests, which gets longer as fast as it is served, the scan never arrives. So the oldest request of
//!   the region and direction is looked at when a turn begins, and a turn begins with it once `turns_starved` turns
//!   have passed it over. (The paper's "periodically checking those two FIFO lists" of each subqueue.)
//! - The paper says that deadlines are checked, not what follows. An expired turn goes before the round, which then
//!   continues where it was; of an expired read and write the earlier deadline counts, then the read. At most one
//!   turn in two is an expired one, so that overload does not make a FIFO of it.
//! - The paper has a read and a write FIFO in each subqueue. So it is here, and one more FIFO a direction spans all
//!   regions, whose head is the request with the earliest deadline, however many regions there are. Both are kept
//!   alike, so that a region's FIFO is what lies in the other one of that region.
//!
//! Bounds. A turn counts for a request if it is one of its region and direction and begins after the request has come.
//! - In turns: a request with `a` older ones in its region and direction is dispatched in the turn
//!   `turns_starved + a + 1` at the latest. Once `turns_starved` turns have passed it over, they have passed over all
//!   older ones too, and from then on every turn begins with the oldest that is left: an ordinary turn by this rule, an
//!   expired one because the request with the earliest deadline of all is the oldest of its region and direction. So
//!   each of the next `a` turns takes an older one away, if not the request itself, and the turn after them begins
//!   with it. As there are at most `nr_requests` of a direction, `a` is less than that.
//! - In dispatches: once expired, a request before which `e` deadlines are earlier is dispatched within
//!   `2 * (e + 1) * B` dispatches, B being the longer of the two batches: each two turns serve at least the earliest
//!   expired request.
//!
//! Cost: O(log n) in the queued requests; finding the next region takes one word of each level of a 64-way bitmap, so
//! O(1) for any number of regions that a device has.

use flashloom_units::{
    GIB, Kind, MIB, MS, Ns, ParamSet, PolicySpec, S, SECTOR_BYTES, Statistic, Value, choice, format_size, params,
};
use flashloom_workload::Request;

use super::{Choice, Scheduler, Setup};
use crate::fifo::Fifos;
use crate::id::{Id, RequestId};
use crate::index_set::IndexSet;
use crate::requests::{Direction, Requests, Stage};
use crate::sorted::Forest;

/// What there is to know of it.
pub static SPEC: PolicySpec = PolicySpec {
    name: "pardispatcher",
    summary: "Regions served round-robin, one direction a turn, sorted: made for the parallelism of an SSD",
    details: "The address space is divided into regions, each with queues of its own. Regions with requests take \
              turns; a turn sends a batch of one direction in address order, reads and writes alternating within a \
              region. A request whose deadline has passed brings its region's turn forward, every second turn at most. \
              The paper leaves open where a turn begins; `scan` says it, and `turns_starved` bounds how often a \
              request can be passed over. Works without task ids.",
    source: "Wang, Huang, He, Zhou, Li, He: A Novel I/O Scheduler for SSD with Improved Performance and Lifetime, \
             section II",
    needs: &[],
    params: Params::PARAMS,
    statistics: &[
        Statistic { name: "turns", help: "Turns begun, expired ones included." },
        Statistic { name: "expired_turns", help: "Turns that a request past its deadline brought forward." },
        Statistic { name: "region_switches", help: "Turns that began in another region than the one before." },
        Statistic { name: "starved_turns", help: "Turns that began with a request that others had passed over." },
        Statistic { name: "passed_over_max", help: "Turns of its region and direction that passed one request over." },
    ],
};

choice! {
    /// Where an ordinary turn begins.
    pub enum Scan {
        /// At the lowest pending sector of the region and direction.
        Lowest = "lowest",
        /// Where the last turn of the region and direction stopped, as a one-way elevator.
        Continue = "continue",
    }
}

params! {
    /// The paper's parameters, with the values that it found for a 60 GB MLC drive.
    pub struct Params {
        /// How large a region is; the last one may be smaller.
        region_size_bytes: u64 => "region_size", Kind::Size { min: MIB, max: 1 << 50 }, Value::Size(4 * GIB),
            "Smaller regions spread consecutive batches wider over the device; larger ones give longer sorted runs.";
        /// How many reads a turn sends at most.
        read_batch: u32 => "read_batch", Kind::Count { min: 1, max: 65_536 }, Value::Count(16),
            "Longer batches keep a region's order and direction longer; shorter ones come round to the others sooner.";
        /// How many writes a turn sends at most.
        write_batch: u32 => "write_batch", Kind::Count { min: 1, max: 65_536 }, Value::Count(8),
            "Longer batches write longer sorted runs; shorter ones let reads of the region go sooner.";
        /// How long after queueing a read should be dispatched.
        read_expire_ns: Ns => "read_expire", Kind::Time { min: MS, max: 3_600 * S }, Value::Time(500 * MS),
            "Earlier deadlines bound read latency more tightly and break the round more often.";
        /// How long after queueing a write should be dispatched.
        write_expire_ns: Ns => "write_expire", Kind::Time { min: MS, max: 3_600 * S }, Value::Time(5 * S),
            "Earlier deadlines bound write latency more tightly and break the round more often.";
        /// Where an ordinary turn begins.
        scan: Scan => "scan", Kind::Choice(Scan::CHOICES), Value::Name("lowest"),
            "The lowest sector first rewards ascending streams; continuing is fair to high sectors of a busy region.";
        /// How many turns of its region and direction may pass a request over.
        turns_starved: u32 => "turns_starved", Kind::Count { min: 1, max: 65_536 }, Value::Count(16),
            "Fewer turns bound the wait above a stream more tightly; more of them leave the address order alone.";
        /// Whether a request may be merged before one that begins where it ends.
        front_merges: bool => "front_merges", Kind::Flag, Value::Flag(true),
            "Workloads that never write backwards save the look-up without it.";
    }
}

/// The most regions that are worth their memory: finer division than this helps no device.
const MAX_REGIONS: u64 = 1 << 20;

/// A turn under way.
#[derive(Clone, Copy, Debug)]
struct Turn {
    region: u32,
    direction: Direction,
    /// How many requests it may still send.
    left: u32,
    /// The first sector that it looks at next.
    from: u64,
}

/// What a region remembers of its turns.
#[derive(Clone, Copy, Debug)]
struct Region {
    last_direction: Direction,
    /// By direction, the first sector of the request sent last.
    stopped_at: [u64; 2],
    /// By direction, how many turns have begun.
    turns: [u64; 2],
}

/// The subqueues, the round, and the turn under way.
#[derive(Debug)]
pub struct State {
    params: Params,
    setup: Setup,
    region_sectors: u64,
    regions: Vec<Region>,
    /// The regions with requests.
    pending: IndexSet,
    /// By region and direction.
    sorted: Forest<RequestId>,
    /// By region and direction.
    subqueues: Fifos<RequestId>,
    /// By request, how many turns of its region and direction had begun when it came.
    came_at: Vec<u64>,
    /// By direction, over all regions.
    fifo: Fifos<RequestId>,
    turn: Option<Turn>,
    /// Where the round looks for its next region.
    round_at: u32,
    last_region: Option<u32>,
    last_was_expired: bool,
    turns: u64,
    expired_turns: u64,
    region_switches: u64,
    starved_turns: u64,
    passed_over_max: u64,
}

impl State {
    /// Empty subqueues for every region of the device; an error names a region size that makes no sense for it.
    pub fn new(params: Params, setup: &Setup) -> Result<Self, String> {
        let size = params.region_size_bytes;
        if !size.is_multiple_of(SECTOR_BYTES) {
            return Err(format!(
                "region_size is {}, which is not a whole number of {SECTOR_BYTES}-byte sectors",
                format_size(size)
            ));
        }
        let region_sectors = size / SECTOR_BYTES;
        let regions = setup.capacity_sectors.div_ceil(region_sectors).max(1);
        if regions > MAX_REGIONS {
            let least = setup.capacity_sectors.div_ceil(MAX_REGIONS).next_power_of_two() * SECTOR_BYTES;
            return Err(format!(
                "region_size is {}, which divides the device into {regions} regions, more than {MAX_REGIONS}; \
                 a region_size of {} is enough",
                format_size(size),
                format_size(least)
            ));
        }
        let untouched = Region { last_direction: Direction::Write, stopped_at: [0; 2], turns: [0; 2] };
        Ok(Self {
            params,
            setup: *setup,
            region_sectors,
            regions: vec![untouched; regions as usize],
            pending: IndexSet::new(regions as u32),
            sorted: Forest::new(setup.requests, 2 * regions as u32),
            subqueues: Fifos::new(setup.requests, 2 * regions as u32),
            came_at: vec![0; setup.requests as usize],
            fifo: Fifos::new(setup.requests, 2),
            turn: None,
            round_at: 0,
            last_region: None,
            last_was_expired: false,
            turns: 0,
            expired_turns: 0,
            region_switches: 0,
            starved_turns: 0,
            passed_over_max: 0,
        })
    }

    fn region_of(&self, lba: u64) -> u32 {
        (lba / self.region_sectors) as u32
    }

    fn tree_of(&self, requests: &Requests, id: RequestId) -> usize {
        tree(self.region_of(requests[id].lba), requests[id].direction())
    }

    fn begin_turn(&mut self, now: Ns, requests: &Requests) -> Option<Turn> {
        let late = self.earliest_expired(now, requests).filter(|_| !self.last_was_expired);
        let (region, direction) = match late {
            Some(id) => (self.region_of(requests[id].lba), requests[id].direction()),
            None => self.next_of_round()?,
        };
        let starved = self.starved(region, direction).filter(|_| late.is_none());
        let from = match (late.or(starved), self.params.scan) {
            (Some(id), _) => requests[id].lba,
            (None, Scan::Lowest) => 0,
            (None, Scan::Continue) => self.regions[region as usize].stopped_at[direction.at()],
        };
        self.last_was_expired = late.is_some();
        self.expired_turns += u64::from(late.is_some());
        self.starved_turns += u64::from(starved.is_some());
        self.turns += 1;
        self.region_switches += u64::from(self.last_region.replace(region).is_some_and(|last| last != region));
        let of_region = &mut self.regions[region as usize];
        of_region.last_direction = direction;
        of_region.turns[direction.at()] += 1;
        let left = [self.params.read_batch, self.params.write_batch][direction.at()];
        Some(Turn { region, direction, left, from })
    }

    /// The request with the earliest deadline of all, if that has passed; the read where two are alike.
    fn earliest_expired(&self, now: Ns, requests: &Requests) -> Option<RequestId> {
        Direction::BOTH
            .into_iter()
            .filter_map(|direction| self.fifo.front(direction.at()))
            .min_by_key(|&id| requests[id].deadline_ns)
            .filter(|&id| now > requests[id].deadline_ns)
    }

    /// Region and direction of the next ordinary turn.
    fn next_of_round(&mut self) -> Option<(u32, Direction)> {
        let region = self.pending.at_or_after(self.round_at).or_else(|| self.pending.at_or_after(0))?;
        self.round_at = region + 1;
        let last_direction = self.regions[region as usize].last_direction;
        let turn_about = last_direction.opposite();
        let direction = if self.sorted.is_empty(tree(region, turn_about)) { last_direction } else { turn_about };
        Some((region, direction))
    }

    /// The oldest request of a region and direction, if `turns_starved` turns have passed it over.
    fn starved(&self, region: u32, direction: Direction) -> Option<RequestId> {
        let passed = |id: RequestId| self.regions[region as usize].turns[direction.at()] - self.came_at[id.at()];
        self.subqueues.front(tree(region, direction)).filter(|&id| passed(id) >= u64::from(self.params.turns_starved))
    }

    /// Puts a request into the queues of its region and direction, and returns the direction.
    fn join(&mut self, requests: &Requests, id: RequestId) -> Direction {
        let (region, direction) = (self.region_of(requests[id].lba), requests[id].direction());
        self.sorted.insert(tree(region, direction), id, requests[id].lba);
        self.subqueues.push_back(tree(region, direction), id);
        self.came_at[id.at()] = self.regions[region as usize].turns[direction.at()];
        self.fifo.push_back(direction.at(), id);
        self.pending.insert(region);
        direction
    }

    fn leave_tree(&mut self, region: u32, direction: Direction, id: RequestId) {
        self.sorted.remove(tree(region, direction), id);
        if Direction::BOTH.iter().all(|&direction| self.sorted.is_empty(tree(region, direction))) {
            self.pending.remove(region);
        }
    }
}

fn tree(region: u32, direction: Direction) -> usize {
    region as usize * 2 + direction.at()
}

impl Scheduler for State {
    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        let direction = self.join(requests, id);
        now + [self.params.read_expire_ns, self.params.write_expire_ns][direction.at()]
    }

    fn front_merge_candidate(&self, _requests: &Requests, incoming: &Request) -> Option<RequestId> {
        let tree = tree(self.region_of(incoming.lba), Direction::of(incoming.op));
        self.params.front_merges.then(|| self.sorted.at(tree, incoming.end())).flatten()
    }

    fn allows_merge(&self, requests: &Requests, id: RequestId, incoming: &Request) -> bool {
        self.region_of(requests[id].lba) == self.region_of(incoming.lba)
    }

    fn former(&self, requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.sorted.prev(self.tree_of(requests, id), id)
    }

    fn latter(&self, requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.sorted.next(self.tree_of(requests, id), id)
    }

    fn moved(&mut self, requests: &Requests, id: RequestId) {
        let tree = self.tree_of(requests, id);
        self.sorted.remove(tree, id);
        self.sorted.insert(tree, id, requests[id].lba);
    }

    fn absorb(&mut self, requests: &Requests, kept: RequestId, gone: RequestId) {
        if requests[gone].deadline_ns < requests[kept].deadline_ns {
            self.fifo.take_place(kept, gone);
            self.subqueues.take_place(kept, gone);
            self.came_at[kept.at()] = self.came_at[gone.at()];
        } else {
            self.fifo.remove(gone);
            self.subqueues.remove(gone);
        }
        self.leave_tree(self.region_of(requests[gone].lba), requests[gone].direction(), gone);
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        let Some(mut turn) = self.turn.take().or_else(|| self.begin_turn(now, requests)) else { return Choice::Idle };
        let queue = tree(turn.region, turn.direction);
        let next = self.sorted.at_or_after(queue, turn.from).or_else(|| self.sorted.first(queue));
        let id = next.expect("a turn ends with the dispatch that empties its direction");
        self.fifo.remove(id);
        self.subqueues.remove(id);
        self.leave_tree(turn.region, turn.direction, id);
        turn.from = requests[id].lba;
        turn.left -= 1;
        let of_region = &mut self.regions[turn.region as usize];
        of_region.stopped_at[turn.direction.at()] = turn.from;
        // The turn that sends it does not pass it over; it may have begun before the request came.
        let passed = (of_region.turns[turn.direction.at()] - self.came_at[id.at()]).saturating_sub(1);
        self.passed_over_max = self.passed_over_max.max(passed);
        self.turn = Some(turn).filter(|turn| turn.left > 0 && !self.sorted.is_empty(queue));
        Choice::Request(id)
    }

    /// A new region size sorts what waits anew, by age where it begins at the same sector. The turn under way ends, the
    /// round goes on at the same address, and every region's next turn is a first one.
    fn reconfigure(&mut self, requests: &Requests, values: &[Value]) -> Result<(), String> {
        let params = Params::from_values(values);
        if params.region_size_bytes == self.params.region_size_bytes {
            self.params = params;
            return Ok(());
        }
        let mut anew = Self::new(params, &self.setup)?;
        for id in Direction::BOTH.into_iter().flat_map(|direction| self.fifo.iter(direction.at())) {
            anew.join(requests, id);
        }
        anew.round_at = anew.region_of(u64::from(self.round_at) * self.region_sectors);
        anew.last_was_expired = self.last_was_expired;
        (anew.turns, anew.expired_turns) = (self.turns, self.expired_turns);
        (anew.region_switches, anew.starved_turns) = (self.region_switches, self.starved_turns);
        anew.passed_over_max = self.passed_over_max;
        *self = anew;
        Ok(())
    }

    fn figures(&self) -> Vec<u64> {
        vec![self.turns, self.expired_turns, self.region_switches, self.starved_turns, self.passed_over_max]
    }

    fn check(&self, requests: &Requests) -> Result<(), String> {
        let queued = requests.count(Stage::Queued);
        let mut sorted = 0;
        for region in 0..self.regions.len() as u32 {
            let of_region = |direction| self.sorted.iter(tree(region, direction)).count() as u64;
            let count = of_region(Direction::Read) + of_region(Direction::Write);
            if self.pending.contains(region) != (count > 0) {
                return Err(format!("pardispatcher: region {region} has {count} requests, unknown to the round"));
            }
            sorted += count;
        }
        // Each region's FIFO is the FIFO of all without the other regions; the turn that it has come at never falls.
        let mut at: Vec<Option<RequestId>> =
            (0..2 * self.regions.len()).map(|list| self.subqueues.front(list)).collect();
        let mut listed = 0;
        for id in Direction::BOTH.iter().flat_map(|list| self.fifo.iter(list.at())) {
            let queue = self.tree_of(requests, id);
            let next = self.subqueues.next(id);
            if at[queue] != Some(id) || next.is_some_and(|next| self.came_at[next.at()] < self.came_at[id.at()]) {
                return Err(format!("pardispatcher: the FIFO of subqueue {queue} is out of order at {id:?}"));
            }
            at[queue] = next;
            listed += 1;
        }
        if listed == queued && sorted == queued && at.iter().all(Option::is_none) {
            Ok(())
        } else {
            Err(format!("pardispatcher: {queued} queued, {listed} in the FIFOs, {sorted} in the trees"))
        }
    }
}

#[cfg(test)]
mod tests {
    use flashloom_workload::Op;

    use super::*;
    use crate::Admission;
    use crate::lab::Lab;

    /// Sectors of a region in these tests.
    const R: u64 = 2_048;

    fn lab(change: impl FnOnce(&mut Params)) -> Lab {
        Lab::new(State::new, |params: &mut Params| {
            params.region_size_bytes = R * SECTOR_BYTES;
            change(params);
        })
    }

    #[test]
    fn regions_with_requests_take_turns_in_address_order_and_round_the_end() {
        let mut lab = lab(|params| params.read_batch = 2);
        lab.reads([5 * R, 5 * R + 20, 5 * R + 40, R + 40, R, R + 20, 9 * R]);
        assert_eq!(lab.serve(99), [R, R + 20, 5 * R, 5 * R + 20, 9 * R, R + 40, 5 * R + 40]);
        assert_eq!(lab.layer.figures()[..3], [5, 0, 4], "turns, expired turns, changes of region");
    }

    #[test]
    fn a_regions_turns_alternate_between_reads_and_writes() {
        let mut lab = lab(|params| (params.read_batch, params.write_batch) = (2, 1));
        lab.writes([100, 200, 300]);
        lab.reads([150, 250, 350]);
        assert_eq!(lab.serve(99), [150, 250, 100, 350, 200, 300]);
        assert_eq!(lab.layer.stats().direction_switches, 3);
    }

    #[test]
    fn a_turn_takes_the_other_direction_where_its_own_has_nothing_pending() {
        let mut lab = lab(|_| {});
        lab.writes([100]);
        assert_eq!(lab.serve(9), [100], "a first turn would take reads");
        lab.writes([200]);
        assert_eq!(lab.serve(9), [200], "after writes it would take reads again");
        lab.reads([300]);
        lab.writes([400]);
        assert_eq!(lab.serve(9), [300, 400]);
    }

    #[test]
    fn each_regions_direction_is_its_own() {
        let mut lab = lab(|params| (params.read_batch, params.write_batch) = (1, 1));
        lab.reads([10, 20]);
        assert_eq!(lab.serve(1), [10], "region 0 has had a turn of reads, region 1 none");
        lab.writes([30, R + 30]);
        lab.reads([R + 10]);
        assert_eq!(lab.serve(99), [R + 10, 30, R + 30, 20]);
    }

    #[test]
    fn a_turn_ascends_and_takes_what_arrives_ahead_of_it() {
        let mut lab = lab(|params| params.read_batch = 4);
        lab.reads([100, 200, 300]);
        assert_eq!(lab.serve(2), [100, 200]);
        lab.reads([250, 50]);
        assert_eq!(lab.serve(9), [250, 300, 50]);
    }

    #[test]
    fn a_turn_ends_with_the_dispatch_that_empties_its_direction() {
        let mut lab = lab(|_| {});
        lab.reads([100]);
        assert_eq!(lab.serve(1), [100]);
        lab.reads([200]);
        lab.writes([300]);
        assert_eq!(lab.serve(9), [300, 200], "the next turn is one of writes");
    }

    #[test]
    fn an_ordinary_turn_begins_at_the_lowest_or_where_the_last_one_stopped() {
        for (scan, order) in [(Scan::Lowest, [300, 400, 100, 500]), (Scan::Continue, [300, 400, 500, 100])] {
            let mut lab = lab(|params| (params.read_batch, params.scan) = (2, scan));
            lab.reads([300, 400, 500]);
            let mut served = lab.serve(2);
            lab.reads([100]);
            served.extend(lab.serve(9));
            assert_eq!(served, order, "{}", scan.name());
        }
    }

    /// A stream that gets a request at its end for each one that is served; what else is served, and when.
    fn beside_a_stream(lab: &mut Lab, serve: usize) -> Vec<(usize, u64)> {
        let mut others = Vec::new();
        lab.writes((0..8).map(|at| at * 16));
        for served in 0..serve {
            let lba = lab.serve(1)[0];
            if lba < R / 2 {
                lab.writes([(served as u64 + 8) * 16]);
            } else {
                others.push((served, lba));
            }
        }
        others
    }

    #[test]
    fn a_request_above_a_stream_is_passed_over_turns_starved_times_and_once_for_each_older_one() {
        for scan in [Scan::Lowest, Scan::Continue] {
            let mut lab = lab(|params| (params.write_batch, params.turns_starved, params.scan) = (2, 5, scan));
            lab.writes([R - 8, R - 80]);
            // The sixth turn begins with the oldest, goes on with the lowest; the seventh is for the other one.
            assert_eq!(beside_a_stream(&mut lab, 50), [(10, R - 8), (12, R - 80)], "{}", scan.name());
            assert_eq!(lab.layer.figures()[3..], [2, 6], "{}: starved turns, turns waited at most", scan.name());
        }
    }

    #[test]
    fn turns_of_the_other_direction_and_of_other_regions_pass_nobody_over() {
        let mut lab = lab(|params| (params.read_batch, params.write_batch, params.turns_starved) = (1, 1, 2));
        lab.writes([900]);
        for at in 0..4 {
            lab.reads([at * 16]);
            lab.writes([at * 16, R + at * 16]);
        }
        // Two turns of writes pass 900 over; those of reads, and of region 1 between them, do not count.
        let order = lab.serve(99);
        let of_writes: Vec<u64> = order.iter().copied().filter(|&lba| lba < R).collect();
        assert_eq!(of_writes, [0, 0, 16, 16, 32, 900, 48, 32, 48]);
    }

    #[test]
    fn what_merges_is_as_old_as_the_older_part() {
        let mut lab = lab(|params| (params.write_batch, params.turns_starved) = (1, 3));
        lab.writes([1_008]);
        lab.now = MS;
        lab.writes((0..8).map(|at| at * 16).chain([992]));
        assert_eq!(lab.serve(1), [0]);
        assert_eq!(lab.submit(Op::Write, 0, 0, 1_000, 8), Admission::Merged);
        assert_eq!(lab.serve(3), [16, 32, 992], "992 came later than what it took in");
    }

    #[test]
    fn the_eldest_of_all_that_has_expired_gets_the_next_turn_from_where_it_is() {
        let mut lab = lab(|params| params.read_batch = 2);
        lab.reads([7 * R + 500]);
        lab.now = MS;
        lab.reads([7 * R + 100, 7 * R + 600, R, R + 20, R + 40, 2 * R]);
        assert_eq!(lab.serve(2), [R, R + 20]);
        lab.now = 500 * MS;
        assert_eq!(lab.serve(1), [2 * R], "at its deadline it has not expired");
        lab.now += 1;
        assert_eq!(lab.serve(2), [7 * R + 500, 7 * R + 600]);
        assert_eq!(lab.serve(9), [7 * R + 100, R + 40], "the round goes on where it was");
        assert_eq!(lab.layer.figures()[..3], [5, 1, 3]);
    }

    #[test]
    fn an_expired_turn_that_reaches_the_highest_goes_on_with_the_lowest() {
        let mut lab = lab(|params| params.read_batch = 3);
        lab.reads([500]);
        lab.now = 400 * MS;
        lab.reads([100, 600]);
        lab.now = 501 * MS;
        assert_eq!(lab.serve(9), [500, 600, 100]);
    }

    #[test]
    fn at_most_every_second_turn_is_an_expired_one() {
        let mut lab = lab(|params| params.read_batch = 1);
        lab.reads([9 * R, 8 * R, 7 * R]);
        lab.now = S;
        lab.reads([R, 2 * R]);
        assert_eq!(lab.serve(9), [9 * R, R, 8 * R, 2 * R, 7 * R]);
        assert_eq!(lab.layer.figures()[..3], [5, 3, 4]);
    }

    #[test]
    fn an_expired_turn_takes_the_direction_of_the_request_and_counts_as_the_regions_last() {
        let mut lab = lab(|params| (params.read_expire_ns, params.write_expire_ns) = (S, 10 * MS));
        lab.reads([100]);
        lab.writes([200]);
        lab.now = 11 * MS;
        assert_eq!(lab.serve(1), [200], "though a first turn takes reads");
        lab.writes([300]);
        assert_eq!(lab.serve(9), [100, 300], "and the next one is of reads again");
    }

    #[test]
    fn of_an_expired_read_and_write_the_earlier_deadline_counts_and_then_the_read() {
        for (write_expire_ns, first) in [(99 * MS, 2 * R), (100 * MS, R), (101 * MS, R)] {
            let mut lab = lab(|params| (params.read_expire_ns, params.write_expire_ns) = (100 * MS, write_expire_ns));
            lab.writes([2 * R]);
            lab.reads([R]);
            lab.now = S;
            assert_eq!(lab.serve(1), [first], "{write_expire_ns}");
        }
    }

    #[test]
    fn a_request_belongs_to_the_region_of_its_first_sector_and_merges_only_there() {
        let mut lab = lab(|_| {});
        lab.reads([R - 8]);
        assert_eq!(lab.submit(Op::Read, 0, 0, R, 8), Admission::Queued, "it touches, but lies in the next region");
        assert_eq!(lab.submit(Op::Read, 0, 0, R - 16, 8), Admission::Merged);
        assert_eq!(lab.submit(Op::Read, 0, 0, R + 8, 8), Admission::Merged);
        lab.reads([2 * R - 12]);
        assert_eq!(lab.submit(Op::Read, 0, 0, 2 * R - 4, 8), Admission::Merged, "it begins in the region");
        assert_eq!(lab.serve(9), [R - 16, R, 2 * R - 12]);
    }

    #[test]
    fn ten_thousand_regions_take_turns_in_address_order_like_two() {
        let mut lab = lab(|_| {});
        let regions = [9_999, 64, 4_096, 63, 0, 4_095, 65];
        lab.reads(regions.map(|region| region * R));
        assert_eq!(lab.serve(4), [0, 63 * R, 64 * R, 65 * R]);
        lab.reads([R, 66 * R]);
        assert_eq!(lab.serve(9), [66 * R, 4_095 * R, 4_096 * R, 9_999 * R, R]);
    }

    #[test]
    fn front_merges_can_be_switched_off() {
        let mut lab = lab(|params| params.front_merges = false);
        lab.reads([100]);
        assert_eq!(lab.submit(Op::Read, 0, 0, 92, 8), Admission::Queued);
        assert_eq!(lab.serve(9), [92, 100]);
    }

    #[test]
    fn a_region_size_that_makes_no_sense_is_refused_and_a_better_one_named() {
        let setup = Setup { capacity_sectors: 8 << 30, requests: 4 };
        let fail = |region_size_bytes| {
            let params = Params { region_size_bytes, ..Params::defaults() };
            State::new(params, &setup).expect_err("the region size is refused")
        };
        assert!(fail(MIB + 1).contains("not a whole number of 512-byte sectors"));
        let message = fail(MIB);
        assert!(message.contains("4194304 regions") && message.contains("a region_size of 4MiB"), "{message}");
        let enough = Params { region_size_bytes: 4 * MIB, ..Params::defaults() };
        assert_eq!(State::new(enough, &setup).map(|state| state.regions.len()).ok(), Some(1 << 20));
    }
}
