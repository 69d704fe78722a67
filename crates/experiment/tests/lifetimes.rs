//! Lifetimes of short timed runs are those that a long run in counting mode confirms: of random drives and loads, none
//! is more than a tenth longer, and most runs have one. Without the charge for erased pages some would be.
//!
//! The loads leave the dies idle most of the time: a saturated drive's write buffer is full, and absorbs more rewrites
//! than one that is kept at its threshold, as in counting mode.

use std::path::PathBuf;

use flashloom_experiment::config::{Catalog, Experiment, Source};
use flashloom_experiment::result::RunResult;
use flashloom_experiment::run::{Prepared, Quiet};
use flashloom_units::Prng;

/// Largest share by which a lifetime may exceed the counted one.
const MOST: f64 = 1.1;
/// Passes over the drive that the counting run writes.
const PASSES: f64 = 15.0;

fn run(sets: &[String]) -> RunResult {
    let text = "[workload]\nkind = \"synthetic\"\n[run]\nprecondition = \"steady\"\n[buffer]\ncapacity = \"1MiB\"\n";
    let source = Source { name: "test".to_owned(), text: text.to_owned(), folder: PathBuf::new() };
    let experiment = Experiment::from_source(&Catalog::builtin(), source, sets, None)
        .unwrap_or_else(|problems| panic!("{sets:?}: {problems}"));
    let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{sets:?}: {problems}"));
    prepared.run_variant(0, false, &Quiet).unwrap_or_else(|failure| panic!("{sets:?}: {failure}"))
}

fn pick<T: Copy>(prng: &mut Prng, of: &[T]) -> T {
    of[prng.below(of.len() as u64) as usize]
}

/// A random drive and load: the keys of both, the keys of the timed run, and those of the counting one.
fn drawn(prng: &mut Prng) -> [Vec<String>; 2] {
    let (preset, page_kib, planes) = pick(
        prng,
        &[
            ("mlc-16g", 8, 2),
            ("nvme-mlc-512g", 16, 2),
            ("nvme-tlc-512g", 16, 4),
            ("nvme-tlc-1t", 16, 4),
            ("nvme-qlc-2t", 16, 4),
        ],
    );
    let (blocks, pages) = (pick(prng, &[48, 64, 96]), pick(prng, &[48, 96]));
    let (channels, request_kib) = (pick(prng, &[1, 2]), pick(prng, &[4, 8, 16, 32]));
    let mut both = vec![
        format!("device.preset={preset}"),
        format!("device.channels={channels}"),
        "device.ways=1".to_owned(),
        format!("device.blocks={blocks}"),
        format!("device.pages={pages}"),
        format!("device.over_provisioning={:.3}", 0.12 + 0.35 * prng.unit()),
        format!("workload.synthetic.request_size={request_kib}KiB"),
        format!("workload.synthetic.read_share={}", pick(prng, &["0", "0.5"])),
    ];
    let is_cached = preset.ends_with("-1t") || preset.ends_with("-2t");
    if !is_cached {
        both.push(format!("ftl.mapping={}", pick(prng, &["page", "page", "dftl", "sftl", "lazyftl"])));
    }
    match prng.below(3) {
        0 => both.push("workload.synthetic.pattern=random".to_owned()),
        1 => both.extend([
            "workload.synthetic.pattern=hot-cold".to_owned(),
            format!("workload.synthetic.hot_share={:.2}", 0.05 + 0.35 * prng.unit()),
            format!("workload.synthetic.hot_traffic={:.2}", 0.6 + 0.35 * prng.unit()),
        ]),
        _ => both.extend([
            "workload.synthetic.pattern=zipf".to_owned(),
            format!("workload.synthetic.zipf_theta={:.2}", 0.5 + 0.5 * prng.unit()),
        ]),
    }
    let requests_a_pass = f64::from(channels * planes * blocks * pages * page_kib / request_kib);
    let programs = f64::from(request_kib) / f64::from(page_kib * channels);
    let timed = [
        format!("workload.synthetic.requests={}", (requests_a_pass * (0.03 + 2.0 * prng.unit() * prng.unit())) as u64),
        format!("workload.synthetic.interarrival={}us", (programs.max(0.5) * (4_000.0 + 8_000.0 * prng.unit())) as u64),
    ];
    let counted = [
        "run.timing=counting".to_owned(),
        format!("workload.synthetic.requests={}", (requests_a_pass * 2.0 * PASSES) as u64),
    ];
    [[&both[..], &timed].concat(), [&both[..], &counted].concat()]
}

/// Compares the lifetimes of `cases` random runs with counted ones. At least `least` runs have to print a lifetime, and
/// one of these has to be too long without its charge.
fn hold(seed: u64, cases: usize, least: usize) {
    let mut prng = Prng::new(seed);
    let (mut printed, mut saved) = (0, 0);
    for case in 0..cases {
        let [timed, counted] = drawn(&mut prng);
        let (run, long) = (run(&timed), run(&counted));
        let counted_bytes = long.wear.lifetime.as_ref().expect("many passes are paid for").mean_bytes;
        let room = run.ftl.room.as_ref().expect("every run has it");
        let Some(lifetime) = run.wear.lifetime.as_ref() else {
            println!("{case}: no lifetime; {timed:?}");
            continue;
        };
        let charge = room.charge.expect("a lifetime has a charge");
        let ratio = lifetime.mean_bytes / counted_bytes;
        println!("{case}: {ratio:.3} of the counted lifetime, charge {charge:.3}; {timed:?}");
        assert!(ratio <= MOST, "case {case} lives {ratio:.3} times as long: {timed:?}");
        printed += 1;
        saved += usize::from(ratio * charge > MOST);
    }
    println!("{printed} of {cases} have a lifetime; {saved} of these would be more than {MOST} without the charge");
    assert!(printed >= least && saved > 0, "{printed} of {cases} lifetimes, {saved} that were charged");
}

#[test]
fn a_long_run_confirms_the_lifetime_of_a_short_one() {
    hold(7, 4, 3);
}

#[test]
#[ignore = "a minute: make lifetimes"]
fn a_long_run_confirms_thirty_lifetimes() {
    hold(1, 30, 20);
}
