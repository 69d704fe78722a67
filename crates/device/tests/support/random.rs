//! Random drives and random requests, from a seed.

use flashloom_buffer::{Admission, order, rate};
use flashloom_device::{Arbitration, DeviceParams, DriveSetup, FrontParams, InterfaceParams, ReadCacheParams};
use flashloom_ftl::{
    CapacityParams, GcBlocks, HotCold, PAGE_MAPPING, Preemption, SlcCacheKind, StripeOrder, Superblock, WearLevelling,
    WhenFull, allocation, collection, mapping, placement,
};
use flashloom_nand::{DieOrder, MultiPlane, NandParams, Suspend, reliability};
use flashloom_units::{Chosen, Kind, MS, Ns, OrName, Param, ParamSet, Policy, Prng, Role, Slot, US, Value};
use flashloom_workload::{Op, QueueClass, Request};

use super::request;

/// The seeds of a long run: `FLASHLOOM_CASES` of them from `FLASHLOOM_SEED` on, none where it is not set.
pub fn seeds_asked_for() -> impl Iterator<Item = u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    (0..number("FLASHLOOM_CASES")).map(move |case| number("FLASHLOOM_SEED") + case)
}

pub fn pick<T: Copy>(prng: &mut Prng, from: &[T]) -> T {
    from[prng.below(from.len() as u64) as usize]
}

pub fn random_device(prng: &mut Prng) -> DeviceParams {
    DeviceParams {
        nand: NandParams {
            channels: pick(prng, &[1, 2, 3]),
            ways: pick(prng, &[1, 2]),
            dies: pick(prng, &[1, 2]),
            planes: pick(prng, &[1, 2, 4]),
            blocks: pick(prng, &[8, 9, 16, 24]),
            pages: pick(prng, &[3, 4, 8, 13]),
            page_bytes: pick(prng, &[512, 2_048, 4_096, 16_384]),
            bits_per_cell: pick(prng, &[1, 2, 3]),
            program_ns_2: pick(prng, &[None, Some(2 * MS)]),
            command_ns: pick(prng, &[0, 200]),
            multi_plane: pick(prng, &[MultiPlane::None, MultiPlane::Aligned, MultiPlane::Independent]),
            copyback: prng.chance(0.5),
            cache_program: prng.chance(0.5),
            suspend: pick(prng, &[Suspend::None, Suspend::Erase, Suspend::ProgramErase]),
            max_overtakes: pick(prng, &[1, 8]),
            die_order: pick(prng, &[DieOrder::Priority, DieOrder::Fifo]),
            read_spread: pick(prng, &[0.0, 0.2]),
            program_spread: pick(prng, &[0.0, 0.9]),
            erase_spread: pick(prng, &[0.0, 0.3]),
            ..NandParams::defaults()
        },
        capacity: CapacityParams::of(pick(prng, &[1.5, 2.0, 4.0])),
        interface: InterfaceParams {
            controller_ns: pick(prng, &[0, 3 * US]),
            controller_page_ns: pick(prng, &[0, US]),
            controller_processors: pick(prng, &[None, Some(1), Some(3)]),
            link_packet_overhead: pick(prng, &[0, 24]),
            link_command_ns: pick(prng, &[0, 2 * US]),
            full_duplex: prng.chance(0.5),
            ..InterfaceParams::defaults()
        },
        ..DeviceParams::defaults()
    }
}

/// Any policy of a slot.
pub fn random_policy<P: Role + ?Sized>(prng: &mut Prng, slot: &Slot<P>) -> Chosen<P> {
    let policies: Vec<_> = slot.policies().iter().collect();
    let policy = pick(prng, &policies);
    with_random_values(prng, policy)
}

/// A policy with its flags and shares at random, its counts and sizes small or at their defaults, and every other
/// parameter at its default.
pub fn with_random_values<P: Role + ?Sized>(prng: &mut Prng, policy: &Policy<P>) -> Chosen<P> {
    let value = |param: &Param| match param.kind {
        Kind::Flag => Value::Flag(prng.chance(0.5)),
        Kind::Choice(choices) => Value::Name(pick(prng, choices).name),
        Kind::Ratio { min, max } => Value::Ratio(pick(prng, &[min, 0.3, 0.7, max])),
        Kind::CountOr { or, .. } if prng.chance(0.5) => Value::Name(or.name),
        Kind::Count { min, max } | Kind::CountOr { min, max, .. } if prng.chance(0.7) => {
            Value::Count((min + prng.below(4)).min(max))
        }
        Kind::Size { min, max } if prng.chance(0.7) => Value::Size((min * pick(prng, &[1, 3, 40])).min(max)),
        _ => param.default.clone(),
    };
    policy.with_values(policy.spec.params.iter().map(value).collect())
}

const CLASSES: [QueueClass; 4] = [QueueClass::Urgent, QueueClass::High, QueueClass::Medium, QueueClass::Low];

