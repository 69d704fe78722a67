//! What the layer above writes.

use flashloom_nand::{BlockId, Data, HostPage, Lpn, Nand, OpId, Origin, Ppn, Program, Read};

/// One page that the layer above writes. Pages written in one call were evicted together.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite {
    /// Which page.
    pub lpn: Lpn,
    /// Which of its sectors; the others keep what they hold.
    pub mask: u32,
    /// Handed back by [`Nand`] when the page is programmed.
    pub tag: u32,
    given: HostPage,
}

impl PageWrite {
    /// A write of a page.
    pub fn new(page: HostPage, tag: u32) -> Self {
        Self { lpn: page.lpn, mask: page.mask, tag, given: page }
    }

    /// The same for a mapping that numbers pages in its own way.
    #[must_use]
    pub fn renumbered(self, lpn: Lpn) -> Self {
        Self { lpn, ..self }
    }

    /// The page as the layer above knows it: what flash is told, whatever a mapping calls it.
    pub fn given(&self) -> HostPage {
        self.given
    }

    /// Programs the page to the next page of a block, for FTLs whose programs cannot fail. Where `old` holds the page
    /// and the host did not write all of it, the rest is read from there first; then this returns true.
    pub fn program(&self, nand: &mut Nand, block: BlockId, page: u32, old: Option<Ppn>) -> bool {
        let beneath = nand.geometry().full_mask() & !self.mask;
        let old = old.filter(|_| beneath != 0);
        let read = |old| nand.read(Read::new(old, beneath, Origin::Host));
        let (base, after) = (old.unwrap_or(Ppn::NONE), old.map_or(OpId::DONE, read));
        let data = Data::Host { page: self.given, base };
        nand.program(Program { after, tag: self.tag, ..Program::new(block, page, data, Origin::Host) });
        old.is_some()
    }
}
