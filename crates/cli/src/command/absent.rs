//! What this build does not have, and how to get it.

use flashloom::units::Problem;

use crate::output::Stop;

/// Refuses a command.
pub fn command(name: &str) -> Result<(), Stop> {
    Err(of("flashloom", &format!("the command `{name}`")).into())
}

/// Refuses what a build without every feature does not have, asked for at that place.
pub fn of(place: &str, what: &str) -> Problem {
    Problem::file(place, format!("{what} is not part of this build"), "a build with every feature").with_help(HELP)
}

pub const HELP: &str = "in a checkout `cargo run --release -- ...` builds all of it, and `cargo install --path \
                        crates/cli` installs it; this one was built with `--no-default-features`";
