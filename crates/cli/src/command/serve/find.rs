//! Where nbdkit and its plugin are.

use std::env;
use std::path::{Path, PathBuf};

use flashloom::units::Problem;

/// Environment variables that name the two.
const NBDKIT: &str = "FLASHLOOM_NBDKIT";
const PLUGIN: &str = "FLASHLOOM_NBDKIT_PLUGIN";

/// File of the plugin.
const PLUGIN_FILE: &str = "libflashloom_nbdkit.so";

/// nbdkit: what the variable names, or a program of that name on the path, or where Debian has it for root.
///
/// # Errors
/// There is none.
pub fn nbdkit() -> Result<PathBuf, Problem> {
    if let Some(path) = env::var_os(NBDKIT).map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(not_there(NBDKIT, &path, "nbdkit")) };
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&folders).chain(["/usr/sbin", "/usr/bin"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join("nbdkit")).find(|path| path.is_file());
    found.ok_or_else(|| {
        let found = format!("no program of this name on the path, and no {NBDKIT}, which may name one");
        Problem::file("nbdkit", found, "the server of network block devices, such as Debian's package nbdkit")
    })
}

/// The plugin: what the variable names, or beside this program, or in lib/flashloom.
///
/// # Errors
/// There is none.
pub fn plugin() -> Result<PathBuf, Problem> {
    if let Some(path) = env::var_os(PLUGIN).map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(not_there(PLUGIN, &path, "the plugin")) };
    }
    let program = env::current_exe().and_then(std::fs::canonicalize).unwrap_or_default();
    let places = places(&program);
    let found = places.iter().find(|path| path.is_file()).cloned();
    found.ok_or_else(|| {
        let [beside, library] = places.map(|path| path.display().to_string());
        let found = format!("neither {beside} nor {library}, and no {PLUGIN}, which may name one");
        let expected = "the plugin of this program: `cargo build --release -p flashloom-nbdkit` makes it";
        Problem::file(PLUGIN_FILE, found, expected)
    })
}

/// Where a program looks for its plugin: in its folder, and in lib/flashloom beside that.
fn places(program: &Path) -> [PathBuf; 2] {
    let folder = program.parent().unwrap_or(Path::new("."));
    let library = folder.parent().unwrap_or(folder).join("lib/flashloom");
    [folder.join(PLUGIN_FILE), library.join(PLUGIN_FILE)]
}

fn not_there(variable: &str, path: &Path, what: &str) -> Problem {
    Problem::file(variable, format!("{}, which is no file", path.display()), format!("the path of {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_is_beside_the_program_or_in_its_library() {
        let places = places(Path::new("/usr/bin/flashloom")).map(|path| path.display().to_string());
        assert_eq!(places, ["/usr/bin/libflashloom_nbdkit.so", "/usr/lib/flashloom/libflashloom_nbdkit.so"]);
    }
}
