//! The tutorial, executed: its output is what these policies produce, without any change to Flashloom.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

const PROGRAM: &str = env!("CARGO_BIN_EXE_flashloom-example-policies");

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    let output = command.args(arguments).current_dir(repository()).output();
    output.expect("the program runs")
}

fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("tables are text")
}

/// Held by the test that has the page open.
static PAGE: Mutex<()> = Mutex::new(());

/// Holds the text of a fenced block of the tutorial, found by the comment before it that names it, against what comes
/// out; writes it anew with `INSTA_UPDATE=always`.
fn hold(name: &str, output: &str) {
    let _page = PAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = repository().join("docs/tutorial.md");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let begin = format!("<!-- {name} -->\n```text\n");
    let (before, rest) = text.split_once(&begin).expect("the tutorial has the block");
    let (shown, after) = rest.split_once("```").expect("it ends");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        let renewed = format!("{before}{begin}{}\n```{after}", output.trim_end());
        std::fs::write(path, renewed).expect("it can be written");
    } else {
        assert_eq!(
            output.trim_end(),
            shown.trim_end(),
            "`make docs-outputs UPDATE=1` writes docs/tutorial.md anew"
        );
    }
}

const EXPERIMENT: &str = "examples/policies/experiment.toml";

#[test]
fn the_tutorials_comparison_is_what_comes_out() {
    let table = stdout(&["compare", EXPERIMENT, "--verify", "--statistics"]);
    hold("comparison", &table);
}

/// A folder beside the program, with a second name of it in which it finds no plugin.
fn alone() -> (tempfile::TempDir, PathBuf) {
    let folder = Path::new(PROGRAM).parent().expect("it is in a folder");
    let folder = tempfile::tempdir_in(folder).expect("there is room");
    let program = folder.path().join("program");
    std::fs::hard_link(PROGRAM, &program).expect("there is room");
    (folder, program)
}

/// Serves a drive with a policy of this program, or a built-in one, in a folder.
fn serve(program: &Path, gc: &str) -> Command {
    let socket = program.with_file_name("socket");
    let set = format!("ftl.gc={gc}");
    let mut command = Command::new(program);
    command.args([
        "serve",
        "experiments/quickstart.toml",
        "--set",
        &set,
        "--unix",
    ]);
    command.arg(socket).current_dir(repository());
    command
        .env_remove("FLASHLOOM_NBDKIT")
        .env_remove("FLASHLOOM_NBDKIT_PLUGIN");
    command
}

#[test]
fn a_drive_with_a_policy_of_this_program_needs_a_plugin_that_has_it() {
    let (_folder, program) = alone();
    let end = |gc: &str| serve(&program, gc).output().expect("the program runs");
    let (own, built_in) = (end("rested"), end("greedy"));
    let said = String::from_utf8_lossy(&own.stderr);
    assert_eq!(own.status.code(), Some(2));
    for words in [
        "the built-in one",
        "`flashloom_plugin::nbdkit!(registry);`",
        "`rested`",
    ] {
        assert!(said.contains(words), "{said}");
    }
    // It gets further: no plugin is there, or no nbdkit.
    let said = String::from_utf8_lossy(&built_in.stderr);
    assert_eq!(built_in.status.code(), Some(2));
    assert!(
        said.contains("nbdkit") && !said.contains("registry"),
        "{said}"
    );
}

