//! Hand-computed waits with tR 50 us, tPROG 600 us, tBERS 3 ms, 10 us a page on the channel, and no command time.

use flashloom_nand::{BlockId, Data, Erase, MultiPlane, Nand, NandParams, OpId, PageCopy, Ppn, Program, Read, Suspend};
use flashloom_units::{MS, ParamSet, US};

use super::*;

const READ: Ns = 50 * US;
const PROGRAM: Ns = 600 * US;
const ERASE: Ns = 3 * MS;
const PAGE: Ns = 10 * US;

/// Blocks on another plane of the first die, and on the second die.
const PLANE: u32 = 4;
const DIE: u32 = 8;

/// One channel of two dies, each of two planes of four blocks of eight pages of 4 KiB.
fn device() -> NandParams {
    NandParams {
        channels: 1,
        ways: 2,
        dies: 1,
        planes: 2,
        blocks: 4,
        pages: 8,
        page_bytes: 4_096,
        read_ns: READ,
        program_ns: PROGRAM,
        erase_ns: ERASE,
        bus_rate: 409_600_000,
        multi_plane: MultiPlane::None,
        ..NandParams::defaults()
    }
}

/// An array whose blocks 0, [`PLANE`] and [`DIE`] have four programmed pages each, with its anatomy.
struct Lab {
    nand: Nand,
    flash: Flash,
    now: Ns,
    ended: Vec<(u32, Parts)>,
}

impl Lab {
    fn new(device: &NandParams) -> Self {
        let mut nand = Nand::new(device);
        for block in [0, PLANE, DIE].map(BlockId) {
            for page in 0..4 {
                nand.program(Program::new(block, page, Data::Filler, Origin::Host));
            }
        }
        nand.start_timing(device);
        nand.watch();
        Self { flash: Flash::new(nand.geometry()), nand, now: 0, ended: Vec::new() }
    }

    fn read(&mut self, block: u32, tag: u32) -> OpId {
        self.nand.read(Read { tag, ..Read::new(Ppn(block * 8), 0xff, Origin::Host) })
    }

    fn program(&mut self, block: u32, page: u32, origin: Origin, after: OpId, tag: u32) {
        self.nand.program(Program {
            after,
            tag,
            ..Program::new(BlockId(block), page, Data::Map { page: 0, base: Ppn::NONE }, origin)
        });
    }

    fn see(&mut self) {
        for event in self.nand.events().collect::<Vec<_>>() {
            let ended = self.flash.see(self.now, &event, |_| Parts::default());
            if let (Some(Ended { parts, issued_ns, .. }), Event::Ended { command, .. }) = (ended, event) {
                assert_eq!(parts.total(), self.now - issued_ns, "{command:?}: {parts:?}");
                self.ended.push((command.tag, parts));
            }
        }
    }

    /// Advances time to `to` and handles all events due before it.
    fn come_to(&mut self, to: Ns) {
        loop {
            let due = self.nand.next_event_ns();
            self.see();
            let Some(at) = due.filter(|&at| at <= to) else { break };
            self.now = at;
            self.nand.step(at, at);
            self.see();
        }
        if to != Ns::MAX {
            self.now = to;
            self.nand.set_now(to);
        }
    }

    /// Runs to the end; returns the parts of the operation with this tag.
    fn parts_of(&mut self, tag: u32) -> Vec<(Cause, Ns)> {
        self.come_to(Ns::MAX);
        let (_, parts) = self.ended.iter().find(|(of, _)| *of == tag).expect("it has ended");
        parts.iter().filter(|&(_, ns)| ns > 0).collect()
    }
}

#[test]
fn behind_others_on_the_die_and_on_the_channel() {
    let mut lab = Lab::new(&device());
    for (block, tag) in [(0, 1), (0, 2), (DIE, 3)] {
        lab.read(block, tag);
    }
    let served = (Cause::Served, READ + PAGE);
    assert_eq!(lab.parts_of(1), [served]);
    // The read on the other die transfers its data after the first read and before the second.
    assert_eq!(lab.parts_of(3), [(Cause::Channel, PAGE), served]);
    assert_eq!(lab.parts_of(2), [(Cause::HostRead, READ + PAGE), served]);
}

#[test]
fn a_read_waits_for_what_its_die_is_at_by_whose_work_it_is() {
    let causes = [
        (Origin::Host, Cause::HostProgram),
        (Origin::Gc, Cause::Collection),
        (Origin::Merge, Cause::Merge),
        (Origin::Map, Cause::Map),
        (Origin::Wear, Cause::Wear),
    ];
    for (origin, cause) in causes {
        let mut lab = Lab::new(&device());
        lab.program(0, 4, origin, OpId::DONE, 1);
        lab.come_to(100 * US);
        lab.read(0, 2);
        assert_eq!(lab.parts_of(2), [(cause, PAGE + PROGRAM - 100 * US), (Cause::Served, READ + PAGE)]);
    }
    let mut lab = Lab::new(&device());
    lab.nand.erase(Erase::new(BlockId(0), Origin::Gc));
    lab.come_to(MS);
    lab.read(PLANE, 2);
    assert_eq!(lab.parts_of(2), [(Cause::Erase, ERASE - MS), (Cause::Served, READ + PAGE)]);
}

