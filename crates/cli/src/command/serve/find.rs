//! Where nbdkit and its plugin are.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use flashloom::units::Problem;

/// Environment variables that name the two.
const NBDKIT: &str = "FLASHLOOM_NBDKIT";
const PLUGIN: &str = "FLASHLOOM_NBDKIT_PLUGIN";

/// File of the plugin.
const PLUGIN_FILE: &str = "libflashloom_nbdkit.so";

/// The file that a variable names; an empty one names nothing.
///
/// # Errors
/// It is no file.
fn named(variable: &str, what: &str) -> Result<Option<PathBuf>, Problem> {
    let path = env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    match path {
        Some(path) if !path.is_file() => {
            let found = format!("{}, which is no file", path.display());
            Err(Problem::file(variable, found, format!("the path of {what}")))
        }
        // A name without a folder would be looked for among the libraries of the system.
        path => Ok(path.map(|path| std::path::absolute(&path).unwrap_or(path))),
    }
}

/// nbdkit: what the variable names, or a program of that name on the path, or where Debian has it for root. None if
/// there is none.
///
/// # Errors
/// The variable names no file.
pub fn nbdkit() -> Result<Option<PathBuf>, Problem> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut folders = env::split_paths(&folders).chain(["/usr/sbin", "/usr/bin"].map(PathBuf::from));
    let mut of_system = || folders.find_map(|folder| Some(folder.join("nbdkit")).filter(|path| path.is_file()));
    Ok(named(NBDKIT, "nbdkit")?.or_else(&mut of_system))
}

/// That there is no nbdkit.
pub fn no_nbdkit() -> Problem {
    let found = format!("no program of this name on the path, and no {NBDKIT}, which may name one");
    Problem::file("nbdkit", found, "the server of network block devices, such as Debian's package nbdkit")
}

/// Whether this nbdkit ends when a client goes while several of its requests are inside: a fault that came with a
/// release of 1.32 and went with 1.34. An nbdkit that does not tell its version is not suspected.
pub fn ends_with_its_clients(nbdkit: &Path) -> bool {
    let told = Command::new(nbdkit).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    has_fault(&String::from_utf8_lossy(&told))
}

/// [`ends_with_its_clients`], by what `--version` prints: "nbdkit 1.32.5 (nbdkit-1.32.5-1)".
fn has_fault(told: &str) -> bool {
    let mut numbers = told.split_whitespace().nth(1).unwrap_or_default().split('.').map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(1)), Some(Ok(32 | 33))))
}

/// The plugin: what the variable names, or beside this program, or in lib/flashloom. None if there is none.
///
/// # Errors
/// The variable names no file.
pub fn plugin() -> Result<Option<PathBuf>, Problem> {
    let of_program = || places(&program()).into_iter().find(|path| path.is_file());
    Ok(named(PLUGIN, "the plugin")?.or_else(of_program))
}

/// That there is no plugin.
pub fn no_plugin() -> Problem {
    let [beside, library] = places(&program()).map(|path| path.display().to_string());
    let found = format!("neither {beside} nor {library}, and no {PLUGIN}, which may name one");
    let expected = "the plugin of this program: `cargo build --release -p flashloom-nbdkit` makes it";
    Problem::file(PLUGIN_FILE, found, expected)
}

fn program() -> PathBuf {
    env::current_exe().and_then(std::fs::canonicalize).unwrap_or_default()
}

/// Where a program looks for its plugin: in its folder, and in lib/flashloom beside that.
fn places(program: &Path) -> [PathBuf; 2] {
    let folder = program.parent().unwrap_or(Path::new("."));
    let library = folder.parent().unwrap_or(folder).join("lib/flashloom");
    [folder.join(PLUGIN_FILE), library.join(PLUGIN_FILE)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_with_the_fault_are_those_from_1_32_to_1_33() {
        let has = ["nbdkit 1.32.5 (nbdkit-1.32.5-1)", "nbdkit 1.33.9"].map(has_fault);
        let has_not = ["nbdkit 1.30.1", "nbdkit 1.34.0 (x)", "nbdkit 1.42.2", "nbdkit 2.32.0", "", "nbdkit", "a b"];
        assert!(has.iter().all(|&fault| fault) && !has_not.map(has_fault).contains(&true));
    }

    #[test]
    fn the_plugin_is_beside_the_program_or_in_its_library() {
        let places = places(Path::new("/usr/bin/flashloom")).map(|path| path.display().to_string());
        assert_eq!(places, ["/usr/bin/libflashloom_nbdkit.so", "/usr/lib/flashloom/libflashloom_nbdkit.so"]);
    }
}
