//! Page writes from the layer above the FTL.

use flashloom_nand::{BlockId, Data, HostPage, Lpn, Nand, OpId, Origin, Ppn, Program, Read};
use flashloom_units::NO_INDEX;

/// What is known of a page: which other pages it came and belongs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHints {
    /// Pages of the host's request that it came with; 1 if that is not known. A write buffer knows up to 65,535.
    pub request_pages: u32,
    /// Its stream among the pages of one call, if the write buffer finds streams by time
    /// ([`WantedStreams::window_ns`](crate::WantedStreams)); else, and if it is in none, [`NO_INDEX`].
    pub stream: u32,
}

impl PageHints {
    /// Nothing is known.
    pub const NONE: Self = Self::of_request(1);

    /// The hints of a page of a request with `request_pages` pages.
    pub const fn of_request(request_pages: u32) -> Self {
        Self { request_pages, stream: NO_INDEX }
    }
}

/// A page written by the layer above. Pages written in one call were evicted together.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite {
    /// The logical page.
    pub lpn: Lpn,
    /// Tag that [`Nand`] returns when the page is programmed.
    pub tag: u32,
    /// What is known of the page.
    pub hints: PageHints,
    given: HostPage,
}

impl PageWrite {
    /// A write of a page.
    pub fn new(page: HostPage, tag: u32) -> Self {
        Self { lpn: page.lpn, tag, hints: PageHints::NONE, given: page }
    }

    /// The same write, of a page of which that is known.
    #[must_use]
    pub fn with(self, hints: PageHints) -> Self {
        Self { hints, ..self }
    }

    /// Mask of the sectors written; the others keep their data.
    pub fn mask(&self) -> u32 {
        self.given.mask
    }

    /// The same write with a mapping's own number for the page.
    #[must_use]
    pub fn renumbered(self, lpn: Lpn) -> Self {
        Self { lpn, ..self }
    }

    /// The page as the layer above numbers it, for the array's events, whatever number a mapping uses.
    pub fn given(&self) -> HostPage {
        self.given
    }

    /// Programs the page to the next page of a block, for FTLs whose programs cannot fail. If the host wrote only part
    /// of the page and `old` holds it, the rest is read from there first, and this returns true.
    pub fn program(&self, nand: &mut Nand, block: BlockId, page: u32, old: Option<Ppn>) -> bool {
        let beneath = nand.geometry().full_mask() & !self.mask();
        let old = old.filter(|_| beneath != 0);
        let read = |old| nand.read(Read::new(old, beneath, Origin::Host));
        let (base, after) = (old.unwrap_or(Ppn::NONE), old.map_or(OpId::DONE, read));
        let data = Data::Host { page: self.given, base };
        nand.program(Program { after, tag: self.tag, ..Program::new(block, page, data, Origin::Host) });
        old.is_some()
    }

    /// Tells the array that the page cannot be stored, because the drive is worn out.
    #[cold]
    pub(crate) fn refuse(&self, nand: &mut Nand) {
        nand.refuse(self.given.lpn, self.given.mask, self.tag);
    }
}
