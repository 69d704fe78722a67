//! Records the git revision of the sources, for the provenance of results. The program itself never runs git.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What cargo adds to a published package.
const PACKAGED: &str = ".cargo_vcs_info.json";

fn main() {
    if Path::new(PACKAGED).exists() {
        println!("cargo:rerun-if-changed={PACKAGED}");
        return record(packaged());
    }
    record(revision());
    // A change of any source may make the tree differ from its revision, or agree with it again.
    for path in ["..", "../../Cargo.toml", "../../Cargo.lock"] {
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
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no", "--", "..", "../../Cargo.toml", "../../Cargo.lock"])?;
    Some(if changed.is_empty() { revision } else { format!("{revision}-dirty") })
}

fn git(arguments: &[&str]) -> Option<String> {
    // Looking must not take the lock of the index, which may be in use.
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .args(arguments)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
