//! The timed back end: planes, dies and channels as resources, one event queue, nothing allocated once warm.
//!
//! - An operation waits in a queue of its plane and class until its die takes it. Classes are jobs that are not
//!   interrupted; host reads; host programs and what they need done (collection for their space); and what is done
//!   ahead of need. A die takes the highest class first and the oldest first within it, but no operation is overtaken
//!   without bound, except by a job that is not interrupted.
//! - A die runs one array operation at a time, or one of a kind on several planes (multi-plane). A program occupies it
//!   from the start of its data transfer to the end of tPROG, a read from its command to the end of its transfer, so
//!   that the page register is never used twice; with cache program the next program's data is transferred meanwhile.
//! - A channel carries one transfer at a time, in the order in which they become ready.
//! - A host read may suspend an erase or a program that runs on its die, if the drive can.
//!
//! Dependencies within a block: programs in page order, reads after the program of their page, an erase after all that
//! was emitted before it for the block (the programs that copy out of it included), everything else that is emitted
//! after an erase behind it. Across blocks: an operation also waits for the one that it was emitted `after`. A page
//! that is being moved is read where it still is (`timed/moved.rs`).

mod busy;
mod dies;
mod emission;
mod ends;
mod judged;
mod moved;

use crate::{BlockId, CellMode, DieOrder, Events, Geometry, MultiPlane, NandParams, Origin, PlaneId, Suspend};
use crate::{Ppn, Timing};
use flashloom_units::{EventNumber, EventQueue, NO_INDEX, Ns};
use serde::{Deserialize, Serialize};

use crate::event::OperationKind;
use crate::known::{Known, MaybeKnown};
use crate::operation::Operation;
use crate::region::CellModes;
use crate::spread::Spread;
use moved::Unfinished;

const CLASSES: usize = 4;
/// Kinds of operations that a die runs: the first of [`OperationKind`].
const KINDS: usize = OperationKind::Hold as usize;
const BLOCKING: usize = 0;
const HOST_READS: usize = 1;

/// How busy the parts of the array were, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utilization {
    /// Time that channels carried something, summed over all of them.
    pub channel_busy_ns: u128,
    /// Time that dies were occupied, summed over all of them.
    pub die_busy_ns: u128,
    /// The channel that carried something for the longest time, of several the first.
    pub busiest_channel: Busiest,
    /// The die that was occupied for the longest time, of several the first.
    pub busiest_die: Busiest,
    /// Die time of programs for the host.
    pub write_ns: u128,
    /// Die time of collection, merges and wear levelling: their reads, programs and erases.
    pub collection_ns: u128,
    /// Programs that have ended, copybacks among them.
    pub programs: Together,
    /// Erases that have ended.
    pub erases: Together,
    /// Sectors of data that crossed channels, either way, summed over all of them.
    pub moved_sectors: u64,
}

/// Service times of the pages that were read for the host since time began, summed over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageReads {
    /// Pages read.
    pub pages: u64,
    /// Time from when a die took them up until they were in its registers; once for pages of several planes.
    pub array_ns: Ns,
    /// Time of their data on the channel.
    pub channel_ns: Ns,
}

flashloom_units::state! { PageReads { value pages, array_ns, channel_ns; } }

/// How many planes of a die worked together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Together {
    /// Array operations, of one plane or several.
    pub commands: u64,
    /// Planes that took part, summed over these: pages programmed, or blocks erased.
    pub planes: u64,
}

impl Together {
    /// Planes of a command on average; nothing where there was none.
    pub fn mean(&self) -> Option<f64> {
        (self.commands > 0).then(|| self.planes as f64 / self.commands as f64)
    }
}

/// The busiest of several parts of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busiest {
    /// Its number.
    pub number: u32,
    /// How long it was busy, in nanoseconds.
    pub busy_ns: Ns,
}

impl Busiest {
    /// Of parts in order of their numbers.
    fn of(busy_ns: impl Iterator<Item = Ns>) -> Self {
        let parts = (0..).zip(busy_ns).map(|(number, busy_ns)| Self { number, busy_ns });
        let busier = |most: Self, next: Self| if next.busy_ns > most.busy_ns { next } else { most };
        parts.reduce(busier).expect("an array has channels and dies")
    }
}

/// Die time by what it was for, and commands, summed over all dies.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Used {
    write_ns: u128,
    collection_ns: u128,
    programs: Together,
    erases: Together,
}

/// What an event means: the upper two bits of its 28-bit code; the others are the index of a die or an operation.
mod event {
    /// The array operation of a die ends.
    pub(super) const ARRAY: u32 = 0 << INDEX_BITS;
    /// A die can do something that it could not do before: begin, stage or suspend.
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
    /// Operations that the next erase has to wait for.
    pending: u32,
    /// The erase that is emitted and not ended, or none.
    erase: u32,
    /// What was emitted for the block after its pending erase, in order: it belongs to the block's next life.
    later: List,
    /// Programs in page order that are not in their plane's queue yet.
    programs: List,
    /// Reads of pages whose program has not ended.
    reads: u32,
    /// The row of its programs that have not ended, if there are any.
    row: u32,
    /// The class of the program that was queued last: within one class the queue keeps page order.
    queued_class: u8,
    /// Pages in the queue, running or done.
    queued: u32,
}

