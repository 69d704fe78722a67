//! SLAP: spatial locality-aware allocation (Lee, Choi and Baek, "Balancing Spatial Locality with Parallelism in Solid
//! State Disks").
//! ```text
//! stream:           a run of consecutive LPNs is cut, from its lowest page on, into streams of exactly
//!                   stream_threshold pages (threshold 4: D7..D15 gives D7-D10, D11-D14)
//! search = buffer:  streams are cut from runs of dirty pages in the write buffer; a victim that is part of a stream is
//!                   evicted with the rest of it (a page that the host requires to be durable is written alone, and a
//!                   padded block as it is)
//! search = batch:   streams are cut from runs of pages that the buffer's order and rate evict together
//! search = window:  a stream is stream_threshold pages of the buffer, at any addresses, whose writes arrived within
//!                   window of each other: the first page written at most window before the victim, and the
//!                   next ones; a victim that is part of a stream is evicted with the rest of it
//! allocation:       a stream goes to the open stream block of one chip, the next stream to that of the next chip
//! substreams (the paper's Delta) n > 1:  a stream is divided evenly among the stream blocks of n chips; the next
//!                   stream starts on the chip after these
//! substreams = auto:  n is the ratio of a chip's read latency to all other overhead, measured over the reads so far
//!                   (slap/delta.rs)
//! other pages:      pages that are in no stream (D15) are interleaved over all planes, into open blocks of their own
//! stream_threshold = 1:  no streams: the traditional allocation, page for page
//! ```
//!
//! Future work of the paper:
//!
//! ```text
//! adaptive:         every adapt_interval pages, with cost = pages copied by collections / pages written since the last
//!                   time:
//!                   no copies in this interval and the last: keep the threshold
//!                   no page was in a stream, and threshold > 1: halve the threshold
//!                   else double or halve it: reverse the direction if the cost went up, and at 1 and at b pages
//! gc_isolation:     survivors are separated from new writes, and those of streams from other survivors
//! read_reorganization:  when a stream's block is collected whose pages the host has read read_hot times on average
//!                   since its erase, survivors that were read and not rewritten go to the next planes in turn while
//!                   these have pages to give; the others stay on their plane
//! ```
//!
//! Choices that the paper leaves open. SLAP "tries to find streams in the write buffer"; it does not say when, nor in
//! what order pages leave the buffer. Here the order of eviction chooses the page that leaves, and SLAP the pages that
//! leave with it (decision 0032). The text asks for a run "larger than" the threshold but draws streams of exactly that
//! many pages; the drawing is followed. Pages of a run need not be neighbours in the eviction order. A stream that does
//! not fit into the rest of a stream block continues in the next stream block of that plane. The rotation of streams
//! takes chips before dies and planes, whatever ftl.stripe_order is, so that substreams are on different chips.
//!
//! For streams by time the paper says "data written within a specific time window" without a length. Like a run, such a
//! stream is cut from its first page on and has exactly stream_threshold pages. The paper's third method, causality, is
//! not implemented: it needs to know what was read before a write.
//!
//! O(log n) a page for n pages written together. Memory: 8 bytes a page of the largest group, and with
//! `read_reorganization` 4 bytes a block.

mod delta;

use flashloom_nand::PlaneId;
use flashloom_units::{
    Capability, Component, Figure, Kind, MS, NO_INDEX, Ns, PolicySpec, Refusal, S, Statistic, Used, Value, Violation,
    choice, params, violation,
};

use super::stripe::{Rotation, stripe, stripe_of_superpages};
use super::{Allocation, AllocationSetup, ObservedRead, PagePlace, Profile, WantedStreams};
use crate::capability::PAGE_MAPPING;
use crate::lane::{Demands, Lane};
use crate::streams::{self, STREAMS, StreamReport};
use crate::{PageWrite, StripeOrder};
use delta::{AUTO, ChannelTime, Delta, Ratio, Substreams};

