//! Names and contents that somebody sent: whatever a command prints of them, nothing acts on the terminal or hides.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::cache::AGED;
use crate::commands::{TRACE, json as parsed, small};
use crate::lab::Lab;

/// Sets the title of a terminal, clears it, moves to another line, turns the order of letters round, and hides a tag.
const HOSTILE: &str =
    "\u{1b}]0;own\u{7}\u{9b}2J\u{7f}\rerror\nnone: \u{202e}a\u{2066}b\u{200b}c\u{2028}d\u{e0041}\u{61c}";

/// What must not reach a terminal, written once more without the program's own table.
fn acts_or_hides(character: char) -> bool {
    matches!(u32::from(character),
        0..=8 | 0xb..=0x1f | 0x7f..=0x9f | 0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x2069
        | 0xfeff | 0xe0000..=0xe007f)
}

/// Runs the program; what it prints is held to be harmless. Returns its status, and what it printed.
fn run<A: AsRef<OsStr>>(lab: &Lab, arguments: &[A], cache: &str) -> (Option<i32>, String) {
    let mut command = lab.command(&[]);
    // Colours would be the program's own.
    let command = command.args(arguments).env("FLASHLOOM_CACHE", cache).env("NO_COLOR", "1");
    let output = command.output().expect("the program can be started");
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).expect("output is text");
    let shown: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
    assert!(!printed.contains(acts_or_hides), "{shown:?}: {printed:?}");
    // A line that a name would have begun.
    assert!(!printed.contains("\nnone: "), "{shown:?}: {printed}");
    (output.status.code(), printed)
}

/// Runs a command that shows what is hostile in its own way, and ends with this status.
fn shows<A: AsRef<OsStr>>(lab: &Lab, status: i32, arguments: &[A]) -> String {
    let (code, printed) = run(lab, arguments, "");
    let shown: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
    assert_eq!(code, Some(status), "{shown:?}: {printed}");
    assert!(printed.contains(r"\u{1b}") || printed.contains(r"\u001b"), "{shown:?}: {printed}");
    printed
}

/// A name of a file that is hostile, and no UTF-8.
fn name(ending: &str) -> OsString {
    OsStr::from_bytes(&[HOSTILE.as_bytes(), b"\xfe", ending.as_bytes()].concat()).to_owned()
}

/// A text as TOML writes it.
fn in_toml(text: &str) -> String {
    let escape = |character: char| format!("\\U{:08x}", u32::from(character));
    text.chars().map(|c| if acts_or_hides(c) || c == '\n' { escape(c) } else { c.to_string() }).collect()
}

#[test]
fn names_in_arguments_are_shown() {
    let lab = small();
    lab.write("trace.csv", TRACE);
    for command in ["run", "probe", "generate", "compare"] {
        let out: &[&str] = if command == "generate" { &["--out", "out.csv"] } else { &[] };
        shows(&lab, 2, &[&[command, HOSTILE], out].concat());
        for option in ["--set", "--vary", "--columns", "--json", "--request-size", "--timeline"] {
            run(&lab, &[&[command, "small.toml", option, HOSTILE], out].concat(), "");
        }
    }
    shows(&lab, 2, &["run", "small.toml", "--set", HOSTILE]);
    shows(&lab, 2, &["run", "small.toml", "--set", &format!("host.scheduler={HOSTILE}")]);
    shows(&lab, 2, &["run", "small.toml", "--json", &format!("{HOSTILE}/x.json")]);
    shows(&lab, 2, &["run", "small.toml", "--slowest", HOSTILE]);
    shows(&lab, 2, &["run", "small.toml", &format!("--{HOSTILE}")]);
    shows(&lab, 2, &["compare", "small.toml", "--vary", HOSTILE]);
    shows(&lab, 2, &["compare", "small.toml", "--vary", &format!("workload.path={HOSTILE}")]);
    shows(&lab, 2, &["compare", "small.toml", "--vary", "host.queue_depth=2,4", "--columns", HOSTILE]);
    shows(&lab, 2, &["probe", "small.toml", "--request-size", HOSTILE]);
    shows(&lab, 2, &["reproduce", HOSTILE]);
    shows(&lab, 2, &["reproduce", "all", "--traces", HOSTILE]);
    shows(&lab, 2, &["report", HOSTILE, "-o", "page.html"]);
    shows(&lab, 2, &["trace", "info", HOSTILE]);
    shows(&lab, 2, &["trace", "info", "trace.csv", "--format", HOSTILE]);
    shows(&lab, 2, &["trace", "convert", "trace.csv", HOSTILE]);
    shows(&lab, 2, &["list", HOSTILE]);
    shows(&lab, 2, &["explain", HOSTILE]);
    shows(&lab, 2, &["completions", HOSTILE]);
    shows(&lab, 2, &[OsStr::new("man"), &name("")]);
    shows(&lab, 2, &[HOSTILE]);
    for command in [&["run"][..], &["trace", "info"], &["trace", "convert", "trace.csv"], &["report", "-o", "x"]] {
        // Names of text are asked for, and the message has none.
        let arguments: Vec<OsString> = command.iter().map(OsString::from).chain([name(".toml")]).collect();
        assert_eq!(run(&lab, &arguments, "").0, Some(2), "{arguments:?}");
    }
}

