//! The interface of an allocation policy, and what it is built from.

use flashloom_nand::{Geometry, Lpn, PageReads, PlaneId};
use flashloom_units::{Component, Ns, Role};

use crate::capacity::Space;
use crate::lane::{Demands, Lane};
use crate::page_write::PageWrite;
use crate::params::{FtlParams, StripeOrder};
use crate::store::superblocks::{superpage, units};

/// The place that an allocation chooses for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagePlace {
    /// The plane. If it has no free page, the page goes to the next plane of the stripe.
    pub plane: PlaneId,
    /// The open block of that plane.
    pub lane: Lane,
}

/// Pages that go to planes in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The planes, each for one page. With superblocks a die stands there once for each page of a superpage.
    pub planes: Vec<PlaneId>,
    /// Number of pages.
    pub pages: u64,
}

/// Streams that an allocation or a mapping wants the write buffer to write together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedStreams {
    /// Current minimum length of a stream in pages; an adaptive threshold changes it. At 1 there are no streams.
    pub pages: u32,
    /// Whether the write buffer looks for streams among all its pages when it evicts a victim.
    pub in_buffer: bool,
    /// If set, a stream is pages written within this time, at any addresses, and the buffer finds it
    /// ([`PageHints::stream`](crate::PageHints::stream)); if `None`, consecutive pages.
    pub window_ns: Option<Ns>,
    /// If set, a stream starts at the first page of a logical block of this many pages; if `None`, anywhere.
    pub block_pages: Option<u32>,
}

/// Service times, without waits, of one page that was read for the host, and of all earlier such pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObservedRead {
    /// Time of this page on the host link, plus its share of the controller time of its command.
    pub interface_ns: Ns,
    /// Total time of all pages read from flash so far, in the array and on the channels.
    pub array: PageReads,
}

/// An allocation policy: it chooses the plane and the open block for every page written.
pub trait Allocation: Component {
    /// Appends the place of each page of `writes` to `places`, in order. Called once for each group of pages that the
    /// layer above writes together. `copies` is the number of pages copied by garbage collection so far; the allocation
    /// uses it to judge its earlier placements.
    fn place(&mut self, writes: &[PageWrite], copies: u64, places: &mut Vec<PagePlace>);

    /// The plane that a page would be placed on, if its address decides that.
    fn plane_of(&self, _lpn: Lpn) -> Option<PlaneId> {
        None
    }

    /// The planes of the first `pages` of the address space, written in order before any other. `None` if they follow
    /// no simple rule; [`Self::place`] is then called for them. Called once, before anything is written.
    fn layout(&self, _pages: u64) -> Option<Vec<Turns>> {
        None
    }

    /// Called instead of [`Self::place`] for all pages of a [`Self::layout`], which go to the lane of host pages.
    fn laid_out(&mut self, _pages: u64) {}

    /// Whether the policy uses [`Self::observe_read`]. Called once; with `false`, `observe_read` is never called.
    fn observes_reads(&self) -> bool {
        false
    }

    /// Called in timed mode when a page goes to the host, from flash or from the write buffer, if the policy observes
    /// reads.
    fn observe_read(&mut self, _read: ObservedRead) {}

    /// The streams that the layer above should write together if it can; `None` if the policy looks for none.
    fn wanted_streams(&self) -> Option<WantedStreams> {
        None
    }

    /// Resets the counters, after preconditioning.
    fn reset_report(&mut self) {}
}

/// What an allocation is built from.
#[derive(Clone, Copy, Debug)]
pub struct AllocationSetup<'a> {
    /// The array and its host capacity.
    pub space: &'a Space,
    /// Planes and blocks as the allocation sees them. With superblocks (`ftl.superblock`) a die counts as one plane,
    /// and its superblocks as the blocks of that plane.
    pub geometry: Geometry,
    /// Pages of such a block that are programmed at once. A stripe writes this many before it goes to the next plane.
    pub superpage: u32,
    /// Order in which a stripe visits the planes.
    pub stripe_order: StripeOrder,
}

impl<'a> AllocationSetup<'a> {
    /// The setup for a drive of that space under the parameters of `[ftl]`.
    pub fn new(space: &'a Space, params: &FtlParams) -> Self {
        let geometry = units(&space.geometry(), params.superblock);
        let superpage = if space.unit_pages == 1 { superpage(&space.geometry(), params.superblock) } else { 1 };
        Self { space, geometry, superpage, stripe_order: params.stripe_order }
    }
}

/// What an allocation declares before it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Requirements on the page store.
    pub demands: Demands,
    /// Initial minimum length in pages of the streams to be written together; `None` if the policy looks for none.
    pub stream_pages: Option<u32>,
}

impl Role for dyn Allocation {
    type Site<'a> = AllocationSetup<'a>;
    type Profile = Profile;
    type Context<'a> = AllocationSetup<'a>;
}