choice! {
    /// Method of finding streams.
    pub enum Search {
        /// Among all dirty pages of the write buffer: when one is evicted, the pages of its stream leave with it.
        Buffer = "buffer",
        /// Among the pages that the buffer's order and rate evict together.
        Batch = "batch",
        /// Among all dirty pages of the write buffer: pages written at the same time, whatever their addresses.
        Window = "window",
    }
}

params! {
    /// Parameters of SLAP.
    pub struct SlapParams {
        /// Number of consecutive pages in a stream, from 1 (no streams) to the pages of a block.
        stream_threshold: u32 => "stream_threshold", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(4),
            "Long streams keep more pages together that die together, and fewer runs are that long.";
        /// Method of finding streams.
        search: Search => "search", Kind::Choice(Search::CHOICES), Value::Name("buffer"),
            "Streams gathered in the buffer leave before their turn, and their pages are not there to be written \
            again.";
        /// Time within which the pages of a stream were written.
        window_ns: Ns => "window", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(MS),
            "A long window finds more streams, of pages that have less to do with each other.",
            Used::with("search", &["window"]);
        /// Chips that a stream is split over (the paper's Delta).
        substreams: Substreams => "substreams", Kind::CountOr { min: 1, max: 1 << 16, or: AUTO }, Value::Count(1),
            "Reads of a stream go to more chips at once, and its pages die in more blocks.";
        /// Host page reads between two adjustments of the substreams.
        delta_reads: u64 => "delta_reads", Kind::Count { min: 1, max: 1 << 40 }, Value::Count(1_024),
            "Many reads make a steady choice, few follow the workload sooner.",
            Used::with("substreams", &["auto"]);
        /// Whether a page's channel time counts as read latency or as overhead in their ratio.
        delta_channel: ChannelTime => "delta_channel", Kind::Choice(ChannelTime::CHOICES), Value::Name("chip"),
            "As part of the overhead, a channel that is slower than the chip leaves each stream on one chip.",
            Used::with("substreams", &["auto"]);
        /// Substreams before the first adjustment, including while a drive is preconditioned.
        delta_start: u32 => "delta_start", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(1),
            "What is written before anything was read keeps this split until it is written again.",
            Used::with("substreams", &["auto"]);
        /// Whether the threshold is adapted to the copies of garbage collection.
        adaptive: bool => "adaptive", Kind::Flag, Value::Flag(false),
            "Finds a threshold for the workload, at the price of trying worse ones.";
        /// Pages written between two adjustments of the threshold.
        adapt_interval: u64 => "adapt_interval", Kind::Count { min: 1, max: 1 << 40 }, Value::Count(65_536),
            "Long intervals judge a threshold by its effect, short ones follow the workload sooner.",
            Used::with("adaptive", &["true"]);
        /// Whether survivors are separated from new writes, and those of streams from others, whatever ftl.gc_blocks
        /// says.
        gc_isolation: bool => "gc_isolation", Kind::Flag, Value::Flag(false),
            "Survivors of streams do not dilute new ones; each plane needs one more open block.";
        /// Whether streams that are read often are distributed over the chips when they are collected.
        read_reorganization: bool => "read_reorganization", Kind::Flag, Value::Flag(false),
            "Reads of such a stream become parallel, and its pages lose their common block.";
        /// Average reads of a block's pages at which its streams count as read often.
        read_hot: u32 => "read_hot", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(2),
            "A low number spreads streams that are hardly read.",
            Used::with("read_reorganization", &["true"]);
    }
}