impl Block {
    /// Whether a program of a class can be queued behind those that are.
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

/// Operations that run together on a die: one, or one a plane.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Group {
    head: u32,
    kind: OperationKind,
    /// That of its head, which may have ended before the others.
    origin: Origin,
    /// When the array begins (after the transfer of a program's data), and when it ends.
    array_from: Ns,
    ends: Ns,
    /// When the die was occupied by it, for the accounts.
    since: Ns,
    /// Host reads that went before it while it was suspended or staged.
    overtaken: u16,
}

/// A group that host reads interrupted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Suspended {
    group: Group,
    /// What its array operation has left.
    left: Ns,
    at: Ns,
}

/// What waits in a plane, and where the plane is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Plane {
    queues: [List; CLASSES],
    die: u32,
    /// Its bit in the masks of its die.
    bit: u32,
}

/// When a channel is free, how long it has carried something, and how much data.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Channel {
    free_ns: Ns,
    busy_ns: Ns,
    moved_sectors: u64,
}

impl Channel {
    /// Takes the next free stretch; returns when it ends.
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

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Die {
    channel: u32,
    first_plane: u32,
    /// The event that ends its array operation; one that a suspension overtook is not this one any more.
    array_event: EventNumber,
    active: Option<Group>,
    /// Reads of the active group whose data is still to cross the channel.
    transfers: u32,
    staged: Option<Group>,
    suspended: Option<Suspended>,
    /// While an operation is being suspended nothing else can begin.
    settles_at: Ns,
    /// Whether it is in the list of dies that may have something to begin.
    restless: bool,
    /// A bit for each plane with something queued, by class.
    queued: [u32; CLASSES],
    /// A bit for each class with something queued in any plane.
    classes: u32,
    /// How often a class was passed over for a higher one since its last turn.
    overtaken: [u16; CLASSES],
    /// A bit for each class that was passed over as often as it may be.
    starved: u32,
    busy_since: Ns,
    /// How long it was occupied until then.
    busy_ns: Ns,
}

/// Time of the array for an operation.
struct ArrayTimes {
    /// For each page of a block, by kind of operation.
    of_pages: Vec<[Ns; KINDS]>,
    /// Where these times do not hold everywhere.
    uneven: Option<Box<Uneven>>,
}

/// Why the times of some blocks and pages differ from those of their type.
pub(crate) struct Uneven {
    /// Some blocks are used in another cell mode.
    pub(crate) cells: Option<CellModes>,
    /// Each block and page has times of its own.
    pub(crate) spread: Option<Spread>,
}

impl ArrayTimes {
    fn new(timing: &Timing, pages: u32, uneven: Uneven) -> Self {
        let of_pages = (0..pages).map(|page| {
            let page_type = (page % timing.page_types) as usize;
            let (read_ns, program_ns) = (timing.read_ns[page_type], timing.program_ns[page_type]);
            [read_ns, program_ns, read_ns + program_ns, timing.erase_ns]
        });
        let is_even = uneven.cells.is_none() && uneven.spread.is_none();
        Self { of_pages: of_pages.collect(), uneven: (!is_even).then(|| Box::new(uneven)) }
    }