/// nbdkit is a script here, which says of any plugin what a plugin says of itself.
#[test]
fn a_plugin_of_other_sources_is_refused_with_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, program) = alone();
    let nbdkit = folder.path().join("nbdkit");
    let end = |told: &str| {
        std::fs::write(&nbdkit, format!("#!/bin/sh\nprintf '{told}'\n")).expect("there is room");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&nbdkit, mode).expect("it is ours");
        let mut command = serve(&program, "rested");
        command
            .env("FLASHLOOM_NBDKIT", &nbdkit)
            .env("FLASHLOOM_NBDKIT_PLUGIN", &nbdkit);
        let output = command.output().expect("the program runs");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("errors are text")
    };
    for (told, words) in [
        ("version=1\\n", "does not say what it is built of"),
        (
            "flashloom_version=0.0.1\\nflashloom_revision=old\\n",
            "Flashloom 0.0.1 of revision old",
        ),
    ] {
        let said = end(told);
        let words = [words, "build both anew", &nbdkit.display().to_string()];
        assert!(words.iter().all(|words| said.contains(words)), "{said}");
    }
    let sources = format!(
        "flashloom_version={}\\nflashloom_revision={}\\n",
        env!("CARGO_PKG_VERSION"),
        flashloom::REVISION
    );
    assert!(
        end(&sources).contains("which is built in"),
        "it has no policy at all"
    );
    let builtin = flashloom::config::registry::Registry::builtin();
    let slots = builtin.slots().map(|(slot, specs)| {
        let names: Vec<&str> = specs.into_iter().map(|spec| spec.name).collect();
        format!("flashloom_policies.{}={}\\n", slot.key, names.join(","))
    });
    let same = sources + &slots.concat();
    let said = end(&same);
    let is_of_policy = said.contains("`rested`") && !said.contains("build both anew");
    assert!(is_of_policy, "{said}");
    let own = end(&format!("{same}flashloom_own_revision=mine\\n"));
    assert!(own.contains("with policies of revision mine"), "{own}");
}

#[test]
fn a_misspelt_parameter_gets_the_pointed_error() {
    let output = run(&["run", EXPERIMENT, "--set", "host.shortest.max_wiat=1ms"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).expect("errors are text");
    hold("misspelt", &error);
}

#[test]
fn list_and_explain_show_them_beside_the_built_in_ones() {
    for (list, name) in [
        ("schedulers", "shortest"),
        ("gc", "rested"),
        ("mappings", "block-map"),
        ("mappings", "ctp"),
        ("mappings", "slc-region"),
    ] {
        assert!(
            stdout(&["list", list]).contains(&format!("\n  {name} ")),
            "{list}"
        );
        assert!(
            stdout(&["explain", name]).contains(&format!("= \"{name}\"")),
            "{name}"
        );
    }
    let page = stdout(&["explain", "shortest"]);
    assert!(
        page.contains("max_wait = \"50ms\" (a time from 0ns to 60s)"),
        "{page}"
    );
    assert!(page.contains("overdue (a count)"), "{page}");
}

#[test]
fn a_result_has_their_statistics_and_the_schema_machinery_knows_them() {
    let set = [
        "host.scheduler=shortest",
        "workload.synthetic.requests=2000",
    ];
    let json = stdout(&[
        "run", EXPERIMENT, "--json", "-", "--set", set[0], "--set", set[1],
    ]);
    let result: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(result["config"]["host"]["shortest"]["max_wait"], "50ms");
    assert!(
        result["host"]["scheduler"]["overdue"].is_u64(),
        "{}",
        result["host"]["scheduler"]
    );
    let registry = flashloom_example_policies::registry().expect("the names are free");
    let catalog = registry.catalog().expect("the tables are free");
    let numbers = flashloom::config::numbers(&catalog);
    assert!(numbers.iter().any(|path| path == "host.scheduler.overdue"));
    // One declaration: in the JSON, the schema, the tables, the CSV and the help.
    let schemas = flashloom::config::schema::schemas(&catalog);
    let described = schemas
        .iter()
        .find(|(name, _)| *name == "result.json")
        .is_some_and(|(_, schema)| schema.contains("Requests that had waited for too long."));
    assert!(described);
    let csv = tempfile::NamedTempFile::new().expect("a file");
    let csv = csv.path().display().to_string();
    let vary = [
        "compare",
        EXPERIMENT,
        "--vary",
        "host.scheduler=noop,shortest",
        "--csv",
        &csv,
    ];
    let heading = stdout(&vary).lines().next().unwrap_or_default().to_owned();
    let written = std::fs::read_to_string(&csv).expect("it was written");
    assert!(heading.contains(" overdue"), "{heading}");
    assert!(written.contains("host.scheduler.overdue"), "{written}");
    let summary = stdout(&["run", EXPERIMENT, "--set", set[0], "--set", set[1]]);
    assert!(summary.contains(", overdue "), "{summary}");
    assert!(stdout(&["explain", "overdue"]).contains("waited for too long"));
    let (_, config) = schemas
        .iter()
        .find(|(name, _)| *name == "config.json")
        .expect("it is one");
    assert!(
        ["shortest", "rested", "block-map", "ctp", "slc-region"]
            .iter()
            .all(|name| config.contains(name))
    );
}

#[test]
fn a_mapping_that_does_not_fit_is_refused_at_the_key_that_it_names() {
    let small = [
        "--set",
        "device.over_provisioning=0.001",
        "--set",
        "device.blocks=16",
    ];
    let ours = ["run", EXPERIMENT, "--set", "ftl.mapping=block-map"];
    let output = run(&[&ours[..], &small[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).expect("errors are text");
    assert!(
        error.contains("blocks all hold data of the host"),
        "{error}"
    );
    assert!(error.contains("--set:1:26"), "{error}");
}

#[test]
fn a_collection_policy_is_refused_where_no_mapping_asks_for_one() {
    let output = run(&[
        "run",
        EXPERIMENT,
        "--set",
        "ftl.mapping=block-map",
        "--set",
        "ftl.gc=rested",
    ]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).expect("errors are text");
    assert!(
        error.contains("page, dftl, sftl, leaftl, lazyftl, u-ftl, ctp or slc-region"),
        "{error}"
    );
}

/// A run of the mapping with a cached map, on a drive with room for it, and further keys.
fn ctp<'a>(keys: &[&'a str]) -> Vec<&'a str> {
    let always = [
        "ftl.mapping=ctp",
        "device.over_provisioning=0.2",
        "workload.synthetic.requests=4000",
    ];
    let set = always.iter().chain(keys).flat_map(|key| ["--set", *key]);
    ["run", EXPERIMENT, "--no-cache"]
        .into_iter()
        .chain(set)
        .collect()
}

