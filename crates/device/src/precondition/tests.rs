//! A fill in closed form and one page by page have the same saved state, to the byte.
//!
//! Strategy: random drives with policies and parameters of every kind, of random shapes, filled to random shares, once
//! by each way. The closed form must be taken where it is possible, and nowhere else.

use flashloom_ftl::{
    CapacityParams, FtlParams, GcBlocks, GcPace, HotCold, Preemption, StripeOrder, Superblock, WearLevelling,
    allocation, collection, mapping,
};
use flashloom_nand::NandParams;
use flashloom_units::{Chosen, ParamSet, Role, Slot, Value, save_state};

use super::*;
use crate::{DeviceParams, DriveSetup};

fn pick<T: Copy>(prng: &mut Prng, from: &[T]) -> T {
    from[prng.below(from.len() as u64) as usize]
}

fn policy<P: Role + ?Sized>(slot: &Slot<P>, name: &str, values: &[(&str, Value)]) -> Chosen<P> {
    slot.choose(name, values).expect("a built-in policy")
}

fn random_allocation(prng: &mut Prng) -> Chosen<dyn flashloom_ftl::allocation::Allocation> {
    let layout = [("layout", Value::Name(pick(prng, &["striped", "contiguous"])))];
    match prng.below(7) {
        0..3 => policy(&allocation::builtin(), "interleave", &[]),
        3..5 => policy(&allocation::builtin(), "static", &layout),
        5 => {
            let of_chips = [("layout", Value::Name("contiguous")), ("region_chips", Value::Count(1))];
            policy(&allocation::builtin(), "static", &of_chips)
        }
        _ => policy(&allocation::builtin(), "slap", &[]),
    }
}

/// A drive, or `None` if its parts do not go together.
fn random_setup(prng: &mut Prng) -> Option<DriveSetup> {
    let device = DeviceParams {
        nand: NandParams {
            channels: pick(prng, &[1, 2, 3, 5]),
            ways: pick(prng, &[1, 2, 3]),
            dies: pick(prng, &[1, 2]),
            planes: pick(prng, &[1, 2, 3, 4]),
            blocks: 8 + prng.below(33) as u32,
            pages: 1 + prng.below(90) as u32,
            page_bytes: pick(prng, &[512, 4_096]),
            bad_blocks: pick(prng, &[0.0, 0.0, 0.1, 0.2]),
            program_failures: pick(prng, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.001]),
            erase_failures: pick(prng, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.001]),
            ..NandParams::defaults()
        },
        capacity: CapacityParams::of(0.05 + 2.0 * prng.unit() * prng.unit()),
        ..DeviceParams::defaults()
    };
    let mut setup = DriveSetup::with_defaults(device);
    setup.keeps_out_of_band = prng.chance(0.05);
    let page_bytes = setup.device.nand.page_bytes;
    let ftl = &mut setup.ftl;
    ftl.prng = prng.branch("drive");
    ftl.mapping = policy(&mapping::builtin(), pick(prng, &["page", "page", "page", "page", "page", "dftl"]), &[]);
    ftl.allocation = random_allocation(prng);
    let collections = collection::builtin();
    ftl.collection = pick(prng, &collections.policies().iter().collect::<Vec<_>>()).with(&[]).ok()?;
    ftl.params = FtlParams {
        mapping_unit_bytes: page_bytes * pick(prng, &[0, 0, 0, 2, 3, 4, 12]),
        superblock: pick(prng, &[Superblock::None, Superblock::None, Superblock::Die]),
        stripe_order: pick(prng, &[StripeOrder::Cwdp, StripeOrder::Pdwc, StripeOrder::Wcdp]),
        gc_threshold: pick(prng, &[2, 3, 4]),
        gc_blocks: pick(prng, &[GcBlocks::Separate, GcBlocks::Shared]),
        gc_pace: pick(prng, &[GcPace::Share, GcPace::Deadline]),
        preemption: pick(prng, &[Preemption::Page, Preemption::None]),
        hot_cold: pick(prng, &[HotCold::None, HotCold::None, HotCold::None, HotCold::None, HotCold::MultiHash]),
        wear_levelling: pick(prng, &[WearLevelling::None, WearLevelling::Dynamic, WearLevelling::Static]),
        ..FtlParams::defaults()
    };
    Drive::new(&setup).is_ok().then_some(setup)
}