/// 1 ms of the erase, 20 us to suspend it, the reads, 20 us to resume it, the rest of the erase; then a program that
/// waited for all of it.
#[test]
fn a_read_that_suspends_waits_for_the_suspension_and_what_is_suspended_for_the_read() {
    let mut lab = Lab::new(&NandParams { suspend: Suspend::Erase, suspend_ns: 20 * US, ..device() });
    lab.nand.erase(Erase::new(BlockId(0), Origin::Gc));
    lab.come_to(MS);
    lab.read(PLANE, 2);
    lab.read(PLANE, 3);
    lab.program(PLANE, 4, Origin::Host, OpId::DONE, 4);
    let served = (Cause::Served, READ + PAGE);
    assert_eq!(lab.parts_of(2), [(Cause::Suspension, 20 * US), served]);
    assert_eq!(lab.parts_of(3), [(Cause::HostRead, READ + PAGE), (Cause::Suspension, 20 * US), served]);
    let waited = [(Cause::HostRead, 2 * (READ + PAGE)), (Cause::Erase, ERASE - MS), (Cause::Suspension, 40 * US)];
    assert_eq!(lab.parts_of(4), [&waited[..], &[(Cause::Served, PAGE + PROGRAM)]].concat());
    let erase = [(Cause::HostRead, 2 * (READ + PAGE)), (Cause::Suspension, 40 * US), (Cause::Served, ERASE)];
    assert_eq!(lab.parts_of(Nand::NO_TAG), erase);
}

#[test]
fn the_transfer_of_a_staged_program_is_hidden_behind_the_program_before_it() {
    let mut lab = Lab::new(&NandParams { cache_program: true, ..device() });
    lab.program(0, 4, Origin::Gc, OpId::DONE, 1);
    lab.program(0, 5, Origin::Host, OpId::DONE, 2);
    assert_eq!(lab.parts_of(1), [(Cause::Served, PAGE + PROGRAM)]);
    assert_eq!(lab.parts_of(2), [(Cause::Collection, PAGE + PROGRAM), (Cause::Served, PROGRAM)]);
}

#[test]
fn what_waits_for_another_operation_has_the_parts_of_that_one() {
    let mut lab = Lab::new(&device());
    lab.program(DIE, 4, Origin::Gc, OpId::DONE, 1);
    lab.come_to(100 * US);
    let entry = lab.nand.read(Read::new(Ppn(DIE * 8), 0xff, Origin::Map));
    lab.program(0, 4, Origin::Host, entry, 2);
    // The map's read waits for the collection on its die, and is then executed.
    let left = PAGE + PROGRAM - 100 * US;
    let parts = [(Cause::Collection, left), (Cause::Map, READ + PAGE), (Cause::Served, PAGE + PROGRAM)];
    assert_eq!(lab.parts_of(2), parts);
}

#[test]
fn what_waits_for_its_block_waits_for_what_the_block_is_at() {
    let mut lab = Lab::new(&device());
    // A copy, the erase of its source block, and a program to the erased block, all on one die.
    lab.nand.copy(PageCopy::new(Ppn(0), BlockId(PLANE), 4, Origin::Merge));
    lab.nand.erase(Erase::new(BlockId(0), Origin::Merge));
    lab.program(0, 0, Origin::Host, OpId::DONE, 2);
    let copied = (Cause::Merge, READ + PAGE + PAGE + PROGRAM);
    assert_eq!(lab.parts_of(2), [copied, (Cause::Erase, ERASE), (Cause::Served, PAGE + PROGRAM)]);
    // The same with the target of the copy on the other die: this die is idle from the end of the read until the copy
    // is programmed.
    let mut lab = Lab::new(&device());
    lab.nand.copy(PageCopy::new(Ppn(0), BlockId(DIE), 4, Origin::Gc));
    lab.nand.erase(Erase::new(BlockId(0), Origin::Gc));
    lab.program(0, 0, Origin::Host, OpId::DONE, 2);
    let copied = (Cause::Collection, READ + PAGE + PAGE + PROGRAM);
    assert_eq!(lab.parts_of(2), [copied, (Cause::Erase, ERASE), (Cause::Served, PAGE + PROGRAM)]);
    // A read of a page that is not programmed yet.
    let mut lab = Lab::new(&device());
    lab.program(0, 4, Origin::Merge, OpId::DONE, 1);
    lab.nand.read(Read { tag: 2, ..Read::new(Ppn(4), 0xff, Origin::Host) });
    assert_eq!(lab.parts_of(2), [(Cause::Merge, PAGE + PROGRAM), (Cause::Served, READ + PAGE)]);
}

#[test]
fn planes_that_work_together_are_served_together_and_share_the_channel() {
    let mut lab = Lab::new(&NandParams { multi_plane: MultiPlane::Independent, ..device() });
    lab.read(0, 1);
    lab.read(PLANE, 2);
    lab.read(0, 3);
    let served = (Cause::Served, READ + PAGE);
    assert_eq!(lab.parts_of(1), [served]);
    assert_eq!(lab.parts_of(2), [(Cause::Channel, PAGE), served]);
    assert_eq!(lab.parts_of(3), [(Cause::HostRead, READ + 2 * PAGE), served]);
}
