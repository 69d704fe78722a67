//! Timed mode: planes, dies and channels as resources, driven by one event queue. No allocation once warm.
//!
//! - An operation waits in a queue of its plane and class until its die begins it. The classes are uninterrupted jobs;
//!   host reads; host programs and the collection that they need; and background work. A die takes the highest class
//!   first, and within a class the oldest operation first. The number of operations that may overtake another is
//!   bounded, except for uninterrupted jobs.
//! - A die runs one array operation at a time, or one of the same kind on several planes (multi-plane). A program
//!   occupies the die from the start of its data transfer to the end of tPROG, a read from its command to the end of
//!   its transfer, so the page register is never used by two operations. With cache program the data of the next
//!   program is transferred meanwhile.
//! - A channel carries one transfer at a time, in the order in which they become ready.
//! - A host read may suspend an erase or a program on its die, if the drive supports it.
//!
//! Dependencies within a block: programs in page order; a read after the program of its page; an erase after everything
//! emitted for the block before it (including the programs of copies from it); and everything emitted after an erase,
//! after that erase. Across blocks, an operation also waits for the one given as its `after`. A page that is being
//! moved is read where its data still is (`timed/moved.rs`).

mod dies;
mod emission;
mod ends;
mod judged;
mod moved;
mod usage;

use crate::{
    BlockId, CellMode, DieId, DieOrder, Emitted, Geometry, MultiPlane, NandParams, Origin, PlaneId, Ppn, Suspend,
    Timing,
};
use flashloom_units::{EventNumber, EventQueue, NO_INDEX, Ns};
use serde::{Deserialize, Serialize};

use crate::event::{KINDS, OperationKind};
use crate::known::MaybeKnown;
use crate::operation::Operation;
use crate::path::Path;
use crate::region::CellModes;
use crate::spread::Spread;
use moved::Unfinished;

const CLASSES: usize = 4;
const BLOCKING: usize = 0;
const HOST_READS: usize = 1;

/// Utilization of the parts of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utilization {
    /// Busy time of all channels together.
    pub channel_busy_ns: u128,
    /// Busy time of all dies together.
    pub die_busy_ns: u128,
    /// The channel with the longest busy time; of equals, the first.
    pub busiest_channel: Busiest,
    /// The die with the longest busy time; of equals, the first.
    pub busiest_die: Busiest,
    /// Die time of host programs.
    pub write_ns: u128,
    /// Die time of reads, programs and erases for collection, merges and wear levelling.
    pub collection_ns: u128,
    /// Ended programs, including copybacks.
    pub programs: Together,
    /// Ended erases.
    pub erases: Together,
    /// Sectors transferred over all channels, in both directions.
    pub moved_sectors: u64,
}

/// Service times of the pages that were read for the host since time began, summed over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageReads {
    /// Pages read.
    pub pages: u64,
    /// Time from the start of a read on its die until the page is in the register; counted once for a multi-plane read.
    pub array_ns: Ns,
    /// Channel time of their data.
    pub channel_ns: Ns,
}

flashloom_units::state! { PageReads { value pages, array_ns, channel_ns; } }

/// Use of multi-plane commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Together {
    /// Array operations, on one plane or several.
    pub commands: u64,
    /// Planes used by these operations: the number of pages programmed or blocks erased.
    pub planes: u64,
}

impl Together {
    /// Average number of planes per command; `None` without commands.
    pub fn mean(&self) -> Option<f64> {
        (self.commands > 0).then(|| self.planes as f64 / self.commands as f64)
    }
}

/// The busiest of several parts of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busiest {
    /// Its number.
    pub number: u32,
    /// Its busy time.
    pub busy_ns: Ns,
}

impl Busiest {
    /// The index and value of the longest busy time; of equals, the first.
    fn of(busy_ns: impl Iterator<Item = Ns>) -> Self {
        let parts = (0..).zip(busy_ns).map(|(number, busy_ns)| Self { number, busy_ns });
        let busier = |most: Self, next: Self| if next.busy_ns > most.busy_ns { next } else { most };
        parts.reduce(busier).expect("an array has channels and dies")
    }
}

/// Die time by purpose, and commands, summed over all dies.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Used {
    write_ns: u128,
    collection_ns: u128,
    programs: Together,
    erases: Together,
}