#[test]
fn contents_of_experiments_and_recordings_are_shown_and_the_caret_points_at_them() {
    let lab = small();
    let text = in_toml(HOSTILE);
    let small = lab.read("small.toml");
    lab.write("key.toml", format!("{small}\n[host]\n\"{text}\" = 1\n"));
    lab.write("value.toml", format!("{small}\n[host]\nscheduler = \"{text}\"\n"));
    lab.write("section.toml", format!("[\"{text}\"]\na = 1\n"));
    lab.write("comment.toml", "a = # \u{202e}\u{200b}\u{2066}\n");
    for (name, experiment) in [("key.toml", 2), ("value.toml", 2), ("section.toml", 2)] {
        let printed = run(&lab, &["run", name], "");
        assert_eq!(printed.0, Some(experiment), "{}", printed.1);
    }
    shows(&lab, 2, &["run", "key.toml"]);
    shows(&lab, 2, &["run", "value.toml"]);
    assert!(run(&lab, &["run", "comment.toml"], "").1.contains(r"\u{202e}"));
    lab.write("bytes.toml", b"a = \"\xff\x1b[2J\"\n");
    shows(&lab, 2, &["run", "bytes.toml"]);
    let line = format!("0,\u{1b}[2J\u{9b}\u{202e}{},8,8,1\n", "W");
    let recordings: [(&str, Vec<u8>); 4] = [
        ("op.csv", format!("timestamp_ns,op,lba,sectors,task\n{line}").into()),
        ("bytes.csv", b"timestamp_ns,op,lba,sectors,task\n0,\xff\x1b[2J,0,8,1\n".to_vec()),
        ("column.csv", b"timestamp_ns,op,lba,sectors,\x1b[2J\n".to_vec()),
        ("other.csv", b"\x1b]0;x\x07 what \xe2\x80\xae\n".to_vec()),
    ];
    for (name, content) in recordings {
        lab.write(name, content);
        shows(&lab, 2, &["trace", "info", name]);
        shows(&lab, 2, &["trace", "convert", name, "out.iolog"]);
        let of_trace = ["--set", "workload.kind=trace", "--set"];
        shows(&lab, 2, &[&["run", "small.toml"], &of_trace[..], &[&format!("workload.path={name}")]].concat());
    }
    let skipped = ["trace", "info", "op.csv", "--skip-bad-lines"];
    assert!(run(&lab, &skipped, "").1.contains(r"\u{1b}[2J\u{9b}\u{202e}W"));
    let place = run(&lab, &["trace", "info", "op.csv"], "").1;
    let lines: Vec<&str> = place.lines().collect();
    let shown = lines.iter().position(|line| line.contains(r"0,\u{1b}[2J")).expect("the line is shown");
    let column = |line: &str, part: &str| line.find(part).expect("it is there");
    assert_eq!(column(lines[shown], r"\u{1b}[2J"), column(lines[shown + 1], "^"), "{place}");
    assert!(place.contains("op.csv:2:3"), "the column of the file: {place}");
    for (number, job) in [
        "[\u{1b}[2J]\nrw=\u{1b}x\nsize=1m\n",
        "[a]\n\u{1b}[2J\u{202e}=1\n",
        "[a]\nrw=read\nsize=\u{1b}[2J\n",
        "\u{1b}[2J\n",
    ]
    .into_iter()
    .enumerate()
    {
        let file = format!("{number}.fio");
        lab.write(&file, job);
        let sets = ["--set", "workload.kind=fio", "--set", &format!("workload.path={file}")];
        shows(&lab, 2, &[&["run", "small.toml"], &sets[..]].concat());
    }
}

