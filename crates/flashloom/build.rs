//! Records the git revision of the sources, for the provenance of results. The program itself never runs git.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the program is built from.
const SOURCES: [&str; 3] = ["..", "../../Cargo.toml", "../../Cargo.lock"];

/// Digits of the hash of what a tree changed.
const DIGITS: usize = 12;

/// What cargo adds to a published package.
const PACKAGED: &str = ".cargo_vcs_info.json";

fn main() {
    if Path::new(PACKAGED).exists() {
        println!("cargo:rerun-if-changed={PACKAGED}");
        return record(packaged());
    }
    record(revision());
    // A change of any source may make the tree differ from its revision, or agree with it again.
    for path in SOURCES {
        println!("cargo:rerun-if-changed={path}");
    }
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}

fn record(revision: Option<String>) {
    println!("cargo:rustc-env=FLASHLOOM_REVISION={}", revision.unwrap_or_else(|| "unknown".to_owned()));
}

/// The revision that a published package was made from.
fn packaged() -> Option<String> {
    let text = fs::read_to_string(PACKAGED).ok()?;
    let (_, after) = text.split_once("\"sha1\": \"")?;
    let (revision, _) = after.split_once('"')?;
    Some(if text.contains("\"dirty\": true") { format!("{revision}-dirty") } else { revision.to_owned() })
}

/// The current revision; `None` without git, or if the sources lie in the repository of something else.
fn revision() -> Option<String> {
    let root = Path::new("../..").canonicalize().ok()?;
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    let revision = git(&["rev-parse", "HEAD"])?;
    let changed = git(&[&["diff", "--binary", "--no-ext-diff", "HEAD", "--"], &SOURCES[..]].concat())?;
    if changed.is_empty() {
        return Some(revision);
    }
    // Two trees that differ from one revision are told apart by what they changed, and by new files.
    let new = git(&[&["ls-files", "--others", "--exclude-standard", "--"], &SOURCES[..]].concat())?;
    let new = new.lines().filter_map(|path| fs::read(path).ok()).collect::<Vec<_>>().concat();
    let hash = git_of(&["hash-object", "--stdin"], &[changed.as_bytes(), &new].concat())?;
    Some(format!("{revision}-dirty-{}", hash.get(..DIGITS)?))
}

fn git(arguments: &[&str]) -> Option<String> {
    git_of(arguments, &[])
}

/// What git says of an input.
fn git_of(arguments: &[&str], input: &[u8]) -> Option<String> {
    let mut command = Command::new("git");
    // Looking must not take the lock of the index, which may be in use.
    command.arg("--no-optional-locks").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().ok()?;
    child.stdin.take()?.write_all(input).ok()?;
    let output = child.wait_with_output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