/// Kind of an event: the upper two bits of its 28-bit code. The other bits are the index of a die or an operation.
mod event {
    /// The array operation of a die ends.
    pub(super) const ARRAY: u32 = 0 << INDEX_BITS;
    /// A die may be able to begin, stage or suspend an operation.
    pub(super) const WAKE: u32 = 1 << INDEX_BITS;
    /// The data of a read has crossed the channel.
    pub(super) const TRANSFERRED: u32 = 2 << INDEX_BITS;

    pub(super) const INDEX: u32 = (1 << INDEX_BITS) - 1;
    const INDEX_BITS: u32 = 26;
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct List {
    head: u32,
    tail: u32,
}

impl List {
    const EMPTY: Self = Self { head: NO_INDEX, tail: NO_INDEX };
}

/// Per-block state: the write pointer and the operations queued behind it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Block {
    programmed: u32,
    /// Operations that the next erase waits for.
    pending: u32,
    /// The erase that has been emitted and has not ended, or none.
    erase: u32,
    /// Operations emitted after the pending erase, in order: they belong to the block's next life.
    later: List,
    /// Programs in page order that have not entered their plane's queue.
    programs: List,
    /// Reads of pages whose program has not ended.
    reads: u32,
    /// Row of the table of programs that have not ended, if it has any.
    row: u32,
    /// Class of the last program that entered the queue. Programs of one class stay in page order there.
    queued_class: u8,
    /// Number of programs in the queue, running or ended.
    queued: u32,
}

impl Block {
    /// Whether a program of this class may enter the queue behind those already in it.
    #[inline(always)]
    fn takes(&self, class: u8) -> bool {
        class == self.queued_class || self.programmed == self.queued
    }

    #[inline(always)]
    fn queues(&mut self, class: u8) {
        self.queued_class = class;
        self.queued += 1;
    }
}

/// Operations that run together on a die: one, or one on each of several planes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Group {
    head: u32,
    kind: OperationKind,
    /// Origin of its first operation, which may end before the others.
    origin: Origin,
    /// Start (after the data transfer of a program) and end of the array operation.
    array_from: Ns,
    ends: Ns,
    /// Time from which the die counts as busy with it.
    since: Ns,
    /// Host reads that overtook it while it was suspended or staged.
    overtaken: u16,
}

/// A group suspended for host reads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Suspended {
    group: Group,
    /// Remaining time of its array operation.
    left: Ns,
    at: Ns,
}

/// The queues of a plane, and its position.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Plane {
    queues: [List; CLASSES],
    die: u32,
    /// Bit of the plane in the masks of its die.
    bit: u32,
}

/// A channel: when it is free, its busy time, and the data transferred.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Channel {
    free_ns: Ns,
    busy_ns: Ns,
    moved_sectors: u64,
}

