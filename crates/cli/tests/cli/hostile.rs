//! Names and contents that somebody sent: whatever a command prints of them, nothing acts on the terminal or hides.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::cache::AGED;
use crate::commands::{TRACE, small};
use crate::lab::{Answer, Lab, json as parsed};

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
fn run(mut command: Command, cache: &str) -> (Option<i32>, String) {
    // Colours would be the program's own.
    let Answer { arguments, code, stdout, stderr } =
        Answer::of(command.env("FLASHLOOM_CACHE", cache).env("NO_COLOR", "1"));
    let printed = stdout + &stderr;
    assert!(!printed.contains(acts_or_hides), "{arguments}: {printed:?}");
    // A line that a name would have begun.
    assert!(!printed.contains("\nnone: "), "{arguments}: {printed}");
    (code, printed)
}

/// A command with the word HOSTILE for that text.
fn line(lab: &Lab, arguments: &str) -> Command {
    lab.command(arguments.split(' ').map(|word| word.replace("HOSTILE", HOSTILE)))
}

/// Runs a command that shows what is hostile in its own way, and ends with this status.
fn shows(lab: &Lab, status: i32, arguments: &str) -> String {
    let (code, printed) = run(line(lab, arguments), "");
    assert_eq!(code, Some(status), "{arguments}: {printed}");
    assert!(printed.contains(r"\u{1b}") || printed.contains(r"\u001b"), "{arguments}: {printed}");
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
        let out = if command == "generate" { " --out out.csv" } else { "" };
        shows(&lab, 2, &format!("{command} HOSTILE{out}"));
        for option in ["--set", "--vary", "--columns", "--json", "--request-size", "--timeline"] {
            run(line(&lab, &format!("{command} small.toml {option} HOSTILE{out}")), "");
        }
    }
    for arguments in [
        "run small.toml --set HOSTILE",
        "run small.toml --set host.scheduler=HOSTILE",
        "run small.toml --json HOSTILE/x.json",
        "run small.toml --slowest HOSTILE",
        "run small.toml --HOSTILE",
        "compare small.toml --vary HOSTILE",
        "compare small.toml --vary workload.path=HOSTILE",
        "compare small.toml --vary host.queue_depth=2,4 --columns HOSTILE",
        "probe small.toml --request-size HOSTILE",
        "reproduce HOSTILE",
        "reproduce all --traces HOSTILE",
        "report HOSTILE -o page.html",
        "trace info HOSTILE",
        "trace info trace.csv --format HOSTILE",
        "trace convert trace.csv HOSTILE",
        "list HOSTILE",
        "explain HOSTILE",
        "completions HOSTILE",
        "HOSTILE",
    ] {
        shows(&lab, 2, arguments);
    }
    let (code, printed) = run(lab.command([OsStr::new("man"), &name("")]), "");
    assert!(code == Some(2) && printed.contains(r"\u{1b}"), "{printed}");
    for command in ["run", "trace info", "trace convert trace.csv", "report -o x"] {
        // Names of text are asked for, and the message has none.
        let mut command = lab.line(command);
        command.arg(name(".toml"));
        assert_eq!(run(command, "").0, Some(2));
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
    lab.write("bytes.toml", b"a = \"\xff\x1b[2J\"\n");
    for name in ["key.toml", "value.toml", "bytes.toml"] {
        shows(&lab, 2, &format!("run {name}"));
    }
    let (code, printed) = run(lab.line("run section.toml"), "");
    assert_eq!(code, Some(2), "{printed}");
    assert!(run(lab.line("run comment.toml"), "").1.contains(r"\u{202e}"));
    let line = format!("0,\u{1b}[2J\u{9b}\u{202e}{},8,8,1\n", "W");
    let recordings: [(&str, Vec<u8>); 4] = [
        ("op.csv", format!("timestamp_ns,op,lba,sectors,task\n{line}").into()),
        ("bytes.csv", b"timestamp_ns,op,lba,sectors,task\n0,\xff\x1b[2J,0,8,1\n".to_vec()),
        ("column.csv", b"timestamp_ns,op,lba,sectors,\x1b[2J\n".to_vec()),
        ("other.csv", b"\x1b]0;x\x07 what \xe2\x80\xae\n".to_vec()),
    ];
    for (name, content) in recordings {
        lab.write(name, content);
        shows(&lab, 2, &format!("trace info {name}"));
        shows(&lab, 2, &format!("trace convert {name} out.iolog"));
        shows(&lab, 2, &format!("run small.toml --set workload.kind=trace --set workload.path={name}"));
    }
    let skipped = lab.line("trace info op.csv --skip-bad-lines");
    assert!(run(skipped, "").1.contains(r"\u{1b}[2J\u{9b}\u{202e}W"));
    let place = run(lab.line("trace info op.csv"), "").1;
    let lines: Vec<&str> = place.lines().collect();
    let shown = lines.iter().position(|line| line.contains(r"0,\u{1b}[2J")).expect("the line is shown");
    let column = |line: &str, part: &str| line.find(part).expect("it is there");
    assert_eq!(column(lines[shown], r"\u{1b}[2J"), column(lines[shown + 1], "^"), "{place}");
    assert!(place.contains("op.csv:2:3"), "the column of the file: {place}");
    for job in [
        "[\u{1b}[2J]\nrw=\u{1b}x\nsize=1m\n",
        "[a]\n\u{1b}[2J\u{202e}=1\n",
        "[a]\nrw=read\nsize=\u{1b}[2J\n",
        "\u{1b}[2J\n",
    ] {
        lab.write("job.fio", job);
        shows(&lab, 2, "run small.toml --set workload.kind=fio --set workload.path=job.fio");
    }
}

