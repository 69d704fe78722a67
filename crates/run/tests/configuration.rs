//! Properties of configurations: any text is accepted or refused without a panic; its meaning does not depend on where
//! it is written; written out, it reads back to the same.

use std::fs;
use std::path::{Path, PathBuf};

use flashloom_config::{Catalog, Experiment, KeyId, Source, Sweep, Variant, toml_value};
use flashloom_units::{Kind, Param, Problems, Value};
use proptest::prelude::*;

use crate::support::{Sound, owned};

fn load(text: &str, sets: &[String], varies: Option<&[String]>) -> Result<Experiment, Problems> {
    Experiment::from_source(&Catalog::builtin(), Source::text("a.toml", text), sets, varies)
}

fn effective(text: &str, sets: &[String]) -> String {
    load(text, sets, None).sound().variants[0].config.to_toml()
}

/// A value within the range of a parameter, drawn from ordinary ones: the whole range would make drives that no rule
/// accepts.
fn value_of(param: &'static Param) -> BoxedStrategy<Value> {
    let names = |names: Vec<&'static str>| proptest::sample::select(names).prop_map(Value::Name).boxed();
    match param.kind {
        Kind::Count { min, max } => (min..=max.min(min + 1_000)).prop_map(Value::Count).boxed(),
        Kind::Size { min, max } => (min..=max.min(min + (1 << 20))).prop_map(Value::Size).boxed(),
        Kind::SizeOr { min, max, .. } => prop_oneof![(min..=max).prop_map(Value::Size), names(param.names())].boxed(),
        Kind::CountOr { min, max, .. } => prop_oneof![(min..=max).prop_map(Value::Count), names(param.names())].boxed(),
        Kind::Time { min, max } => (min..=max).prop_map(Value::Time).boxed(),
        Kind::Rate { min, max } => (min..=max).prop_map(Value::Rate).boxed(),
        Kind::Energy { min, max } => (min..=max).prop_map(Value::Energy).boxed(),
        Kind::Power { min, max } => (min..=max).prop_map(Value::Power).boxed(),
        Kind::Ratio { min, max } => (min..=max).prop_map(Value::Ratio).boxed(),
        Kind::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        Kind::Choice(_) | Kind::ChoiceOrFile(_) | Kind::Policy(_) => names(Catalog::builtin().names(param)),
        Kind::Text => "[ -~\u{7f}\u{e9}\n\t]{0,12}".prop_map(|text| Value::Text(text.into())).boxed(),
    }
}

/// Some keys with values.
fn assignments() -> impl Strategy<Value = Vec<(KeyId, Value)>> {
    let one = proptest::sample::select(Catalog::builtin().keys().collect::<Vec<_>>())
        .prop_flat_map(|key| value_of(key.param()).prop_map(move |value| (key, value)));
    proptest::collection::vec(one, 0..6).prop_map(|mut all| {
        all.sort_by_key(|(key, _)| *key);
        all.dedup_by_key(|(key, _)| *key);
        all
    })
}

fn as_file(assignments: &[(KeyId, Value)]) -> String {
    let line = |(key, value): &(KeyId, Value)| Some(format!("{} = {}\n", key.path(), toml_value(value)?));
    assignments.iter().filter_map(line).collect()
}

fn as_sets(assignments: &[(KeyId, Value)]) -> Vec<String> {
    let set = |(key, value): &(KeyId, Value)| Some(format!("{}={}", key.path(), toml_value(value)?));
    assignments.iter().filter_map(set).collect()
}

/// A text that is nearly a configuration: names and values of the tables, and punctuation, in any order.
fn nearly() -> impl Strategy<Value = String> {
    let words: Vec<String> = Catalog::builtin()
        .keys()
        .flat_map(|key| [key.param().name.to_owned(), key.path(), format!("[{}]\n", key.path())])
        .chain(["=", " = ", "\n", "\"", "'", "{", "}", "[", "]", ",", ".", "#"].map(str::to_owned))
        .chain(
            ["[vary]\n", "[[expect]]\n", "claim", "formula", "at_least", "[host]\n", "[[host]]\n"].map(str::to_owned),
        )
        .chain(["\"max(host.iops)\"", "75", "-1", "1e999", "\"4KiB\"", "true", "nan", "\u{e9}"].map(str::to_owned))
        .chain(["1979-05-27", "99999999999999999999"].map(str::to_owned))
        .collect();
    proptest::collection::vec(proptest::sample::select(words), 0..24).prop_map(|words| words.concat())
}

