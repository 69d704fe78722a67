//! Whether the plugin fits this program: asked by `nbdkit --dump-plugin` before a drive is aged.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use flashloom::REVISION;
use flashloom::config::registry::Registry;
use flashloom::config::{Catalog, Experiment};
use flashloom::units::{Problem, Problems};
use flashloom_live::Build;

use crate::output::{Stop, failed, say};

/// Refuses a plugin of other sources than this program's, and an experiment that names a policy which the plugin does
/// not have; `load` reads it with the policies of a catalog. Without a plugin, or nbdkit to ask it, it is held against
/// the plugin that is built beside this program.
///
/// # Errors
/// The sources of both, or the policies, as a program without them would refuse them.
pub fn check(
    catalog: &Catalog,
    found: Option<(&Path, &Path)>,
    load: impl FnOnce(&Arc<Catalog>) -> Result<Experiment, Problems>,
) -> Result<(), Stop> {
    let plugin = match found {
        Some((nbdkit, plugin)) => ask(nbdkit, plugin, &Build::of(catalog.registry(), REVISION))?,
        None => Build::of(&Registry::builtin(), REVISION),
    };
    let registry = catalog.registry().clone().only(|slot, policy| plugin.has(slot, policy));
    let shared = registry.catalog().map_err(|refusal| failed(refusal.to_string()))?;
    load(&shared).map(drop).map_err(|problems| {
        let whose = found.map_or_else(|| "the built-in one".to_owned(), |(_, path)| path.display().to_string());
        say(format_args!(
            "note: a drive has the policies of the plugin that serves it, and {whose} does not have what is refused \
             here; a library with the line `flashloom_plugin::nbdkit!(registry);` has those of your registry, and \
             FLASHLOOM_NBDKIT_PLUGIN names its file: see docs/live-drive.md"
        ));
        problems.into()
    })
}

/// What a plugin says of itself.
///
/// # Errors
/// nbdkit cannot load it, or it does not belong to this program.
fn ask(nbdkit: &Path, plugin: &Path, program: &Build) -> Result<Build, Problem> {
    let refuse = |found: String| {
        let expected = format!("a plugin of {}, which this program is of: build both anew", program.sources());
        Err(Problem::file(plugin.display().to_string(), found, expected))
    };
    let told = match Command::new(nbdkit).arg("--dump-plugin").arg(plugin).output() {
        Ok(told) => told,
        Err(error) => return refuse(format!("nbdkit cannot be asked about it: {error}")),
    };
    let Some(build) = Build::parse(&String::from_utf8_lossy(&told.stdout)) else {
        let said = String::from_utf8_lossy(&told.stderr);
        let why = said.lines().next().map_or(String::new(), |line| format!(": {line}"));
        let nbdkit = nbdkit.display();
        return refuse(format!("a plugin of which `{nbdkit} --dump-plugin` does not say what it is built of{why}"));
    };
    if !build.belongs_to(program) {
        return refuse(format!("a plugin of {}", build.sources()));
    }
    // A configuration falls back on them.
    match build.missing_of(&Registry::builtin()) {
        None => Ok(build),
        Some(name) => refuse(format!("a plugin without `{name}`, which is built in")),
    }
}