#[test]
fn what_results_say_is_shown() {
    let lab = small();
    let text = in_toml(HOSTILE);
    let expect = format!("\n[[expect]]\nclaim = \"{text}\"\nformula = \"min(host.requests)\"\nat_least = 1\n");
    lab.write("claim.toml", lab.read("small.toml") + &expect);
    let compare = "compare claim.toml --vary host.queue_depth=2,4 --out kept";
    shows(&lab, 0, compare);
    shows(&lab, 0, compare);
    // JSON has the same texts, and shows them.
    let as_json = lab.run(&format!("{compare} --json - --quiet"));
    assert!(!as_json.stdout.contains(acts_or_hides), "{}", as_json.stdout);
    assert_eq!(parsed(&as_json.stdout)["expectations"][0]["claim"], HOSTILE);
    // Results that somebody kept: their hints are printed, and their version is named.
    let files = fs::read_dir(lab.path("kept")).expect("a folder").map(|file| file.expect("listed").path());
    let files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|ending| ending == "json")).collect();
    let kept = |change: &dyn Fn(&mut Value)| {
        for file in &files {
            let mut value = parsed(&fs::read_to_string(file).expect("it is text"));
            change(&mut value);
            fs::write(file, value.to_string()).expect("it can be written");
        }
    };
    let hint = json!([{ "about": HOSTILE, "text": HOSTILE, "key": HOSTILE }]);
    kept(&|value| value["result"]["hints"] = hint.clone());
    assert!(shows(&lab, 0, compare).contains("hint (all rows"), "hints are printed");
    kept(&|value| {
        value["version"] = HOSTILE.into();
        value["program_sha256"] = "other".into();
    });
    assert!(shows(&lab, 2, compare).contains("another build"));
    // A page shows them, too, and its name.
    kept(&|value| value["result"]["config"] = json!({ HOSTILE: HOSTILE }));
    fs::copy(&files[0], lab.path("first.json")).expect("it can be copied");
    let (code, printed) = run(lab.line("report first.json -o page.html"), "");
    assert_eq!(code, Some(0), "{printed}");
    let page = lab.read("page.html");
    assert!(!page.contains(['\u{1b}', '\u{202e}']) && page.contains(r"\u{202e}"));
    lab.write("schema.json", json!({ "schema": HOSTILE }).to_string());
    shows(&lab, 2, "report schema.json -o page.html");
    lab.write("torn.json", format!("{{\"a\": {HOSTILE}"));
    run(lab.line("report torn.json -o page.html"), "");
    lab.write("folder/\u{1b}[2J.parquet", "PAR1 torn");
    shows(&lab, 2, "report folder -o page.html");
}

#[test]
fn recordings_with_hostile_names_are_compared_and_cached_drives_listed() {
    let lab = small();
    let [a, b] = ["a\u{1b}[2J\u{202e}.csv", "b\u{9b}\u{200b}.csv"];
    lab.write(a, TRACE).write(b, TRACE);
    let compare = format!("compare small.toml --set workload.kind=trace --vary workload.path={a},{b}");
    let printed = shows(&lab, 0, &compare);
    assert!(printed.contains(r"done 1 of 2") && printed.contains(r"\u{9b}\u{200b}.csv"), "{printed}");
    lab.write("aged.toml", AGED);
    let (folder, aged) = ("cache\u{1b}[2J\u{202e}", "run aged.toml --set workload.synthetic.requests=200");
    fs::create_dir(lab.path(folder)).expect("a folder");
    for (arguments, shown) in [
        (aged, ""),
        (aged, r"aged before: cache\u{1b}[2J\u{202e}"),
        ("cache list", ".state"),
        ("cache size", r"cache\u{1b}[2J\u{202e}"),
        ("cache size --json", r"cache\u001b[2J\u202e"),
    ] {
        let (code, printed) = run(lab.line(arguments), folder);
        assert!(code == Some(0) && printed.contains(shown), "{printed}");
    }
    let (code, printed) = run(lab.line("cache clear"), "missing\u{1b}[2J");
    assert!(code == Some(0) || printed.contains(r"\u{1b}[2J"), "{printed}");
}
