//! Out-of-band data: the contents of each physical page, as recorded in its spare bytes.

use flashloom_units::{Reader, State, StateError, Writer};
use serde::{Deserialize, Serialize};

use crate::event::OperationKind;
use crate::operation::Operation;
use crate::{BlockId, Geometry, Lpn, Ppn};

/// Contents of a programmed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PageContent {
    /// A host page, with its logical number.
    Host(Lpn),
    /// A map page, with its number in the map.
    Map(u32),
    /// Dummy data that is never read, programmed because a later page of the block was needed.
    Filler,
}

/// The out-of-band data of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfBand {
    /// Contents of the page. A copy has the contents of its source.
    pub content: PageContent,
    /// Sequence number of the program in the order in which the FTL emitted it, with gaps. Of two pages with the same
    /// contents, the one with the higher number is newer.
    pub sequence: u64,
}

/// Out-of-band data of all pages, as it is in the cells: from the end of a program to the end of an erase.
#[derive(Debug)]
pub(crate) struct Labels {
    geometry: Geometry,
    /// Data of each page; 16 bytes a page.
    pages: Vec<Option<OutOfBand>>,
}

impl State for Labels {
    fn save(&self, to: &mut Writer) {
        to.array(&self.pages);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        from.array(&mut self.pages).map_err(|error| error.within("out_of_band"))
    }
}

const _: () = assert!(size_of::<Option<OutOfBand>>() == 16);

impl Labels {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        Self { geometry: *geometry, pages: vec![None; geometry.total_pages() as usize] }
    }

    pub(crate) fn get(&self, ppn: Ppn) -> Option<OutOfBand> {
        self.pages[ppn.at()]
    }

    /// Checks loaded data for an array that has served nothing: erased pages have none, and none is newer than the last
    /// program.
    pub(crate) fn check_loaded(&self, written: &[u32], sequence: u64) -> Result<(), String> {
        let pages = (0..).map(Ppn).zip(&self.pages);
        for (ppn, label) in pages.filter_map(|(ppn, label)| Some((ppn, label.as_ref()?))) {
            if self.geometry.page_in_block(ppn) >= written[self.geometry.block_of(ppn).at()] {
                return Err(format!("NAND: page {} is erased, and has out-of-band data", ppn.0));
            }
            if label.sequence >= sequence {
                return Err(format!("NAND: page {} is of program {}, of {sequence}", ppn.0, label.sequence));
            }
        }
        Ok(())
    }

    /// Handles the end of an operation; a program wrote `content`.
    pub(crate) fn ended(&mut self, operation: &Operation, content: PageContent, sequence: u64) {
        match operation.kind {
            OperationKind::Program | OperationKind::Copyback => {
                let label = OutOfBand { content, sequence };
                self.pages[operation.ppn.at()] = (!operation.failed).then_some(label);
            }
            OperationKind::Erase => self.erased(operation.block),
            OperationKind::Read | OperationKind::Hold => {}
        }
    }

    fn erased(&mut self, block: BlockId) {
        let first = self.geometry.page(block, 0).at();
        self.pages[first..first + self.geometry.pages as usize].fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NandParams;
    use flashloom_units::ParamSet;

    #[test]
    fn pages_that_are_erased_hold_nothing_and_none_is_newer_than_the_last_program() {
        let nand =
            NandParams { channels: 1, ways: 1, dies: 1, planes: 1, blocks: 2, pages: 4, ..NandParams::defaults() };
        let geometry = nand.geometry();
        let mut labels = Labels::new(&geometry);
        labels.pages[5] = Some(OutOfBand { content: PageContent::Filler, sequence: 6 });
        assert_eq!(labels.check_loaded(&[0, 2], 7), Ok(()));
        let erased = labels.check_loaded(&[4, 1], 7).expect_err("page 5 is the second of block 1");
        assert!(erased.contains("page 5 is erased"), "{erased}");
        let newer = labels.check_loaded(&[0, 2], 6).expect_err("six programs have numbers up to 5");
        assert!(newer.contains("of program 6, of 6"), "{newer}");
    }
}
