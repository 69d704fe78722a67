//! The host interface of a drive: accepts commands, transfers their data over the link, and returns them when they end.

mod params;

use flashloom_host::{Dispatched, RequestId};
use flashloom_nand::Lpn;
use flashloom_units::{Ns, SECTOR_BYTES};
use flashloom_workload::Op;

use super::commands::{CommandId, Commands, Stage};
use super::controller::Controller;
use super::flash::Flash;
use super::front::Front;
use super::link::{Link, Way};
use super::paging::Paging;
use super::timers::Timers;
pub use params::InterfaceParams;

use crate::event::DriveEvent;
use crate::status::{Reason, Status};

/// The command table, with the controller and the link that commands pass through.
pub(super) struct HostInterface {
    /// Submission queues; `None` if every command is fetched at once.
    pub(super) front: Option<Box<Front>>,
    pub(super) commands: Commands,
    link: Link,
    controller: Controller,
    /// Whether the controller takes any time for commands.
    has_controller_time: bool,
    /// Timers of commands in the controller and of transfers on the link.
    pub(super) timers: Timers,
    /// Ended commands that the host has not taken yet.
    pub(super) completed: Vec<(RequestId, Status)>,
    /// Sectors read that were not mapped.
    pub(super) unmapped_read_sectors: u64,
}

flashloom_units::state! {
    HostInterface {
        nested front, commands, link, controller, timers;
        value completed, unmapped_read_sectors;
        fixed has_controller_time;
    }
}

/// Incoming commands.
impl HostInterface {
    pub(super) fn new(params: &InterfaceParams, paging: Paging, front: Option<Front>) -> Self {
        Self {
            front: front.map(Box::new),
            commands: Commands::new(paging),
            link: Link::new(params),
            controller: Controller::new(params),
            has_controller_time: params.controller_ns > 0 || params.controller_page_ns > 0,
            timers: Timers::default(),
            completed: Vec::new(),
            unmapped_read_sectors: 0,
        }
    }

    /// Takes a command from the host, to its submission queue if there are any.
    #[inline]
    pub(super) fn accept(&mut self, request: &Dispatched, flash: &mut Flash) -> CommandId {
        let id = self.commands.insert(request);
        flash.tell(|| DriveEvent::Accepted { command: id, id: request.id });
        if let Some(front) = &mut self.front {
            front.submit(request.queue, id);
        }
        id
    }

    /// Fetches the next command of the submission queues, if there is room for one.
    pub(super) fn fetch(&mut self, flash: &mut Flash) -> Option<CommandId> {
        let id = self.front.as_mut()?.fetch()?;
        flash.tell(|| DriveEvent::Fetched { command: id });
        Some(id)
    }

    /// Starts the controller time of a command; returns false if it is zero.
    #[inline]
    pub(super) fn enter_controller(&mut self, now: Ns, id: CommandId) -> bool {
        if self.has_controller_time {
            let done_ns = self.controller.enter(now, self.commands.data_pages(id));
            self.timers.set(done_ns, id);
        }
        self.has_controller_time
    }

    /// Transfers the data of a write over the link to the drive.
    #[inline(always)] // With `Drive::commanded`.
    pub(super) fn fetch_data(&mut self, now: Ns, id: CommandId) {
        let command = &mut self.commands[id];
        command.stage = Stage::Arriving;
        let arrives = self.link.transfer(now, u64::from(command.sectors) * SECTOR_BYTES, true, Way::ToDevice);
        self.timers.set(arrives, id);
    }

    /// Takes the next command whose timer is due, which must be now.
    #[inline]
    pub(super) fn take_due(&mut self, now: Ns) -> Option<CommandId> {
        let (at, id) = self.timers.take()?;
        debug_assert_eq!(at, now, "commands go on when they are due");
        Some(id)
    }
}

