//! Words and options of other programs: each message says what to write here.

use crate::commands::{FIT, TRACE, measured};

#[test]
fn names_and_values_of_other_programs() {
    let lab = measured();
    for (arguments, words) in [
        ("run small.toml --set host.scheduler=bfq", &["unknown scheduler `bfq`", "`cfq`", "kernel/policies"][..]),
        ("run small.toml --set host.scheduler=as", &["did you mean `anticipatory`?"]),
        ("run small.toml --set host.scheduler=NONE", &["did you mean `none`?"]),
        ("run small.toml --set host.scheduler=mq_deadline", &["did you mean `mq-deadline`?"]),
        ("run small.toml --set buffer.order=LRU", &["did you mean `page-lru`?"]),
        ("run small.toml --set ftl.gc=RGA", &["did you mean `d-choices`?"]),
        ("run small.toml --set buffer.capacity=16K", &["did you mean `16KiB`?"]),
        ("run small.toml --set device.read_time=90usec", &["did you mean `90us`?"]),
        ("run small.toml --set device.read_time=90\u{b5}s", &["did you mean `90us`?"]),
        ("run small.toml --set workload.kind=msr", &["did you mean `trace`?"]),
        ("run small.toml --set workload.kind=random", &["did you mean `synthetic`?"]),
        ("compare small.toml --vary host.queue_depth=1-31", &["`1-31` is not a range", "did you mean `1..31`?"]),
        ("compare small.toml --vary host.queue_depth=1:31", &["did you mean `1..31`?"]),
    ] {
        lab.refuses(arguments, words);
    }
}

#[test]
fn several_values_for_one_run() {
    let lab = measured();
    for set in ["host.scheduler=noop,deadline", "host.queue_depth=1,8", "host.queue_depth=1..31", "run.fill=0.5,0.9"] {
        let help = format!("several values make several runs: `flashloom compare --vary {set}`");
        lab.refuses(&format!("run small.toml --set {set}"), &[&help]);
    }
    let help = "`flashloom compare --vary host.queue_depth=1..31`";
    lab.refuses("run small.toml --set host.queue_depth=1-31", &[help]);
    let other = lab.refuses("run small.toml --set host.scheduler=noop,deadlin", &["unknown scheduler"]);
    assert!(!other.contains("several values"), "{other}");
    for command in ["run small.toml", "probe small.toml", "generate small.toml --out a.csv", "validate small.toml"] {
        let tip = "`--vary` is an option of `flashloom compare`, `flashloom fit`";
        let message = lab.refuses(&format!("{command} --vary host.queue_depth=1,8"), &["'--vary'", tip]);
        assert!(!message.contains("--verify"), "{message}");
    }
    let tip = "`--seeds` is an option of `flashloom compare`, `flashloom probe`";
    lab.refuses("run small.toml --seeds 3", &[tip]);
}

#[test]
fn files_of_other_kinds_as_an_experiment() {
    let lab = measured();
    lab.succeed("run small.toml --set run.precondition=fill --save-state a.state --json a.json");
    let page = "# A drive\n\nSome words on it, without a table.\n".repeat(60);
    let block = "```toml\n[device]\nblocks = 64\n```\n";
    lab.write("trace.csv", TRACE).write("notes.md", page.clone() + block + &page);
    lab.succeed("trace convert trace.csv trace.csv.gz");
    lab.write("drive.yaml", "device:\n  blocks: 64\n  pages: 32\nhost:\n  queue_depth: 8\nbuffer:\n  capacity: 1MiB\n");
    lab.write("drive.json", "{\"device\": {\"blocks\": 64}}\n").write("notes.gz", [0x1f, 0x8b, 8, 0, 0xff]);
    lab.write("half.json", "{\"device\": {\"blocks\": 64}\n").write("page.html", "<!DOCTYPE html>\n<p>A drive.\n");
    lab.write("wide.toml", b"\xff\xfe[\0d\0]\0").write("program", b"\x7fELF\x02\x01\0\0\xff");
    let of_trace = "--set workload.kind=trace --set workload.path=";
    for (file, found, help) in [
        ("trace.csv", "this is a recording", &*format!("{of_trace}trace.csv`")),
        ("trace.csv.gz", "this is a recording", &format!("{of_trace}trace.csv.gz`")),
        ("job.fio", "this is a job file of fio", "--set workload.kind=fio --set workload.path=job.fio`"),
        ("fio.json", "this is the JSON of fio", "`flashloom validate EXPERIMENT.toml --against fio.json`"),
        ("a.json", "this is a result in JSON", "`flashloom report a.json -o PAGE.html`"),
        ("a.state", "this is a saved drive", "`run.state`"),
        ("drive.json", "this is JSON", "schema/config.json"),
        ("half.json", "this is JSON", "schema/config.json"),
        ("notes.gz", "this is compressed by gzip", "unpack it"),
        ("wide.toml", "this is a text in UTF-16", "save it as UTF-8"),
        ("page.html", "this is HTML or XML", "[device]"),
        ("program", "this is a binary file", "an experiment is a text"),
        ("notes.md", "this is not TOML: 122 of 124 lines are not", "notes.md:3:"),
        ("drive.yaml", "this is not TOML: 7 of 7 lines are not", "drive.yaml:1:"),
    ] {
        for command in ["run", "compare", "validate"] {
            let message = lab.refuses(&format!("{command} {file}"), &[found, help]);
            assert_eq!(message.matches("error: ").count(), 1, "{command} {file}: {message}");
        }
    }
    // One mistake in an experiment is told as that.
    lab.write("one.toml", "[device]\nblocks = 64\npages = thirty\n");
    lab.refuses("run one.toml", &["`thirty` is not a value", "one.toml:3:9"]);
}

#[test]
fn a_journal_that_another_fit_holds_is_not_to_be_removed() {
    let lab = measured();
    lab.write("held", "");
    let held = std::fs::File::options().write(true).open(lab.path("held")).expect("it is there");
    assert!(flashloom_files::try_lock(&held).expect("there are locks"));
    let words = ["another fit runs with this journal", "name another file with --journal"];
    let message = lab.refuses(&format!("{FIT} a.toml --journal held"), &words);
    assert!(!message.contains("remove"), "{message}");
}
