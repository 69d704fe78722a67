//! Arguments of the commands that this build does not have.

use std::ffi::OsString;

use clap::Args;

/// Whatever they are: the command is refused.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Absent {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _given: Vec<OsString>,
}
