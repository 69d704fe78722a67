//! The log-block mapping: a scheme and its store, with one FTL for each group of chips.

use flashloom_nand::{BlockId, DieId, Lbn, Lpn, Nand, Origin, PlaneId, Ppn, Read};
use flashloom_units::{Component, Figure, Figures, Ns, Policy, PolicySpec, Refusal, Violation, ensure, violation};

use super::batch::Batch;
use super::homes::Homes;
use super::report::{Bounds, MergeReport};
use super::runs::Runs;
use super::scheme::{Layout, Scheme};
use super::spans::Spans;
use super::store::{Chip, Limits, Store};
use super::streams::Streams;
use crate::allocation::WantedStreams;
use crate::mapping::{Mapping, MappingExtras, Profile};
use crate::placement::{self, PlacementSetup};
use crate::setup::{Context, Site};
use crate::store::WornOut;
use crate::{FtlReport, PageWrite, Preemption, streams};

/// Minimum number of log blocks for every scheme.
const LEAST: u32 = 2;

/// Minimum number of log blocks with preemption: one is kept free, one takes pages, and two remain to choose a victim
/// from.
const LEAST_PREEMPTED: u32 = 4;

/// Superblocks that a group needs beyond its data and log blocks: the target of a full merge, and the target of a
/// change of span.
fn spare(placement: placement::Profile) -> u32 {
    1 + u32::from(placement.widest > 1)
}

fn of_placement(refusal: Refusal) -> Refusal {
    refusal.or_at(placement::SLOT.key)
}

/// The policy of a log-block mapping with this scheme.
pub(in crate::mapping) fn policy<S: Scheme + 'static>(spec: &'static PolicySpec) -> Policy<dyn Mapping> {
    let policy = Policy::<dyn Mapping>::new(spec, |params, on| Ok(Box::new(Ftl::<S>::new(params, on)?)));
    policy.with_profile(profile::<S>)
}

/// What a log-block mapping requires of the drive, for the check before a run.
///
/// # Errors
/// The scheme does not fit the device, or the device has too few spare blocks for the log blocks.
fn profile<S: Scheme>(params: S::Params, site: &Site<'_>) -> Result<Profile, Refusal> {
    S::check(&params, site)?;
    let Site { space, ftl } = *site;
    let Layout { width, log_blocks, associativity, .. } = S::layout(&params, site);
    let (geometry, key) = (site.geometry(), format!("ftl.{}.log_blocks", ftl.mapping.name()));
    if ftl.params.preemption == Preemption::Page && log_blocks < LEAST_PREEMPTED {
        let found = format!("{log_blocks} log blocks (`{key}`) with `ftl.preemption` = \"page\", which keeps one");
        let refusal = Refusal::new(found, format!("at least {LEAST_PREEMPTED} log blocks"));
        let refusal = refusal.at([&*key, "ftl.preemption", "ftl.mapping"]);
        return Err(refusal.help("raise the log blocks, or set ftl.preemption = \"none\""));
    }
    let groups = geometry.total_dies() / width;
    let pages = u64::from(geometry.pages) * u64::from(width);
    // A merge of as many data blocks copies each page and erases each block, and each step has a number.
    let steps = (u64::from(associativity) + 1) * (pages + 1) + 1;
    if steps > u64::from(u32::MAX) {
        let found = format!("merges of {steps} steps: of {associativity} data blocks of {pages} pages");
        let refusal = Refusal::new(found, format!("at most {} steps", u32::MAX));
        let refusal = refusal.at(["ftl.superblock", "device.pages", "device.preset", "ftl.mapping"]);
        return Err(refusal.help("use fewer pages a block, or leave ftl.superblock out"));
    }
    let (blocks, good) = site.good_blocks();
    let share = space.logical_pages.div_ceil(pages).div_ceil(u64::from(groups));
    let free = blocks.saturating_sub(share);
    let placement = ftl.placement.profile(&PlacementSetup { chips: groups }).map_err(of_placement)?;
    let kept = u64::from(spare(placement) + u32::from(space.nand.can_fail()));
    let most = free.saturating_sub(kept);
    if u64::from(log_blocks) <= most {
        return Ok(Profile { stream_pages: S::stream_pages(&params), ..Profile::default() });
    }
    let others = if space.nand.can_fail() { "merges, moves and a block that fails" } else { "merges and moves" };
    let least = if ftl.params.preemption == Preemption::Page { LEAST_PREEMPTED } else { LEAST };
    let device_keys =
        ["device.bad_blocks", "device.over_provisioning", "device.blocks", "device.preset", "ftl.mapping"];
    let lower = if good.is_empty() { "" } else { ", or lower device.bad_blocks" };
    let found = format!(
        "{log_blocks} log blocks (`{key}`) on chips with {free} spare blocks: a chip has {blocks}{good}, and its share \
         of the host's capacity takes {share}"
    );
    if most >= u64::from(least) {
        let expected = format!("at most {most} log blocks: {others} need {kept} blocks besides");
        let refusal = Refusal::new(found, expected).at([&[&*key], &device_keys[..]].concat());
        return Err(refusal.help(format!("lower the log blocks, or raise device.over_provisioning{lower}")));
    }
    let needed = u64::from(least) + kept;
    let expected = format!("{needed} spare blocks: {least} log blocks at least, and {kept} for {others}");
    let refusal = Refusal::new(found, expected).at([&device_keys[..], &[&*key]].concat());
    Err(refusal.help(format!("raise device.over_provisioning or device.blocks{lower}")))
}