fn result(arguments: &[&str]) -> serde_json::Value {
    let json = stdout(&[arguments, &["--json", "-"]].concat());
    serde_json::from_str(&json).expect("it is JSON")
}

#[test]
fn a_mapping_with_a_cached_map_passes_every_check_under_collection() {
    for keys in [
        &["ftl.ctp.cache=16KiB"][..],
        &["ftl.ctp.cache=64KiB", "ftl.gc_pace=share"],
        &[
            "device.program_failures=0.000005",
            "ftl.hot_cold=multi-hash",
        ],
        &["ftl.superblock=die", "device.planes=2"],
    ] {
        let arguments = ctp(&[&["run.precondition=steady", "run.fill=0.9"], keys].concat());
        let result = result(&[&arguments[..], &["--verify"]].concat());
        let cache = &result["ftl"]["mapping"];
        assert!(cache["map_writes"].as_u64() > Some(0), "{keys:?}: {cache}");
        assert!(result["ftl"]["page_copies"].as_u64() > Some(0), "{keys:?}");
    }
}

#[test]
fn a_dirty_translation_page_that_is_cached_whole_is_written_without_a_read() {
    let result = result(&ctp(&["ftl.ctp.cache=8KiB", "run.precondition=none"]));
    let cache = &result["ftl"]["mapping"];
    let figure = |name: &str| cache[format!("map_{name}")].as_u64().expect("a count");
    assert!(figure("reads") <= figure("misses"), "{cache}");
    assert!(figure("writes") > 0, "{cache}");
}

