//! The cache of aged drives as a user meets it, and `flashloom cache`.

use std::fs;

use serde_json::Value;

use crate::commands::timeless;
use crate::lab::{Answer, Lab, json};

/// A drive with enough pages to be cached once it is aged.
pub const AGED: &str = "
[workload.synthetic]
requests = 2000

[device]
blocks = 32
over_provisioning = \"50 %\"

[run]
precondition = \"steady\"
steady_tolerance = 0.2
";

#[test]
fn an_aged_drive_is_kept_for_the_next_run_and_that_is_said() {
    let lab = Lab::new();
    lab.write("aged.toml", AGED);
    let run = |arguments: &str, cache: &str, note: &str| {
        let Answer { stdout, stderr, .. } = with_cache(&lab, arguments, cache).ended(0, &[]);
        assert!(stderr.starts_with(note) && stderr.is_empty() == note.is_empty(), "{arguments}: {stderr}");
        timeless(json(&stdout))
    };
    let (arguments, before) = ("run aged.toml --json -", "note: the drive was aged before: drives");
    let first = run(arguments, "drives", "note: ageing a drive of 262144 pages");
    let second = run(arguments, "drives", before);
    let without = run("run aged.toml --json - --no-cache", "drives", "");
    assert_eq!((&first, &first), (&second, &without));
    run("compare aged.toml --json - --vary host.scheduler=noop,cfq", "drives", before);
    run(arguments, "", "");
}

/// A lab with one drive in the folder `drives`, and a file there that is somebody else's.
fn with_a_drive() -> Lab {
    let lab = Lab::new();
    lab.write("aged.toml", AGED);
    with_cache(&lab, "run aged.toml", "drives").ended(0, &[]);
    lab.write("drives/my-vm.state", "a machine").write("drives/inputs/notes.csv", "mine");
    lab
}

fn with_cache(lab: &Lab, arguments: &str, cache: &str) -> Answer {
    lab.run_with([("FLASHLOOM_CACHE", cache)], arguments)
}

fn listed(lab: &Lab) -> Value {
    json(&with_cache(lab, "cache list --json", "drives").stdout)
}

#[test]
fn the_cache_is_listed_measured_and_cleared_and_what_is_not_its_own_stays() {
    let lab = with_a_drive();
    lab.write(&format!("drives/inputs/{}.csv.gz", "0f".repeat(32)), "a recording");
    lab.write("drives/.flashloom-abcdefABCDEF.partial", "half a drive");
    let (list, size) = (listed(&lab), with_cache(&lab, "cache size", "drives").stdout);
    assert_eq!((&list["drives"], &list["inputs"], &list["limit_bytes"]), (&1.into(), &1.into(), &(8_u64 << 30).into()));
    let entries = list["entries"].as_array().expect("a list");
    let bytes = |entry: &Value| entry["bytes"].as_u64().expect("a size");
    assert_eq!(entries.iter().map(bytes).sum::<u64>(), bytes(&list));
    assert_eq!(entries[1]["kind"], "input", "the drive was used first");
    let table = with_cache(&lab, "cache list", "drives").stdout;
    let drives = table.lines().filter(|line| line.contains(".state") && line.contains(" drive "));
    assert_eq!((table.lines().count(), drives.count()), (3, 1), "{table}");
    assert!(size.contains("limit") && size.contains("8.59 GB"), "{size}");
    let cleared = json(&with_cache(&lab, "cache clear --json", "drives").stdout);
    assert_eq!((&cleared["removed"], &cleared["in_use"]), (&2.into(), &0.into()));
    assert_eq!(cleared["removed_bytes"], list["bytes"]);
    assert_eq!(listed(&lab)["entries"], Value::Array(Vec::new()));
    assert!(!lab.path("drives/.flashloom-abcdefABCDEF.partial").exists());
    assert_eq!(
        (lab.read("drives/my-vm.state"), lab.read("drives/inputs/notes.csv")),
        ("a machine".into(), "mine".into())
    );
}

#[test]
fn a_cache_that_is_not_there_is_empty_and_one_that_is_off_is_none() {
    let lab = Lab::new();
    let empty = with_cache(&lab, "cache clear", "nowhere").ended(0, &[]);
    assert!(empty.stdout.contains("removed") && !lab.path("nowhere").exists(), "{empty:?}");
    lab.refuses("cache list", &["turns the cache off"]);
}

#[test]
fn the_limit_is_a_size_and_a_drive_above_it_is_not_kept() {
    let lab = Lab::new();
    lab.write("aged.toml", AGED);
    let limited =
        |limit: &str| lab.run_with([("FLASHLOOM_CACHE", "drives"), ("FLASHLOOM_CACHE_LIMIT", limit)], "run aged.toml");
    limited("much").refused(&["FLASHLOOM_CACHE_LIMIT"]);
    limited("4KiB").ended(0, &["more than all may have, 4096"]);
    assert_eq!(listed(&lab)["entries"], Value::Array(Vec::new()));
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_may_write_to_is_not_used_which_is_said_once_and_costs_no_run() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let lab = with_a_drive();
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    let folder = lab.path("drives");
    let entry = lab.path("drives").join(listed(&lab)["entries"][0]["file"].as_str().expect("a name"));
    assert_eq!((mode(&folder), mode(&entry)), (0o700, 0o600));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let answer = with_cache(&lab, "compare aged.toml --vary run.seed=1,2", "drives").ended(0, &[]);
    let said = "drives is not used: other users may write to it (mode 777";
    assert_eq!(answer.stderr.matches(said).count(), 1, "{}", answer.stderr);
    assert!(!answer.stderr.contains("aged before"), "{}", answer.stderr);
    with_cache(&lab, "cache clear", "drives").refused(&["mode 777"]);
    assert!(entry.exists());
}