/// Reads a text, and an option both as `--set` and as `--vary`; problems are formatted too.
fn answer(text: &str, option: String) {
    let options = [option];
    if let Err(problems) = load(text, &options, Some(&options)) {
        assert!(!problems.to_string().is_empty());
    }
}

proptest! {
    #[test]
    fn any_text_is_answered_without_a_panic(text in "(?s).{0,200}", option in "(?s).{0,40}") {
        answer(&text, option);
    }

    #[test]
    fn nearly_a_configuration_is_answered_without_a_panic(text in nearly(), option in nearly()) {
        answer(&text, option);
    }

    #[test]
    fn a_file_and_set_options_mean_the_same(assignments in assignments()) {
        let file = load(&as_file(&assignments), &[], None);
        let sets = load("", &as_sets(&assignments), None);
        match (file, sets) {
            (Ok(file), Ok(sets)) => {
                prop_assert_eq!(file.variants[0].config.to_toml(), sets.variants[0].config.to_toml());
                prop_assert_eq!(file.variants[0].config.to_json(), sets.variants[0].config.to_json());
            }
            (Err(file), Err(sets)) => {
                let found = |problems: Problems| {
                    let mut found: Vec<_> = problems.0.into_iter().map(|problem| problem.refusal.found).collect();
                    found.sort();
                    found
                };
                prop_assert_eq!(found(file), found(sets));
            }
            (file, sets) => prop_assert!(false, "one of them was refused: {:?} {:?}", file.err(), sets.err()),
        }
    }

    #[test]
    fn what_is_written_out_reads_back_to_the_same(assignments in assignments()) {
        if let Ok(experiment) = load(&as_file(&assignments), &[], None) {
            let text = experiment.variants[0].config.to_toml();
            prop_assert_eq!(effective(&text, &[]), text);
        }
    }
}

#[test]
fn every_kind_of_workload_reads_back_with_its_defaults_written_out() {
    for kind in ["synthetic", "filebench", "synthesized"] {
        let text = effective(&format!("workload.kind = \"{kind}\"\ndevice.preset = \"nvme-mlc-512g\""), &[]);
        assert_eq!(effective(&text, &[]), text);
    }
}

#[test]
fn the_defaults_are_a_configuration_that_works() {
    let text = effective("", &[]);
    assert!(text.contains("scheduler = \"noop\"") && text.contains("preset = \"mlc-16g\""), "{text}");
    assert_eq!(effective(&text, &[]), text);
}

#[test]
fn a_preset_gives_the_defaults_that_other_keys_of_its_section_override() {
    let text = effective("device.preset = \"cave-slc\"\ndevice.ways = 1", &[]);
    assert!(text.contains("page_size = \"2KiB\"") && text.contains("ways = 1"), "{text}");
    let text = effective("device.ways = 1", &["device.preset=cave-slc".to_owned()]);
    assert!(text.contains("page_size = \"2KiB\"") && text.contains("ways = 1"), "{text}");
}

#[test]
fn the_cross_product_varies_the_first_key_slowest_and_options_come_after_the_file() {
    let text = "[vary]\n\"host.scheduler\" = [\"noop\", \"deadline\"]\nhost.queue_depth = [1, 2]\n";
    let labels = |varies: &[&str], sets: &[&str]| combinations(text, varies, sets).sound();
    let both = [("noop", 1), ("noop", 2), ("deadline", 1), ("deadline", 2)];
    let label = |(scheduler, depth)| format!("host.scheduler={scheduler}, host.queue_depth={depth}");
    assert_eq!(labels(&[], &[]), both.map(label));
    let overridden = labels(&["host.scheduler=cfq"], &[]);
    assert_eq!(overridden, ["host.queue_depth=1, host.scheduler=cfq", "host.queue_depth=2, host.scheduler=cfq"]);
    assert_eq!(labels(&[], &["host.queue_depth=9"]), ["host.scheduler=noop", "host.scheduler=deadline"]);
}

#[test]
fn relative_paths_start_from_the_folder_of_the_file_or_from_the_working_directory_of_the_option() {
    let text = "[workload]\nkind = \"trace\"\npath = \"t.csv\"\n";
    let source = Source { folder: PathBuf::from("there"), ..Source::text("there/a.toml", text) };
    let located = |sets: &[&str], path: &str| {
        let experiment = Experiment::from_source(&Catalog::builtin(), source.clone(), &owned(sets), None).sound();
        experiment.located(&experiment.variants[0].config, "workload.path", path)
    };
    assert_eq!(located(&[], "t.csv"), PathBuf::from("there/t.csv"));
    assert_eq!(located(&["workload.path=u.csv"], "u.csv"), PathBuf::from("u.csv"));
}