const SUBSTREAMS: Statistic = Statistic::count(
    "substreams",
    "Chips that a stream was split over at the end of the run; absent unless `ftl.slap.substreams` is \"auto\".",
);

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "slap",
    summary: "streams of consecutive pages into one block each, over all chips",
    details: "Streams are found in the write buffer (search), and among the pages of a write where there is none.",
    source: "SLAP, sections 2 and 3; adaptive, gc_isolation and read_reorganization are its future work",
    example: "ftl.allocation=slap ftl.slap.stream_threshold=8 workload.synthetic.pattern=extents \
              workload.synthetic.extents=4KiB:50,128KiB:50",
    instead: "Where writes are small and random there are no streams, and the blocks kept open for them cost spare \
              space: use `interleave`.",
    needs: &[PAGE_MAPPING],
    offers: &[Capability::SAVED_STATE],
    params: SlapParams::PARAMS,
    statistics: &Statistic::joined::<{ STREAMS.len() + 1 }>(&[STREAMS, &[SUBSTREAMS]]),
};

pub(super) struct Slap {
    params: SlapParams,
    threshold: usize,
    delta: Delta,
    interleaved: Rotation,
    streams: Rotation,
    /// Pages written together, as words that sort by LPN and then by position in the write.
    order: Vec<u64>,
    climb: Climb,
    report: StreamReport,
}

flashloom_units::state! {
    Slap {
        below threshold [climb.most + 1];
        nested report, delta, interleaved, streams, climb;
        scratch order;
        fixed params;
    }
}

impl Slap {
    pub(super) fn new(params: SlapParams, on: &AllocationSetup<'_>) -> Self {
        let AllocationSetup { space, geometry, superpage, stripe_order: order } = *on;
        let threshold = params.stream_threshold as usize;
        let ratio = Ratio { start: params.delta_start, reads: params.delta_reads, channel: params.delta_channel };
        let delta = Delta::new(params.substreams, &ratio, space.nand.channels * space.nand.ways);
        Self {
            threshold,
            interleaved: Rotation::new(stripe_of_superpages(&geometry, superpage, order)),
            streams: Rotation::new(stripe(&geometry, chips_first(order))),
            order: Vec::new(),
            climb: Climb::new(threshold, geometry.pages as usize),
            report: StreamReport { threshold: threshold as u64, ..StreamReport::default() },
            delta,
            params,
        }
    }

    fn place_streams(&mut self, writes: &[PageWrite], places: &mut [PagePlace]) {
        let mut order = std::mem::take(&mut self.order);
        order.extend(writes.iter().zip(0..).map(|(write, at): (_, u64)| u64::from(write.lpn.0) << 32 | at));
        order.sort_unstable();
        for run in order.chunk_by(|one, next| (one >> 32) + 1 == next >> 32) {
            for stream in run.chunks_exact(self.threshold) {
                self.place_stream(stream, places);
            }
        }
        order.clear();
        self.order = order;
    }

    /// Places streams that the buffer gathered by time, as `place_streams` does for runs.
    fn place_gathered(&mut self, writes: &[PageWrite], places: &mut [PagePlace]) {
        let mut order = std::mem::take(&mut self.order);
        let streams = writes.iter().map(|write| write.hints.stream).zip(0..).filter(|&(stream, _)| stream != NO_INDEX);
        order.extend(streams.map(|(stream, at): (_, u64)| u64::from(stream) << 32 | at));
        order.sort_unstable();
        for stream in order.chunk_by(|one, next| one >> 32 == next >> 32) {
            self.place_stream(stream, places);
        }
        order.clear();
        self.order = order;
    }

    fn place_stream(&mut self, stream: &[u64], places: &mut [PagePlace]) {
        let parts = stream.len().min(self.delta.chips() as usize);
        let (mut part, mut plane) = (0, self.streams.next());
        for (index, page) in stream.iter().enumerate() {
            if index * parts / stream.len() != part {
                (part, plane) = (part + 1, self.streams.next());
            }
            places[(page & u64::from(u32::MAX)) as usize] = PagePlace { plane, lane: Lane::STREAM };
        }
        self.report.detected += 1;
        self.report.pages += stream.len() as u64;
    }
}

impl Component for Slap {
    flashloom_units::stateful!();

    fn figures(&self) -> Vec<Figure> {
        let substreams = Figure::count_or_absent(self.delta.reported());
        streams::figures(Some(self.report)).into_iter().chain([substreams]).collect()
    }

