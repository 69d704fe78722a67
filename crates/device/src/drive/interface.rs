//! The host interface of a drive: commands come in, their data crosses the link, and they go back when they have ended.

use flashloom_host::{Dispatched, RequestId};
use flashloom_nand::Lpn;
use flashloom_units::{GIB, Kind, Ns, S, SECTOR_BYTES, Value, params};
use flashloom_workload::Op;

use super::commands::{CommandId, Commands, Stage};
use super::flash::Flash;
use super::link::{Link, Way};
use super::paging::Paging;
use super::timers::Timers;
use crate::event::DriveEvent;
use crate::status::{Reason, Status};

params! {
    /// Parameters of the host interface, the link and the controller: keys of the `[device]` section.
    pub struct InterfaceParams {
        /// Data rate of the host link.
        link_rate: u64 => "link_rate", Kind::Rate { min: 1_000, max: 1_000 * GIB }, Value::Rate(3_500_000_000), "";
        /// Whether the host link carries both directions at once.
        full_duplex: bool => "full_duplex", Kind::Flag, Value::Flag(true),
            "SATA takes turns, PCIe does not.";
        /// Time of the controller for each request, before anything else happens to it.
        controller_ns: Ns => "controller_time", Kind::Time { min: 0, max: S }, Value::Time(0),
            "Adds to every latency; requests do not queue for it.";
    }
}

/// The command table, and the controller and the link that its commands pass.
pub(super) struct HostInterface {
    pub(super) commands: Commands,
    link: Link,
    controller_ns: Ns,
    /// When the controller is done with commands, and when transfers end.
    timers: Timers,
    /// Commands that have ended, until the host takes them.
    completed: Vec<(RequestId, Status)>,
    unmapped_read_sectors: u64,
}

flashloom_units::state! {
    HostInterface {
        nested commands, link, timers;
        value completed, unmapped_read_sectors;
        fixed controller_ns;
    }
}

/// Commands on their way in.
impl HostInterface {
    pub(super) fn new(params: &InterfaceParams, paging: Paging) -> Self {
        Self {
            commands: Commands::new(paging),
            link: Link::new(params),
            controller_ns: params.controller_ns,
            timers: Timers::default(),
            completed: Vec::new(),
            unmapped_read_sectors: 0,
        }
    }

    /// Takes a command of the host.
    #[inline]
    pub(super) fn accept(&mut self, request: &Dispatched, flash: &mut Flash) -> CommandId {
        let id = self.commands.insert(request);
        flash.tell(|| DriveEvent::Accepted { command: id, id: request.id });
        id
    }

    /// Has the controller take its time for a command; false if it takes none.
    #[inline]
    pub(super) fn enter_controller(&mut self, now: Ns, id: CommandId) -> bool {
        if self.controller_ns > 0 {
            self.timers.set(now + self.controller_ns, id);
        }
        self.controller_ns > 0
    }

    /// Sends the data of a write over the link to the drive.
    #[inline(always)] // With `Drive::commanded`.
    pub(super) fn fetch_data(&mut self, now: Ns, id: CommandId) {
        let command = &mut self.commands[id];
        command.stage = Stage::Arriving;
        let arrives = self.link.transfer(now, u64::from(command.sectors) * SECTOR_BYTES, Way::ToDevice);
        self.timers.set(arrives, id);
    }

    /// When the next command is due: the controller is done with it, or a transfer of it ends; [`Ns::MAX`] if none is.
    #[inline]
    pub(super) fn next_event_ns(&self) -> Ns {
        self.timers.next_ns()
    }

    /// Takes the next command that is due, which must be now.
    #[inline]
    pub(super) fn take_due(&mut self, now: Ns) -> Option<CommandId> {
        let (at, id) = self.timers.take()?;
        debug_assert_eq!(at, now, "commands go on when they are due");
        Some(id)
    }
}

/// Commands on their way out.
impl HostInterface {
    /// Nothing is stored for these sectors of a read.
    pub(super) fn read_unmapped(&mut self, lpn: Lpn, mask: u32, flash: &mut Flash) {
        self.unmapped_read_sectors += u64::from(mask.count_ones());
        flash.tell(|| DriveEvent::ReadUnmapped { lpn, mask });
    }

    /// A page of a read is in the controller and crosses the link, or a page of a write is in flash. With the last page
    /// the command is finished.
    pub(super) fn page_done(&mut self, now: Ns, id: CommandId, flash: &mut Flash) {
        let is_last = self.commands.page_ended(id);
        let command = &mut self.commands[id];
        if command.op == Op::Read && flash.is_timed() {
            let share = command.take_share();
            let (link, controller_ns) = (&self.link, self.controller_ns);
            flash.delivers(|| {
                let of_controller = controller_ns * u64::from(share) / u64::from(command.sectors);
                link.transfer_ns(u64::from(share) * SECTOR_BYTES) + of_controller
            });
            let at = self.link.transfer(now, u64::from(share) * SECTOR_BYTES, Way::ToHost);
            command.delivered_ns = command.delivered_ns.max(at);
        }
        if is_last {
            self.finish(now, id, flash);
        }
    }

    /// A page of a read is not there, and nothing of it crosses the link. The command fails with its last page.
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

    /// Everything is done but the last transfer, if that has not ended.
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

    /// Ends a command that nothing is under way for.
    pub(super) fn fail(&mut self, now: Ns, id: CommandId, reason: Reason, flash: &mut Flash) {
        self.commands[id].status = Status::Failed(reason);
        self.finish(now, id, flash);
    }

    /// A page that a write waits for will never be in flash. The write fails when nothing is under way for it any more;
    /// one that also stalls (`is_stalled`) fails with the others that do.
    pub(super) fn page_refused(&mut self, now: Ns, id: CommandId, is_stalled: bool, flash: &mut Flash) {
        self.commands[id].status = Status::Failed(Reason::EndOfLife);
        if self.commands.page_ended(id) && !is_stalled {
            self.finish(now, id, flash);
        }
    }

    /// The drive is done with a command.
    #[inline]
    pub(super) fn complete(&mut self, id: CommandId, flash: &mut Flash) {
        flash.tell(|| DriveEvent::Completed { command: id });
        let command = &self.commands[id];
        self.completed.push((command.id, command.status));
        self.commands.remove(id);
    }

    /// Whether there are commands that have ended.
    #[inline]
    pub(super) fn has_completed(&self) -> bool {
        !self.completed.is_empty()
    }

    /// Takes a command that has ended, and how.
    #[inline]
    pub(super) fn take_completed(&mut self) -> Option<(RequestId, Status)> {
        self.completed.pop()
    }

    /// Sectors that reads asked for and that nothing was stored for.
    pub(super) fn unmapped_read_sectors(&self) -> u64 {
        self.unmapped_read_sectors
    }
}
