//! The flash array as a mapping in Python sees it: commands that are checked at once, and carried out after the call.
//!
//! The array cannot be lent to Python, so what it holds is mirrored: the programmed pages of each block, and the page
//! that holds each logical page. A command that the array could not carry out raises an exception where it is given.

use std::sync::{Mutex, MutexGuard};

use flashloom::prelude::{BlockId, Geometry, Lpn, Nand, Ppn};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::answer::{self, Wrong};
use crate::locked;

/// A command of a mapping.
#[derive(Clone, Copy)]
pub(super) enum Command {
    /// A page of the host, by its place in the call, over an older copy if there is one.
    Program { write: usize, block: BlockId, page: u32, old: Option<Ppn> },
    /// A valid page.
    Copy { from: Ppn, block: BlockId, page: u32 },
    /// Nothing that is ever read.
    Pad { block: BlockId, page: u32 },
    /// A block without valid pages.
    Erase { block: BlockId },
}

/// A page that the layer above writes, for Python.
#[pyclass(frozen, module = "flashloom.policy", name = "PageWrite")]
pub(super) struct View {
    /// Logical page number.
    #[pyo3(get)]
    pub(super) lpn: u32,
    /// True if all of its sectors are written.
    #[pyo3(get)]
    pub(super) is_whole: bool,
    /// Its place in the call.
    pub(super) at: usize,
    /// Number of the call.
    pub(super) call: u64,
}

#[pymethods]
impl View {
    fn __repr__(&self) -> String {
        format!("PageWrite(lpn={})", self.lpn)
    }
}

/// The flash array during a call.
#[pyclass(frozen, module = "flashloom.policy")]
pub(super) struct Flash {
    policy: &'static str,
    geometry: Geometry,
    array: Mutex<Array>,
}

/// What the array holds once the commands of the call are carried out.
struct Array {
    programmed: Vec<u32>,
    valid: Vec<u32>,
    is_bad: Vec<bool>,
    free_blocks: u64,
    /// Logical page of each page that holds a valid copy.
    lpns: Vec<Lpn>,
    /// Page that holds each logical page.
    ppns: Vec<Ppn>,
    commands: Vec<Command>,
    /// Pages of the host that the call is to write, each until it is programmed.
    unwritten: Vec<bool>,
    call: u64,
    is_open: bool,
}

/// For the simulation.
impl Flash {
    /// An erased array, of which the host sees that many logical pages.
    pub(super) fn new(policy: &'static str, nand: &Nand, logical_pages: u64) -> Self {
        let geometry = *nand.geometry();
        let blocks = geometry.total_blocks() as usize;
        let is_bad: Vec<bool> = (0..blocks as u32).map(|block| nand.is_bad(BlockId(block))).collect();
        let array = Array {
            programmed: vec![0; blocks],
            valid: vec![0; blocks],
            free_blocks: is_bad.iter().filter(|is_bad| !**is_bad).count() as u64,
            is_bad,
            lpns: vec![Lpn::NONE; geometry.total_pages() as usize],
            ppns: vec![Ppn::NONE; logical_pages as usize],
            commands: Vec::new(),
            unwritten: Vec::new(),
            call: 0,
            is_open: false,
        };
        Self { policy, geometry, array: Mutex::new(array) }
    }

    /// Nothing is called, and no object made, while it is locked.
    fn lock(&self) -> MutexGuard<'_, Array> {
        locked(&self.array)
    }

    /// Opens the array for a call that is to write a number of pages. Returns the call's number.
    pub(super) fn open(&self, writes: usize) -> u64 {
        let mut array = self.lock();
        array.unwritten.clear();
        array.unwritten.resize(writes, true);
        array.is_open = true;
        array.call += 1;
        array.call
    }

    /// Closes the array, and takes the commands of the call and the place of the first page that it did not write.
    pub(super) fn close(&self) -> (Vec<Command>, Option<usize>) {
        let mut array = self.lock();
        array.is_open = false;
        let forgotten = array.unwritten.iter().position(|is_unwritten| *is_unwritten);
        (std::mem::take(&mut array.commands), forgotten)
    }

    /// The page that holds a logical page.
    pub(super) fn holder(&self, lpn: Lpn) -> Option<Ppn> {
        self.lock().ppns.get(lpn.at()).copied().filter(|ppn| ppn.is_some())
    }

    /// Forgets a logical page. Returns true if a page held it.
    pub(super) fn forget(&self, lpn: Lpn) -> bool {
        self.hold(&mut self.lock(), lpn, Ppn::NONE).is_some()
    }

    /// Number of erased blocks that are not bad.
    pub(super) fn free_blocks(&self) -> u64 {
        self.lock().free_blocks
    }

    /// Makes a page, or none, the holder of a logical page. Returns the page that was.
    fn hold(&self, array: &mut Array, lpn: Lpn, ppn: Ppn) -> Option<Ppn> {
        let old = std::mem::replace(&mut array.ppns[lpn.at()], ppn);
        if old.is_some() {
            array.lpns[old.at()] = Lpn::NONE;
            array.valid[self.geometry.block_of(old).at()] -= 1;
        }
        if ppn.is_some() {
            array.lpns[ppn.at()] = lpn;
            array.valid[self.geometry.block_of(ppn).at()] += 1;
        }
        Some(old).filter(|old| old.is_some())
    }
}