    fn check(&self) -> Result<(), Violation> {
        let chosen = self.params.stream_threshold as usize;
        let is_chosen = self.params.adaptive || (self.threshold == chosen && self.climb.threshold == chosen);
        let is_possible = self.threshold.min(self.climb.threshold) > 0 && self.delta.is_possible();
        if is_chosen && is_possible && self.report.threshold == self.threshold as u64 {
            return Ok(());
        }
        let (threshold, chips) = (self.threshold, self.delta.chips());
        Err(violation!("streams: a threshold of {threshold} pages over {chips} chips, where {chosen} pages are chosen"))
    }
}

impl Allocation for Slap {
    fn place(&mut self, writes: &[PageWrite], copies: u64, places: &mut Vec<PagePlace>) {
        if self.params.adaptive {
            self.threshold = self.climb.step(self.params.adapt_interval, copies, self.report.pages);
            self.climb.written += writes.len() as u64;
            self.report.threshold = self.threshold as u64;
        }
        places.resize(writes.len(), PagePlace { plane: PlaneId::NONE, lane: Lane::HOST });
        if self.params.search == Search::Window {
            self.place_gathered(writes, places);
        } else if self.threshold > 1 && writes.len() >= self.threshold {
            self.place_streams(writes, places);
        }
        for place in places.iter_mut().filter(|place| place.plane.is_none()) {
            place.plane = self.interleaved.next();
        }
    }

    fn wanted_streams(&self) -> Option<WantedStreams> {
        let in_buffer = self.params.search != Search::Batch;
        let window_ns = (self.params.search == Search::Window).then_some(self.params.window_ns);
        Some(WantedStreams { pages: self.threshold as u32, in_buffer, window_ns, block_pages: None })
    }

    fn observes_reads(&self) -> bool {
        self.delta.is_auto()
    }

    fn observe_read(&mut self, read: ObservedRead) {
        self.delta.observe(read);
    }

    fn reset_report(&mut self) {
        self.report = StreamReport { threshold: self.report.threshold, ..StreamReport::default() };
        self.climb.restart();
    }
}

/// Refuses streams longer than a block and substreams that cannot be on different chips; returns the requirements on
/// the store.
pub(super) fn profile(params: SlapParams, on: &AllocationSetup<'_>) -> Result<Profile, Refusal> {
    let (nand, pages) = (&on.space.nand, on.geometry.pages);
    let SlapParams { stream_threshold, substreams, delta_start, adaptive, .. } = params;
    let refuse = |keys: &[&str], found: String, expected: &str| {
        Err(Refusal::new(found, expected).at(keys.iter().copied()).help(format!("lower {}", keys[0])))
    };
    let threshold_key = "ftl.slap.stream_threshold";
    if stream_threshold > pages {
        let found = format!("streams of {stream_threshold} pages in blocks of {pages} (device.pages)");
        let expected = "a threshold of at most the pages of a block, because a stream goes to one block";
        return refuse(&[threshold_key, "device.pages", "device.preset"], found, expected);
    }
    // Substreams chosen from reads stay within these bounds; the configured start may not.
    let (substreams, substreams_key) = match substreams {
        Substreams::Number(given) => (given, "ftl.slap.substreams"),
        Substreams::Name => (delta_start, "ftl.slap.delta_start"),
    };
    if substreams > stream_threshold {
        let found = format!("streams of {stream_threshold} pages in {substreams} substreams");
        let expected = "at most as many substreams as a stream has pages (ftl.slap.stream_threshold)";
        return refuse(&[substreams_key, threshold_key], found, expected);
    }
    let chips = nand.channels * nand.ways;
    if substreams > chips {
        let found = format!("streams in {substreams} substreams over {chips} chips (device.channels x device.ways)");
        let expected = "at most as many substreams as there are chips, because each goes to another one";
        return refuse(&[substreams_key, "device.ways", "device.channels", "device.preset"], found, expected);
    }
    let streams = adaptive || stream_threshold > 1;
    let demands = Demands {
        streams,
        isolation: streams && params.gc_isolation,
        spread_reads: (streams && params.read_reorganization).then_some(params.read_hot),
    };
    Ok(Profile { demands, stream_pages: Some(stream_threshold) })
}