/// Every `.toml` file in a folder, however deep, that describes an experiment.
fn experiments(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("listed").path();
        let is_package = path.file_name().is_some_and(|name| name == "Cargo.toml" || name == "target");
        if path.is_dir() && !is_package {
            experiments(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") && !is_package {
            found.push(path.to_string_lossy().into_owned());
        }
    }
}

/// Experiments whose report also runs them with another mapping, whose keys they therefore contain, and one that varies
/// a key of one replacement policy beside others.
const WITH_SPARE_KEYS: [&str; 3] = ["figure-6-kast.toml", "figure-6-sast.toml", "buffer-by-regions.toml"];

#[test]
fn no_key_of_a_checked_in_experiment_is_without_effect() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    ["experiments", "examples"].iter().for_each(|folder| experiments(&root.join(folder), &mut paths));
    assert!(paths.len() > 20, "{paths:?}");
    let mut notes = Vec::new();
    for path in paths.iter().filter(|path| !WITH_SPARE_KEYS.iter().any(|name| path.ends_with(name))) {
        let single = Experiment::load_run(&Catalog::builtin(), path, &[]);
        let varied = Experiment::load_comparison(&Catalog::builtin(), path, &Sweep::default());
        for experiment in single.iter().chain(&varied) {
            notes.extend(experiment.unused().iter().map(|unused| unused.sentence(|_| "some rows".to_owned())));
        }
    }
    assert!(notes.is_empty(), "{}", notes.join("\n"));
}

/// The combinations of an experiment with these options, or its first problem.
fn combinations(text: &str, varies: &[&str], sets: &[&str]) -> Result<Vec<String>, String> {
    load(text, &owned(sets), Some(&owned(varies)))
        .map(|experiment| experiment.variants.iter().map(Variant::label).collect())
        .map_err(|problems| problems.to_string().lines().next().unwrap_or_default().to_owned())
}

#[test]
fn keys_of_one_option_or_table_vary_together() {
    let pairs = ["ftl.gc=greedy, device.rated_cycles=3000", "ftl.gc=fifo, device.rated_cycles=1000"];
    assert_eq!(combinations("", &["ftl.gc=greedy,fifo; device.rated_cycles=3000,1000"], &[]).unwrap(), pairs);
    let table = "[[vary.together]]\n\"ftl.gc\" = [\"greedy\", \"fifo\"]\ndevice.rated_cycles = [3000, 1000]\n";
    assert_eq!(combinations(table, &[], &[]).unwrap(), pairs);
    let beside = combinations(table, &["host.queue_depth=1..3"], &[]).unwrap();
    assert_eq!((beside.len(), &beside[1][..]), (6, "ftl.gc=greedy, device.rated_cycles=3000, host.queue_depth=2"));
}

#[test]
fn what_cannot_vary_together_is_refused() {
    let table = "[[vary.together]]\n\"ftl.gc\" = [\"greedy\", \"fifo\"]\ndevice.rated_cycles = [3000, 1000]\n";
    let of_both = "error: `ftl.gc`, which varies together with `device.rated_cycles` in the file";
    let refused = |text: &str, varies: &[&str], sets: &[&str]| combinations(text, varies, sets).unwrap_err();
    assert_eq!(refused(table, &["ftl.gc=greedy,cost-benefit"], &[]), of_both);
    assert_eq!(refused(table, &["host.queue_depth=1,2"], &["ftl.gc=fifo"]), of_both);
    let both = ["ftl.gc=fifo", "device.rated_cycles=5"];
    assert_eq!(combinations(table, &["host.queue_depth=1,2"], &both).unwrap().len(), 2, "both are set");
    let three = "ftl.gc=greedy,fifo; device.rated_cycles=1,2,3";
    for (option, found) in [
        (three, "3 values of `device.rated_cycles` with 2 values of `ftl.gc`"),
        ("ftl.gc=greedy,greedy; device.rated_cycles=1,1", "`greedy` is listed twice with the same"),
        ("ftl.gc=greedy,fifo;", "`` has no `=`"),
        ("workload.path=a;b.csv", "`b.csv` has no `=`"),
    ] {
        assert_eq!(refused("", &[option], &[]), format!("error: {found}"), "{option}");
    }
    let alone = "[[vary.together]]\n\"ftl.gc\" = [\"fifo\"]\n";
    assert_eq!(refused(alone, &[], &[]), "error: fewer than two keys that vary together");
    assert_eq!(refused("[vary]\ntogether = 3\n", &[], &[]), "error: a value for `vary.together`");
}
