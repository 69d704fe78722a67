//! The cache of aged drives as a user meets it, and `flashloom cache`.

use std::fs;

use serde_json::Value;

use crate::commands::{json, timeless};
use crate::lab::{Answer, Lab};

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
    let run = |arguments: &[&str], cache: &str| {
        let output = lab.command(arguments).env("FLASHLOOM_CACHE", cache).output().expect("it can be started");
        assert_eq!(output.status.code(), Some(0));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
        (timeless(json(&text(output.stdout))), text(output.stderr))
    };
    let arguments = ["run", "aged.toml", "--json", "-"];
    let (first, said) = run(&arguments, "drives");
    assert!(said.starts_with("note: ageing a drive of 262144 pages"), "{said}");
    let (second, said) = run(&arguments, "drives");
    assert!(said.starts_with("note: the drive was aged before: drives"), "{said}");
    let (without, said) = run(&[&arguments[..], &["--no-cache"]].concat(), "drives");
    assert_eq!(said, "");
    assert_eq!((&first, &first), (&second, &without));
    let (_, said) = run(&["compare", "aged.toml", "--json", "-", "--vary", "host.scheduler=noop,cfq"], "drives");
    assert!(said.starts_with("note: the drive was aged before: drives"), "{said}");
    let (_, said) = run(&arguments, "");
    assert_eq!(said, "");
}

/// A lab with one drive in the folder `drives`, and a file there that is somebody else's.
fn with_a_drive() -> Lab {
    let lab = Lab::new();
    lab.write("aged.toml", AGED);
    let said = with_cache(&lab, &["run", "aged.toml"], "drives");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    lab.write("drives/my-vm.state", "a machine").write("drives/inputs/notes.csv", "mine");
    lab
}

fn with_cache(lab: &Lab, arguments: &[&str], cache: &str) -> Answer {
    with(lab, arguments, &[("FLASHLOOM_CACHE", cache)])
}

fn with(lab: &Lab, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
    let output = lab.command(arguments).envs(variables.iter().copied()).output().expect("it can be started");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    Answer { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn listed(lab: &Lab) -> Value {
    json(&with_cache(lab, &["cache", "list", "--json"], "drives").stdout)
}

#[test]
fn the_cache_is_listed_measured_and_cleared_and_what_is_not_its_own_stays() {
    let lab = with_a_drive();
    lab.write(&format!("drives/inputs/{}.csv.gz", "0f".repeat(32)), "a recording");
    lab.write("drives/.flashloom-abcdefABCDEF.partial", "half a drive");
    let (list, size) = (listed(&lab), with_cache(&lab, &["cache", "size"], "drives").stdout);
    assert_eq!((&list["drives"], &list["inputs"], &list["limit_bytes"]), (&1.into(), &1.into(), &(8_u64 << 30).into()));
    let entries = list["entries"].as_array().expect("a list");
    let bytes = |entry: &Value| entry["bytes"].as_u64().expect("a size");
    assert_eq!(entries.iter().map(bytes).sum::<u64>(), bytes(&list));
    assert_eq!(entries[1]["kind"], "input", "the drive was used first");
    let table = with_cache(&lab, &["cache", "list"], "drives").stdout;
    let drives = table.lines().filter(|line| line.contains(".state") && line.contains(" drive "));
    assert_eq!((table.lines().count(), drives.count()), (3, 1), "{table}");
    assert!(size.contains("limit") && size.contains("8.59 GB"), "{size}");
    let cleared = json(&with_cache(&lab, &["cache", "clear", "--json"], "drives").stdout);
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
    let empty = with_cache(&lab, &["cache", "clear"], "nowhere");
    assert!(empty.code == Some(0) && empty.stdout.contains("removed"), "{empty:?}");
    assert!(!lab.path("nowhere").exists());
    let off = with_cache(&lab, &["cache", "list"], "");
    assert!(off.code == Some(2) && off.stderr.contains("turns the cache off"), "{}", off.stderr);
}

#[test]
fn the_limit_is_a_size_and_a_drive_above_it_is_not_kept() {
    let lab = Lab::new();
    lab.write("aged.toml", AGED);
    let limited = |limit: &str| {
        with(&lab, &["run", "aged.toml"], &[("FLASHLOOM_CACHE", "drives"), ("FLASHLOOM_CACHE_LIMIT", limit)])
    };
    let wrong = limited("much");
    assert!(wrong.code == Some(2) && wrong.stderr.contains("FLASHLOOM_CACHE_LIMIT"), "{}", wrong.stderr);
    let little = limited("4KiB");
    assert!(little.code == Some(0) && little.stderr.contains("more than all may have, 4096"), "{}", little.stderr);
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
    let answer = with_cache(&lab, &["compare", "aged.toml", "--vary", "run.seed=1,2"], "drives");
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let said = "drives is not used: other users may write to it (mode 777";
    assert_eq!(answer.stderr.matches(said).count(), 1, "{}", answer.stderr);
    assert!(!answer.stderr.contains("aged before"), "{}", answer.stderr);
    let refused = with_cache(&lab, &["cache", "clear"], "drives");
    assert!(refused.code == Some(2) && refused.stderr.contains("mode 777"), "{}", refused.stderr);
    assert!(entry.exists());
}
