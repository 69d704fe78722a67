//! ParDispatcher: one subqueue for each region of the address space, served round-robin, one direction a turn.
//!
//! ```text
//! region(r) = first sector of r / S                 S = region_size; ceil(C / S) regions on a device of C sectors
//! insert:   into the next sweep of its region and direction, sorted, and at the end of its direction's FIFO;
//!           deadline = now + read_expire or write_expire
//! dispatch: if no turn is under way, begin one:
//!             expired turn, if the request with the earliest deadline of all has expired and the last turn was not an
//!               expired one: that request's region and direction, starting from that request
//!             ordinary turn otherwise: the next region with requests, in address order and round the end; the
//!               direction opposite to that region's last turn, or the other one if that has nothing pending
//!           send the next request of the sweep in ascending order of the first sector (after the highest, the lowest)
//!           when a sweep has been sent, the requests that wait in its region and direction are the new one
//!           the turn ends when its direction is empty in that region, or after read_batch reads or write_batch writes
//! merge:    within a region: both requests begin in the same region; a front merge for which requests of both sweeps
//!           qualify is only tried with those of the sweep under way
//! ```
//! Source: Wang et al., "A Novel I/O Scheduler for SSD with Improved Performance and Lifetime" (ParDispatcher), section
//! II. Left open there and decided here:
//! - A region's first turn takes reads, because a task waits for them.
//! - A turn ends with the dispatch that empties its direction, not when the next request is asked for.
//! - A batch of 16 reads ends after 16. To the letter ("when the number of requests it has already dispatched exceeds
//!   the configured batch threshold") it would end after 17; `fifo_batch` of the deadline scheduler, which the authors'
//!   is based on, is the number that is sent, and so is theirs taken to be.
//! - The start of an ordinary turn is the parameter `scan`. By itself neither choice bounds a wait: a stream of
//!   ascending requests that grows as fast as it is served keeps the scan from ever reaching the requests above it. So
//!   requests that arrive while a sweep is under way wait for the next one, as in FSCAN (Coffman, Klimko and Ryan,
//!   "Analysis of Scanning Policies for Reducing Disk Seek Times", 1972): each subqueue has two trees a direction, the
//!   sweep under way and the next one.
//! - The paper says that deadlines are checked, but not what follows. An expired turn interrupts the round, which then
//!   continues where it was; of an expired read and write the one with the earlier deadline counts, at a tie the read.
//!   At most one turn in two is an expired one, so that overload does not turn the order into a FIFO.
//! - The paper has a read and a write FIFO in each subqueue. Here one FIFO a direction spans all regions, because only
//!   the oldest request of all is ever looked for, which is the head of a FIFO. So each request is in one FIFO and one
//!   tree, however many regions there are.
//!
//! Bounds. Turns and dispatches are those of the request's own region and direction.
//! - In turns: a request that arrives while `c` requests are left of the sweep under way, and is one of the `m` of its
//!   own sweep, is one of the next `c + m` that are sent, because no request joins a sweep once it has begun. While it
//!   waits every turn ends after a full batch of `B`, so it is sent by the end of the turn under way or in one of the
//!   next `ceil((c + m) / B)`. All requests of a sweep wait, so neither `c` nor `m` exceeds `nr_requests` for reads,
//!   and twice that for writes, for which synchronous and asynchronous requests have a limit each: by default that
//!   makes 16 turns of reads and 64 of writes at most.
//! - In dispatches of all regions: once expired, a request with `e` earlier deadlines before it is dispatched within
//!   `2 * (e + 1) * B` dispatches, B being the longer of the two batches: every two turns serve at least the expired
//!   request with the earliest deadline.
//!
//! In blk-mq (`host.linux`) reads and writes share one set of tags, of which writes may have a part, as in the kernel
//! module (docs/decisions/0027-writes-share-the-tags.md). The paper's kernel counts them apart.
//!
//! Cost: O(log n) in the queued requests; finding the next region takes one word of each level of a 64-way bitmap, so
//! O(1) for any number of regions that a device has.