/// In the result; as a column of a comparison; and explained.
#[test]
fn what_a_mapping_from_outside_counts_is_told_wherever_a_built_in_ones_is() {
    let result = result(&ctp(&["run.precondition=none"]));
    for name in ["hits", "misses", "hit_ratio", "reads", "writes"] {
        let of_map = &result["ftl"]["mapping"][format!("map_{name}")];
        assert!(!of_map.is_null(), "{name}");
    }
    let vary = ["--vary", "ftl.mapping=ctp,dftl", "--statistics"];
    let keys = [
        "device.over_provisioning=0.2",
        "workload.synthetic.requests=500",
    ];
    let set = keys.iter().flat_map(|key| ["--set", *key]);
    let compare = ["compare", EXPERIMENT, "--no-cache"].into_iter();
    let table = stdout(&compare.chain(vary).chain(set).collect::<Vec<_>>());
    let heading = table.lines().next().unwrap_or_default();
    assert!(heading.contains("map_misses"), "{heading}");
    let page = stdout(&["explain", "map_misses"]);
    assert!(page.contains("ctp"), "{page}");
}

#[test]
fn a_drive_with_a_cached_map_can_be_saved_and_goes_on_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("drive").display().to_string();
    let saved = result(&[&ctp(&[])[..], &["--save-state", &file]].concat());
    let state = format!("run.state={file}");
    let loaded = result(&ctp(&[&state]));
    for part in ["host", "ftl", "nand"] {
        assert_eq!(saved[part], loaded[part], "{part}");
    }
}

#[test]
fn combinations_that_a_cached_map_cannot_work_in_are_refused() {
    for (key, words) in [
        ("ftl.ctp.cache=1KiB", "room for a translation page"),
        ("ftl.placement=round-robin", "with `ftl.mapping` = \"ctp\""),
        ("device.over_provisioning=0.01", "and the map"),
    ] {
        let output = run(&ctp(&[key]));
        let error = String::from_utf8(output.stderr).expect("errors are text");
        assert_eq!(output.status.code(), Some(2), "{key}: {error}");
        assert!(error.contains(words), "{key}: {error}");
    }
}

/// On a small drive with three bits per cell, verified.
#[test]
fn an_slc_region_is_counted_apart_collected_by_itself_and_programmed_sooner() {
    let run = |footprint: &str| {
        let always = [
            "ftl.mapping=slc-region",
            "ftl.slc-region.share=0.25",
            "device.bits_per_cell=3",
            "device.over_provisioning=0.6",
            "workload.synthetic.pattern=random",
            "workload.synthetic.read_share=0",
            "buffer.capacity=0B",
            footprint,
        ];
        let set = always.iter().flat_map(|key| ["--set", *key]);
        let run = ["run", EXPERIMENT, "--no-cache", "--verify"].into_iter();
        let result = result(&run.chain(set).collect::<Vec<_>>());
        let programs = ["slc_programs", "other_programs"].map(|name| {
            let count = &result["ftl"]["mapping"][name];
            count.as_u64().expect("a count")
        });
        let all = result["nand"]["programs"]["total"].as_u64();
        assert_eq!(Some(programs[0] + programs[1]), all, "each is counted once");
        let latency = result["host"]["latency_ns"]["write"]["mean"].as_f64();
        let copies = result["ftl"]["page_copies"].as_u64();
        (programs, copies, latency.expect("a time"))
    };
    let (inside, copies, fast) = run("workload.synthetic.footprint=0.05");
    assert!(
        inside[0] > 0 && inside[1] == 0 && copies > Some(0),
        "{inside:?}, {copies:?} copied"
    );
    let (both, _, slow) = run("workload.synthetic.footprint=1.0");
    assert!(both[0] > 0 && both[1] > both[0], "{both:?}");
    assert!(fast < slow, "{fast} ns inside, {slow} ns everywhere");
}

/// On a small drive that is written over and over, verified.
fn worn(keys: &[&str]) -> serde_json::Value {
    let always = [
        "device.blocks=16",
        "device.pages=32",
        "device.over_provisioning=0.5",
        "workload.synthetic.pattern=random",
        "workload.synthetic.read_share=0.5",
        "run.anatomy=true",
    ];
    let set = always.iter().chain(keys).flat_map(|key| ["--set", *key]);
    let run = ["run", EXPERIMENT, "--no-cache", "--verify"].into_iter();
    result(&run.chain(set).collect::<Vec<_>>())
}