fn random_front(prng: &mut Prng) -> FrontParams {
    FrontParams {
        commands: pick(prng, &[Some(1), Some(2), Some(7)]),
        arbiter: pick(prng, &[Arbitration::RoundRobin, Arbitration::Weighted]),
        burst: pick(prng, &[OrName::Number(1), OrName::Number(4), OrName::Name]),
        high_weight: pick(prng, &[1, 3]),
        medium_weight: pick(prng, &[1, 2]),
        low_weight: 1,
    }
}

/// Puts requests into four queues.
pub fn on_random_queues(prng: &Prng, requests: &mut [Request]) {
    let mut of_queues = prng.branch("queues");
    requests.iter_mut().for_each(|request| *request = request.on_queue(pick(&mut of_queues, &[0, 1, 2, 3])));
}

pub fn random_setup(prng: &mut Prng) -> DriveSetup {
    let mut setup = DriveSetup::with_defaults(random_device(prng));
    setup.verify = true;
    setup.buffer_bytes = setup.device.nand.page_bytes * pick(prng, &[0, 1, 3, 20, 200]);
    setup.order = random_policy(prng, &order::builtin());
    setup.rate = random_policy(prng, &rate::builtin());
    setup.ftl.mapping = random_policy(prng, &mapping::builtin());
    setup.ftl.placement = random_policy(prng, &placement::builtin());
    setup.ftl.allocation = random_policy(prng, &allocation::builtin());
    setup.ftl.collection = random_policy(prng, &collection::builtin());
    setup.ftl.params.preemption = pick(prng, &[Preemption::Page, Preemption::None]);
    setup.ftl.params.hot_cold = pick(prng, &[HotCold::None, HotCold::MultiHash, HotCold::Known]);
    setup.ftl.params.hot_decay = pick(prng, &[0.1, 2.0]);
    setup.ftl.params.hot_threshold = pick(prng, &[1, 2, 8]);
    setup.ftl.params.wear_threshold = pick(prng, &[1, 2, 5]);
    if ["page", "dftl", "sftl"].contains(&setup.ftl.mapping.name()) && prng.chance(0.4) {
        setup.device.nand.bad_blocks = pick(prng, &[0.0, 0.13]);
        setup.device.nand.program_failures = pick(prng, &[0.0, 0.0003, 0.003, 0.03]);
        setup.device.nand.erase_failures = pick(prng, &[0.0, 0.01, 0.2]);
        setup.ftl.prng = prng.branch("failures");
    }
    let mut of_birth = prng.branch("bad at birth");
    if !setup.ftl.mapping.offers(PAGE_MAPPING) && of_birth.chance(0.3) {
        setup.device.nand.bad_blocks = pick(&mut of_birth, &[0.13, 0.25]);
        setup.ftl.prng = of_birth.branch("failures");
        let mut of_use = prng.branch("bad in use");
        if of_use.chance(0.7) {
            setup.device.nand.bad_blocks = pick(&mut of_use, &[0.0, 0.13]);
            setup.device.nand.program_failures = pick(&mut of_use, &[0.0, 0.0003, 0.003, 0.03]);
            setup.device.nand.erase_failures = pick(&mut of_use, &[0.0, 0.01, 0.2]);
        }
        if setup.ftl.profile(&setup.device.space()).is_err() {
            let nand = &mut setup.device.nand;
            (nand.bad_blocks, nand.program_failures, nand.erase_failures) = (0.0, 0.0, 0.0);
        }
    }
    setup.ftl.params.gc_blocks = pick(prng, &[GcBlocks::Separate, GcBlocks::Shared]);
    setup.ftl.params.superblock = pick(prng, &[Superblock::None, Superblock::Die]);
    setup.ftl.params.stripe_order = pick(prng, &[StripeOrder::Cwdp, StripeOrder::Pdwc]);
    setup.ftl.params.wear_levelling = pick(prng, &[WearLevelling::None, WearLevelling::Dynamic, WearLevelling::Static]);
    setup.ftl.params.background_threshold = pick(prng, &[0, 4, 6]);
    // By a stream of their own: the seeds of drives that went wrong once stay what they were.
    let mut of_pages = prng.branch("pages");
    if of_pages.chance(0.3) {
        setup.reliability = random_policy(&mut of_pages, &reliability::builtin());
    }
    setup.keeps_out_of_band = of_pages.chance(0.3);
    let mut of_front = prng.branch("front");
    if of_front.chance(0.2) {
        setup.device.front = random_front(&mut of_front);
        setup.queue_classes = (0..3).map(|_| pick(&mut of_front, &CLASSES)).collect();
    }
    let mut of_cache = prng.branch("read cache");
    if of_cache.chance(0.3) {
        let pages = pick(&mut of_cache, &[1, 3, 40]);
        let streams = pick(&mut of_cache, &[1, 4]);
        let capacity_bytes = setup.device.nand.page_bytes * pages;
        setup.device.read_cache = ReadCacheParams { capacity_bytes, pages: pages as u32, streams };
    }
    let admissions = [Admission::Auto, Admission::Auto, Admission::ByPage, Admission::Whole];
    setup.admission = pick(&mut prng.branch("admission"), &admissions);
    let mut of_watermarks = prng.branch("watermarks");
    if of_watermarks.chance(0.3) {
        let without = setup.ftl.params.clone();
        setup.ftl.params.gc_low_watermark = pick(&mut of_watermarks, &[0.05, 0.2]);
        setup.ftl.params.gc_high_watermark = pick(&mut of_watermarks, &[0.21, 0.3]);
        setup.ftl.params.gc_watermark_pace = pick(&mut of_watermarks, &[1.0, 2.0, 8.0]);
        if setup.ftl.profile(&setup.device.space()).is_err() {
            setup.ftl.params = without;
        }
    }
    let mut of_units = prng.branch("units");
    if of_units.chance(0.3) {
        with_units(&mut of_units, &mut setup);
    }
    setup
}