/// An array of log-block FTLs, one for each group of chips.
pub(super) struct Ftl<S> {
    pub(super) store: Store,
    pub(super) scheme: S,
    homes: Homes,
    /// Groups the pages of a write by logical block. Present if the placement may move logical blocks or the scheme
    /// looks for streams.
    batch: Option<Batch>,
    streams: Option<Streams>,
    /// The runs of the pages being written, if the scheme looks at them.
    runs: Runs,
    spans: Option<Spans>,
    /// Scratch: the pages of a write, with addresses permuted by the spans.
    placed: Vec<PageWrite>,
    /// Group whose merge takes the next step in the background.
    background: u32,
    pub(super) bounds: Bounds,
    /// Whether the scheme can look for streams; if so, the mapping reports stream statistics.
    has_stream_figures: bool,
    can_fail: bool,
}

flashloom_units::state! {
    for<S: Scheme> Ftl<S> {
        nested store, scheme, homes, batch, streams, runs, spans;
        below background [store.groups()];
        scratch placed;
        fixed bounds, has_stream_figures, can_fail;
    }
}

impl<S: Scheme> Ftl<S> {
    pub(super) fn new(params: S::Params, on: &Context<'_>) -> Result<Self, Refusal> {
        let Context { space, ftl: setup, nand } = *on;
        let site = Site { space, ftl: setup };
        let layout = S::layout(&params, &site);
        let Layout { width, log_blocks, associativity: k, pages_a_log_block, besides: (copies, erases) } = layout;
        let pages = site.geometry().pages * width;
        let steps_a_page = ((k + 1) * (pages + 1) + 1).div_ceil(pages_a_log_block);
        let limits = Limits { associativity: k, steps_a_page };
        let mut store = Store::new(setup, space, nand, limits, (width, log_blocks));
        let blocking = store.costs.full_merge(pages, k);
        let (wait, reserved) = match setup.params.preemption {
            Preemption::None => (store.costs.of(pages * k + copies, k + 1 + erases), 0),
            Preemption::Page => (
                store.costs.of_steps(steps_a_page, (pages, k), (copies, erases)),
                u64::from(pages) * u64::from(store.blocks.geometry.total_planes()),
            ),
        };
        let stream_pages = S::stream_pages(&params);
        let scheme = S::new(params, &site, &store);
        let chips = PlacementSetup { chips: store.groups() };
        let (profile, placement) = (setup.placement.profile(&chips), setup.placement.build(&chips));
        let (profile, placement) = (profile.map_err(of_placement)?, placement.map_err(of_placement)?);
        let besides = log_blocks + spare(profile);
        let room = match nand.can_fail() {
            true => store.logical_blocks().div_ceil(store.groups()),
            false => {
                let usable = (0..store.groups()).map(|group| store.blocks.usable_in(PlaneId(group))).min();
                usable.map_or(0, |usable| usable - besides)
            }
        };
        store.blocks.needed = room + besides;
        let widest = profile.widest;
        let spans = (widest > 1).then(|| Spans::new(&mut store, widest, space.logical_pages));
        let streams = stream_pages.filter(|&pages| pages > 1).map(Streams::new);
        let groups_pages = placement.moves() || streams.is_some();
        let batch = groups_pages.then(|| Batch::new(store.logical_blocks(), streams.is_some()));
        let homes = Homes::new(placement, store.groups(), store.logical_blocks(), room);
        Ok(Self {
            store,
            scheme,
            homes,
            batch,
            streams,
            runs: Runs::default(),
            spans,
            placed: Vec::new(),
            background: 0,
            bounds: Bounds { blocking_ns: blocking, wait_ns: wait, reserved_pages: reserved },
            has_stream_figures: stream_pages.is_some(),
            can_fail: nand.can_fail(),
        })
    }