/// Whether nothing about the drive needs every page of a fill.
fn is_plain(setup: &DriveSetup) -> bool {
    let DriveSetup { device, ftl, keeps_out_of_band, .. } = setup;
    let can_fail = device.nand.program_failures > 0.0 || device.nand.erase_failures > 0.0;
    let has_layout = ftl.mapping.name() == "page" && ftl.allocation.name() != "slap";
    has_layout && !keeps_out_of_band && !can_fail && ftl.params.hot_cold == HotCold::None
}

fn state(drive: &Drive) -> Vec<u8> {
    save_state(&drive.flash).expect("built-in policies are saved")
}

#[test]
fn a_fill_in_closed_form_is_one_page_by_page() {
    let mut prng = Prng::new(33);
    let (mut closed, mut cases) = (0, 0);
    let (mut failing, mut superblocks, mut bad, mut units) = (0, 0, 0, 0);
    while closed < 500 {
        cases += 1;
        let Some(setup) = random_setup(&mut prng) else { continue };
        let share = if prng.chance(0.3) { 1.0 } else { prng.unit() };
        let fill_pages = (setup.device.logical_pages() as f64 * share) as u64;
        let ageing = Ageing { fill_pages, fill_streams: prng.chance(0.7), overwrite: None };
        let (mut fast, mut slow) = (Drive::new(&setup).unwrap(), Drive::new(&setup).unwrap());
        let interrupt = Interrupt::default();
        let filled =
            fill(&mut Writer { drive: &mut fast, interrupt: &interrupt, look: &mut |_| {} }, &ageing, &mut |_| {});
        let look = &mut |_: &mut Drive| {};
        fill_page_by_page(&mut Writer { drive: &mut slow, interrupt: &interrupt, look }, &ageing, &mut |_| {});
        let expected = if is_plain(&setup) { Filled::InClosedForm } else { Filled::PageByPage };
        assert_eq!(filled, (fill_pages > 0).then_some(expected), "case {cases}: {setup:?}");
        assert!(state(&fast) == state(&slow), "case {cases}: {fill_pages} pages of {setup:?}");
        failing += u32::from(setup.device.nand.program_failures > 0.0);
        if filled == Some(Filled::InClosedForm) {
            fast.flash.check_loaded().unwrap();
            closed += 1;
            superblocks += u32::from(setup.ftl.params.superblock == Superblock::Die);
            bad += u32::from(setup.device.nand.bad_blocks_a_plane() > 0);
            units += u32::from(setup.ftl.params.mapping_unit_bytes > 0);
        }
    }
    assert!(failing > 10 && superblocks > 50 && bad > 50 && units > 50, "{failing} {superblocks} {bad} {units}");
}

#[test]
fn only_a_new_drive_is_filled_in_closed_form() {
    let setup = DriveSetup::with_defaults(DeviceParams {
        nand: NandParams { blocks: 16, pages: 8, ..NandParams::defaults() },
        capacity: CapacityParams::of(1.0),
        ..DeviceParams::defaults()
    });
    let mut drive = Drive::new(&setup).unwrap();
    drive.write_past_buffer([Lpn(7)].into_iter(), true);
    let before = state(&drive);
    assert!(!drive.flash.fill(10, 64) && state(&drive) == before, "a page was written");
    let mut drive = Drive::new(&setup).unwrap();
    drive.flash.nand.watch();
    assert!(!drive.flash.fill(10, 64), "an observer sees every page");
    let mut drive = Drive::new(&setup).unwrap();
    assert!(drive.flash.fill(10, 64) && !drive.flash.fill(10, 64), "it is no longer new");
}
