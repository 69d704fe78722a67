//! Superblocks: a superpage is one program of its die, a superblock one erase.

use crate::support::{Run, allocated, buffered, channel_ns, mapped, plain_nand, plain_with, request, unbuffered};
use flashloom_device::{DeviceParams, Outcome};
use flashloom_ftl::{DIE_SUPERBLOCKS, Superblock, mapping};
use flashloom_nand::{MultiPlane, NandParams, Origin};
use flashloom_units::{Prng, US, Value};
use flashloom_workload::{Op, Pace};

/// Two channels of one die each, so that no transfer of a die waits for another one's.
fn device(planes: u32) -> DeviceParams {
    let cells = NandParams { program_ns: 600 * US, bits_per_cell: 1, ..plain_nand() };
    let nand = NandParams { channels: 2, ways: 1, planes, pages: 32, multi_plane: MultiPlane::Aligned, ..cells };
    plain_with(nand, 0.5)
}

/// Writes pages whose addresses belong to one plane, and then runs of as many consecutive pages as a die has planes.
///
/// If each plane has an open block of its own, the first writes leave no two planes of a die at the same page index. A
/// superblock has one write pointer for all planes.
fn sequential(planes: u32, superblock: Superblock, writes: u64) -> Outcome {
    let mut setup = allocated(unbuffered(device(planes)), "static", &[("layout", Value::Name("striped"))]);
    setup.ftl.params.superblock = superblock;
    let (span, pages) = (u64::from(2 * planes), u64::from(planes));
    // Of plane p of both dies, 8 p pages.
    let apart =
        (0..pages).flat_map(|plane| (0..8 * plane).flat_map(move |stripe| [(plane, stripe, 0), (plane, stripe, 1)]));
    let apart = apart.map(|(plane, stripe, die)| request(0, Op::Write, 8 * (stripe * span + 2 * plane + die), 8));
    let start = 512;
    let in_order = (0..writes).map(|at| request(0, Op::Write, 8 * (start + at * pages), 8 * planes));
    let run = Run { pace: Pace::Closed(1), fill: false, ..Run::new(setup) };
    run.run(apart.chain(in_order))
}

/// Die time of programs, by hand: a command takes the transfers of its pages, one after the other, and tPROG once.
fn program_time(device: &DeviceParams, pages: u64, commands: u64) -> u128 {
    u128::from(pages * channel_ns(device) + commands * device.nand.program_ns)
}

#[test]
fn sequential_superpages_take_one_program_for_all_planes_of_a_die() {
    for planes in [2, 4] {
        let writes = 300;
        let alone = u64::from(2 * 8 * planes * (planes - 1) / 2);
        let outcome = sequential(planes, Superblock::Die, writes);
        let used = outcome.utilization.unwrap();
        let pages = alone + writes * u64::from(planes);
        // Single pages are single programs; each of the writes is a superpage and one program.
        assert_eq!((used.programs.planes, used.programs.commands), (pages, alone + writes));
        assert_eq!(used.write_ns, program_time(&device(planes), pages, alone + writes));
        // Without superblocks each page is a program of its own here.
        let without = sequential(planes, Superblock::None, writes).utilization.unwrap();
        assert_eq!((without.programs.planes, without.programs.commands), (pages, pages));
        assert_eq!(without.write_ns, program_time(&device(planes), pages, pages));
    }
}

/// Uniform overwrites of a full drive, so that all of it is collected many times.
fn overwritten(superblock: Superblock) -> Outcome {
    let mut setup = buffered(plain_with(device(2).nand, 0.2), 64, "page-lru", "linear-threshold");
    setup.ftl.params.superblock = superblock;
    let pages = setup.device.logical_pages();
    let mut prng = Prng::new(7);
    let writes = (0..4 * pages).map(|_| request(0, Op::Write, 8 * prng.below(pages), 8)).collect::<Vec<_>>();
    Run { pace: Pace::Closed(4), ..Run::new(setup) }.run(writes)
}

#[test]
fn a_collection_copies_into_superpages_and_erases_a_superblock_at_once() {
    let used = |superblock| {
        let outcome = overwritten(superblock);
        assert!(outcome.counts.erases[Origin::Gc as usize] > 500, "enough was collected");
        let used = outcome.utilization.unwrap();
        (used.programs.mean().unwrap(), used.erases.mean().unwrap())
    };
    let (programs, erases) = used(Superblock::Die);
    assert!(programs > 1.8 && erases > 1.7, "{programs:.2} planes a program and {erases:.2} an erase");
    let (programs, erases) = used(Superblock::None);
    assert!(programs < 1.2 && erases < 1.2, "{programs:.2} planes a program and {erases:.2} an erase");
}

/// Logical blocks in order, and then pages anywhere, under a mapping that names the block of every page.
fn under(mapping: &str, set: &[(&'static str, Value)], superblock: Superblock) -> Outcome {
    let mut setup = mapped(buffered(device(2), 64, "block-lru", "linear-threshold"), mapping, set);
    setup.ftl.params.superblock = superblock;
    let pages = setup.device.logical_pages();
    let in_order = (0..pages / 16).map(|at| request(0, Op::Write, 8 * 16 * at, 8 * 16));
    let mut prng = Prng::new(7);
    let anywhere = (0..pages).map(|_| request(0, Op::Write, 8 * prng.below(pages), 8)).collect::<Vec<_>>();
    Run { pace: Pace::Closed(4), ..Run::new(setup) }.run(in_order.chain(anywhere))
}

#[test]
fn a_mapping_that_names_the_block_of_every_page_works_on_superblocks_too() {
    let (mappings, log_blocks) = (mapping::builtin(), [("log_blocks", Value::Count(8))]);
    for spec in mappings.specs().filter(|spec| spec.offers.contains(&DIE_SUPERBLOCKS)) {
        let has_log_blocks = spec.params.iter().any(|param| param.name == "log_blocks");
        let (mapping, set) = (spec.name, if has_log_blocks { &log_blocks[..] } else { &[] });
        let used = |superblock| {
            let outcome = under(mapping, set, superblock);
            assert!(outcome.counts.erases[Origin::Merge as usize] > 50, "{mapping}: enough was merged");
            let used = outcome.utilization.unwrap();
            (used.programs.mean().unwrap(), used.erases.mean().unwrap())
        };
        let ((programs, erases), (alone, single)) = (used(Superblock::Die), used(Superblock::None));
        assert!(programs > 1.3 && erases > 1.7, "{mapping}: {programs:.2} planes a program and {erases:.2} an erase");
        assert!(alone < 1.2 && single < 1.2, "{mapping}: {alone:.2} planes a program and {single:.2} an erase");
    }
}