    /// Upper bound of the time that a host page waits for merges, and for what failures took in that time.
    fn wait_bound_ns(&self) -> Ns {
        let Store { merges, costs, blocks, .. } = &self.store;
        merges.longest.bound_ns(self.bounds.wait_ns, costs, blocks.pages())
    }

    /// The address that the log-block FTL uses for a host page: permuted if its region spans several chips.
    fn placed(&self, lpn: Lpn) -> Lpn {
        self.spans.as_ref().map_or(lpn, |spans| spans.placed(lpn))
    }

    /// Writes pages under their permuted addresses.
    fn write_spread(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        let is_timed = nand.is_timed();
        if let Some(spans) = self.spans.as_mut().filter(|_| is_timed) {
            spans.widen_for(&*self.homes.placement, &mut self.store, nand, writes);
        }
        if S::LOOKS_AT_RUNS {
            let spans = self.spans.as_ref();
            self.runs.find(writes, |lpn| spans.map_or(lpn, |spans| spans.placed(lpn)));
        }
        let mut placed = std::mem::take(&mut self.placed);
        placed.extend(writes.iter().map(|write| write.renumbered(self.placed(write.lpn))));
        self.write_by_block(nand, &placed);
        placed.clear();
        self.placed = placed;
        if let Some(spans) = self.spans.as_mut().filter(|_| is_timed) {
            spans.watch_writes(&mut *self.homes.placement, &mut self.store, nand, writes);
        }
    }

    fn write_by_block(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        let Some(mut batch) = self.batch.take() else { return self.write_together(nand, writes) };
        let sorted = batch.by_block(writes, |write| self.store.lbn(write.lpn));
        self.write_together(nand, sorted);
        self.batch = Some(batch);
    }

    fn write_together(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        let pages = self.store.blocks.pages();
        for together in writes.chunk_by(|one, other| one.lpn.0 / pages == other.lpn.0 / pages) {
            if self.store.blocks.is_worn_out() {
                together.iter().for_each(|write| write.refuse(nand));
                continue;
            }
            let lbn = self.store.lbn(together[0].lpn);
            match self.homes.place(lbn) {
                (group, None) => {
                    self.store.stream = self.streams.as_mut().map_or(Lpn::NONE, |found| found.find(together, pages));
                    together.iter().for_each(|write| self.write_page(nand, group, lbn, write));
                }
                (group, Some(old)) => self.move_pages(nand, (group, old), lbn, together),
            }
        }
    }

    fn write_page(&mut self, nand: &mut Nand, group: u32, lbn: Lbn, write: &PageWrite) {
        let stored = self.store.report.host_page_writes;
        if self.store_page(nand, group, lbn, write).is_err() && self.store.report.host_page_writes == stored {
            write.refuse(nand);
        }
    }

    fn store_page(&mut self, nand: &mut Nand, group: u32, lbn: Lbn, write: &PageWrite) -> Result<(), WornOut> {
        let chip = &mut Chip { store: &mut self.store, nand, group };
        match chip.place_in_data_block(lbn, write.lpn)? {
            Some(data) => chip.append(data, write)?,
            None => {
                if S::LOOKS_AT_RUNS {
                    chip.store.run = self.runs.of(write.lpn);
                }
                self.scheme.write(chip, write)?;
            }
        }
        chip.pay()
    }

