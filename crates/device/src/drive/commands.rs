//! The command table: outstanding commands by the id that the drive gives each of them.

use std::ops::{Index, IndexMut, Range};

use flashloom_host::{Dispatched, RequestId};
use flashloom_nand::Lpn;
use flashloom_units::Ns;
use flashloom_workload::{Op, Request};
use serde::{Deserialize, Serialize};

use super::paging::Paging;
use crate::status::Status;

flashloom_units::ids! {
    /// An outstanding command in the drive's table. The id is reused after the command has ended.
    CommandId,
}

/// A command that the drive holds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Command {
    /// The host's id.
    pub(super) id: RequestId,
    pub(super) op: Op,
    flags: u8,
    pub(super) stage: Stage,
    /// How it will end. A command that has failed ends when none of its operations is outstanding.
    pub(super) status: Status,
    pub(super) lba: u64,
    pub(super) sectors: u32,
    /// Pages of a write that have slots, or sectors of a read that are on the link.
    pub(super) moved: u32,
    /// Page operations that it still waits for.
    pub(super) pending: u32,
    /// Time at which the read data now on the link will have crossed it.
    pub(super) delivered_ns: Ns,
    /// Next free id, while this one is free.
    next_free: CommandId,
}

impl Command {
    /// Whether it is a FUA write, which completes when its pages are on flash.
    pub(super) fn is_durable(&self) -> bool {
        self.flags & Request::FUA != 0
    }

    /// Sectors attributed to each ended page of a read: equal shares in any order, because a page does not know its
    /// position in the command.
    #[inline(always)]
    pub(super) fn take_share(&mut self) -> u32 {
        let share = (self.sectors - self.moved).div_ceil(self.pending + 1);
        self.moved += share;
        share
    }

    /// Whether it begins only when all earlier writes are on flash (PREFLUSH).
    pub(super) fn has_preflush(&self) -> bool {
        self.flags & Request::PREFLUSH != 0
    }
}

/// Stage of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// Being processed by the controller.
    Commanded,
    /// The data of a write is crossing the link to the drive.
    Arriving,
    /// Waiting for evicted pages to be programmed before its data is stored.
    Flushing,
    /// Storing or delivering data.
    Transferring,
    /// Only the last transfer is left.
    Completing,
}

/// The outstanding commands. Free ids form a list, the one freed last first.
pub(super) struct Commands {
    table: Vec<Command>,
    free: CommandId,
    /// Number of outstanding commands.
    pub(super) held: u32,
    /// Conversion of their sectors to pages.
    paging: Paging,
}

flashloom_units::state! { Commands { value table, free, held; fixed paging; } }

impl Commands {
    pub(super) fn new(paging: Paging) -> Self {
        Self { table: Vec::new(), free: CommandId::NONE, held: 0, paging }
    }

    /// Gives a command an id.
    #[inline]
    pub(super) fn insert(&mut self, request: &Dispatched) -> CommandId {
        let command = Command {
            id: request.id,
            op: request.op,
            flags: request.flags,
            stage: Stage::Commanded,
            status: Status::DONE,
            lba: request.lba,
            sectors: request.sectors,
            moved: 0,
            pending: 0,
            delivered_ns: 0,
            next_free: CommandId::NONE,
        };
        self.held += 1;
        if self.free == CommandId::NONE {
            self.table.push(command);
            return CommandId(self.table.len() as u32 - 1);
        }
        let id = self.free;
        self.free = self[id].next_free;
        self[id] = command;
        id
    }

    /// Frees the id of a command.
    #[inline]
    pub(super) fn remove(&mut self, id: CommandId) {
        self[id].next_free = self.free;
        self.free = id;
        self.held -= 1;
    }

    /// The first page that a command touches.
    #[inline]
    pub(super) fn first_page(&self, id: CommandId) -> Lpn {
        self.paging.page_of(self[id].lba)
    }

