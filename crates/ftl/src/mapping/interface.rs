//! The interface of a mapping.

use flashloom_nand::{CellMode, DieId, Lpn, Nand, Ppn, Region};
use flashloom_units::{Component, Figures, Ns, Violation};

use crate::allocation::{ObservedRead, WantedStreams};
use crate::page_write::PageWrite;
use crate::report::FtlReport;

/// What a mapping declares before it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Initial minimum length in pages of the streams that the mapping or its allocation wants written together; `None`
    /// if neither looks for streams.
    pub stream_pages: Option<u32>,
    /// Blocks that it uses in another cell mode than the rest of the array, such as an SLC region.
    pub region: Option<Region>,
    /// The cell mode that it uses blocks in for a time, each until its next erase.
    pub cells: Option<CellMode>,
}

/// What a mapping that was built says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Pages that the map has one entry for: a write of fewer programs all of them.
    pub unit_pages: u32,
    /// Whether the mapping or its allocation uses [`MappingExtras::observe_read`].
    pub observes_reads: bool,
    /// Idle time of the drive before [`MappingExtras::flush`] is called; `None` if there is nothing to flush.
    pub flush_delay_ns: Option<Ns>,
}

impl Default for Traits {
    fn default() -> Self {
        Self { unit_pages: 1, observes_reads: false, flush_delay_ns: None }
    }
}

/// Optional methods of a mapping. One that needs none of them writes `impl MappingExtras for Name {}`.
pub trait MappingExtras: Component {
    /// The streams that the layer above should write together if it can; `None` if neither the mapping nor its
    /// allocation looks for any.
    fn wanted_streams(&self) -> Option<WantedStreams> {
        None
    }

    /// What does not change while it serves.
    fn traits(&self) -> Traits {
        Traits::default()
    }

    /// Called in timed mode when a page goes to the host, from flash or from the write buffer, if [`Self::traits`] ask
    /// for it.
    fn observe_read(&mut self, _read: ObservedRead) {}

    /// The die that a page would be programmed on, if its address decides that.
    fn die_of(&self, _lpn: Lpn) -> Option<DieId> {
        None
    }

    /// Prefetch hint: the page will be read or written soon, so its map entry may be fetched into the processor's
    /// cache. Must not change any state.
    fn prepare(&self, _lpn: Lpn) {}

    /// Writes the first `pages` pages of a new drive in order of address, as calls of [`Mapping::write`] with `group`
    /// whole pages each would, but in fewer steps. Returns false, and does nothing, if it cannot: the pages are then
    /// written by such calls.
    fn fill(&mut self, _nand: &mut Nand, _pages: u64, _group: u64) -> bool {
        false
    }

    /// Called before an array at rest ends its time ([`Nand::stop_timing`]): no operation that it has emitted is in
    /// flight, and the numbers of operations mean others later.
    fn rest(&mut self, _nand: &mut Nand) {}

    /// Values of the statistics of the policies that the mapping uses: allocation, collection, placement.
    fn figures_taken(&self) -> Figures {
        Figures::default()
    }

    /// Pages of the array that hold valid data or map; `None` if the mapping does not count them.
    fn valid_pages(&self) -> Option<u64> {
        None
    }

    /// Pages of a map on flash whose changes are in memory only: programs that the map still has to make.
    fn unwritten_map_pages(&self) -> u64 {
        0
    }

    /// Takes one step of background work; returns false if none is left. Called repeatedly while the drive is idle.
    fn idle(&mut self, _nand: &mut Nand) -> bool {
        false
    }

    /// Takes one step of work that waits for [`Traits::flush_delay_ns`]; returns false if none is left. Called
    /// repeatedly while the drive is idle and [`Self::idle`] has no work left.
    fn flush(&mut self, _nand: &mut Nand) -> bool {
        false
    }

    /// Whether the drive's life is over: too many blocks have gone bad, by programs or erases. From then on every write
    /// is refused ([`Nand::refuse`]); stored data can still be read.
    fn is_worn_out(&self) -> bool {
        false
    }
}

/// A flash translation layer. The layer above calls it; it updates its state at once and emits operations to the array.
pub trait Mapping: MappingExtras {
    /// Writes pages that belong together, such as an eviction of the write buffer. Once the drive is worn out, they are
    /// refused.
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]);

    /// Writes pages one at a time, as if each came alone, and stops when the drive is worn out. Returns the number of
    /// pages written or refused.
    fn write_apart(&mut self, nand: &mut Nand, writes: &[PageWrite]) -> usize {
        write_each(self, nand, writes, |_, _| ())
    }

    /// Reads sectors of a page for the host. Returns false, and emits nothing, if the page is not mapped.
    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool;

    /// The page of the array that holds a page of the host; `None` if it is not mapped.
    fn place_of(&self, lpn: Lpn) -> Option<Ppn>;

    /// Whether the page is mapped.
    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.place_of(lpn).is_some()
    }

    /// Unmaps a whole page.
    fn trim(&mut self, nand: &mut Nand, lpn: Lpn);

    /// The counters since the last reset.
    fn report(&self) -> FtlReport;

    /// Resets the counters after preconditioning. Wear is kept.
    fn reset_report(&mut self);

    /// Free blocks in the whole drive.
    fn free_blocks(&self) -> u64;

    /// Checks a loaded state against the loaded array. The file may contain anything, so a mapping that can be saved
    /// checks here everything that its code, including [`Component::check`], relies on.
    ///
    /// # Errors
    /// The first inconsistency, with its place.
    fn check_loaded(&self, _nand: &Nand) -> Result<(), Violation> {
        self.check()
    }
}

/// How many pages before its write a page's map entry is prefetched, and then the state of its old copy.
const PREPARED: usize = 16;
const OLD_PREPARED: usize = 4;

/// Writes pages one at a time, for [`Mapping::write_apart`]. The next pages are known, so their cache misses are
/// overlapped by prefetching: `prepare` for the map entry, and some pages later `prepare_old` for the state of the old
/// copy.
pub(crate) fn write_each<M: Mapping + ?Sized>(
    mapping: &mut M,
    nand: &mut Nand,
    writes: &[PageWrite],
    prepare_old: impl Fn(&M, Lpn),
) -> usize {
    writes.iter().take(PREPARED).for_each(|write| mapping.prepare(write.lpn));
    for (index, write) in writes.iter().enumerate() {
        if let Some(ahead) = writes.get(index + PREPARED) {
            mapping.prepare(ahead.lpn);
        }
        if let Some(ahead) = writes.get(index + OLD_PREPARED) {
            prepare_old(mapping, ahead.lpn);
        }
        mapping.write(nand, std::slice::from_ref(write));
        if mapping.is_worn_out() {
            return index + 1;
        }
    }
    writes.len()
}