    /// Writes pages of a logical block that moves to a group from another.
    fn move_pages(&mut self, nand: &mut Nand, (group, old): (u32, u32), lbn: Lbn, writes: &[PageWrite]) {
        let to = Chip { store: &mut self.store, nand, group }.move_in(lbn, old, writes);
        if let Err(to) = to {
            let is_stored = |write: &&PageWrite| to.is_some() && self.store.is_in(write.lpn, to);
            writes.iter().filter(|write| !is_stored(write)).for_each(|write| write.refuse(nand));
        }
    }
}

impl Chip<'_> {
    /// The data block that a page can be programmed to: its own, if the page is the next one there, or a new one for
    /// page 0 of a logical block without pages. `None` if the page goes to the log.
    ///
    /// # Errors
    /// The drive is worn out.
    fn place_in_data_block(&mut self, lbn: Lbn, lpn: Lpn) -> Result<Option<BlockId>, WornOut> {
        if self.store.blocks.is_worn_out() {
            return Err(WornOut);
        }
        if self.store.is_gathered(self.group, lbn) {
            return Ok(None);
        }
        let (data, offset) = (self.store.data_block(lbn), self.store.offset(lpn));
        if data.is_some() {
            return Ok((self.store.blocks.written(data) == offset).then_some(data));
        }
        Ok((offset == 0 && !self.store.log.has_log_pages(lbn)).then(|| {
            let data = self.store.blocks.open(PlaneId(self.group));
            self.store.set_data_block(lbn, data);
            data
        }))
    }
}

impl<S: Scheme> MappingExtras for Ftl<S> {
    fn is_worn_out(&self) -> bool {
        self.store.blocks.is_worn_out()
    }

    fn wanted_streams(&self) -> Option<WantedStreams> {
        let block_pages = Some(self.store.blocks.pages());
        self.streams.as_ref().map(|streams| WantedStreams {
            pages: streams.threshold,
            in_buffer: true,
            window_ns: None,
            block_pages,
        })
    }

    /// The die that the page's logical block is placed on.
    fn die_of(&self, lpn: Lpn) -> Option<DieId> {
        let lbn = self.store.lbn(self.placed(lpn));
        let group = self.homes.placement.chip_of(lbn, self.homes.of(lbn))?;
        self.store.blocks.lone_die(PlaneId(group))
    }

    fn prepare(&self, lpn: Lpn) {
        self.store.prefetch(self.placed(lpn));
    }

    fn figures_taken(&self) -> Figures {
        let migrated = Figure::Count(self.store.merges.migrated_pages);
        let placement = std::iter::once(migrated).chain(self.homes.placement.figures());
        Figures::default().with(&placement::SLOT, placement.collect())
    }

    fn idle(&mut self, nand: &mut Nand) -> bool {
        let groups = self.store.groups();
        if self.store.blocks.is_worn_out() {
            return false;
        }
        let in_turn = (self.background..groups).chain(0..self.background);
        let merging = in_turn.filter(|&group| self.store.jobs[group as usize].is_some());
        let Some(group) = merging.clone().next() else { return false };
        let others = merging.count() > 1;
        // The drive is idle: a host page that arrives now waits for this step only.
        self.store.nobody_waits(group);
        // A drive that wears out at this step has no background work left.
        let Ok(goes_on) = (Chip { store: &mut self.store, nand, group }).step() else { return false };
        self.background = if goes_on { group } else { (group + 1) % groups };
        goes_on || others
    }
}

impl<S: Scheme> Component for Ftl<S> {
    flashloom_units::stateful!();

    fn figures(&self) -> Vec<Figure> {
        let mut figures = self.store.merges.figures(Bounds { wait_ns: self.wait_bound_ns(), ..self.bounds });
        if self.has_stream_figures {
            figures.extend(streams::figures(self.streams.as_ref().map(|streams| streams.report)));
        }
        figures
    }