use flashloom_units::{GIB, IndexSet, format_size};

use super::prelude::*;

/// Specification of the policy.
pub static SPEC: PolicySpec = PolicySpec {
    name: "pardispatcher",
    summary: "Regions served round-robin, one direction a turn, sorted by address: for the parallelism of an SSD \
              (ParDispatcher)",
    details: "The address space is divided into regions, each with queues of its own. Regions with requests take \
              turns; a turn sends a batch of one direction in address order, reads and writes alternating within a \
              region. A request whose deadline has passed brings its region's turn forward, every second turn at most. \
              A batch of 16 ends after 16 requests, where the paper has their number exceed 16. The paper leaves open \
              where a turn begins; `scan` chooses it. Requests that arrive while a region is swept in address order \
              wait for the next sweep, so that no stream starves others. Works without task ids.",
    source: "Wang, Huang, He, Zhou, Li, He: A Novel I/O Scheduler for SSD with Improved Performance and Lifetime, \
             section II",
    example: "host.scheduler=pardispatcher host.pardispatcher.region_size=1GiB workload.queue_depth=64 \
              workload.synthetic.read_share=0.6",
    instead: "It ignores tasks: `fios` is fair between them. Regions gain most if each lies on chips of its own, \
              which `flashloom probe` measures; on other drives compare it with `deadline` first.",
    offers: &[Capability::SAVED_STATE],
    params: ParDispatcherParams::PARAMS,
    statistics: &[
        Statistic::count("turns", "Turns begun, including expired ones."),
        Statistic::count("expired_turns", "Turns that were brought forward by a request past its deadline."),
        Statistic::count("region_switches", "Turns that began in another region than the turn before."),
    ],
    ..PolicySpec::BLANK
};

choice! {
    /// Start of an ordinary turn.
    pub enum Scan {
        /// At the lowest sector that is left of the sweep.
        Lowest = "lowest",
        /// At the sector where the last turn of the region and direction stopped; the rest of the sweep, below it,
        /// comes last.
        Continue = "continue",
    }
}

params! {
    /// Parameters of ParDispatcher, with the paper's values for a 60 GB MLC drive.
    pub struct ParDispatcherParams {
        /// Size of a region; the last one may be smaller.
        region_size_bytes: u64 => "region_size", Kind::Size { min: MIB, max: 1 << 50 }, Value::Size(4 * GIB),
            "Smaller regions spread consecutive batches wider over the device; larger ones give longer sorted runs.";
        /// Maximum number of reads in a turn.
        read_batch: u32 => "read_batch", Kind::Count { min: 1, max: 65_536 }, Value::Count(16),
            "Longer batches keep a region's order and direction longer; shorter ones come round to the others sooner.";
        /// Maximum number of writes in a turn.
        write_batch: u32 => "write_batch", Kind::Count { min: 1, max: 65_536 }, Value::Count(8),
            "Longer batches write longer sorted runs; shorter ones let reads of the region go sooner.";
        /// Deadline of a read: the time after queueing by which it should be dispatched.
        read_expire_ns: Ns => "read_expire", Kind::Time { min: MS, max: 3_600 * S }, Value::Time(500 * MS),
            "Earlier deadlines bound read latency more tightly and break the round more often.";
        /// Deadline of a write: the time after queueing by which it should be dispatched.
        write_expire_ns: Ns => "write_expire", Kind::Time { min: MS, max: 3_600 * S }, Value::Time(5 * S),
            "Earlier deadlines bound write latency more tightly and break the round more often.";
        /// Start of an ordinary turn in the address order of its sweep.
        scan: Scan => "scan", Kind::Choice(Scan::CHOICES), Value::Name("continue"),
            "`continue` resumes a sequential stream where it was left; `lowest` serves requests below it first.";
        /// In blk-mq: number of tags that may be taken before a write has to wait for one, and three quarters of it
        /// before one that no task waits for has to; reads may take all of `nr_requests`.
        async_depth: OrName<u32> => "async_depth", Kind::CountOr { min: 1, max: 1_048_576, or: NR_REQUESTS },
            Value::Name("nr_requests"),
            "A smaller number leaves tags to reads beside a flood of writes, and gives fewer writes to sort.",
            Used::without("host.linux", &["auto", "2.6.32"]);
        /// True to allow front merges: a new request joins one that begins where it ends.
        front_merges: bool => "front_merges", Kind::Flag, Value::Flag(true),
            "Workloads that never write backwards save the look-up without it.", Used::with("host.merging", &["true"]);
    }
}