#[test]
fn what_results_say_is_shown() {
    let lab = small();
    let (text, vary) = (in_toml(HOSTILE), ["--vary", "host.queue_depth=2,4", "--out", "kept"]);
    let expect = format!("\n[[expect]]\nclaim = \"{text}\"\nformula = \"min(host.requests)\"\nat_least = 1\n");
    lab.write("claim.toml", lab.read("small.toml") + &expect);
    let compare = [&["compare", "claim.toml"], &vary[..]].concat();
    let (code, printed) = run(&lab, &compare, "");
    assert_eq!(code, Some(0), "{printed}");
    shows(&lab, 0, &compare);
    // JSON has the same texts, and shows them.
    let as_json = lab.run(&[&compare[..], &["--json", "-", "--quiet"]].concat());
    assert!(!as_json.stdout.contains(acts_or_hides), "{}", as_json.stdout);
    assert_eq!(parsed(&as_json.stdout)["expectations"][0]["claim"], HOSTILE);
    // Results that somebody kept: their hints are printed, and their version is named.
    let kept = |change: &dyn Fn(&mut Value)| {
        for file in std::fs::read_dir(lab.path("kept")).expect("a folder").map(|file| file.expect("listed").path()) {
            if file.extension().is_some_and(|ending| ending == "json") {
                let mut value = parsed(&std::fs::read_to_string(&file).expect("it is text"));
                change(&mut value);
                std::fs::write(&file, value.to_string()).expect("it can be written");
            }
        }
    };
    let hint = json!([{ "about": HOSTILE, "text": HOSTILE, "key": HOSTILE }]);
    kept(&|value| value["result"]["hints"] = hint.clone());
    assert!(shows(&lab, 0, &compare).contains("hint (all rows"), "hints are printed");
    kept(&|value| {
        value["version"] = HOSTILE.into();
        value["program_sha256"] = "other".into();
    });
    assert!(shows(&lab, 2, &compare).contains("another build"));
    // A page shows them, too, and its name.
    kept(&|value| value["result"]["config"] = json!({ HOSTILE: HOSTILE }));
    let first = std::fs::read_dir(lab.path("kept")).expect("a folder").find_map(|file| {
        let path = file.expect("listed").path();
        path.extension().is_some_and(|ending| ending == "json").then_some(path)
    });
    let first = first.expect("one was kept").display().to_string();
    let (code, printed) = run(&lab, &["report", &first, "-o", "page.html"], "");
    assert_eq!(code, Some(0), "{printed}");
    assert!(!lab.read("page.html").contains(['\u{1b}', '\u{202e}']) && lab.read("page.html").contains(r"\u{202e}"));
    lab.write("schema.json", json!({ "schema": HOSTILE }).to_string());
    shows(&lab, 2, &["report", "schema.json", "-o", "page.html"]);
    lab.write("torn.json", format!("{{\"a\": {HOSTILE}"));
    run(&lab, &["report", "torn.json", "-o", "page.html"], "");
    lab.write("folder/\u{1b}[2J.parquet", "PAR1 torn");
    shows(&lab, 2, &["report", "folder", "-o", "page.html"]);
}

#[test]
fn recordings_with_hostile_names_are_compared_and_cached_drives_listed() {
    let lab = small();
    let [a, b] = ["a\u{1b}[2J\u{202e}.csv", "b\u{9b}\u{200b}.csv"];
    lab.write(a, TRACE).write(b, TRACE);
    let vary = format!("workload.path={a},{b}");
    let printed = shows(&lab, 0, &["compare", "small.toml", "--set", "workload.kind=trace", "--vary", &vary]);
    assert!(printed.contains(r"done 1 of 2") && printed.contains(r"\u{9b}\u{200b}.csv"), "{printed}");
    lab.write("aged.toml", AGED);
    let (folder, aged) = ("cache\u{1b}[2J\u{202e}", ["run", "aged.toml", "--set", "workload.synthetic.requests=200"]);
    std::fs::create_dir(lab.path(folder)).expect("a folder");
    assert_eq!(run(&lab, &aged, folder).0, Some(0));
    for (arguments, shown) in [
        (&aged[..], r"aged before: cache\u{1b}[2J\u{202e}"),
        (&["cache", "list"], ".state"),
        (&["cache", "size"], r"cache\u{1b}[2J\u{202e}"),
        (&["cache", "size", "--json"], r"cache\u001b[2J\u202e"),
    ] {
        let (code, printed) = run(&lab, arguments, folder);
        assert!(code == Some(0) && printed.contains(shown), "{printed}");
    }
    let (code, printed) = run(&lab, &["cache", "clear"], "missing\u{1b}[2J");
    assert!(code == Some(0) || printed.contains(r"\u{1b}[2J"), "{printed}");
}
