//! What this build does not have, and how to get it.

use flashloom::units::{Problem, Refusal};

use crate::output::Stop;

/// Refuses a command.
pub fn command(name: &str) -> Result<(), Stop> {
    Err(of(&format!("the command `{name}`")).into())
}

/// Refuses what a build without every feature does not have.
pub fn of(what: &str) -> Problem {
    let refusal = Refusal::new(format!("{what} is not part of this build"), "a build with every feature");
    refusal.help(HELP).into()
}

const HELP: &str = "in a checkout `cargo run --release -- ...` builds all of it, and `cargo install --path crates/cli` \
                    installs it; this one was built with `--no-default-features`";