    #[inline(always)]
    fn of(&self, block: BlockId, page: u16, kind: OperationKind) -> Ns {
        match &self.uneven {
            None => self.of_pages[page as usize][kind as usize],
            Some(uneven) => uneven.of(&self.of_pages[page as usize], block, page, kind),
        }
    }
}

impl Uneven {
    fn of(&self, of_page: &[Ns; KINDS], block: BlockId, page: u16, kind: OperationKind) -> Ns {
        let cells = self.cells.as_ref().and_then(|cells| cells.of(block));
        let [read_ns, program_ns] = match cells {
            Some(CellMode { read_ns, program_ns, .. }) => [read_ns, program_ns],
            None => [OperationKind::Read, OperationKind::Program].map(|kind| of_page[kind as usize]),
        };
        let spread = self.spread.as_ref();
        let read_ns = || spread.map_or(read_ns, |spread| spread.read_ns(block, page, read_ns));
        let program_ns = || spread.map_or(program_ns, |spread| spread.program_ns(block, page, program_ns));
        match kind {
            OperationKind::Read => read_ns(),
            OperationKind::Program => program_ns(),
            OperationKind::Copyback => read_ns() + program_ns(),
            OperationKind::Erase | OperationKind::Hold => {
                let erase_ns = of_page[kind as usize];
                spread.map_or(erase_ns, |spread| spread.erase_ns(block, erase_ns))
            }
        }
    }
}

pub(crate) struct Timed {
    geometry: Geometry,
    timing: Timing,
    array_ns: ArrayTimes,
    /// Time of the channel before the array begins, by kind of operation: its command, and the data of a program.
    load_ns: [Ns; KINDS],
    /// Sectors of data that this moves, by kind of operation.
    load_sectors: [u64; KINDS],
    /// Data of a whole page on the channel.
    page_data_ns: Ns,
    multi_plane: MultiPlane,
    copyback: bool,
    cache_program: bool,
    suspend: Suspend,
    suspend_ns: Ns,
    /// Whether a die that is busy may have something to begin.
    begins_while_busy: bool,
    max_overtakes: u16,
    order: DieOrder,
    now: Ns,
    sequence: u64,
    events: EventQueue,
    operations: Vec<Operation>,
    free: u32,
    in_flight: u64,
    blocks: Vec<Block>,
    unfinished: Unfinished,
    planes: Vec<Plane>,
    dies: Vec<Die>,
    /// Dies to look at before time goes on, in the order in which something happened to them.
    restless: Vec<u32>,
    channels: Vec<Channel>,
    used: Used,
    /// What reads of the host took, where somebody observes them.
    host_reads: Option<PageReads>,
    /// What is known of pages, as the cells have them now.
    known: MaybeKnown,
}

flashloom_units::state! {
    Timed {
        value now, sequence, operations, free, in_flight, unfinished, restless, used;
        array blocks, planes, dies, channels;
        nested events, host_reads, known;
        fixed geometry, timing, array_ns, load_ns, load_sectors, page_data_ns, multi_plane, copyback, cache_program,
            suspend, suspend_ns, begins_while_busy, max_overtakes, order;
    }
}

/// The array as a whole, and its time.
impl Timed {
    pub(crate) fn new(params: &NandParams, written: &[u32], uneven: Uneven, known: MaybeKnown) -> Self {
        let geometry = params.geometry();
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
            channel: geometry.channel_of(crate::DieId(die)),
            first_plane: die * geometry.planes,
            array_event: 0,
            active: None,
            transfers: 0,
            staged: None,
            suspended: None,
            settles_at: 0,
            restless: false,
            queued: [0; CLASSES],
            classes: 0,
            overtaken: [0; CLASSES],
            starved: 0,
            busy_since: 0,
            busy_ns: 0,
        };
        let timing = params.timing();
        let page_data_ns = timing.transfer_ns(geometry.sectors_per_page());
        let command_ns = timing.command_ns;
        Self {
            geometry,
            array_ns: ArrayTimes::new(&timing, geometry.pages, uneven),
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
        }
    }

    pub(crate) fn known(&self) -> Option<&Known> {
        self.known.0.as_deref()
    }

    #[inline(always)]
    pub(crate) fn known_mut(&mut self) -> Option<&mut Known> {
        self.known.0.as_deref_mut()
    }

    /// The time, and whether a page is programmed in the latest life of its block.
    pub(crate) fn sees(&self, ppn: Ppn) -> (Ns, bool) {
        let block = &self.blocks[self.geometry.block_of(ppn).at()];
        (self.now, block.erase == NO_INDEX && self.geometry.page_in_block(ppn) < block.programmed)
    }

    /// When the next event is due. Dies begin what they can only here, when everything that is emitted at a moment has
    /// been: so operations that are emitted together can run together on the planes of an idle die.
    #[inline]
    pub(crate) fn next_event_ns(&mut self, events: &mut Events) -> Option<Ns> {
        if !self.restless.is_empty() {
            self.serve_emitted(events);
        }
        self.events.next_ns()
    }

    /// As below, after what was emitted at a moment: in one place for all who ask.
    #[inline(never)]
    fn serve_emitted(&mut self, events: &mut Events) {
        self.serve_restless(events);
    }

    #[inline(always)]
    fn serve_restless(&mut self, events: &mut Events) {
        // Nothing that a die begins rouses another.
        let mut at = 0;
        while let Some(&die) = self.restless.get(at) {
            self.serve(die, events);
            at += 1;
        }
        self.restless.clear();
    }

    /// A die may have something to begin.
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

    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(crate) fn utilization(&self) -> Utilization {
        let channels = || self.channels.iter().map(|channel| channel.busy_ns);
        let dies = || self.dies.iter().map(|die| die.busy_ns);
        let Used { write_ns, collection_ns, programs, erases } = self.used;
        Utilization {
            channel_busy_ns: channels().map(u128::from).sum(),
            die_busy_ns: dies().map(u128::from).sum(),
            busiest_channel: Busiest::of(channels()),
            busiest_die: Busiest::of(dies()),
            write_ns,
            collection_ns,
            programs,
            erases,
            moved_sectors: self.channels.iter().map(|channel| channel.moved_sectors).sum(),
        }
    }

    /// Counts what reads of the host take from now on.
    pub(crate) fn observe_host_reads(&mut self) {
        self.host_reads.get_or_insert_default();
    }

    pub(crate) fn host_reads(&self) -> Option<PageReads> {
        self.host_reads
    }

    /// Checks the channels' accounts: the data that one moved took no longer than it was busy.
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
    /// Time of the channel for the data of a number of sectors.
    pub fn transfer_ns(&self, sectors: u32) -> Ns {
        (u64::from(sectors) * self.sector_ps).div_ceil(1_000)
    }
}