/// Outgoing commands.
impl HostInterface {
    /// Serves sectors of a read that are not mapped.
    pub(super) fn read_unmapped(&mut self, id: CommandId, lpn: Lpn, mask: u32, flash: &mut Flash) {
        self.unmapped_read_sectors += u64::from(mask.count_ones());
        flash.tell(|| DriveEvent::ReadUnmapped { command: id, lpn, mask });
    }

    /// Handles a page of a read that has reached the controller and crosses the link, or a page of a write that is on
    /// flash. The command ends with its last page.
    pub(super) fn page_done(&mut self, now: Ns, id: CommandId, flash: &mut Flash) {
        let is_last = self.commands.page_ended(id);
        let command = &mut self.commands[id];
        if command.op == Op::Read && flash.nand.is_timed() {
            let is_first = command.delivered_ns == 0;
            let share = command.take_share();
            let bytes = u64::from(share) * SECTOR_BYTES;
            let (link, controller, commands) = (&self.link, &self.controller, &self.commands);
            flash.delivers(|| {
                let of_controller = controller.share_ns(commands.data_pages(id), share, commands[id].sectors);
                link.transfer_ns(bytes, is_first) + of_controller
            });
            let at = self.link.transfer(now, bytes, is_first, Way::ToHost);
            let command = &mut self.commands[id];
            command.delivered_ns = command.delivered_ns.max(at);
        }
        if is_last {
            self.finish(now, id, flash);
        }
    }

    /// Handles a page of a read that could not be read; nothing crosses the link. The command fails with its last page.
    #[cold]
    pub(super) fn page_unreadable(&mut self, now: Ns, id: CommandId, flash: &mut Flash) {
        let is_last = self.commands.page_ended(id);
        let command = &mut self.commands[id];
        command.take_share();
        command.status = command.status.and(Status::Failed(Reason::Unreadable));
        if is_last {
            self.finish(now, id, flash);
        }
    }

    /// Reads the sectors that a command asked for by themselves, because others of their page could not be read; there
    /// may be none left.
    #[cold]
    pub(super) fn read_again(&mut self, now: Ns, id: CommandId, lpn: Lpn, mask: u32, flash: &mut Flash) {
        if mask == 0 {
            self.page_done(now, id, flash);
        } else if flash.ftl.is_mapped(lpn) {
            flash.read(now, id, lpn, mask, None);
        } else {
            self.read_unmapped(id, lpn, mask, flash);
            self.page_done(now, id, flash);
        }
    }

    /// Completes a command, or waits for its last transfer if that is still in progress.
    #[inline]
    pub(super) fn finish(&mut self, now: Ns, id: CommandId, flash: &mut Flash) {
        let command = &mut self.commands[id];
        command.stage = Stage::Completing;
        if command.delivered_ns > now {
            self.timers.set(command.delivered_ns, id);
        } else {
            self.complete(id, flash);
        }
    }

    /// Fails a command that has no outstanding operations.
    pub(super) fn fail(&mut self, now: Ns, id: CommandId, reason: Reason, flash: &mut Flash) {
        self.commands[id].status = Status::Failed(reason);
        self.finish(now, id, flash);
    }

    /// Handles a page of a write that will never be on flash. The write fails when it has no outstanding operations; if
    /// it also stalls (`is_stalled`), it fails together with the other stalled writes.
    pub(super) fn page_refused(&mut self, now: Ns, id: CommandId, is_stalled: bool, flash: &mut Flash) {
        self.commands[id].status = Status::Failed(Reason::EndOfLife);
        if self.commands.page_ended(id) && !is_stalled {
            self.finish(now, id, flash);
        }
    }

    /// Ends a command and frees its id.
    #[inline]
    pub(super) fn complete(&mut self, id: CommandId, flash: &mut Flash) {
        flash.tell(|| DriveEvent::Completed { command: id });
        let command = &self.commands[id];
        self.completed.push((command.id, command.status));
        if let Some(front) = &mut self.front {
            front.ended();
        }
        self.commands.remove(id);
    }
}