/// Gives a drive random mapping units of several pages, if it can have them.
pub fn with_units(prng: &mut Prng, setup: &mut DriveSetup) {
    let without = setup.ftl.params.clone();
    setup.ftl.params.mapping_unit_bytes = setup.device.nand.page_bytes * pick(prng, &[2, 3, 4, 8]);
    if setup.ftl.profile(&setup.device.space()).is_err() {
        setup.ftl.params = without;
    }
}

/// One of those policies, with random values.
pub fn one_of<P: Role + ?Sized>(prng: &mut Prng, slot: &Slot<P>, names: &[&str]) -> Chosen<P> {
    let name = pick(prng, names);
    let policy = slot.policies().iter().find(|policy| policy.spec.name == name).expect("a built-in policy");
    with_random_values(prng, policy)
}

/// Gives a drive a random SLC cache, and a mapping and an allocation that can have one.
pub fn with_cache(prng: &mut Prng, setup: &mut DriveSetup) {
    setup.ftl.mapping = one_of(prng, &mapping::builtin(), &["page", "dftl", "sftl"]);
    setup.ftl.allocation = one_of(prng, &allocation::builtin(), &["interleave", "static"]);
    let nand = &mut setup.device.nand;
    nand.bits_per_cell = pick(prng, &[2, 3, 4]);
    nand.blocks = pick(prng, &[16, 24, 40]);
    nand.slc_read_ns = Some(pick(prng, &[0, 20 * US]));
    nand.slc_program_ns = Some(pick(prng, &[50 * US, 2 * MS]));
    let params = &mut setup.ftl.params;
    params.hot_cold = HotCold::None;
    params.slc_cache = pick(prng, &[SlcCacheKind::Static, SlcCacheKind::Dynamic]);
    params.slc_static_share = pick(prng, &[0.01, 0.1, 0.2]);
    params.slc_dynamic_share = pick(prng, &[0.2, 1.0]);
    params.slc_when_full = pick(prng, &[WhenFull::Beside, WhenFull::Fold]);
    params.slc_fold_threshold = pick(&mut prng.branch("fold"), &[0.0, 0.2, 0.5]);
    params.slc_flush_delay_ns = pick(prng, &[0, 3 * MS]);
}

pub fn random_requests(prng: &mut Prng, capacity: u64, count: usize) -> Vec<Request> {
    let weights: Vec<(Op, u64)> = [(Op::Write, 6), (Op::Read, 5), (Op::Discard, 2), (Op::Flush, 1)]
        .into_iter()
        .filter(|(op, _)| *op == Op::Write || prng.chance(0.8))
        .collect();
    let total: u64 = weights.iter().map(|(_, weight)| weight).sum();
    let span = (capacity / pick(prng, &[1, 1, 4])).max(1);
    let longest = pick(prng, &[8, 64, 300]).min(span);
    let gap: Ns = pick(prng, &[0, 20 * US, 500 * US, 5 * MS]);
    let (fua, preflush) = (pick(prng, &[0.0, 0.2]), pick(prng, &[0.0, 0.1]));
    let mut now = 0;
    (0..count)
        .map(|_| {
            now += prng.below(gap + 1);
            let mut left = prng.below(total);
            let &(op, _) = weights
                .iter()
                .find(|(_, weight)| {
                    let found = left < *weight;
                    left = left.saturating_sub(*weight);
                    found
                })
                .unwrap();
            let sectors = 1 + prng.below(longest);
            let lba = prng.below(span - sectors + 1);
            let mut request = request(now, op, lba, sectors as u32);
            if op == Op::Flush {
                (request.lba, request.sectors) = (0, 0);
            }
            if op == Op::Write {
                request.flags |= if prng.chance(fua) { Request::FUA } else { 0 };
                request.flags |= if prng.chance(preflush) { Request::PREFLUSH } else { 0 };
            }
            request
        })
        .collect()
}