/// Maximum number of regions: finer division helps no device and only takes memory.
const MAX_REGIONS: u64 = 1 << 20;

/// The turn under way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Turn {
    region: u32,
    direction: Direction,
    /// Number of requests that it may still send.
    left: u32,
    /// Sector from which it looks for the next request.
    from: u64,
}

/// State of a region.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Region {
    last_direction: Direction,
    /// First sector of the last request sent, by direction.
    stopped_at: [u64; 2],
    /// Index of the tree that is the sweep under way, by direction.
    sweep: [usize; 2],
}

/// State of ParDispatcher: the subqueues, the round, and the turn under way.
pub struct ParDispatcher {
    params: ParDispatcherParams,
    setup: SchedulerSetup,
    region_sectors: u64,
    regions: Vec<Region>,
    /// Regions with requests.
    pending: IndexSet,
    /// Sorted trees by region, direction and sweep.
    sorted: Forest<RequestId>,
    /// The tree that each request is in.
    trees: Vec<u32>,
    /// FIFOs by direction, over all regions.
    fifo: Lists<RequestId>,
    turn: Option<Turn>,
    /// Region from which the round looks for its next one.
    round_at: u32,
    last_region: Option<u32>,
    last_was_expired: bool,
    turns: u64,
    expired_turns: u64,
    region_switches: u64,
}

flashloom_units::state! {
    ParDispatcher {
        array regions;
        nested pending, sorted, trees, fifo;
        value turn, round_at, last_region, last_was_expired, turns, expired_turns, region_switches;
        fixed params, setup, region_sectors;
    }
}

impl ParDispatcher {
    /// Makes empty subqueues for all regions of the device.
    ///
    /// # Errors
    /// The region size is not a multiple of the sector size, or makes too many regions.
    pub fn new(params: ParDispatcherParams, setup: &SchedulerSetup) -> Result<Self, Refusal> {
        let size = params.region_size_bytes;
        let found = format!("region_size is {}", format_size(size));
        let keys = ["host.pardispatcher.region_size", "host.scheduler"];
        let refuse = |found, expected| Refusal::new(found, expected).at(keys);
        if !size.is_multiple_of(SECTOR_BYTES) {
            return Err(refuse(found, format!("a whole number of {SECTOR_BYTES}-byte sectors")));
        }
        let region_sectors = size / SECTOR_BYTES;
        let regions = setup.capacity_sectors.div_ceil(region_sectors).max(1);
        if regions > MAX_REGIONS {
            let least = setup.capacity_sectors.div_ceil(MAX_REGIONS).next_power_of_two() * SECTOR_BYTES;
            let found = format!("{found}, which divides the device into {regions} regions");
            let help = format!("a region_size of {} is enough", format_size(least));
            return Err(refuse(found, format!("at most {MAX_REGIONS} regions")).help(help));
        }
        let untouched = Region { last_direction: Direction::Write, stopped_at: [0; 2], sweep: [0; 2] };
        Ok(Self {
            params,
            setup: *setup,
            region_sectors,
            regions: vec![untouched; regions as usize],
            pending: IndexSet::new(regions as u32),
            sorted: Forest::new(setup.requests, TREES * regions as u32),
            trees: vec![0; setup.requests as usize],
            fifo: Lists::new(setup.requests, 2),
            turn: None,
            round_at: 0,
            last_region: None,
            last_was_expired: false,
            turns: 0,
            expired_turns: 0,
            region_switches: 0,
        })
    }

