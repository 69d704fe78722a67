//! Location of the user's aged drives: `$FLASHLOOM_CACHE`, or the platform's cache folder.

use std::env;
use std::path::{Path, PathBuf};

use flashloom::run::{Cache, Notice, Store};
use flashloom::units::Problem;

use crate::output::say_over_bar;

/// Environment variable with the folder; empty, it turns the cache off.
const VARIABLE: &str = "FLASHLOOM_CACHE";

/// The user's cache of aged drives; `None` if it is turned off, or the platform names no cache folder.
///
/// # Errors
/// Its limit is no size.
pub fn of_user(is_off: bool) -> Result<Option<Cache>, Problem> {
    let folder = if is_off { None } else { folder(|name| env::var_os(name).map(PathBuf::from)) };
    let Some(folder) = folder else { return Ok(None) };
    let tell = |notice: &Notice<'_>| say_over_bar(format_args!("note: {notice}"));
    Ok(Some(Cache::new(folder, Store::limit_of_user()?, tell)))
}

/// The files of the user's cache.
///
/// # Errors
/// It is turned off, the platform names no cache folder, or its limit is no size.
pub fn files_of_user() -> Result<Store, Problem> {
    let Some(folder) = folder(|name| env::var_os(name).map(PathBuf::from)) else {
        let found = match env::var_os(VARIABLE) {
            Some(_) => "it is empty, which turns the cache off",
            None => "it is not set, and the system names no cache folder",
        };
        return Err(Problem::file(VARIABLE, found, "a folder"));
    };
    Ok(Store::new(folder, Store::limit_of_user()?))
}

/// The folder that the environment variables name.
fn folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(folder) = variable(VARIABLE) {
        return (folder != Path::new("")).then_some(folder);
    }
    // By the XDG base directory specification a relative path is to be ignored.
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    let of_platform = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library/Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
    };
    of_platform.map(|folder| folder.join("flashloom"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<PathBuf> {
        folder(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| PathBuf::from(value)))
    }

    #[test]
    fn the_variable_of_the_program_goes_before_the_platform_and_may_be_empty() {
        assert_eq!(found(&[(VARIABLE, "drives"), ("HOME", "/home/me")]), Some(PathBuf::from("drives")));
        assert_eq!(found(&[(VARIABLE, ""), ("HOME", "/home/me")]), None);
        assert_eq!(found(&[]), None);
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn the_folder_of_the_platform_is_absolute() {
        let home = ("HOME", "/home/me");
        assert_eq!(found(&[home]), Some(PathBuf::from("/home/me/.cache/flashloom")));
        assert_eq!(found(&[home, ("XDG_CACHE_HOME", "/tmp/c")]), Some(PathBuf::from("/tmp/c/flashloom")));
        assert_eq!(found(&[home, ("XDG_CACHE_HOME", "c")]), Some(PathBuf::from("/home/me/.cache/flashloom")));
    }
}
