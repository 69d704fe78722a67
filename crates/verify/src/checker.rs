//! The NAND checker: the rules of the chips.
//!
//! Commands are checked at the time when they start and end. Rejected are the program of a page that is not erased or
//! not the next of its block, the read of a page that was never programmed, any command to a block that is being erased
//! or an erase under a running command, and the program or erase of a bad block. On an array with another cell mode
//! also a command in another mode than the one in which the first page of its block was programmed, the program of a
//! page that the mode does not have, and a copy within a die between the modes.

use flashloom_nand::{BlockId, CellMode, Command, Event, Geometry, Nand, OperationKind, Origin, Ppn};
use flashloom_units::{Reader, State, StateError, Violation, Writer, violation};
use serde::{Deserialize, Serialize};

/// Per-block state: its write pointer, the commands that run on it, and whether it is bad.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Block {
    /// Pages whose program has started since the last erase.
    started: u32,
    /// Pages whose program has ended since the last erase.
    ended: u32,
    reading: u32,
    erasing: bool,
    /// Bad from the factory, or since a program or an erase failed.
    bad: bool,
}

/// The cell modes that the blocks are in.
#[derive(Debug)]
struct Modes {
    /// Pages of a block in the other mode.
    pages: u32,
    /// Whether each block is in the other mode.
    in_other: Vec<bool>,
}

/// [`Modes`] of an array that has another cell mode. Without one there is nothing to save.
#[derive(Debug)]
struct MaybeModes(Option<Modes>);

impl State for MaybeModes {
    fn save(&self, to: &mut Writer) {
        self.0.iter().for_each(|modes| modes.in_other.save(to));
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        self.0.iter_mut().try_for_each(|modes| modes.in_other.load(from))
    }
}

impl MaybeModes {
    fn is_in_other(&self, block: BlockId) -> bool {
        self.0.as_ref().is_some_and(|modes| modes.in_other[block.at()])
    }
}

/// The NAND checker: follows every command of an array, and keeps the first violation of a chip rule.
#[derive(Debug)]
pub struct Checker {
    geometry: Geometry,
    blocks: Vec<Block>,
    modes: MaybeModes,
    violation: Option<String>,
}

flashloom_units::state! { Checker { value violation; array blocks; nested modes; fixed geometry; } }

impl Checker {
    /// Makes a checker for an erased array; `bad` marks the factory bad blocks, one entry a block. `other` is the
    /// array's other cell mode.
    pub fn new(geometry: Geometry, bad: &[bool], other: Option<CellMode>) -> Self {
        let blocks = bad.iter().map(|&bad| Block { bad, ..Block::default() }).collect();
        let modes = other.map(|CellMode { pages, .. }| Modes { pages, in_other: vec![false; bad.len()] });
        Self { geometry, blocks, modes: MaybeModes(modes), violation: None }
    }