/// For the methods below.
impl Flash {
    fn opened(&self) -> PyResult<MutexGuard<'_, Array>> {
        let array = self.lock();
        if array.is_open {
            return Ok(array);
        }
        Err(PyRuntimeError::new_err("the array is open only during the call that was given it"))
    }

    /// Gives a command to the open array. What is wrong with it is told once the array is not locked any more.
    fn give<T>(
        &self,
        py: Python<'_>,
        method: &str,
        command: impl FnOnce(&mut Array) -> Result<T, Wrong>,
    ) -> PyResult<T> {
        let given = command(&mut *self.opened()?);
        given.map_err(|wrong| answer::error(py, self.policy, method, wrong))
    }

    fn number(&self, method: &str, value: &Bound<'_, PyAny>, bound: usize, expected: &str) -> PyResult<u32> {
        let number = answer::below_u32(value, bound as u32, expected);
        number.map_err(|wrong| answer::error(value.py(), self.policy, method, wrong))
    }

    fn block(&self, method: &str, value: &Bound<'_, PyAny>) -> PyResult<BlockId> {
        let blocks = self.geometry.total_blocks() as usize;
        let expected = format!("a block from 0 to {}", blocks - 1);
        self.number(method, value, blocks, &expected).map(BlockId)
    }

    /// The next page of a block, which is programmed from now on.
    fn next_page(&self, array: &mut Array, block: BlockId) -> Result<u32, Wrong> {
        let page = array.programmed[block.at()];
        if array.is_bad[block.at()] || page == self.geometry.pages {
            let why = if array.is_bad[block.at()] { "bad" } else { "full" };
            return Err(Wrong::new(format!("block {}, which is {why}", block.0), "a block that has an erased page"));
        }
        array.free_blocks -= u64::from(page == 0);
        array.programmed[block.at()] = page + 1;
        Ok(page)
    }
}

#[pymethods]
impl Flash {
    fn programmed(&self, block: &Bound<'_, PyAny>) -> PyResult<u32> {
        let block = self.block("programmed", block)?;
        Ok(self.opened()?.programmed[block.at()])
    }

    fn program(&self, py: Python<'_>, block: &Bound<'_, PyAny>, write: PyRef<'_, View>) -> PyResult<u32> {
        let block = self.block("program", block)?;
        self.give(py, "program", |array| {
            if write.call != array.call || array.unwritten.get(write.at) != Some(&true) {
                let found = format!("page {}, which this call does not write, or has written", write.lpn);
                return Err(Wrong::new(found, "each page of this call once"));
            }
            let page = self.next_page(array, block)?;
            let ppn = self.geometry.page(block, page);
            array.unwritten[write.at] = false;
            let old = self.hold(array, Lpn(write.lpn), ppn);
            array.commands.push(Command::Program { write: write.at, block, page, old });
            Ok(ppn.0)
        })
    }

    fn copy(&self, py: Python<'_>, ppn: &Bound<'_, PyAny>, block: &Bound<'_, PyAny>) -> PyResult<u32> {
        const EXPECTED: &str = "a physical page with the valid copy of a logical page";
        let from = Ppn(self.number("copy", ppn, self.geometry.total_pages() as usize, EXPECTED)?);
        let block = self.block("copy", block)?;
        self.give(py, "copy", |array| {
            let lpn = array.lpns[from.at()];
            if lpn.is_none() {
                return Err(Wrong::new(format!("page {}, which is invalid or erased", from.0), EXPECTED));
            }
            let page = self.next_page(array, block)?;
            let ppn = self.geometry.page(block, page);
            self.hold(array, lpn, ppn);
            array.commands.push(Command::Copy { from, block, page });
            Ok(ppn.0)
        })
    }

    fn pad(&self, py: Python<'_>, block: &Bound<'_, PyAny>) -> PyResult<u32> {
        let block = self.block("pad", block)?;
        self.give(py, "pad", |array| {
            let page = self.next_page(array, block)?;
            array.commands.push(Command::Pad { block, page });
            Ok(self.geometry.page(block, page).0)
        })
    }

    fn erase(&self, py: Python<'_>, block: &Bound<'_, PyAny>) -> PyResult<()> {
        let block = self.block("erase", block)?;
        self.give(py, "erase", |array| {
            let (is_bad, valid) = (array.is_bad[block.at()], array.valid[block.at()]);
            if is_bad || valid > 0 {
                let why = if is_bad { "bad".to_owned() } else { format!("there with {valid} valid pages") };
                return Err(Wrong::new(format!("block {}, which is {why}", block.0), "a block without valid pages"));
            }
            array.free_blocks += u64::from(array.programmed[block.at()] > 0);
            array.programmed[block.at()] = 0;
            array.commands.push(Command::Erase { block });
            Ok(())
        })
    }

    fn valid_pages(&self, block: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let block = self.block("valid_pages", block)?;
        let array = self.opened()?;
        let pages = (0..array.programmed[block.at()]).map(|page| self.geometry.page(block, page));
        Ok(pages.filter(|ppn| array.lpns[ppn.at()].is_some()).map(|ppn| ppn.0).collect())
    }

    fn lpn_of(&self, ppn: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        let pages = self.geometry.total_pages() as usize;
        let ppn = self.number("lpn_of", ppn, pages, &format!("a physical page from 0 to {}", pages - 1))?;
        let lpn = self.opened()?.lpns[ppn as usize];
        Ok(lpn.is_some().then_some(lpn.0))
    }
}
