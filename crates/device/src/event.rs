//! Events of the whole stack, for observers.

use flashloom_buffer::SlotId;
use flashloom_host::{Dispatched, RequestId};
use flashloom_nand::{HostPage, Lpn};
use flashloom_workload::Request;

use crate::drive::CommandId;
use crate::status::Status;

/// An event of host, drive or array.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A request was admitted to the block layer, or to a drive without one.
    Admitted {
        /// Number of the request; reused after it has ended.
        member: u32,
        /// The request as the workload issued it.
        request: Request,
    },
    /// A command was dispatched to the drive.
    Dispatched(Dispatched),
    /// A command has completed or failed.
    Returned {
        /// The command's number at the host.
        id: RequestId,
        /// Its outcome.
        status: Status,
    },
    /// A request of the command of the last [`Self::Returned`] has ended.
    Ended {
        /// Number of the request.
        member: u32,
    },
    /// An event of the drive.
    Drive(DriveEvent),
    /// An event of the array.
    Flash(flashloom_nand::Event),
}

/// An event of a drive. A command is identified by the drive's number for it, which is also the tag of the flash
/// operations that it waits for, and is reused after [`Self::Completed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriveEvent {
    /// The drive accepts a command.
    Accepted {
        /// The drive's number for the command.
        command: CommandId,
        /// The host's number for it.
        id: RequestId,
    },
    /// The drive fetches an accepted command from its submission queue; only with `device.front_commands`.
    Fetched {
        /// The drive's number for the command.
        command: CommandId,
    },
    /// The controller has processed a command. If it is a write, its data starts to cross the link.
    Commanded {
        /// The drive's number for the command.
        command: CommandId,
    },
    /// A command has arrived in the drive, with its data if it is a write.
    Arrived {
        /// The drive's number for the command.
        command: CommandId,
    },
    /// The pages that a command's flush waited for are in flash.
    Flushed {
        /// The drive's number for the command.
        command: CommandId,
    },
    /// The buffer returns sectors of a page.
    ReadBuffered {
        /// The command.
        command: CommandId,
        /// The logical page.
        lpn: Lpn,
        /// Mask of the sectors.
        mask: u32,
        /// The slot that holds them.
        slot: SlotId,
    },
    /// A read of sectors of an unmapped page.
    ReadUnmapped {
        /// The command.
        command: CommandId,
        /// The logical page.
        lpn: Lpn,
        /// Mask of the sectors.
        mask: u32,
    },
    /// A read of sectors of a page through the FTL.
    ReadFlash {
        /// The command.
        command: CommandId,
        /// The logical page.
        lpn: Lpn,
        /// Mask of the sectors.
        mask: u32,
        /// The slot that the page is cached in; the page is then read whole. `None` if it is not cached.
        slot: Option<SlotId>,
    },
    /// A page is read ahead into a slot of the read cache.
    ReadAhead {
        /// The logical page, which is read whole.
        lpn: Lpn,
        /// Its slot; the numbers of these slots follow those of the buffer.
        slot: SlotId,
    },
    /// The read cache returns sectors of a page.
    ReadCached {
        /// The command.
        command: CommandId,
        /// The logical page.
        lpn: Lpn,
        /// Mask of the sectors.
        mask: u32,
        /// The slot that holds them.
        slot: SlotId,
        /// Whether they are there; otherwise the command waits until the page has been read.
        is_ready: bool,
    },
    /// A page that a command waits for has been read into the read cache.
    CacheFilled {
        /// The command.
        command: CommandId,
    },
    /// A page of a write is in a slot of the buffer.
    Stored {
        /// The drive's number for the command.
        command: CommandId,
        /// The logical page.
        lpn: Lpn,
        /// Mask of the sectors.
        mask: u32,
        /// Its slot.
        slot: SlotId,
        /// The slot that its other sectors were copied from, if the page was on its way to flash.
        taken_over: Option<SlotId>,
        /// True if the command waits until the page is in flash (FUA).
        is_durable: bool,
    },
    /// All pages of a write are in the buffer.
    StoredAll {
        /// The drive's number for the command.
        command: CommandId,
    },
    /// A page of the host is written to the FTL without a buffer.
    WrittenThrough {
        /// The command; `None` while the drive is aged.
        command: Option<CommandId>,
        /// The page, the sectors written, and the number of the write.
        page: HostPage,
    },
    /// A page of the buffer is written to the FTL.
    Evicted {
        /// Its slot; `None` for padding, a page that the FTL reads and writes again.
        slot: Option<SlotId>,
        /// The page, the sectors that the buffer holds, and the number of the write.
        page: HostPage,
    },
    /// A command has ended in the drive; its number is free.
    Completed {
        /// The drive's number for the command.
        command: CommandId,
    },
    /// A whole page is discarded.
    Discarded {
        /// The logical page.
        lpn: Lpn,
    },
    /// A page that no slot holds was refused by flash.
    WriteFailed {
        /// The logical page.
        lpn: Lpn,
        /// Mask of the sectors that could not be written.
        mask: u32,
    },
}

/// The calls that an observer wants to receive. Events that no observer wants are not recorded and cost nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Samples of the state after every interval of simulated time, or of pages
    /// ([`Simulation::with_samples_by_pages`](crate::Simulation::with_samples_by_pages)), and at the end. Of more than
    /// a thousand intervals in a row without events, only the first and the last are sampled.
    pub samples: bool,
    /// All events.
    pub events: bool,
    /// Requests that have ended. Those of an engine come with their anatomy, and only if it is timed and observed from
    /// its first request on. For a target that reports no events, all time after the acceptance of a request is
    /// [`Cause::Served`](crate::Cause::Served).
    pub served: bool,
}
