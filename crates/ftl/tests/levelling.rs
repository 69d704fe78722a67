//! Static wear levelling under mappings that name the block of every page.

use crate::support::{Ftl, chip, chips, preempted, with_mapping};
use flashloom_ftl::{BLOCK_EXCHANGE, FtlSetup, Preemption, Space, WearLevelling, mapping};
use flashloom_nand::Origin;

/// Pages of a block.
const PAGES: u32 = 8;

/// The eight mappings whose blocks can be exchanged, each on a small drive: `mcsplit` on four chips, others on one.
fn drives() -> Vec<(FtlSetup, Space)> {
    let slot = mapping::builtin();
    let exchanging = slot.policies().iter().filter(|policy| policy.spec.offers.contains(&BLOCK_EXCHANGE));
    let names: Vec<&str> = exchanging.map(|policy| policy.spec.name).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    let space = |name: &str| if name == "mcsplit" { chips(4, 24, 24, PAGES) } else { chip(24, 24, PAGES) };
    names.into_iter().map(|name| (with_mapping(name, &[]), space(name))).collect()
}

/// A drive filled in order, but for half of its last block; then only its first two logical blocks are written, over
/// and over.
fn worked(setup: &FtlSetup, space: &Space) -> Ftl {
    let mut ftl = Ftl::new(space, setup, true);
    ftl.write_each(0..ftl.logical_pages() - PAGES / 2);
    let hot = 2 * PAGES * space.nand.geometry().total_dies();
    for round in 0..600 {
        ftl.write_each((0..hot).map(|lpn| (lpn * 5 + round) % hot));
        ftl.check();
    }
    (0..ftl.logical_pages()).for_each(|lpn| ftl.read(lpn));
    ftl.check();
    ftl
}

/// The difference in erases between the most and the least worn block.
fn spread(ftl: &Ftl) -> u32 {
    let erases = ftl.nand.erase_counts();
    erases.iter().max().unwrap() - erases.iter().min().unwrap()
}

#[test]
fn it_bounds_the_spread_of_erases_and_moves_what_it_says() {
    for (mut setup, space) in drives() {
        setup.params.wear_threshold = 4;
        let run = |setup: &FtlSetup, levelling| {
            let mut setup = setup.clone();
            setup.params.wear_levelling = levelling;
            worked(&setup, &space)
        };
        let (dynamic, levelled) = (run(&setup, WearLevelling::Dynamic), run(&setup, WearLevelling::Static));
        let (name, moves) = (setup.mapping.name(), levelled.report().wear_moves.unwrap());
        assert_eq!(dynamic.report().wear_moves, None, "{name}");
        assert!(moves > 10, "{name}: {moves} moves");
        assert!(spread(&dynamic) > 40, "{name}: a spread of {} without", spread(&dynamic));
        assert!(spread(&levelled) <= 8, "{name}: a spread of {}, with a threshold of 4", spread(&levelled));
        // A move is the copies of all pages of a block, and an erase.
        let counts = levelled.nand.counts();
        let blocks = moves * if name == "mcsplit" { 4 } else { 1 };
        assert_eq!(counts.erases[Origin::Wear as usize], blocks, "{name}");
        let copies = counts.programs[Origin::Wear as usize];
        assert!(
            copies <= blocks * u64::from(PAGES) && copies > blocks * u64::from(PAGES - 1),
            "{name}: {copies} copies of {blocks} blocks"
        );
        assert_eq!(levelled.report().page_copies, counts.programs.iter().sum::<u64>() - counts.programs[0], "{name}");
    }
}

/// A wait of BAST is one merge: N copies and two erases, each of which may be followed by an exchange.
#[test]
fn a_wait_has_an_exchange_for_each_of_its_erases_at_most_and_its_bound_has_their_time() {
    for name in ["bast", "fast", "sast"] {
        for preemption in [Preemption::None, Preemption::Page] {
            let space = chip(24, 24, PAGES);
            let run = |levelling| {
                let mut setup = preempted(name, preemption, &[]);
                (setup.params.wear_levelling, setup.params.wear_threshold) = (levelling, 1);
                worked(&setup, &space).merges()
            };
            let (dynamic, levelled) = (run(WearLevelling::Dynamic), run(WearLevelling::Static));
            assert!(levelled.longest_wait_ns > dynamic.longest_wait_ns, "{name}: {levelled:?}");
            assert!(levelled.longest_wait_ns <= levelled.wait_bound_ns, "{name}: {levelled:?}");
            assert_eq!(levelled.blocking_bound_ns, dynamic.blocking_bound_ns, "{name}: an exchange is no merge");
            if (name, preemption) == ("bast", Preemption::None) {
                let erase_ns = space.nand.command_ns + space.nand.erase_ns;
                let exchange_ns = dynamic.wait_bound_ns - erase_ns;
                let more_ns = levelled.wait_bound_ns - dynamic.wait_bound_ns;
                assert!(more_ns == exchange_ns || more_ns == 2 * exchange_ns, "{more_ns} ns, {exchange_ns} each");
            }
        }
    }
}