    /// The first violation, in words; none so far if there was none.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Checks what was loaded, against the array that was loaded with it: nothing runs, and as many pages are
    /// programmed as the array says.
    pub(crate) fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        let is_as = |(id, &Block { started, ended, reading, erasing, bad }): (u32, &Block)| {
            let block = BlockId(id);
            if started > 0 && self.modes.is_in_other(block) != nand.has_other_cells(block) {
                return false;
            }
            let (written, is_bad) = (nand.written(block), nand.is_bad(block));
            (started, ended, reading, erasing, bad) == (written, written, 0, false, is_bad)
        };
        match (0..).zip(&self.blocks).position(|block| !is_as(block)) {
            Some(block) => Err(violation!("verification: block {block} is in another state than in the array")),
            None => Ok(()),
        }
    }

    fn reject(&mut self, what: impl FnOnce() -> String) {
        self.violation.get_or_insert_with(what);
    }

    /// Checks an event of the array.
    pub fn flash(&mut self, event: &Event) {
        match *event {
            Event::Started { command, .. } => {
                let Command { kind, ppn, from, block, .. } = command;
                self.check_mode(&command);
                self.start(kind, ppn, from, block);
            }
            Event::Ended { command, failed } => self.end(&command, failed),
            _ => {}
        }
    }

    fn check_mode(&mut self, command: &Command) {
        let Command { kind, ppn, from, block, in_other_mode, .. } = *command;
        let page = self.geometry.page_in_block(ppn);
        let programs = matches!(kind, OperationKind::Program | OperationKind::Copyback);
        let Some(modes) = &mut self.modes.0 else {
            if in_other_mode {
                self.reject(|| format!("{kind:?} on block {} in a cell mode that the array does not have", block.0));
            }
            return;
        };
        if programs && page == 0 {
            modes.in_other[block.at()] = in_other_mode;
        }
        let (pages, is_in_other) = (modes.pages, modes.in_other[block.at()]);
        // An erased block is in no mode yet.
        let has_mode = kind != OperationKind::Erase || self.blocks[block.at()].started > 0;
        if has_mode && in_other_mode != is_in_other {
            self.reject(|| format!("{kind:?} on block {}, which is in another cell mode", block.0));
        }
        if programs && in_other_mode && page >= pages {
            self.reject(|| format!("program of page {page} of block {}, which has {pages} in its mode", block.0));
        }
        if kind == OperationKind::Copyback && self.modes.is_in_other(self.geometry.block_of(from)) != in_other_mode {
            self.reject(|| format!("copy within a die to block {}, from another cell mode", block.0));
        }
    }

    fn start(&mut self, kind: OperationKind, ppn: Ppn, from: Ppn, block: BlockId) {
        let page = self.geometry.page_in_block(ppn);
        let state = self.blocks[block.at()];
        if state.erasing {
            return self.reject(|| format!("{kind:?} on block {}, which is being erased", block.0));
        }
        if state.bad && kind != OperationKind::Read {
            return self.reject(|| format!("{kind:?} on block {}, which is bad", block.0));
        }
        match kind {
            OperationKind::Read => {
                if page >= state.ended {
                    self.reject(|| format!("read of page {page} of block {}, which is not programmed", block.0));
                }
                self.blocks[block.at()].reading += 1;
            }
            OperationKind::Program | OperationKind::Copyback => {
                if page != state.started {
                    let next = state.started;
                    self.reject(|| format!("program of page {page} of block {}, whose next page is {next}", block.0));
                }
                self.blocks[block.at()].started += 1;
                if kind == OperationKind::Copyback {
                    self.start(OperationKind::Read, from, Ppn::NONE, self.geometry.block_of(from));
                }
            }
            OperationKind::Erase => {
                if state.reading > 0 || state.started != state.ended {
                    self.reject(|| format!("erase of block {} under a command that runs on it", block.0));
                }
                self.blocks[block.at()].erasing = true;
            }
            OperationKind::Hold => {
                self.reject(|| format!("a hold on block {} reached the chips as a command", block.0));
            }
        }
    }

    fn end(&mut self, command: &Command, failed: bool) {
        let Command { kind, from, lpn, block, origin, .. } = *command;
        match kind {
            OperationKind::Read => self.blocks[block.at()].reading -= 1,
            OperationKind::Erase => {
                let bad = self.blocks[block.at()].bad || failed;
                self.blocks[block.at()] = Block { bad, ..Block::default() };
            }
            OperationKind::Program | OperationKind::Copyback => {
                self.blocks[block.at()].ended += 1;
                self.blocks[block.at()].bad |= failed;
                if kind == OperationKind::Copyback {
                    self.blocks[self.geometry.block_of(from).at()].reading -= 1;
                }
                // What is beneath a partial write of a page or a mapping unit, or an older page of the map, was read by
                // a command of its own, which may have found it elsewhere.
                let is_read_apart = matches!(origin, Origin::Host | Origin::Map) && kind == OperationKind::Program;
                if from.is_some() && lpn.is_none() && !is_read_apart {
                    self.check_source(from);
                }
            }
            OperationKind::Hold => {}
        }
    }

    /// Rejects a copy whose source was erased before the copy was complete.
    fn check_source(&mut self, from: Ppn) {
        let source = self.blocks[self.geometry.block_of(from).at()];
        if self.geometry.page_in_block(from) >= source.ended {
            self.reject(|| format!("copy out of page {}, which was erased before the copy was whole", from.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use flashloom_nand::Shape;

    use super::*;

    /// The array asserts these too, so only a command that does not come through it can show that the checker does.
    #[test]
    fn commands_against_the_rules_of_the_chips_are_rejected() {
        let shape = Shape { channels: 1, ways: 1, dies: 1, planes: 1, blocks: 2, pages: 4, page_bytes: 512 };
        let rejected = |commands: &[(OperationKind, u32)]| {
            let mut checker = Checker::new(Geometry::new(shape), &[false; 2], None);
            commands.iter().for_each(|&(kind, page)| checker.start(kind, Ppn(page), Ppn::NONE, BlockId(0)));
            checker.violation.unwrap_or_default()
        };
        use OperationKind::{Erase, Hold, Program, Read};
        assert_eq!(rejected(&[(Program, 0), (Program, 1)]), "");
        assert!(rejected(&[(Program, 0), (Program, 0)]).contains("whose next page is 1"));
        assert!(rejected(&[(Program, 1)]).contains("whose next page is 0"));
        assert!(rejected(&[(Program, 0), (Read, 0)]).contains("not programmed"));
        assert!(rejected(&[(Program, 0), (Erase, 0)]).contains("under a command that runs on it"));
        assert!(rejected(&[(Erase, 0), (Program, 0)]).contains("which is being erased"));
        assert!(rejected(&[(Hold, 0)]).contains("reached the chips"));
    }
}
