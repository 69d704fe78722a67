//! What happens in a stack, as those who look are told of it.

use flashloom_buffer::SlotId;
use flashloom_host::{Dispatched, RequestId};
use flashloom_nand::{HostPage, Lpn};
use flashloom_workload::Request;

use crate::drive::CommandId;
use crate::status::Status;

/// Something that happened in a stack.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A request is in the block layer, or with a drive that has none.
    Admitted {
        /// Its number among the requests that have not ended; used again after that.
        member: u32,
        /// As the workload issued it.
        request: Request,
    },
    /// A command goes to the drive.
    Dispatched(Dispatched),
    /// A command has come back.
    Returned {
        /// Which command.
        id: RequestId,
        /// How it ended.
        status: Status,
    },
    /// A request that was part of the command that came back last has ended.
    Ended {
        /// Its number.
        member: u32,
    },
    /// Something that happened in the drive.
    Drive(DriveEvent),
    /// Something that happened in the array.
    Flash(flashloom_nand::Event),
}

/// Something that happened in a drive. Commands are named by the number that the drive gives them, which is the tag of
/// the flash operations that they wait for, and is used again when the drive is done with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriveEvent {
    /// The drive takes a command.
    Accepted {
        /// The drive's number for it.
        command: CommandId,
        /// The host's.
        id: RequestId,
    },
    /// The controller is done with a command, and the data of a write begins to cross the link.
    Commanded {
        /// Which command.
        command: CommandId,
    },
    /// A command, with the data of a write, is in the drive.
    Arrived {
        /// Which command.
        command: CommandId,
    },
    /// What a command's flush waited for is in flash.
    Flushed {
        /// Which command.
        command: CommandId,
    },
    /// The buffer returns sectors of a page.
    ReadBuffered {
        /// Which page.
        lpn: Lpn,
        /// Which of its sectors.
        mask: u32,
        /// Where they are.
        slot: SlotId,
    },
    /// A read asks for sectors of a page that nothing is mapped to.
    ReadUnmapped {
        /// Which page.
        lpn: Lpn,
        /// Which of its sectors.
        mask: u32,
    },
    /// The FTL is asked for sectors of a page.
    ReadFlash {
        /// For which command.
        command: CommandId,
        /// Which page.
        lpn: Lpn,
        /// Which of its sectors.
        mask: u32,
        /// Where the page is kept, if it is: then it is read whole.
        slot: Option<SlotId>,
    },
    /// A page of a write is in a slot of the buffer.
    Stored {
        /// Of which command.
        command: CommandId,
        /// Which page.
        lpn: Lpn,
        /// Which of its sectors.
        mask: u32,
        /// Its slot.
        slot: SlotId,
        /// The slot that its other sectors were taken over from, where the page was on its way to flash.
        taken_over: Option<SlotId>,
        /// Whether the command waits until it is in flash (FUA).
        is_durable: bool,
    },
    /// All pages of a write are in the buffer.
    StoredAll {
        /// Of which command.
        command: CommandId,
    },
    /// A page of the host goes to the FTL without the buffer.
    WrittenThrough {
        /// Of which command; none while the drive is aged.
        command: Option<CommandId>,
        /// Which page, which of its sectors, and which write of the drive.
        page: HostPage,
    },
    /// A page of the buffer goes to the FTL.
    Evicted {
        /// Its slot; none for padding, a page that the FTL reads and writes again.
        slot: Option<SlotId>,
        /// Which page, which of its sectors the buffer holds, and which write of the drive.
        page: HostPage,
    },
    /// The drive is done with a command; its number is free.
    Completed {
        /// Which command.
        command: CommandId,
    },
    /// A page is discarded, whole.
    Discarded {
        /// Which page.
        lpn: Lpn,
    },
    /// A page that only the FTL had cannot be stored.
    WriteFailed {
        /// Which page.
        lpn: Lpn,
        /// Which of its sectors were to be written.
        mask: u32,
    },
}

/// What an observer wants to be told. What nobody wants costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// The state after every interval of simulated time, or of pages
    /// ([`Simulation::with_samples_by_pages`](crate::Simulation::with_samples_by_pages)), and at the end. Of a
    /// silence of more than a thousand intervals only the first and the last have one.
    pub samples: bool,
    /// Everything that happens.
    pub events: bool,
    /// Requests that have ended. Those of an engine come with their anatomy, if it takes time and is watched from its
    /// first request on, and otherwise not at all. Of a target that tells nothing, all time from the acceptance of a
    /// request on is [`Cause::Served`](crate::Cause::Served).
    pub served: bool,
}