    fn check(&self) -> Result<(), Violation> {
        let bound = self.wait_bound_ns();
        let longest = self.store.merges.longest.wait_ns;
        ensure!(longest <= bound, "a page of the host waited {longest} ns for merges, not {bound} ns at most");
        self.store.check()
    }
}

impl<S: Scheme> Mapping for Ftl<S> {
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        if self.spans.is_some() {
            self.write_spread(nand, writes);
        } else {
            if S::LOOKS_AT_RUNS {
                self.runs.find(writes, |lpn| lpn);
            }
            self.write_by_block(nand, writes);
        }
        self.runs.forget();
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        if let Some(spans) = self.spans.as_mut().filter(|_| nand.is_timed()) {
            spans.watch_read(&mut *self.homes.placement, &mut self.store, nand, lpn);
        }
        let Some(page) = self.place_of(lpn) else { return false };
        self.store.report.host_page_reads += 1;
        nand.read(Read { lpn, tag, ..Read::new(page, mask, Origin::Host) });
        true
    }

    fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.store.physical(self.placed(lpn))
    }

    fn trim(&mut self, _nand: &mut Nand, lpn: Lpn) {
        self.store.trim(self.placed(lpn));
    }

    fn report(&self) -> FtlReport {
        let memory = self.store.memory_bytes(S::BYTES_A_LOG_PAGE, self.scheme.in_place_log_blocks());
        let (retired, wear_moves) = (self.store.blocks.retired_in_array(self.can_fail), self.store.blocks.wear_moves());
        FtlReport { memory_bytes: Some(memory), retired, wear_moves, ..self.store.report.clone() }
    }

    fn reset_report(&mut self) {
        self.store.report = FtlReport::default();
        *self.store.merges = MergeReport::default();
        self.store.blocks.reset_wear_moves();
        self.streams.iter_mut().for_each(Streams::reset_report);
    }

    fn free_blocks(&self) -> u64 {
        self.store.blocks.free_in_array()
    }

    fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        let (store, homes) = (&self.store, &self.homes);
        homes.check()?;
        store.check_loaded(nand)?;
        if store.blocks.is_worn_out() {
            // Nothing is written any more, so that nobody asks where.
            self.spans.as_ref().map_or(Ok(()), Spans::check)?;
            return self.check();
        }
        self.scheme.check_loaded(store)?;
        self.spans.as_ref().map_or(Ok(()), Spans::check)?;
        for lbn in (0..store.logical_blocks()).map(Lbn) {
            // Spans keep a logical block in the group given by its number, and move pages to it before its first write.
            let home = homes.of(lbn);
            let kept = self.spans.as_ref().map(|_| lbn.0 % store.groups());
            let is_at_home = home.or(kept).map_or_else(|| store.is_nowhere(lbn), |group| store.is_on(lbn, group));
            let is_elsewhere = |home: u32| kept.is_some_and(|kept| home != kept);
            if !is_at_home || home.is_some_and(is_elsewhere) {
                return Err(violation!("placement: logical block {} has pages on another group than its own", lbn.0));
            }
        }
        self.check()
    }
}

#[cfg(test)]
mod tests {
    use flashloom_nand::NandParams;
    use flashloom_units::ParamSet;

    use crate::{CapacityParams, FtlSetup, Space, Superblock, mapping};

    /// By hand: a merge of FAST has as many data blocks as a block has pages, here 65,536: 2^32 copies.
    #[test]
    fn blocks_whose_merges_have_too_many_steps_are_refused() {
        let device = NandParams { channels: 1, ways: 1, planes: 4, pages: 16_384, ..NandParams::defaults() };
        let space = Space::new(device, &CapacityParams::of(0.5));
        let of = |superblock| {
            let mut ftl = FtlSetup::with_defaults();
            let mappings = mapping::builtin();
            let fast = mappings.policies().iter().find(|policy| policy.spec.name == "fast").unwrap();
            ftl.mapping = fast.with(&[]).unwrap();
            ftl.params.superblock = superblock;
            ftl.profile(&space)
        };
        assert!(of(Superblock::None).is_ok());
        let refused = of(Superblock::Die).unwrap_err();
        assert_eq!(refused.found, "merges of 4295098370 steps: of 65536 data blocks of 65536 pages");
    }
}
