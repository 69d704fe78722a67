//! Several workloads on one drive: each is what it is alone, their sums are the whole, and they go by their names.

use crate::support::{Sound, prepared, run, single, varied};
use flashloom_config::{Catalog, Experiment, Source};
use flashloom_figures::result::{RunResult, field};
use flashloom_run::Quiet;

const DRIVE: &str = r#"
device.channels = 2
device.ways = 2
device.blocks = 64
device.pages = 32
buffer.capacity = "1MiB"
"#;

const READER: &str = r#"
[[workload]]
name = "reader"
queue_depth = 4
range_end = 0.5
synthetic.requests = 2000
synthetic.read_share = 1.0
"#;

const WRITER: &str = r#"
[[workload]]
name = "writer"
queue_depth = 8
range_begin = 0.5
synthetic.requests = 1000
synthetic.read_share = 0.0
synthetic.pattern = "sequential"
"#;

fn both() -> String {
    [DRIVE, READER, WRITER].concat()
}

/// A result without what it says of its configuration and cost.
fn found(mut result: RunResult) -> String {
    (result.run, result.provenance) = (None, None);
    let mut json = serde_json::to_value(&result).sound();
    json["config"].take();
    json.to_string()
}

#[test]
fn a_workload_with_a_name_that_is_alone_is_that_without() {
    let named = run(&[DRIVE, READER].concat(), &[], true);
    let plain = READER.replace("[[workload]]\nname = \"reader\"", "[workload]");
    assert_eq!(found(named), found(run(&[DRIVE, &plain].concat(), &[], true)));
}

#[test]
fn each_has_its_figures_by_name_in_their_order_and_sums_are_the_whole() {
    let result = run(&both(), &[], true);
    let names: Vec<_> = result.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    assert_eq!(names, ["reader", "writer"]);
    let [reader, writer] = &result.tenants[..] else { panic!("two workloads") };
    assert_eq!((reader.host.reads, reader.host.writes, writer.host.reads, writer.host.writes), (2_000, 0, 0, 1_000));
    assert_eq!(reader.host.requests + writer.host.requests, result.host.requests);
    assert_eq!(reader.host.read_bytes + writer.host.read_bytes, result.host.read_bytes);
    assert_eq!(reader.host.write_bytes + writer.host.write_bytes, result.host.write_bytes);
    let longest = |tenant: &flashloom_figures::result::TenantResult| tenant.host.duration_ns;
    assert_eq!(longest(reader).max(longest(writer)), result.host.duration_ns);
}

#[test]
fn requests_stay_within_the_part_that_a_workload_has() {
    let text = both();
    let prepared = prepared(single(&text, &[]));
    let capacity = prepared.experiment().variants[0].config.device.capacity_sectors();
    let mut seen = [false; 2];
    prepared
        .requests(flashloom_workload::Event::Queue, &Quiet, &mut |request| {
            let is_read = request.op == flashloom_workload::Op::Read;
            let (from, to) = if is_read { (0, capacity / 2) } else { (capacity / 2, capacity) };
            assert!(request.lba >= from && request.lba + u64::from(request.sectors) <= to, "{request:?}");
            seen[usize::from(is_read)] = true;
        })
        .sound();
    assert_eq!(seen, [true; 2]);
}

/// What one asks for does not depend on the other, nor on the order in which they are written.
#[test]
fn what_a_workload_asks_for_stays_when_others_come_or_change() {
    let asked = |text: &str, sets: &[&str]| {
        let mut reads = Vec::new();
        let show = &mut |request: &flashloom_workload::Request| {
            if request.op == flashloom_workload::Op::Read {
                reads.push(request.lba);
            }
        };
        prepared(single(text, sets)).requests(flashloom_workload::Event::Queue, &Quiet, show).sound();
        reads
    };
    let first = asked(&both(), &[]);
    assert_eq!(first.len(), 2_000);
    assert_eq!(first, asked(&both(), &["workload.writer.queue_depth=1"]));
    assert_eq!(first, asked(&[DRIVE, WRITER, READER].concat(), &[]));
    assert_ne!(first, asked(&both(), &["run.seed=2"]));
}

#[test]
fn a_workload_that_comes_later_and_ends_earlier_waits_and_stops() {
    let sets = ["workload.writer.begin=20ms", "workload.writer.end=40ms"];
    let whole = run(&both(), &["workload.writer.begin=20ms"], true);
    let result = run(&both(), &sets, true);
    let [of_whole, cut] = [&whole, &result].map(|result| &result.tenants[1].host);
    assert!(of_whole.duration_ns > Some(40_000_000) && of_whole.requests == 1_000);
    assert!(cut.requests < 1_000 && cut.requests > 0, "{}", cut.requests);
    let alone = run(&[DRIVE, WRITER].concat(), &["workload.writer.begin=20ms"], true);
    assert!(alone.host.duration_ns > Some(20_000_000));
}

#[test]
fn keys_of_one_of_several_are_set_and_varied_by_its_name() {
    let depth = |experiment: &Experiment, run: usize| {
        let each = &experiment.variants[run].config.workloads;
        each.iter().map(|(_, config)| config.workload.queue_depth).collect::<Vec<_>>()
    };
    assert_eq!(depth(&single(&both(), &["workload.reader.queue_depth=7"]), 0), [7, 8]);
    let options = varied(&both(), &[], &["workload.writer.queue_depth=1,2"]);
    assert_eq!([depth(&options, 0), depth(&options, 1)], [[4, 1], [4, 2]]);
    assert_eq!(options.variants[1].label(), "workload.writer.queue_depth=2");
    for vary in ["\"workload.writer.queue_depth\" = [1, 2]", "workload.writer.queue_depth = [1, 2]"] {
        let of_file = varied(&format!("{}[vary]\n{vary}\n", both()), &[], &[]);
        assert_eq!([depth(&of_file, 0), depth(&of_file, 1)], [[4, 1], [4, 2]]);
    }
}