/// The stripe order with channels and ways moved before dies and planes.
fn chips_first(order: StripeOrder) -> StripeOrder {
    let letters = |of: &'static str| order.name().chars().filter(|&letter| of.contains(letter));
    let name: String = letters("CW").chain(letters("DP")).collect();
    StripeOrder::named(&name).expect("every order of the four letters has a name")
}

/// Hill climbing for the threshold with the fewest copies by garbage collection.
struct Climb {
    threshold: usize,
    most: usize,
    grows: bool,
    /// Pages written, copied and in streams at the start of the interval.
    written: u64,
    copies: u64,
    streamed: u64,
    /// Pages copied and written in the previous interval.
    last: Option<(u64, u64)>,
}

flashloom_units::state! {
    Climb {
        below threshold [*most + 1];
        value grows, written, copies, streamed, last;
        fixed most;
    }
}

impl Climb {
    fn new(threshold: usize, most: usize) -> Self {
        Self { threshold, most, grows: true, written: 0, copies: 0, streamed: 0, last: None }
    }

    /// Restarts the interval after the caller's counters were reset.
    fn restart(&mut self) {
        (self.written, self.copies, self.streamed, self.last) = (0, 0, 0, None);
    }

    /// Adjusts the threshold; takes the total pages copied and the total pages put in streams.
    fn step(&mut self, interval: u64, copies: u64, streamed: u64) -> usize {
        if self.written < interval {
            return self.threshold;
        }
        let now = (copies - self.copies, self.written);
        let no_stream = streamed == self.streamed;
        if let Some(last) = self.last.filter(|last| (now.0, last.0) != (0, 0)) {
            let is_dearer = u128::from(now.0) * u128::from(last.1) > u128::from(last.0) * u128::from(now.1);
            if no_stream && self.threshold > 1 {
                self.grows = false;
            } else if is_dearer {
                self.grows = !self.grows;
            }
            if (self.grows && self.threshold * 2 > self.most) || (!self.grows && self.threshold == 1) {
                self.grows = !self.grows;
            }
            self.threshold = if self.grows { (self.threshold * 2).min(self.most) } else { self.threshold / 2 };
        }
        (self.written, self.copies, self.streamed, self.last) = (0, copies, streamed, Some(now));
        self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CapacityParams, FtlParams, PageHints, Space};
    use flashloom_nand::{HostPage, Lpn, Nand, NandParams, PageReads};
    use flashloom_units::{ParamSet, Parameters};

    fn drive() -> Space {
        let shape = NandParams { channels: 2, ways: 2, dies: 1, planes: 2, ..NandParams::defaults() };
        let nand = NandParams { blocks: 8, pages: 16, page_bytes: 512, ..shape };
        Space::new(nand, &CapacityParams::defaults())
    }

    fn values(threshold: u64, substreams: u64) -> SlapParams {
        let set = [("stream_threshold", Value::Count(threshold)), ("substreams", Value::Count(substreams))];
        Parameters::of(&SPEC.values(&set).expect("parameters of slap"))
    }

