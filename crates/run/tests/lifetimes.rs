//! Lifetimes of short timed runs are those that a long run in counting mode confirms: of random drives and loads, none
//! is more than a tenth longer, and most runs have one. Without the charge for erased pages some would be.
//!
//! The loads leave the dies idle most of the time: a saturated drive's write buffer is full, and absorbs more rewrites
//! than one that is kept at its threshold, as in counting mode.

use crate::support;
use flashloom_figures::result::RunResult;
use flashloom_units::Prng;

/// Largest share by which a lifetime may exceed the counted one.
const MOST: f64 = 1.1;
/// Passes over the drive that a counting run writes, to hold lifetimes against.
const PASSES: f64 = 15.0;

/// Windows of ageing are long, because drives of so few superblocks collect only some in a short one.
fn run(sets: &[String]) -> RunResult {
    let text = "workload.kind = \"synthetic\"\nbuffer.capacity = \"1MiB\"\n\
                [run]\nprecondition = \"steady\"\nsteady_window = 2\n";
    support::run(text, &sets.iter().map(String::as_str).collect::<Vec<_>>(), false)
}

fn pick<T: Copy>(prng: &mut Prng, of: &[T]) -> T {
    of[prng.below(of.len() as u64) as usize]
}

/// A random drive and load.
struct Drawn {
    /// Keys of both, but for the blocks of a plane.
    sets: Vec<String>,
    /// Requests that write as many bytes as one block of each plane has.
    requests_a_block: f64,
    /// Time in which a die programs what a request writes, as a share of a page's on one channel.
    programs: f64,
}

fn drawn(prng: &mut Prng) -> Drawn {
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
    let (channels, request_kib) = (pick(prng, &[1, 2]), pick(prng, &[4, 8, 16, 32]));
    let pages = pick(prng, &[64, 96]);
    let mut sets = vec![
        format!("device.preset={preset}"),
        format!("device.channels={channels}"),
        "device.ways=1".to_owned(),
        format!("device.pages={pages}"),
        format!("device.over_provisioning={:.3}", 0.12 + 0.35 * prng.unit()),
        format!("workload.synthetic.request_size={request_kib}KiB"),
        format!("workload.synthetic.read_share={}", pick(prng, &["0", "0.5"])),
    ];
    let is_cached = preset.ends_with("-1t") || preset.ends_with("-2t");
    if !is_cached {
        sets.push(format!("ftl.mapping={}", pick(prng, &["page", "page", "dftl", "sftl", "lazyftl"])));
    }
    match prng.below(3) {
        0 => sets.push("workload.synthetic.pattern=random".to_owned()),
        1 => sets.extend([
            "workload.synthetic.pattern=hot-cold".to_owned(),
            format!("workload.synthetic.hot_share={:.2}", 0.05 + 0.35 * prng.unit()),
            format!("workload.synthetic.hot_traffic={:.2}", 0.6 + 0.35 * prng.unit()),
        ]),
        _ => sets.extend([
            "workload.synthetic.pattern=zipf".to_owned(),
            format!("workload.synthetic.zipf_theta={:.2}", 0.5 + 0.5 * prng.unit()),
        ]),
    }
    Drawn {
        sets,
        requests_a_block: f64::from(channels * planes * pages * page_kib / request_kib),
        programs: f64::from(request_kib) / f64::from(page_kib * channels),
    }
}

impl Drawn {
    /// Runs the load on the drive with `blocks` blocks a plane, with the keys `more` set as well.
    fn run(&self, blocks: u32, more: &[String]) -> RunResult {
        run(&[&self.sets, more, &[format!("device.blocks={blocks}")]].concat())
    }

    /// Runs the load in counting mode on the drive with `blocks` blocks a plane. The host writes `passes` times the
    /// bytes of all its pages if half of the requests are reads, and twice that if all are writes.
    fn counted(&self, blocks: u32, passes: f64, more: &[&str]) -> RunResult {
        let requests = (self.requests_a_block * f64::from(blocks) * 2.0 * passes) as u64;
        let keys = ["run.timing=counting".to_owned(), format!("workload.synthetic.requests={requests}")];
        let more: Vec<String> = keys.into_iter().chain(more.iter().map(|&set| set.to_owned())).collect();
        self.run(blocks, &more)
    }
}

/// Compares the lifetimes of `cases` random runs with counted ones. At least `least` runs have to print a lifetime, and
/// one of these has to be too long without its charge.
fn hold(seed: u64, cases: usize, least: usize) {
    let mut prng = Prng::new(seed);
    let (mut printed, mut saved) = (0, 0);
    for case in 0..cases {
        let drawn = drawn(&mut prng);
        let blocks = pick(&mut prng, &[64, 96, 128]);
        let requests = drawn.requests_a_block * f64::from(blocks) * (0.03 + 2.0 * prng.unit() * prng.unit());
        let gap_us = drawn.programs.max(0.5) * (4_000.0 + 8_000.0 * prng.unit());
        let timed = [
            format!("workload.synthetic.requests={}", requests as u64),
            format!("workload.synthetic.interarrival={}us", gap_us as u64),
        ];
        let (run, long) = (drawn.run(blocks, &timed), drawn.counted(blocks, PASSES, &[]));
        let timed = [&drawn.sets[..], &timed].concat();
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

/// What a few blocks a plane say of many, with the same spare space left for collection. No value of
/// `run.precondition` ages a drive so: write amplification alone is further off than such a drive may be.
#[test]
#[ignore = "a quarter of an hour: make lifetimes"]
fn few_blocks_a_plane_answer_for_many() {
    const MANY: u32 = 384;
    let mut prng = Prng::new(1);
    let drives: Vec<Drawn> = (0..200).map(|_| drawn(&mut prng)).collect();
    let waf = |drawn: &Drawn, blocks| {
        let sets = ["device.over_provisioning_counts=effective", "buffer.capacity=0B"];
        drawn.counted(blocks, 5.0, &sets).ftl.waf.expect("pages were written")
    };
    let of_many: Vec<f64> = drives.iter().map(|drawn| waf(drawn, MANY)).collect();
    for few in [48, 96] {
        let error = |(drawn, many): (&Drawn, &f64)| 100.0 * (waf(drawn, few) / many - 1.0).abs();
        let mut errors: Vec<f64> = drives.iter().zip(&of_many).map(error).collect();
        errors.sort_by(f64::total_cmp);
        let within = errors.iter().filter(|error| **error <= 1.0).count();
        let [median, most] = [errors[100], errors[190]];
        assert!(within < 100 && median < 5.0, "{few} of {MANY}: {within} of 200 within 1 %, median {median:.1} %");
        println!("{few} of {MANY} blocks a plane: {within} of 200 within 1 %, median {median:.1} %, p95 {most:.1} %");
    }
}