    fn region_of(&self, lba: u64) -> u32 {
        (lba / self.region_sectors) as u32
    }

    fn tree_of(&self, id: RequestId) -> usize {
        self.trees[id.at()] as usize
    }

    /// Trees of a region and direction: the sweep under way, and the requests that have arrived since it began.
    fn sweeps(&self, region: u32, direction: Direction) -> [usize; 2] {
        let sweep = self.regions[region as usize].sweep[direction.at()];
        [sweep, 1 - sweep].map(|sweep| tree(region, direction, sweep))
    }

    fn has(&self, region: u32, direction: Direction) -> bool {
        (0..2).any(|sweep| !self.sorted.is_empty(tree(region, direction, sweep)))
    }

    /// Begins a new sweep of the requests that wait, if nothing is left of the last one.
    fn renew_sweep(&mut self, region: u32, direction: Direction) {
        if self.sorted.is_empty(self.sweeps(region, direction)[0]) {
            self.regions[region as usize].sweep[direction.at()] ^= 1;
        }
    }

    fn begin_turn(&mut self, now: Ns, requests: &Requests) -> Option<Turn> {
        let late = self.earliest_expired(now, requests).filter(|_| !self.last_was_expired);
        let (region, direction, from) = match late {
            Some(id) => (self.region_of(requests[id].lba), requests[id].direction(), requests[id].lba),
            None => self.next_of_round()?,
        };
        self.last_was_expired = late.is_some();
        self.expired_turns += u64::from(late.is_some());
        self.turns += 1;
        self.region_switches += u64::from(self.last_region.replace(region).is_some_and(|last| last != region));
        self.regions[region as usize].last_direction = direction;
        let left = [self.params.read_batch, self.params.write_batch][direction.at()];
        Some(Turn { region, direction, left, from })
    }

    /// The request with the earliest deadline of all, if that has passed; at a tie the read.
    fn earliest_expired(&self, now: Ns, requests: &Requests) -> Option<RequestId> {
        Direction::BOTH
            .into_iter()
            .filter_map(|direction| self.fifo.front(direction.at()))
            .min_by_key(|&id| requests[id].deadline_ns)
            .filter(|&id| now > requests[id].deadline_ns)
    }

    /// Region, direction and starting sector of the next ordinary turn.
    fn next_of_round(&mut self) -> Option<(u32, Direction, u64)> {
        let region = self.pending.at_or_after(self.round_at).or_else(|| self.pending.at_or_after(0))?;
        self.round_at = region + 1;
        let Region { last_direction, stopped_at, .. } = self.regions[region as usize];
        let turn_about = last_direction.opposite();
        let direction = if self.has(region, turn_about) { turn_about } else { last_direction };
        let from = match self.params.scan {
            Scan::Lowest => 0,
            Scan::Continue => stopped_at[direction.at()],
        };
        Some((region, direction, from))
    }

    /// Adds a request to the next sweep of its region and direction and to the FIFO.
    fn join(&mut self, requests: &Requests, id: RequestId) {
        let (region, direction) = (self.region_of(requests[id].lba), requests[id].direction());
        let [_, tree] = self.sweeps(region, direction);
        self.trees[id.at()] = tree as u32;
        self.sorted.insert(tree, id, requests[id].lba);
        self.pending.insert(region);
        self.fifo.push_back(direction.at(), id);
    }

    fn leave_tree(&mut self, region: u32, id: RequestId) {
        self.sorted.remove(self.tree_of(id), id);
        if !Direction::BOTH.into_iter().any(|direction| self.has(region, direction)) {
            self.pending.remove(region);
        }
    }
}

