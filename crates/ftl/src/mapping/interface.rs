//! What a mapping is.

use flashloom_nand::{Lpn, Nand, Region};
use flashloom_units::{Component, Figures, Violation};

use crate::allocation::{ObservedRead, WantedStreams};
use crate::page_write::PageWrite;
use crate::report::FtlReport;

/// Properties of a mapping before it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Pages of the streams that it, or its allocation, wants written together from the start; nothing where it looks
    /// for none.
    pub stream_pages: Option<u32>,
    /// Blocks that it uses in another cell mode than the array's.
    pub region: Option<Region>,
}

/// What few mappings do: a mapping that does none of it writes `impl MappingExtras for Name {}`.
pub trait MappingExtras: Component {
    /// The streams that the layer above is to write together, where it can; nothing where the mapping, or its
    /// allocation, looks for none.
    fn wanted_streams(&self) -> Option<WantedStreams> {
        None
    }

    /// Whether [`Self::observe_read`] changes anything. Asked once.
    fn observes_reads(&self) -> bool {
        false
    }

    /// A page goes to the host, from flash or from the write buffer. Called in timed mode, for each page that is read,
    /// where the mapping, or its allocation, observes reads.
    fn observe_read(&mut self, _read: ObservedRead) {}

    /// The pages that are written next contain streams that the write buffer gathered by time: the stream of each page,
    /// counted from 0, or [`NO_INDEX`](flashloom_units::NO_INDEX). Called where such streams are wanted.
    fn gathered(&mut self, _streams: &[u32]) {}

    /// The page will be written or read soon: its part of the map can be fetched into the cache. Changes nothing.
    fn prepare(&self, _lpn: Lpn) {}

    /// The values of the statistics of the policies that the mapping took: allocation, collection, placement.
    fn figures_taken(&self) -> Figures {
        Figures::default()
    }

    /// One step of work that need not be done now; false if nothing is left to do after it. Called while the drive is
    /// idle.
    fn idle(&mut self, _nand: &mut Nand) -> bool {
        false
    }

    /// Whether a page could not be stored because too many blocks have gone bad: the drive's life is over, and from
    /// that page on all that is to be written is refused ([`Nand::refuse`]). What was stored can still be read.
    fn is_worn_out(&self) -> bool {
        false
    }
}

/// A flash translation layer, driven by the layer above and emitting operations to the array.
pub trait Mapping: MappingExtras {
    /// Writes pages that the layer above writes together, or refuses them.
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]);

    /// Writes pages one after the other, each as if it came alone, until the drive is worn out. Returns how many were
    /// written or refused.
    fn write_apart(&mut self, nand: &mut Nand, writes: &[PageWrite]) -> usize {
        write_each(self, nand, writes, |_, _| ())
    }

    /// Reads sectors of a page for the host; false if nothing is mapped there, and then nothing was emitted.
    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool;

    /// Whether a read of the page would find anything.
    fn is_mapped(&self, lpn: Lpn) -> bool;

    /// Forgets a whole page.
    fn trim(&mut self, nand: &mut Nand, lpn: Lpn);

    /// The counters, from the last reset.
    fn report(&self) -> FtlReport;

    /// Starts the counters again at zero, after preconditioning; wear is kept.
    fn reset_report(&mut self);

    /// Free blocks of the whole drive.
    fn free_blocks(&self) -> u64;

    /// Checks a state that was loaded, with that of the array: whatever it was loaded from, the mapping works on it. A
    /// mapping whose state can be saved checks here what [`Component::check`] and the rest of its code take for
    /// granted.
    ///
    /// # Errors
    /// The first thing that cannot be, with its place.
    fn check_loaded(&self, _nand: &Nand) -> Result<(), Violation> {
        self.check()
    }
}

/// How many pages ahead of its write a page is looked up, and what is known of its old copy.
const PREPARED: usize = 16;
const OLD_PREPARED: usize = 4;

/// Writes pages one after the other, as [`Mapping::write_apart`] has it. What is written is known some pages ahead, so
/// that the misses of the processor's cache overlap; `prepare_old` fetches what a mapping knows of the old copy of a
/// page that is written next but for a few, and has been prepared.
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
