//! Files that the program writes: never through a link, and none left behind by a program that was ended.

use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, io};

use crate::commands::{TRACE, small};
use crate::lab::{Answer, Lab};

/// Names of the partial files in a lab.
fn partials(lab: &Lab) -> Vec<String> {
    lab.files().into_iter().filter(|name| name.ends_with(".partial")).collect()
}

/// A run that takes longer than any test, once it has opened its outputs.
fn endless(lab: &Lab, outputs: &str) -> Child {
    let before = partials(lab);
    let mut command = lab.line(&format!("run small.toml --set workload.synthetic.requests=100000000 {outputs}"));
    let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it can be started");
    for _ in 0..60_000 {
        if partials(lab).iter().filter(|name| !before.contains(name)).count() == outputs.matches("--").count() {
            return child;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let ended = child.kill().and_then(|()| child.wait());
    panic!("it writes nothing: {:?}, {ended:?}", lab.files());
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is kill");
    assert!(sent.success());
}

#[test]
fn a_run_that_is_interrupted_removes_its_partial_files_and_ends_by_that_signal() {
    // Where the caller of the tests has turned off INT, so it is for the program.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map_or("0", str::trim);
    let ignores_int = u64::from_str_radix(ignored, 16).is_ok_and(|mask| mask & 2 != 0);
    for (signal, number) in [("-INT", 2), ("-TERM", 15)].into_iter().skip(usize::from(ignores_int)) {
        let lab = small();
        let before = lab.files();
        let mut child = endless(&lab, "--json a.json --log a.csv --timeline b.csv");
        send(&child, signal);
        let status = child.wait().expect("it ends");
        assert_eq!(status.signal(), Some(number), "{status:?}");
        assert_eq!(lab.files(), before, "{signal}");
    }
}

#[test]
fn a_signal_that_the_caller_has_turned_off_stays_off() {
    let lab = small();
    let program = env!("CARGO_BIN_EXE_flashloom");
    let script = format!(
        "trap '' INT; {program} run small.toml --set workload.synthetic.requests=300000 --json a.json >/dev/null & \
         while ! ls -A | grep -q partial; do sleep 0.01; done; kill -INT $!; wait $!"
    );
    let mut shell = Command::new("sh");
    let ended = shell.args(["-c", &script]).current_dir(lab.path("")).env("FLASHLOOM_CACHE", "").status();
    assert!(ended.expect("there is a shell").success() && lab.path("a.json").exists());
}

#[test]
fn the_next_run_removes_what_a_killed_one_has_left_and_nothing_of_one_that_lives() {
    let lab = small();
    let mut killed = endless(&lab, "--json a.json --log a.csv");
    let left = partials(&lab);
    killed.kill().expect("it can be killed");
    killed.wait().expect("it ends");
    assert_eq!(partials(&lab), left, "KILL cannot be waited for");
    let mut living = endless(&lab, "--timeline b.csv");
    // The run above has removed the leftovers as it began; its own stay, whoever comes.
    lab.succeed("run small.toml --json c.json");
    let now = partials(&lab);
    assert!(now.len() == 1 && !left.contains(&now[0]), "{now:?}, {left:?}");
    send(&living, "-TERM");
    living.wait().expect("it ends");
    assert_eq!(lab.files(), ["c.json", "small.toml"]);
}

#[test]
fn every_output_replaces_a_link_and_never_follows_it() {
    let lab = small();
    lab.write("a.csv", TRACE).write("job.fio", "[a]\nrw=read\nsize=1m\nio_size=64k\n");
    lab.succeed("run small.toml --json made.json");
    fs::create_dir(lab.path("man")).expect("there is room");
    for command in [
        "run small.toml --json out.json",
        "run small.toml --log out.csv",
        "run small.toml --log out.parquet",
        "run small.toml --timeline out.csv",
        "run small.toml --perfetto out.pftrace",
        "run small.toml --set run.precondition=fill --save-state out.state",
        "run small.toml --set workload.kind=fio --set workload.path=job.fio --fio-json out.json",
        "compare small.toml --vary run.seed=1,2 --json out.json",
        "compare small.toml --vary run.seed=1,2 --csv out.csv",
        "report made.json -o out.html",
        "generate small.toml --out out.csv",
        "generate small.toml --out out.csv.gz",
        "trace convert a.csv out.csv.zst",
        "man man",
    ] {
        let name = command.split(' ').next_back().filter(|name| *name != "man").unwrap_or("man/flashloom-run.1");
        for target in ["precious", "nowhere"] {
            lab.write("precious", "mine");
            let path = lab.path(name);
            // Relative to the link.
            symlink(lab.path(target), &path).expect("there is room");
            lab.succeed(command);
            assert!(!path.is_symlink() && fs::metadata(&path).expect("it is there").len() > 0, "{command}");
            assert_eq!((lab.read("precious").as_str(), lab.path("nowhere").exists()), ("mine", false), "{command}");
            fs::remove_file(path).expect("it is there");
        }
    }
    assert_eq!(partials(&lab), Vec::<String>::new());
}

#[test]
fn reports_and_kept_results_replace_links_too() {
    let lab = small();
    lab.write("precious", "mine").write("out/csv/made", "");
    let names = ["out/README.md", "out/kast.json", "out/kast.md", "out/csv/kast.csv", "out/csv/kast-runs.csv"];
    names.iter().for_each(|name| symlink(lab.path("precious"), lab.path(name)).expect("there is room"));
    // An overview that is no overview is refused, so this link leads nowhere.
    fs::remove_file(lab.path("out/README.md")).expect("it is there");
    symlink("nowhere", lab.path("out/README.md")).expect("there is room");
    lab.succeed("reproduce kast --quick --out out");
    assert!(names.iter().all(|name| !lab.path(name).is_symlink() && lab.path(name).is_file()));
    assert!(!lab.path("out/nowhere").exists());

    let sweep = "compare small.toml --vary run.seed=1,2 --out kept";
    lab.succeed(sweep);
    let results: Vec<_> = fs::read_dir(lab.path("kept")).expect("it is there").flatten().collect();
    for result in &results {
        fs::remove_file(result.path()).expect("it is there");
        symlink("nowhere", result.path()).expect("there is room");
    }
    lab.succeed(sweep);
    assert!(results.len() == 2 && results.iter().all(|result| !result.path().is_symlink()));
    assert!(!lab.path("kept/nowhere").exists());
    assert_eq!(lab.read("precious"), "mine");

    fs::remove_dir_all(lab.path("out/csv")).expect("it is there");
    symlink(lab.path("kept"), lab.path("out/csv")).expect("there is room");
    lab.refuses("reproduce kast --quick --out out", &["this is a link"]);
}

#[test]
fn devices_and_pipes_are_written_as_they_are_and_an_open_file_is_refused() {
    let lab = small();
    lab.succeed("run small.toml --json /dev/null");
    // Standard output is a pipe here.
    let timeline = "run small.toml --timeline /dev/stdout";
    let piped = lab.shows(timeline, &["requests/s"]);
    assert!(piped.lines().count() > 20, "{piped}");
    let file = fs::File::create(lab.path("all.txt")).expect("there is room");
    Answer::of(lab.line(timeline).stdout(file)).refused(&["a file that is open"]);
}

#[test]
fn a_name_that_no_file_can_have_is_refused_before_anything_runs() {
    let lab = small();
    let long = "a".repeat(300);
    for (name, found) in [("new/", "this is a directory"), (&*long, "File name too long"), ("none/a", "no folder")] {
        lab.refuses(&format!("run small.toml --json {name}"), &[found]);
    }
    // The folder of the results is a folder once it is there.
    let answer = lab.run("compare small.toml --vary run.seed=1,2 --out kept --json kept");
    answer.refused(&["this is a directory"]);
}

/// As `cat` does; a status of 0 would say that the reader had it all.
#[test]
fn output_that_nobody_reads_ends_the_program_by_pipe() {
    let lab = small();
    for arguments in [
        "run small.toml --json - --log log.csv",
        "compare small.toml --vary run.seed=1,2 --json - --csv all.csv",
        "explain ftl",
        "list",
    ] {
        let (reader, writer) = io::pipe().expect("there are pipes");
        drop(reader);
        let ended = lab.line(arguments).stdout(writer).output().expect("it can be started");
        assert_eq!(ended.status.signal(), Some(13), "{arguments}: {:?}", ended.status);
        assert!(!String::from_utf8_lossy(&ended.stderr).contains("error"), "{arguments}");
    }
    // What was asked for beside it is there, and whole.
    assert_eq!(lab.files(), ["all.csv", "log.csv", "small.toml"]);
    assert!(lab.read("log.csv").lines().count() > 100 && lab.read("all.csv").lines().count() >= 3);
}
