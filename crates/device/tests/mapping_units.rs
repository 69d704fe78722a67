//! Mapping units of several pages on whole drives: with every check on, and against times on paper.

use crate::random_operations::run_on;
use crate::support::random::{one_of, pick, random_setup, with_units};
use crate::support::{Run, channel_ns, link_ns, plain, plain_nand, request, unbuffered};
use flashloom_device::DriveSetup;
use flashloom_ftl::{allocation, mapping};
use flashloom_nand::NandParams;
use flashloom_units::{MS, Prng};
use flashloom_workload::Op;
use proptest::prelude::*;

/// A random drive with units, or `None` if it cannot have them.
fn drive(prng: &mut Prng) -> Option<DriveSetup> {
    let mut setup = random_setup(prng);
    setup.ftl.mapping = one_of(prng, &mapping::builtin(), &["page", "dftl"]);
    setup.ftl.allocation = one_of(prng, &allocation::builtin(), &["interleave", "static"]);
    setup.device.nand.pages = pick(prng, &[4, 8, 12, 24]);
    (setup.device.nand.program_failures, setup.device.nand.erase_failures) = (0.0, 0.0);
    setup.ftl.params.mapping_unit_bytes = 0;
    with_units(prng, &mut setup);
    (setup.ftl.params.mapping_unit_bytes > 0).then_some(setup)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reads_return_what_was_written_in_units(seed: u64) {
        let mut prng = Prng::new(seed);
        if let Some(setup) = drive(&mut prng) {
            prop_assert!(run_on(setup, &mut prng, 600).ftl.unit_rewrites.is_some());
        }
    }
}

/// On one die, in units of four pages.
fn one_die() -> DriveSetup {
    let nand = NandParams { channels: 1, ways: 1, cache_program: false, ..plain_nand() };
    let mut setup = unbuffered(plain(nand));
    setup.ftl.params.mapping_unit_bytes = 4 * setup.device.nand.page_bytes;
    setup
}

/// The latency of one write on an idle drive, in pages; counts of pages read and programmed for the host.
fn write(fill: bool, (page, pages): (u64, u32)) -> (u64, u64, u64) {
    let outcome = Run { fill, ..Run::new(one_die()) }.run([request(MS, Op::Write, page * 8, pages * 8)]);
    let counts = outcome.counts;
    (outcome.host.write_latency.max(), counts.reads[0], counts.programs[0])
}

#[test]
fn a_page_of_a_new_unit_waits_for_the_pages_before_it() {
    let device = one_die().device;
    let (program, link) = (channel_ns(&device) + device.nand.program_ns, link_ns(&device));
    assert_eq!(write(false, (0, 1)), (link + program, 0, 4), "the first page is its unit's first program");
    assert_eq!(write(false, (3, 1)), (link + 4 * program, 0, 4), "the last waits for three fillers");
}

#[test]
fn a_part_of_a_stored_unit_waits_for_the_reads_of_the_rest() {
    let device = one_die().device;
    let (transfer, link) = (channel_ns(&device), link_ns(&device));
    let (read, program) = (device.nand.read_ns + transfer, transfer + device.nand.program_ns);
    assert_eq!(write(true, (3, 1)), (link + 3 * read + 4 * program, 3, 4), "reads and programs of one die, in turn");
    let (whole_ns, reads, programs) = write(true, (0, 4));
    assert_eq!((reads, programs), (0, 4), "a whole unit is read nowhere");
    assert!(whole_ns < link + 3 * read + 4 * program);
}
