//! What an allocation is, and what it is built for.

use flashloom_nand::{Geometry, PageReads, PlaneId};
use flashloom_units::{Component, Ns, Role};

use crate::capacity::Space;
use crate::lane::{Demands, Lane};
use crate::page_write::PageWrite;
use crate::params::{FtlParams, StripeOrder};
use crate::superblock::{superpage, units};

/// Where a page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagePlace {
    /// The plane; a plane that has no room is passed over for the next of the stripe.
    pub plane: PlaneId,
    /// Which of the plane's open blocks.
    pub lane: Lane,
}

/// Streams that an allocation or a mapping wants written together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedStreams {
    /// Pages of a stream, now: an adaptive threshold moves. With 1 there are no streams.
    pub pages: u32,
    /// Whether the write buffer is to look for them among all that it holds when a victim leaves.
    pub in_buffer: bool,
    /// If they are pages that were written within this time, whatever their addresses, and the buffer looks for them;
    /// none for consecutive pages.
    pub window_ns: Option<Ns>,
    /// Pages of a logical block, if a stream is the first pages of one; else it begins anywhere.
    pub block_pages: Option<u32>,
}

/// What a page took that was read for the host, and all before it. All are times of service, without waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObservedRead {
    /// Time of this page on the link, and its share of the controller's time for its command.
    pub interface_ns: Ns,
    /// Time of all pages that came from flash, in the array and on the channels.
    pub array: PageReads,
}

/// A policy of allocation.
pub trait Allocation: Component {
    /// Appends the place of each page of `writes`, which the layer above writes together, in their order. `copies` are
    /// the pages copied by garbage collection so far. The allocation uses it to judge its earlier placements.
    fn place(&mut self, writes: &[PageWrite], copies: u64, places: &mut Vec<PagePlace>);

    /// Whether [`Self::observe_read`] changes anything. Asked once.
    fn observes_reads(&self) -> bool {
        false
    }

    /// A page goes to the host, from flash or from the write buffer. Called in timed mode, for each page that is read,
    /// where the allocation observes reads.
    fn observe_read(&mut self, _read: ObservedRead) {}

    /// The next pages to be placed contain streams that the write buffer gathered by time: the stream of each page,
    /// counted from 0, or [`NO_INDEX`](flashloom_units::NO_INDEX). Called where the allocation wants such streams.
    fn gathered(&mut self, _streams: &[u32]) {}

    /// The streams that the layer above is to write together, where it can; nothing where it looks for none.
    fn wanted_streams(&self) -> Option<WantedStreams> {
        None
    }

    /// Starts its counters again at zero, after preconditioning.
    fn reset_report(&mut self) {}
}

/// What an allocation is built for.
#[derive(Clone, Copy, Debug)]
pub struct AllocationSetup<'a> {
    /// The array, and how much of it the host sees.
    pub space: &'a Space,
    /// Planes and blocks as the allocation sees them: where blocks make superblocks (`ftl.superblock`), a die has one
    /// plane whose blocks are the superblocks.
    pub geometry: Geometry,
    /// Consecutive pages of such a block that are programmed at once: a stripe fills them before it goes on.
    pub superpage: u32,
    /// The order in which a stripe visits the planes.
    pub stripe_order: StripeOrder,
}

impl<'a> AllocationSetup<'a> {
    /// For that space under the `[ftl]` section.
    pub fn new(space: &'a Space, params: &FtlParams) -> Self {
        let geometry = units(&space.geometry(), params.superblock);
        let superpage = superpage(&space.geometry(), params.superblock);
        Self { space, geometry, superpage, stripe_order: params.stripe_order }
    }
}

/// What an allocation states before it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What the store beneath must do for it.
    pub demands: Demands,
    /// Pages of the streams that it wants written together from the start; nothing where it looks for none.
    pub stream_pages: Option<u32>,
}

impl Role for dyn Allocation {
    type Site<'a> = AllocationSetup<'a>;
    type Profile = Profile;
    type Context<'a> = AllocationSetup<'a>;
}