/// Number of trees of a region.
const TREES: u32 = 4;

fn tree(region: u32, direction: Direction, sweep: usize) -> usize {
    (region * TREES) as usize + 2 * direction.at() + sweep
}

flashloom_units::component! { ParDispatcher: turns, expired_turns, region_switches }

impl Scheduler for ParDispatcher {
    fn tags(&self) -> Option<Tags> {
        let SchedulerSetup { tags, linux, .. } = self.setup;
        if linux == Linux::V2_6_32 {
            return None;
        }
        let sync = self.params.async_depth.number_or(tags.selected);
        let [sync_writes, async_writes] =
            [sync, (3 * sync / 4).max(1)].map(|depth| Limit::Depth(depth).of(tags, linux));
        Some(Tags { reads: tags.tags, sync_writes, async_writes })
    }

    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        self.join(requests, id);
        now + [self.params.read_expire_ns, self.params.write_expire_ns][requests[id].direction().at()]
    }

    fn front_merge_candidate(&self, _requests: &Requests, incoming: &Request) -> Option<RequestId> {
        let sweeps = self.sweeps(self.region_of(incoming.lba), Direction::of(incoming.op));
        let at_end = || sweeps.into_iter().find_map(|tree| self.sorted.at(tree, incoming.end()));
        self.params.front_merges.then(at_end).flatten()
    }

    fn allows_merge(&self, requests: &Requests, id: RequestId, incoming: &Request) -> bool {
        self.region_of(requests[id].lba) == self.region_of(incoming.lba)
    }

    fn former(&self, _requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.sorted.prev(self.tree_of(id), id)
    }

    fn latter(&self, _requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.sorted.next(self.tree_of(id), id)
    }

    fn moved(&mut self, requests: &Requests, id: RequestId) {
        self.sorted.resort(self.tree_of(id), id, requests[id].lba);
    }

    fn absorb(&mut self, requests: &Requests, kept: RequestId, gone: RequestId) {
        leave_fifo(&mut self.fifo, requests, kept, gone);
        self.leave_tree(self.region_of(requests[gone].lba), gone);
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        let Some(mut turn) = self.turn.take().or_else(|| self.begin_turn(now, requests)) else { return Choice::Idle };
        self.renew_sweep(turn.region, turn.direction);
        let [sweep, _] = self.sweeps(turn.region, turn.direction);
        let next = self.sorted.at_or_after(sweep, turn.from).or_else(|| self.sorted.first(sweep));
        let id = next.expect("a turn ends with the dispatch that empties its direction");
        self.fifo.remove(id);
        self.leave_tree(turn.region, id);
        turn.from = requests[id].lba;
        turn.left -= 1;
        self.regions[turn.region as usize].stopped_at[turn.direction.at()] = turn.from;
        self.turn = Some(turn).filter(|turn| turn.left > 0 && self.has(turn.region, turn.direction));
        Choice::Request(id)
    }

    /// A new region size distributes the waiting requests anew, in order of age among those that begin at the same
    /// sector. The turn and the sweeps under way end, the round continues at the same address, and every region's next
    /// turn counts as its first.
    fn reconfigure(&mut self, requests: &Requests, values: &[Value]) -> Result<(), Refusal> {
        let params = ParDispatcherParams::from_values(values);
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
        anew.region_switches = self.region_switches;
        *self = anew;
        Ok(())
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let queued = requests.count(Stage::Queued);
        let listed = Direction::BOTH.iter().map(|list| self.fifo.iter(list.at()).count() as u64).sum::<u64>();
        let mut sorted = 0;
        for region in 0..self.regions.len() as u32 {
            let mut count = 0;
            for tree in (region * TREES) as usize..((region + 1) * TREES) as usize {
                let is_of_it = self.sorted.iter(tree).all(|id| self.tree_of(id) == tree);
                ensure!(is_of_it, "pardispatcher: tree {tree} has a request that is known to be in another");
                count += self.sorted.iter(tree).count() as u64;
            }
            let is_known = self.pending.contains(region) == (count > 0);
            ensure!(is_known, "pardispatcher: region {region} has {count} requests, unknown to the round");
            sorted += count;
        }
        let agree = [listed, sorted] == [queued; 2];
        ensure!(agree, "pardispatcher: {queued} queued, {listed} in the FIFOs, {sorted} in the trees");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Lab;
    use crate::{Admission, BlockLayer, HostParams};

    /// Sectors of a region in these tests.
    const R: u64 = 2_048;

    fn lab(change: impl FnOnce(&mut ParDispatcherParams)) -> Lab {
        Lab::new(ParDispatcher::new, |params: &mut ParDispatcherParams| {
            params.region_size_bytes = R * SECTOR_BYTES;
            change(params);
        })
    }

    #[test]
    fn regions_with_requests_take_turns_in_address_order_and_round_the_end() {
        let mut lab = lab(|params| params.read_batch = 2);
        lab.reads([5 * R, 5 * R + 20, 5 * R + 40, R + 40, R, R + 20, 9 * R]);
        assert_eq!(lab.serve(99), [R, R + 20, 5 * R, 5 * R + 20, 9 * R, R + 40, 5 * R + 40]);
        assert_eq!(lab.counts(), [5, 0, 4], "turns, expired turns, changes of region");
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
    fn each_regions_direction_is_its_own() {
        let mut lab = lab(|params| (params.read_batch, params.write_batch) = (1, 1));
        lab.reads([10, 20]);
        assert_eq!(lab.serve(1), [10], "region 0 has had a turn of reads, region 1 none");
        lab.writes([30, R + 30]);
        lab.reads([R + 10]);
        assert_eq!(lab.serve(99), [R + 10, 30, R + 30, 20]);
    }

    #[test]
    fn a_turn_ascends_and_what_arrives_ahead_of_it_waits_for_the_next_sweep() {
        let mut lab = lab(|params| (params.read_batch, params.scan) = (4, Scan::Lowest));
        lab.reads([100, 200, 300]);
        assert_eq!(lab.serve(2), [100, 200]);
        lab.reads([250, 50]);
        assert_eq!(lab.serve(9), [300, 50, 250]);
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
            lab.reads([300, 400]);
            let mut served = lab.serve(2);
            lab.reads([500, 100]);
            served.extend(lab.serve(9));
            assert_eq!(served, order, "{}", scan.name());
        }
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
        assert_eq!(lab.counts(), [5, 1, 3]);
    }

    #[test]
    fn at_most_every_second_turn_is_an_expired_one() {
        let mut lab = lab(|params| params.read_batch = 1);
        lab.reads([9 * R, 8 * R, 7 * R]);
        lab.now = S;
        lab.reads([R, 2 * R]);
        assert_eq!(lab.serve(9), [9 * R, R, 8 * R, 2 * R, 7 * R]);
        assert_eq!(lab.counts(), [5, 3, 4]);
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
    fn a_region_size_that_makes_no_sense_is_refused_and_a_better_one_named() {
        let setup = BlockLayer::setup(&HostParams::defaults(), 8 << 30);
        let fail = |region_size_bytes| {
            let params = ParDispatcherParams { region_size_bytes, ..ParDispatcherParams::defaults() };
            ParDispatcher::new(params, &setup).map(drop).expect_err("the region size is refused").to_string()
        };
        assert!(fail(MIB + 1).contains("expected a whole number of 512-byte sectors"));
        let message = fail(MIB);
        assert!(message.contains("4194304 regions") && message.contains("a region_size of 4MiB"), "{message}");
        let enough = ParDispatcherParams { region_size_bytes: 4 * MIB, ..ParDispatcherParams::defaults() };
        assert_eq!(ParDispatcher::new(enough, &setup).map(|state| state.regions.len()).ok(), Some(1 << 20));
    }
}
