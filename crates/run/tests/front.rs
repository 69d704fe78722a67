//! The front of the drive: whose command is fetched next, and who waits for whom.

use crate::support::run;
use flashloom_figures::result::{RunResult, TenantResult};

const DRIVE: &str = r#"
device.channels = 2
device.ways = 2
device.blocks = 64
device.pages = 32
host.queue_depth = 512
buffer.capacity = "0B"
"#;

/// Requests that are outstanding of each workload: more than the drive fetches.
const DEPTH: u64 = 64;

/// Workloads that read pages of the drive for 400 ms, of these classes.
fn readers(classes: &[&str]) -> String {
    let one = |(at, class): (usize, &&str)| {
        format!(
            "[[workload]]\nname = \"w{at}\"\nqueue_class = \"{class}\"\nqueue_depth = {DEPTH}\nend = \"400ms\"\n\
             synthetic.requests = 1000000\nsynthetic.read_share = 1.0\nsynthetic.request_size = \"16KiB\"\n"
        )
    };
    DRIVE.to_owned() + &classes.iter().enumerate().map(one).collect::<String>()
}

/// Each workload's share of the commands that ended while all had some waiting.
fn shares(result: &RunResult) -> Vec<f64> {
    let served = |tenant: &TenantResult| (tenant.host.completed - DEPTH) as f64;
    let all: f64 = result.tenants.iter().map(served).sum();
    assert!(all > 5_000.0, "{all} commands");
    result.tenants.iter().map(|tenant| served(tenant) / all).collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 0.01 * expected;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(is_near), "{found:?}, not {expected:?}");
}

/// Closed form: a class has its weight over the sum of the weights. Its queues share that alike where the burst divides
/// the weight; where it does not, a turn ends with the credits, and the queue that begins each round has more.
#[test]
fn backlogged_queues_have_shares_by_weight() {
    let text = readers(&["high", "medium", "low", "high"]);
    let front = "device.front_commands=4";
    let weighted = [
        front,
        "device.front_arbiter=weighted",
        "device.front_high_weight=5",
        "device.front_medium_weight=3",
        "device.front_low_weight=2",
    ];
    assert_near(&shares(&run(&text, &weighted, true)), &[0.25, 0.3, 0.2, 0.25]);
    let bursts = [&weighted[..], &["device.front_burst=4"]].concat();
    assert_near(&shares(&run(&text, &bursts, true)), &[0.4, 0.3, 0.2, 0.1]);
    assert_near(&shares(&run(&text, &[front], true)), &[0.25; 4]);
    // Without a front nobody decides, and each has as many as it has outstanding.
    let free = run(&text, &["workload.w0.queue_depth=128"], true);
    let [first, second] = [0, 1].map(|at| free.tenants[at].host.completed as f64);
    assert!(first > 1.8 * second, "{first} and {second}");
}

/// One command at a time, of equal length: what an urgent one waits for is the rest of the one under way.
#[test]
fn an_urgent_command_waits_for_nothing_but_what_is_under_way() {
    let longest = |classes: &[&str], arbiter: &str| {
        let sets = ["device.front_commands=1", "workload.w0.queue_depth=1", arbiter];
        let result = run(&readers(classes), &sets, true);
        let latency = result.tenants.first().map_or(&result.host, |tenant| &tenant.host).latency_ns.clone();
        latency.and_then(|all| all.read).map(|latency| latency.max).expect("it has read")
    };
    let (weighted, in_turn) = ("device.front_arbiter=weighted", "device.front_arbiter=round-robin");
    let alone = longest(&["urgent"], weighted);
    let classes = ["urgent", "high", "low"];
    let urgent = longest(&classes, weighted);
    assert!(urgent > alone && urgent <= 2 * alone, "{urgent} ns, {alone} ns alone");
    let in_turn = longest(&classes, in_turn);
    assert!(in_turn > 2 * alone && in_turn <= 3 * alone, "{in_turn} ns, {alone} ns alone");
}

#[test]
fn a_drive_that_holds_more_than_the_host_sends_decides_nothing() {
    let text = readers(&["high", "low"]);
    let all = |sets: &[&str]| {
        let result = run(&text, sets, true);
        let anatomy = result.host.anatomy.clone();
        (result.host.latency_ns, anatomy, result.tenants.iter().map(|each| each.host.completed).collect::<Vec<_>>())
    };
    let wide = all(&["device.front_commands=512", "device.front_arbiter=weighted", "device.front_high_weight=9"]);
    assert_eq!(wide, all(&[]));
}