#[test]
fn reads_of_worn_blocks_are_repeated_and_those_of_very_worn_ones_fail() {
    let none = worn(&[]);
    assert!(none["nand"].get("reliability").is_none(), "{none}");
    let policy = "device.reliability=worn";
    let fresh = worn(&[policy]);
    let repeated = |result: &serde_json::Value| result["nand"]["retries"]["total"].as_u64();
    assert_eq!(
        repeated(&fresh),
        Some(0),
        "no block has been erased so often"
    );
    for part in ["host", "ftl", "wear"] {
        assert_eq!(none[part], fresh[part], "{part}: nothing was repeated");
    }
    let few = ["device.worn.fresh=2", "device.worn.doubling=1"];
    let old = worn(&[policy, few[0], few[1]]);
    let reads = &old["nand"]["reliability"]["worn_reads"];
    assert!(repeated(&old) > reads.as_u64(), "{}", old["nand"]);
    let latency =
        |result: &serde_json::Value| result["host"]["latency_ns"]["read"]["mean"].as_f64();
    assert!(latency(&old) > latency(&fresh));
    let parts = &old["host"]["anatomy"]["read"]["whole"]["parts_ns"];
    assert!(parts["retry"].as_u64() > Some(0), "{parts}");
    let broken = worn(&[policy, few[0], few[1], "device.worn.most=1"]);
    let (host, nand) = (&broken["host"], &broken["nand"]);
    assert!(host["failed"]["unreadable"].as_u64() > Some(0), "{host}");
    assert!(nand["lost_pages"].as_u64() > Some(0), "{nand}");
}

#[test]
fn wrong_parameters_of_the_policy_are_refused_as_any() {
    for (keys, words) in [
        (&["device.reliability=wron"][..], "did you mean `worn`?"),
        (
            &["device.reliability=worn", "device.worn.frsh=3"],
            "did you mean `fresh`?",
        ),
        (
            &["device.reliability=worn", "device.worn.doubling=0"],
            "from 1 to",
        ),
    ] {
        let set = keys.iter().flat_map(|key| ["--set", *key]);
        let output = run(&["run", EXPERIMENT]
            .into_iter()
            .chain(set)
            .collect::<Vec<_>>());
        let error = String::from_utf8(output.stderr).expect("errors are text");
        assert_eq!(output.status.code(), Some(2), "{keys:?}: {error}");
        assert!(error.contains(words), "{keys:?}: {error}");
    }
}

#[test]
fn the_policies_are_short() {
    let lines = |name: &str| {
        let path = repository().join("examples/policies/src").join(name);
        let text = std::fs::read_to_string(path).expect("it is there");
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        (text.lines().count(), text.lines().filter(is_code).count())
    };
    let three = ["shortest.rs", "rested.rs", "block_map.rs"];
    let code: usize = three.into_iter().map(|name| lines(name).1).sum();
    assert!(code < 250, "{code} lines");
    assert!(lines("ctp.rs").0 < 210, "{} lines", lines("ctp.rs").0);
    assert!(lines("worn.rs").0 < 80, "{} lines", lines("worn.rs").0);
    let code = lines("slc_region.rs").1;
    assert!(code < 120, "{code} lines");
}

/// What the tutorial shows of the cache's state is what the cache has.
#[test]
fn the_tutorials_state_is_that_of_the_cache() {
    let tutorial =
        std::fs::read_to_string(repository().join("docs/tutorial.md")).expect("it is there");
    let (_, shown) = tutorial
        .split_once("```rust\nstate! {")
        .expect("the tutorial has it");
    let (shown, _) = shown.split_once("```").expect("the block ends");
    assert!(
        include_str!("../src/ctp.rs").contains(&format!("\nstate! {{{shown}")),
        "paste it into docs/tutorial.md"
    );
}