    fn on(space: &Space) -> AllocationSetup<'_> {
        AllocationSetup::new(space, &FtlParams { stripe_order: StripeOrder::Pdcw, ..FtlParams::defaults() })
    }

    fn with(set: &[(&str, Value)]) -> Slap {
        Slap::new(Parameters::of(&SPEC.values(set).expect("parameters of slap")), &on(&drive()))
    }

    fn slap(threshold: u64, substreams: u64) -> Slap {
        Slap::new(values(threshold, substreams), &on(&drive()))
    }

    fn writes(lpns: &[u32]) -> Vec<PageWrite> {
        let write = |&lpn: &u32| PageWrite::new(HostPage { lpn: Lpn(lpn), mask: 1, write: 0 }, Nand::NO_TAG);
        lpns.iter().map(write).collect()
    }

    /// (page, plane) of the pages in each lane, in write order.
    fn placed(state: &mut Slap, lpns: &[u32]) -> [Vec<(u32, u32)>; 2] {
        place(state, &writes(lpns))
    }

    fn place(state: &mut Slap, writes: &[PageWrite]) -> [Vec<(u32, u32)>; 2] {
        let mut places = Vec::new();
        state.place(writes, 0, &mut places);
        let in_lane = |lane| {
            let pairs = writes.iter().zip(&places).filter(move |(_, place)| place.lane == lane);
            pairs.map(|(write, place)| (write.lpn.0, place.plane.0)).collect()
        };
        [in_lane(Lane::STREAM), in_lane(Lane::HOST)]
    }

    #[test]
    fn runs_are_cut_into_streams_of_exactly_the_threshold_and_the_rest_is_interleaved() {
        let mut state = slap(4, 1);
        let [streams, left_over] = placed(&mut state, &[7, 8, 9, 10, 11, 12, 13, 14, 15, 40]);
        // Two planes a chip: the second stream goes to the next channel, although the stripe visits planes first.
        assert_eq!(streams, [(7, 0), (8, 0), (9, 0), (10, 0), (11, 4), (12, 4), (13, 4), (14, 4)]);
        assert_eq!(left_over, [(15, 0), (40, 1)]);
        let [streams, left_over] = placed(&mut state, &[20, 21, 22, 23, 50, 52]);
        assert_eq!(streams, [(20, 2), (21, 2), (22, 2), (23, 2)]);
        assert_eq!(left_over, [(50, 4), (52, 5)]);
        assert_eq!(state.report, StreamReport { detected: 3, pages: 12, threshold: 4 });
    }

    #[test]
    fn a_run_is_found_in_any_order_and_a_page_that_comes_twice_ends_it() {
        let [streams, left_over] = placed(&mut slap(3, 1), &[9, 4, 8, 30, 10, 5]);
        assert_eq!(streams, [(9, 0), (8, 0), (10, 0)]);
        assert_eq!(left_over.iter().map(|&(lpn, _)| lpn).collect::<Vec<_>>(), [4, 30, 5]);
        let [streams, left_over] = placed(&mut slap(3, 1), &[1, 2, 2, 3]);
        assert_eq!((streams.len(), left_over.len()), (0, 4));
    }

    #[test]
    fn substreams_split_a_stream_evenly_over_as_many_chips() {
        let mut state = slap(4, 2);
        let [streams, _] = placed(&mut state, &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(streams, [(0, 0), (1, 0), (2, 4), (3, 4), (4, 2), (5, 2), (6, 6), (7, 6)]);
        let [streams, _] = placed(&mut slap(4, 3), &[0, 1, 2, 3]);
        assert_eq!(streams, [(0, 0), (1, 0), (2, 4), (3, 2)]);
    }

    #[test]
    fn substreams_that_reads_decide_split_the_streams_that_are_written_from_then_on() {
        let auto = ("substreams", Value::Name("auto"));
        let mut state = with(&[("stream_threshold", Value::Count(6)), auto, ("delta_reads", Value::Count(1))]);
        assert!(state.observes_reads() && !slap(6, 3).observes_reads());
        let [streams, _] = placed(&mut state, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(streams, [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)]);
        let array = PageReads { pages: 1, array_ns: 140_000, channel_ns: 10_000 };
        state.observe_read(ObservedRead { interface_ns: 50_000, array });
        assert_eq!(state.figures().last().and_then(Figure::whole), Some(3));
        let [streams, _] = placed(&mut state, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(streams, [(0, 4), (1, 4), (2, 2), (3, 2), (4, 6), (5, 6)]);
    }

    #[test]
    fn streams_that_the_buffer_gathered_by_time_are_placed_whatever_their_addresses() {
        let mut state = with(&[("stream_threshold", Value::Count(3)), ("search", Value::Name("window"))]);
        let wanted = state.wanted_streams().expect("it looks for streams");
        assert_eq!((wanted.pages, wanted.in_buffer, wanted.window_ns), (3, true, Some(MS)));
        let of_stream = |(write, stream): (PageWrite, u32)| write.with(PageHints { stream, ..PageHints::NONE });
        let gathered = writes(&[70, 5, 31, 20, 99, 2, 47]).into_iter().zip([1, NO_INDEX, 0, 1, 0, 0, 1]);
        let [streams, left_over] = place(&mut state, &gathered.map(of_stream).collect::<Vec<_>>());
        assert_eq!(streams, [(70, 4), (31, 0), (20, 4), (99, 0), (2, 0), (47, 4)]);
        assert_eq!(left_over, [(5, 0)]);
        let [streams, _] = placed(&mut state, &[10, 11, 12, 13]);
        assert_eq!(streams, [], "neighbours in address are no stream");
    }

    #[test]
    fn streams_longer_than_a_block_and_more_substreams_than_pages_or_chips_are_refused() {
        let about = |threshold, substreams| {
            profile(values(threshold, substreams), &on(&drive())).err().map(|refusal| refusal.keys[0].clone())
        };
        assert_eq!(about(16, 4), None);
        assert_eq!(about(17, 1).as_deref(), Some("ftl.slap.stream_threshold"));
        assert_eq!(about(3, 4).as_deref(), Some("ftl.slap.substreams"));
        assert_eq!(about(16, 5).as_deref(), Some("ftl.slap.substreams"));
    }

    #[test]
    fn threshold_1_finds_no_stream_and_asks_for_no_lane() {
        let mut state = slap(1, 1);
        let [streams, left_over] = placed(&mut state, &[0, 1, 2, 3]);
        assert_eq!(streams, []);
        assert_eq!(left_over, [(0, 0), (1, 1), (2, 4), (3, 5)]);
        assert_eq!(profile(values(1, 1), &on(&drive())).map(|profile| profile.demands), Ok(Demands::default()));
    }

    #[test]
    fn the_climb_turns_round_when_copies_get_dearer_and_shrinks_while_nothing_is_a_stream() {
        let mut climb = Climb::new(4, 32);
        let (mut copies, mut streamed) = (0, 0);
        let mut interval = |copied: u64, in_streams: u64| {
            (copies, streamed) = (copies + copied, streamed + in_streams);
            climb.written = 100;
            climb.step(100, copies, streamed)
        };
        assert_eq!(interval(0, 50), 4, "nothing to compare with");
        assert_eq!(interval(0, 50), 4, "no copies: nothing to gain");
        assert_eq!(interval(40, 50), 2, "dearer than none: turn round, which is down");
        assert_eq!(interval(30, 50), 1, "cheaper: on");
        assert_eq!(interval(30, 0), 2, "the end of the range: turn round");
        assert_eq!(interval(25, 50), 4);
        assert_eq!(interval(20, 50), 8);
        assert_eq!(interval(20, 0), 4, "no page in a stream: shorter ones");
        assert_eq!(interval(60, 50), 8, "dearer: turn round");
        assert_eq!([(); 3].map(|()| interval(10, 50)), [16, 32, 16], "up to the pages of a block and back");
        climb.written = 99;
        assert_eq!(climb.step(100, copies, streamed), 16, "an interval is not over before its last page");
    }

    #[test]
    fn every_stripe_order_has_one_with_chips_first() {
        for choice in StripeOrder::CHOICES {
            let order = chips_first(StripeOrder::named(choice.name).unwrap());
            assert!("CW".contains(&order.name()[..1]) && "CW".contains(&order.name()[1..2]), "{}", order.name());
        }
    }
}
