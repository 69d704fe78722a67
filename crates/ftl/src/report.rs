//! Counters that every FTL has, whatever its policies count besides as statistics of their own.

use flashloom_units::{Reader, State, StateError, Writer};
use serde::{Deserialize, Serialize};

/// Counters of an FTL; what does not apply is absent.
#[derive(Clone, Debug, Default)]
pub struct FtlReport {
    /// Pages written by the layer above.
    pub host_page_writes: u64,
    /// Pages read for the layer above, from flash.
    pub host_page_reads: u64,
    /// Valid pages copied by collections and merges.
    pub page_copies: u64,
    /// Blocks erased.
    pub block_erases: u64,
    /// Partial writes that first had to read the page beneath.
    pub read_modify_writes: u64,
    /// Pages whose mapping a discard removed.
    pub trimmed_pages: u64,
    /// Collections begun because a write found too few free blocks.
    pub foreground_collections: u64,
    /// Collections begun while the drive was idle.
    pub background_collections: u64,
    /// Pages that were written as hot ones, where hot and cold pages are kept apart.
    pub hot_page_writes: Option<u64>,
    /// Blocks whose data static wear levelling moved.
    pub wear_moves: Option<u64>,
    /// Blocks that are bad, of a drive that has such or whose blocks can fail.
    pub retired: Option<RetiredBlocks>,
    /// Pages of the map that were programmed, by a mapping whose map is on flash.
    pub map_writes: u64,
}

/// Families of figures that states of older drives have behind these counters, each switched off.
const OLDER_FAMILIES: usize = 3;

// All fields are named, so that a new one does not compile before it is saved, or left out.
impl State for FtlReport {
    fn save(&self, to: &mut Writer) {
        let Self {
            host_page_writes,
            host_page_reads,
            page_copies,
            block_erases,
            read_modify_writes,
            trimmed_pages,
            foreground_collections,
            background_collections,
            hot_page_writes,
            wear_moves,
            retired,
            map_writes: _,
        } = self;
        to.value(&[host_page_writes, host_page_reads, page_copies, block_erases, read_modify_writes, trimmed_pages]);
        to.value(&[foreground_collections, background_collections]);
        to.value(&(hot_page_writes, wear_moves, retired));
        to.zeros(OLDER_FAMILIES);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let [host_page_writes, host_page_reads, page_copies, block_erases, read_modify_writes, trimmed_pages] =
            from.value()?;
        let [foreground_collections, background_collections] = from.value()?;
        let (hot_page_writes, wear_moves, retired) = from.value()?;
        *self = Self {
            host_page_writes,
            host_page_reads,
            page_copies,
            block_erases,
            read_modify_writes,
            trimmed_pages,
            foreground_collections,
            background_collections,
            hot_page_writes,
            wear_moves,
            retired,
            map_writes: 0,
        };
        from.zeros(OLDER_FAMILIES)
    }
}

impl FtlReport {
    /// The counters of two stores of a mapping together. What only one kind of mapping counts is the first's.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            host_page_writes: self.host_page_writes + other.host_page_writes,
            host_page_reads: self.host_page_reads + other.host_page_reads,
            page_copies: self.page_copies + other.page_copies,
            block_erases: self.block_erases + other.block_erases,
            read_modify_writes: self.read_modify_writes + other.read_modify_writes,
            trimmed_pages: self.trimmed_pages + other.trimmed_pages,
            foreground_collections: self.foreground_collections + other.foreground_collections,
            background_collections: self.background_collections + other.background_collections,
            map_writes: self.map_writes + other.map_writes,
            ..self
        }
    }

    /// Pages programmed for another reason than that the layer above wrote them.
    pub fn other_programs(&self) -> u64 {
        self.page_copies + self.map_writes
    }
}

/// Blocks that hold nothing any more, by what made them bad; since the drive was new, preconditioning included. A block
/// of a superblock that is bad takes the others along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredBlocks {
    /// Bad when the drive was new.
    pub factory: u64,
    /// A program failed.
    pub program: u64,
    /// An erase failed.
    pub erase: u64,
}

impl RetiredBlocks {
    /// The blocks of as many superblocks of a width.
    pub(crate) fn times(self, width: u32) -> Self {
        let [factory, program, erase] =
            [self.factory, self.program, self.erase].map(|blocks| blocks * u64::from(width));
        Self { factory, program, erase }
    }
}