impl Channel {
    /// Reserves the channel for the next transfer; returns the end of that.
    #[inline(always)]
    fn occupy(&mut self, from: Ns, duration: Ns) -> Ns {
        if duration == 0 {
            return from;
        }
        self.free_ns = from.max(self.free_ns) + duration;
        self.busy_ns += duration;
        self.free_ns
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Die {
    channel: u32,
    first_plane: u32,
    /// The event at the end of its array operation. An event with another number was made obsolete by a suspension.
    array_event: EventNumber,
    active: Option<Group>,
    /// Reads of the active group whose data has not been transferred yet.
    transfers: u32,
    staged: Option<Group>,
    suspended: Option<Suspended>,
    /// Time at which a suspension is complete; nothing can begin before.
    settles_at: Ns,
    /// Whether it is in the list of dies that may have something to begin.
    restless: bool,
    /// For each class, a bit for each plane with queued operations.
    queued: [u32; CLASSES],
    /// A bit for each class with queued operations in any plane.
    classes: u32,
    /// For each class, how often it was overtaken by a higher one since its last turn.
    overtaken: [u16; CLASSES],
    /// A bit for each class that was overtaken as often as allowed.
    starved: u32,
    busy_since: Ns,
    /// Its busy time until `since`.
    busy_ns: Ns,
}

/// Array times of operations.
struct ArrayTimes {
    /// By row ([`crate::region`]) and kind of operation.
    of_rows: Vec<[Ns; KINDS]>,
    /// The times of each block and page, if they differ.
    spread: Option<Box<Spread>>,
    /// Pages of a block.
    pages: u32,
}

impl ArrayTimes {
    fn new(timing: &Timing, pages: u32, other: Option<CellMode>, spread: Option<Spread>) -> Self {
        let of_pages = (0..pages).map(|page| {
            let page_type = (page % timing.page_types) as usize;
            let (read_ns, program_ns) = (timing.read_ns[page_type], timing.program_ns[page_type]);
            [read_ns, program_ns, read_ns + program_ns, timing.erase_ns]
        });
        let of_other = other.into_iter().flat_map(|CellMode { read_ns, program_ns, .. }| {
            (0..pages).map(move |_| [read_ns, program_ns, read_ns + program_ns, timing.erase_ns])
        });
        Self { of_rows: of_pages.chain(of_other).collect(), spread: spread.map(Box::new), pages }
    }

    #[inline(always)]
    fn of(&self, block: BlockId, row: u16, kind: OperationKind, path: &impl Path) -> Ns {
        let of_row = &self.of_rows[row as usize];
        match self.spread.as_ref().filter(|_| !path.is_plain()) {
            None => of_row[kind as usize],
            Some(spread) => spread.time_ns(of_row, block, (u32::from(row) % self.pages) as u16, kind),
        }
    }
}

pub(crate) struct Timed {
    geometry: Geometry,
    timing: Timing,
    array_ns: ArrayTimes,
    /// Channel time before the array operation, by kind: its command and, for a program, its data.
    load_ns: [Ns; KINDS],
    /// Sectors transferred in that time, by kind of operation.
    load_sectors: [u64; KINDS],
    /// Channel time of the data of a whole page.
    page_data_ns: Ns,
    multi_plane: MultiPlane,
    copyback: bool,
    cache_program: bool,
    suspend: Suspend,
    suspend_ns: Ns,
    /// Whether a busy die may have something to begin: suspension or cache program is configured.
    begins_while_busy: bool,
    max_overtakes: u16,
    order: DieOrder,
    now: Ns,
    sequence: u64,
    events: EventQueue,
    pub(crate) operations: Vec<Operation>,
    free: u32,
    /// Of another width than `sequence`: the two would be counted in one wide addition, which has to wait until a
    /// narrower store to either has left the store buffer.
    pub(crate) in_flight: u32,
    blocks: Vec<Block>,
    unfinished: Unfinished,
    planes: Vec<Plane>,
    dies: Vec<Die>,
    /// Dies that may have something to begin before time advances, in the order in which this became possible.
    restless: Vec<u32>,
    channels: Vec<Channel>,
    used: Used,
    /// Service times of host reads, if they are measured.
    host_reads: Option<PageReads>,
    /// Optional data about pages, as they are in the cells now.
    pub(crate) known: MaybeKnown,
    /// Whether each block is in the other cell mode now; empty without one.
    pub(crate) in_other: Vec<bool>,
    /// Reads that were redirected to pages in the other cell mode, less those redirected from such pages.
    pub(crate) moved_to_other: i64,
    /// Reads of the map that have ended without their data and have not been taken.
    pub(crate) unreadable_map: Vec<Emitted>,
}

flashloom_units::state! {
    Timed {
        value now, sequence, operations, free, in_flight, unfinished, restless, used, unreadable_map;
        array blocks, planes, dies, channels;
        nested events, host_reads, known;
        fixed geometry, timing, array_ns, load_ns, load_sectors, page_data_ns, multi_plane, copyback, cache_program,
            suspend, suspend_ns, begins_while_busy, max_overtakes, order, in_other, moved_to_other;
    }
}

/// The array as a whole, and its time.
impl Timed {
    pub(crate) fn new(
        params: &NandParams,
        written: &[u32],
        (cells, spread): (Option<&CellModes>, Option<Spread>),
        known: MaybeKnown,
    ) -> Self {
        let geometry = params.geometry();
        let blocks = (0..geometry.total_blocks() as u32).map(BlockId);
        let block = |&programmed: &u32| Block {
            programmed,
            pending: 0,
            erase: NO_INDEX,
            later: List::EMPTY,
            programs: List::EMPTY,
            reads: NO_INDEX,
            row: NO_INDEX,
            queued_class: 0,
            queued: programmed,
        };
        let plane = |plane| Plane {
            queues: [List::EMPTY; CLASSES],
            die: geometry.die_of(plane).0,
            bit: 1 << geometry.plane_in_die(plane),
        };
        let die = |die| Die {
            channel: geometry.channel_of(DieId(die)),
            first_plane: die * geometry.planes,
            ..Die::default()
        };
        let timing = params.timing();
        let page_data_ns = timing.transfer_ns(geometry.sectors_per_page());
        let command_ns = timing.command_ns;
        Self {
            geometry,
            array_ns: ArrayTimes::new(&timing, geometry.pages, cells.map(|cells| cells.other), spread),
            load_ns: [command_ns, command_ns + page_data_ns, command_ns, command_ns],
            load_sectors: [0, geometry.sectors_per_page().into(), 0, 0],
            page_data_ns,
            timing,
            multi_plane: params.multi_plane,
            copyback: params.copyback,
            cache_program: params.cache_program,
            suspend: params.suspend,
            suspend_ns: params.suspend_ns,
            begins_while_busy: params.cache_program || params.suspend != Suspend::None,
            max_overtakes: params.max_overtakes as u16,
            order: params.die_order,
            now: 0,
            sequence: 0,
            events: EventQueue::new(timing.erase_ns + timing.transfer_ns(64)),
            operations: Vec::new(),
            free: NO_INDEX,
            in_flight: 0,
            blocks: written.iter().map(block).collect(),
            unfinished: Unfinished::default(),
            planes: (0..geometry.total_planes()).map(PlaneId).map(plane).collect(),
            dies: (0..geometry.total_dies()).map(die).collect(),
            restless: Vec::new(),
            channels: vec![Channel::default(); geometry.channels as usize],
            used: Used::default(),
            host_reads: None,
            known,
            in_other: cells.into_iter().flat_map(|cells| blocks.clone().map(|block| cells.has(block))).collect(),
            moved_to_other: 0,
            unreadable_map: Vec::new(),
        }
    }

    /// Whether it has nothing that only few drives have ([`crate::path`]).
    pub(crate) fn is_plain(&self) -> bool {
        let is_uneven = self.array_ns.spread.is_some() || !self.in_other.is_empty();
        let is_plain = self.known.0.is_none() && !is_uneven && self.host_reads.is_none();
        is_plain && !self.begins_while_busy && !self.copyback
    }

    /// The data about pages that is left when time ends.
    pub(crate) fn into_known(self) -> MaybeKnown {
        let Self { mut known, sequence, .. } = self;
        if let Some(known) = known.0.as_deref_mut() {
            known.stop_timing(sequence);
        }
        known
    }

    /// The current time, and whether a page is programmed in its block's latest life, after the last erase emitted.
    pub(crate) fn sees(&self, ppn: Ppn) -> (Ns, bool) {
        let block = &self.blocks[self.geometry.block_of(ppn).at()];
        (self.now, block.erase == NO_INDEX && self.geometry.page_in_block(ppn) < block.programmed)
    }

    /// Time of the next event. Dies begin operations only in this call, when everything at the current timestamp has
    /// been emitted, so that operations emitted together can run together on the planes of an idle die.
    #[inline]
    pub(crate) fn next_event_ns(&mut self, path: &mut impl Path) -> Option<Ns> {
        if !self.restless.is_empty() {
            self.serve_emitted(path);
        }
        self.events.next_ns()
    }

    /// Lets dies begin operations, then returns the time of the next event. A single copy for all callers of a
    /// path.
    #[inline(never)]
    fn serve_emitted(&mut self, path: &mut impl Path) {
        self.serve_restless(path);
    }

    #[inline(always)]
    fn serve_restless(&mut self, path: &mut impl Path) {
        // Starting work on one die never wakes another.
        let mut at = 0;
        while let Some(&die) = self.restless.get(at) {
            self.serve(die, path);
            at += 1;
        }
        self.restless.clear();
    }

    /// Marks a die as one that may have something to begin.
    #[inline(always)]
    fn rouse(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        if !std::mem::replace(&mut state.restless, true) {
            self.restless.push(die);
        }
    }

    pub(crate) fn set_now(&mut self, now: Ns) {
        debug_assert!(now >= self.now, "time does not go back");
        self.now = now;
    }

    /// Checks the channels: the transfer time of the data moved does not exceed their busy time.
    pub(crate) fn check(&self) -> Result<(), String> {
        let data_ns = |channel: &Channel| u128::from(channel.moved_sectors) * u128::from(self.timing.sector_ps) / 1_000;
        match self.channels.iter().position(|channel| data_ns(channel) > u128::from(channel.busy_ns)) {
            None => Ok(()),
            Some(at) => {
                let Channel { busy_ns, moved_sectors, .. } = self.channels[at];
                Err(format!("NAND: channel {at} moved {moved_sectors} sectors, which takes longer than {busy_ns} ns"))
            }
        }
    }
}

impl Timing {
    /// Channel time of the data of `sectors` sectors.
    pub fn transfer_ns(&self, sectors: u32) -> Ns {
        (u64::from(sectors) * self.sector_ps).div_ceil(1_000)
    }
}