#[test]
fn a_configuration_with_several_reads_back() {
    let first = single(&both(), &["workload.writer.synthetic.requests=900"]);
    let text = first.variants[0].config.to_toml();
    let second = single(&text, &[]);
    assert_eq!(first.variants[0].config.to_json(), second.variants[0].config.to_json(), "{text}");
    assert_eq!(text, second.variants[0].config.to_toml());
    let json = first.variants[0].config.to_json();
    assert_eq!(
        (&json["workload"][0]["name"], &json["workload"][1]["synthetic"]["requests"]),
        (&"reader".into(), &900.into())
    );
}

#[test]
fn an_expectation_is_about_one_of_several_by_its_name() {
    let expect = "[[expect]]\nclaim = \"a deeper queue reads more\"\nat_least = 1.0\n\
                  formula = 'tenants.reader.host.iops{queue_depth=8} / \
                  tenants.reader.host.iops{queue_depth=1}'\n";
    let text = [&both(), expect].concat();
    let prepared = prepared(varied(&text, &[], &["workload.reader.queue_depth=1,8"]));
    let results = [0, 1].map(|index| prepared.run_variant(index, false, &Quiet).sound());
    let json = results.map(|result| serde_json::to_value(&result).sound());
    let iops = json.map(|result| field(&result, "tenants.reader.host.iops").and_then(serde_json::Value::as_f64));
    assert!(iops[1] > iops[0] && iops[0] > Some(0.0), "{iops:?}");
    let found = refused(&text.replace("tenants.reader", "tenants.raeder"), &[]);
    assert!(found.contains("did you mean `tenants.reader.host.iops`"), "{found}");
}

/// The problems of a text, with an option.
fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let experiment = Experiment::from_source(&Catalog::builtin(), Source::text("a.toml", text), &sets, None);
    experiment.map(|_| ()).unwrap_err().to_string()
}

#[test]
fn names_that_are_none_are_refused_where_they_stand() {
    for (text, place, said) in [
        ("[[workload]]\nkind = \"synthetic\"\n", "a.toml:1:1", "a workload without a name"),
        ("[[workload]]\nname = 3\n", "a.toml:2:8", "a name that is no text"),
        ("[[workload]]\nname = \"A b\"\n", "a.toml:2:8", "a workload named `A b`"),
        ("[[workload]]\nname = \"trace\"\n", "a.toml:2:8", "`trace` is a kind of workload"),
        ("[[workload]]\nname = \"replay\"\n", "a.toml:2:8", "`replay` is a key of a workload"),
        ("[[workload]]\nname = \"a\"\n[[workload]]\nname = \"a\"\n", "a.toml:4:8", "a second workload named `a`"),
        ("[[workload]]\nname = \"a\"\nqueue_dept = 1\n", "a.toml:3:1", "did you mean `queue_depth`"),
        ("[[workload]]\nname = \"a\"\nrange_begin = 0.5\nrange_end = 0.5\n", "a.toml:3:15", "a part of the drive from"),
    ] {
        let found = refused(text, &[]);
        assert!(found.contains(place) && found.contains(said), "{text}{found}");
    }
}

#[test]
fn an_option_names_the_workload_that_it_is_for() {
    for (set, said) in [
        ("workload.queue_depth=3", "such as `workload.reader.queue_depth`"),
        ("workload.raeder.queue_depth=3", "did you mean `reader`"),
        ("workload.reader.queue_dept=3", "did you mean `queue_depth`"),
    ] {
        let found = refused(&both(), &[set]);
        assert!(found.contains(said), "{set}: {found}");
    }
}

#[test]
fn what_has_no_effect_in_one_of_several_is_said_of_that_one() {
    let text = format!("{}synthetic.hot_share = 0.1\n", both());
    let said: Vec<String> = single(&text, &[]).unused().iter().map(|note| note.sentence(|_| String::new())).collect();
    assert!(said.len() == 1 && said[0].contains("workload.writer.synthetic.hot_share has no effect"), "{said:?}");
}

/// By hand: 2,000 reads at 10,000 a second take 0.2 s but for the last's service, and a limit of bytes of 4 KiB each
/// twice that.
#[test]
fn limits_hold_one_back_and_let_the_other_go() {
    let longest = |sets: &[&str]| {
        let result = run(&both(), &[&["workload.reader.queue_depth=256"], sets].concat(), true);
        result.tenants.iter().map(|tenant| tenant.host.duration_ns.expect("it is timed")).collect::<Vec<_>>()
    };
    let free = longest(&[]);
    let by_requests = longest(&["workload.reader.most_requests=10000"]);
    assert!((199_900_000..201_000_000).contains(&by_requests[0]), "{by_requests:?}");
    assert!(by_requests[1] < free[1] * 11 / 10, "{by_requests:?} and {free:?}");
    let by_bytes = longest(&["workload.reader.most_rate=20.48MB/s"]);
    assert!((399_800_000..401_000_000).contains(&by_bytes[0]), "{by_bytes:?}");
    let one = longest(&["workload.reader.most_outstanding=1"]);
    let depth = longest(&["workload.reader.queue_depth=1"]);
    assert_eq!(one, depth, "a closed loop of depth one has one outstanding");
}
