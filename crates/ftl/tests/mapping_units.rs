//! Mapping units by hand: what a write of a part of one costs, and when a unit is whole, moved and gone.

use crate::support::{Ftl, with_mapping};
use flashloom_ftl::{CapacityParams, FtlSetup, Space};
use flashloom_nand::{NandParams, Origin};
use flashloom_units::ParamSet;

const WHOLE: u32 = 0b1;

/// One plane of 16 blocks of 8 pages of one sector, in units of 4 pages: two a block.
fn drive(mapping: &str) -> (Space, FtlSetup) {
    let one = NandParams { channels: 1, ways: 1, dies: 1, planes: 1, ..NandParams::defaults() };
    let nand = NandParams { blocks: 16, pages: 8, page_bytes: 512, ..one };
    let mut setup = with_mapping(mapping, &[]);
    setup.params.mapping_unit_bytes = 4 * 512;
    (Space::new(nand, &CapacityParams::of(1.0)), setup)
}

fn lab() -> Ftl {
    let (space, setup) = drive("page");
    Ftl::new(&space, &setup, true)
}

/// Reads and programs of the host so far.
fn of_host(lab: &Ftl) -> (u64, u64) {
    let counts = lab.nand.counts();
    (counts.reads[Origin::Host as usize], counts.programs[Origin::Host as usize])
}

#[test]
fn a_part_of_a_unit_costs_the_reads_of_what_is_held_besides_and_the_programs_of_all() {
    let mut lab = lab();
    lab.write(&[(5, WHOLE)]);
    assert_eq!(of_host(&lab), (0, 4), "the other three pages were never written: fillers");
    lab.write(&[(4, WHOLE), (6, WHOLE)]);
    assert_eq!(of_host(&lab), (1, 8), "page 5 is read and programmed again, page 7 is a filler");
    lab.write(&[(4, WHOLE), (5, WHOLE), (6, WHOLE), (7, WHOLE)]);
    assert_eq!(of_host(&lab), (1, 12), "a whole unit is read nowhere");
    let report = lab.report();
    assert_eq!((report.host_page_writes, report.unit_rewrites, report.read_modify_writes), (7, Some(5), 1));
    (0..lab.logical_pages()).for_each(|lpn| lab.read(lpn));
    lab.check();
}

#[test]
fn neighbours_of_one_unit_are_written_as_one_and_a_page_that_comes_twice_is_written_twice() {
    let mut apart = lab();
    [4, 5, 6, 7].into_iter().for_each(|lpn| apart.write(&[(lpn, WHOLE)]));
    assert_eq!(of_host(&apart), (1 + 2 + 3, 16), "alone, each programs the unit");
    let mut together = lab();
    together.write(&[(6, WHOLE), (7, WHOLE), (4, WHOLE), (5, WHOLE), (8, WHOLE), (9, WHOLE)]);
    assert_eq!(of_host(&together), (0, 8), "in any order, and the next unit by itself");
    together.check();
}

#[test]
fn a_unit_is_gone_with_the_last_page_that_it_holds() {
    let mut lab = lab();
    lab.write(&[(4, WHOLE), (5, WHOLE)]);
    lab.trim(4);
    lab.check();
    lab.write(&[(6, WHOLE)]);
    assert_eq!(of_host(&lab), (1, 8), "of the two pages that were there one is read: the other was discarded");
    lab.trim(5);
    lab.trim(6);
    lab.check();
    lab.write(&[(7, WHOLE)]);
    assert_eq!(of_host(&lab), (1, 12), "nothing is left to read");
    assert_eq!(lab.report().trimmed_pages, 3);
    lab.check();
}

/// The workload that units suit: whole units, aligned. It costs what single pages cost, at a quarter of the map.
#[test]
fn whole_units_cost_what_their_pages_cost_and_the_map_is_smaller_by_as_much() {
    for mapping in ["page", "dftl"] {
        let (space, in_units) = drive(mapping);
        let programs = |setup: &FtlSetup| {
            let mut ftl = Ftl::filled(&space, setup, true);
            for pass in 0..20 {
                for unit in (0..space.logical_pages as u32 / 4).map(|unit| (unit * 7 + pass) % 16) {
                    let pages: Vec<_> = (unit * 4..unit * 4 + 4).map(|lpn| (lpn, WHOLE)).collect();
                    ftl.write(&pages);
                }
            }
            ftl.check();
            let report = ftl.report();
            assert_eq!((report.read_modify_writes, report.unit_rewrites.unwrap_or(0)), (0, 0), "{mapping}");
            (report.host_programs(), report.memory_bytes.expect("both say"))
        };
        let (units, pages) = (programs(&in_units), programs(&with_mapping(mapping, &[])));
        assert_eq!(units.0, pages.0, "{mapping}");
        if mapping == "page" {
            assert_eq!(units.1 * 4, pages.1, "an entry a unit");
        }
    }
}