    /// Number of pages that a command touches, wholly or in part.
    #[inline]
    pub(super) fn page_count(&self, id: CommandId) -> u32 {
        let Command { lba, sectors, .. } = self[id];
        self.paging.count(lba, sectors)
    }

    /// The number of pages that a read or a write touches, whole or in part; 0 for other commands.
    #[inline]
    pub(super) fn data_pages(&self, id: CommandId) -> u32 {
        if matches!(self[id].op, Op::Read | Op::Write) { self.page_count(id) } else { 0 }
    }

    /// The pages that a command touches, after skipping some at the start, and the touched sectors of each.
    #[inline]
    pub(super) fn pages_from(&self, id: CommandId, first: u32) -> impl Iterator<Item = (Lpn, u32)> + use<> {
        let Command { lba, sectors, .. } = self[id];
        let paging = self.paging;
        (first..paging.count(lba, sectors)).map(move |index| paging.nth(lba, sectors, index))
    }

    /// The pages that a command touches, and the touched sectors of each. The command waits for all of them from now
    /// on.
    #[inline]
    pub(super) fn await_pages(&mut self, id: CommandId) -> impl Iterator<Item = (Lpn, u32)> + use<> {
        self[id].pending = self.page_count(id);
        self.pages_from(id, 0)
    }

    /// The pages of a write that have no slot yet.
    pub(super) fn unstored_pages(&self, id: CommandId) -> Range<u32> {
        let first = self.first_page(id).0;
        first + self[id].moved..first + self.page_count(id)
    }

    /// The pages that a command covers completely.
    pub(super) fn whole_pages(&self, id: CommandId) -> impl Iterator<Item = Lpn> + use<> {
        let Command { lba, sectors, .. } = self[id];
        self.paging.whole(lba, sectors)
    }

    /// Counts one page that a command waits for as done; returns whether it was the last.
    #[inline]
    pub(super) fn page_ended(&mut self, id: CommandId) -> bool {
        let command = &mut self[id];
        command.pending -= 1;
        command.pending == 0
    }
}

impl Index<CommandId> for Commands {
    type Output = Command;

    #[inline]
    fn index(&self, id: CommandId) -> &Command {
        &self.table[id.0 as usize]
    }
}

impl IndexMut<CommandId> for Commands {
    #[inline]
    fn index_mut(&mut self, id: CommandId) -> &mut Command {
        &mut self.table[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dispatched(op: Op, lba: u64, sectors: u32) -> Dispatched {
        Dispatched::new(RequestId(7), &Request::new(op, lba, sectors))
    }

    #[test]
    fn the_number_that_became_free_last_is_given_first() {
        let mut commands = Commands::new(Paging::new(16));
        let [a, b, c] = [0, 16, 32].map(|lba| commands.insert(&dispatched(Op::Read, lba, 8)));
        assert_eq!([a, b, c], [0, 1, 2].map(CommandId));
        commands.remove(a);
        commands.remove(c);
        let again = [48, 64, 80].map(|lba| commands.insert(&dispatched(Op::Read, lba, 8)));
        assert_eq!((again, commands.held), ([c, a, CommandId(3)], 4));
        assert_eq!((commands[c].lba, commands[a].lba), (48, 64));
    }

    #[test]
    fn a_command_that_waits_for_its_pages_waits_for_each() {
        let mut commands = Commands::new(Paging::new(16));
        let id = commands.insert(&dispatched(Op::Read, 8, 16));
        assert_eq!(commands.await_pages(id).collect::<Vec<_>>(), [(Lpn(0), 0xff00), (Lpn(1), 0x00ff)]);
        assert_eq!([commands.page_ended(id), commands.page_ended(id)], [false, true]);
        assert_eq!(commands.pages_from(id, 1).collect::<Vec<_>>(), [(Lpn(1), 0x00ff)]);
        assert_eq!(commands.whole_pages(id).count(), 0);
    }
}
