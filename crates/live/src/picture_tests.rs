//! The picture of a drive: shares of dies, latencies and jobs, by hand and against the array's own counters.

use flashloom_device::{Cause, Parts};
use flashloom_nand::Origin;
use flashloom_units::{MS, Ns, Prng, US};

use crate::frames::SECTOR;
use crate::picture::{JOBS, Shown};
use crate::tests::{experiment, live, served_engine};
use crate::web::Wear;
use crate::{Command, LiveDrive};

/// A page of 4 KiB takes 10 us on the channel; nothing is buffered.
const HAND: &str = "device.read_time=50us device.program_time=600us device.erase_time=3ms device.bus_rate=409.6MB/s \
                    buffer.capacity=0B";

fn drive(keys: &str) -> LiveDrive {
    let mut drive = live(served_engine(&experiment(&format!("{HAND} {keys}"))));
    drive.keep_picture(8);
    drive
}

/// Submits a command, after events if the drive is full, and takes leave of what has ended.
fn submit(drive: &mut LiveDrive, command: Command<'_>) {
    while drive.submit(command).expect("it is within the drive").is_none() {
        step(drive);
    }
}

fn step(drive: &mut LiveDrive) {
    let next_ns = drive.next_event_ns().expect("there is one");
    drive.advance_to(next_ns).expect("it has not passed");
    while let Some(ended) = drive.take_ended() {
        drive.finish(ended.cookie, &mut []);
    }
}

fn rest(drive: &mut LiveDrive) -> Shown {
    while !drive.engine().is_idle() {
        step(drive);
    }
    drive.show().expect("a picture is kept")
}

fn write(drive: &mut LiveDrive, page: u64) {
    submit(drive, Command::Write { lba: 8 * page, data: &[7; 8 * SECTOR], fua: false });
}

fn sum(dies: &[(Option<Cause>, Parts)]) -> Parts {
    let mut all = Parts::default();
    dies.iter().for_each(|(_, parts)| all.add(parts));
    all
}

#[test]
fn a_die_is_at_an_operation_from_its_command_to_the_end_of_its_data() {
    let mut drive = drive("");
    write(&mut drive, 0);
    let halfway = drive.engine().now_ns() + 300 * US;
    drive.advance_to(halfway).expect("it has not passed");
    let shown = drive.show().expect("a picture is kept");
    let busy: Vec<_> = shown.dies.iter().filter(|(now, _)| now.is_some()).collect();
    let [(Some(Cause::HostProgram), parts)] = busy[..] else { panic!("one die programs: {busy:?}") };
    assert!((250 * US..=300 * US).contains(&parts[Cause::HostProgram]), "{parts:?}");
    assert_eq!(shown.window.writes.count(), 0, "it has not ended");
    // The whole program, and its data; then a read of it.
    let shown = rest(&mut drive);
    assert_eq!((sum(&shown.dies)[Cause::HostProgram], sum(&shown.dies).total()), (610 * US, 610 * US));
    assert_eq!((shown.window.writes.count(), shown.window.reads.count()), (1, 0));
    assert!(shown.window.writes.max() >= 610 * US && shown.dies.iter().all(|(now, _)| now.is_none()));
    submit(&mut drive, Command::Read { lba: 0, sectors: 8 });
    let shown = rest(&mut drive);
    let all = sum(&shown.dies);
    assert_eq!((all[Cause::HostRead], all.total()), (60 * US, 670 * US));
    assert_eq!((shown.window.writes.count(), shown.window.reads.count()), (0, 1), "a window is what was not shown");
    let [Some(slowest), None] = shown.window.slowest else { panic!("a read has ended, and nothing else") };
    assert_eq!((slowest.latency_ns(), slowest.parts.total()), (shown.window.reads.max(), shown.window.reads.max()));
    assert_eq!(rest(&mut drive).window.slowest, [None, None]);
}

/// Whatever runs, what dies are told to have done is what the array has counted, by the channel and by the die.
#[test]
fn times_of_dies_add_up_to_their_busy_time() {
    for keys in [
        "ftl.mapping=page",
        "ftl.mapping=dftl buffer.capacity=64KiB",
        "ftl.mapping=fast",
        "ftl.mapping=page device.suspend=program-erase device.ways=2",
        "ftl.mapping=page device.cache_program=true device.copyback=true device.planes=2",
    ] {
        let mut drive = drive(keys);
        let (mut prng, pages) = (Prng::new(3), drive.capacity_sectors() / 8);
        let mut jobs = 0;
        for round in 0..100 {
            for _ in 0..60 {
                match prng.below(10) {
                    0..6 => write(&mut drive, prng.below(pages)),
                    6..9 => submit(&mut drive, Command::Read { lba: 8 * prng.below(pages), sectors: 8 }),
                    _ => submit(&mut drive, Command::Discard { lba: 8 * prng.below(pages), sectors: 8 }),
                }
                if prng.chance(0.3) {
                    step(&mut drive);
                }
            }
            let now_ns = drive.engine().now_ns();
            let shown = drive.show().expect("a picture is kept");
            let told: Vec<Ns> = shown.dies.iter().map(|(_, parts)| parts.total()).collect();
            let counted: Vec<Ns> = drive.engine().nand().die_busy_ns(now_ns).collect();
            assert_eq!(told, counted, "{keys}, round {round}");
            jobs += shown.window.jobs.iter().sum::<u64>();
            assert!(shown.jobs.len() <= JOBS && shown.window.jobs[Origin::Host as usize] == 0);
        }
        let shown = rest(&mut drive);
        let all = sum(&shown.dies);
        assert!(all[Cause::Erase] > 3 * MS && all[Cause::HostProgram] > 0, "{keys}: {all:?}");
        assert!(jobs >= JOBS as u64 && shown.jobs.len() == JOBS, "{keys}: {jobs} jobs");
        let last = shown.jobs.last().expect("there are some");
        assert!(shown.jobs.is_sorted_by_key(|job| job.number) && last.number + 1 >= jobs);
        let moves = all[Cause::Collection] + all[Cause::Merge];
        assert!(moves > 0 && matches!(last.origin, Origin::Gc | Origin::Merge), "{keys}: {all:?}");
        let ended = shown.jobs.iter().filter(|job| job.ended_ns.is_some_and(|ended_ns| ended_ns >= job.began_ns));
        assert!(ended.count() + 4 >= JOBS, "{keys}: what begins ends");
        let outcome = drive.engine().outcome();
        let wear = Wear::of(&outcome.erase_counts, &outcome.erased_before);
        assert_eq!(wear.erases.iter().sum::<u64>(), outcome.ftl.block_erases, "{keys}");
    }
}

#[test]
fn wear_is_summed_over_neighbouring_blocks_so_that_a_map_has_at_most_a_thousand_cells() {
    let few = Wear::of(&[3, 1, 4], &[1, 1, 0]);
    assert_eq!((few.blocks_a_cell, few.erases, few.before), (1, vec![2, 0, 4], vec![1, 1, 0]));
    assert_eq!((few.least, few.most), (1, 4));
    let many: Vec<u32> = (0..2_500).collect();
    let wear = Wear::of(&many, &vec![0; 2_500]);
    assert_eq!((wear.blocks, wear.blocks_a_cell, wear.erases.len()), (2_500, 3, 834));
    assert_eq!((wear.erases[0], wear.erases[833]), (3, 2_499));
}
