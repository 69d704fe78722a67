//! Files that the program reads and writes, and what it leaves in folders.
//!
//! ```text
//! FOLDER/.flashloom-<letters and digits>.partial   being written: locked by the process that writes it
//! FOLDER/NAME                                      complete: the partial file under its final name
//! ```
//!
//! The rules, which hold for every output, for kept results and for the cache of aged drives:
//!
//! - A file is complete, or it is not there under its name. It is written under another one, which no file has, and
//!   renamed. A link at its name is replaced, never followed; a device or a pipe is written as it is.
//! - A partial file belongs to the process that has it locked ([`Partial`]). The system releases the lock of a process
//!   that ends, however it ends, so a partial file without a lock is a leftover, and [`remove_leftovers`] removes it.
//!   Its age says nothing: a run may take days. A file system without locks keeps its leftovers.
//! - A program that is asked to end removes its own partial files first ([`end_writing`]).
//! - A folder through which processes exchange files is locked by the process that made it ([`Scratch`]). Without its
//!   lock it is a leftover.
//! - An input is an ordinary file, or what the program's caller opened; nothing waits for a pipe ([`open_input`]).
//! - No output is an input, or another output ([`conflict`], [`conflict_with_opened`]).
//! - Files that other users must not see or change lie in a folder of one's own ([`own_folder`]).
//!
//! Locks, owners and links are those of Unix. Elsewhere files are written as whole, and nothing else is checked.

mod conflict;
mod input;
mod output;
mod own;
mod partial;
mod scratch;
mod system;

pub use conflict::{conflict, conflict_with_opened};
pub use input::{
    BYTE_ORDER_MARK, NoInput, RESULT_LIMIT_BYTES, TEXT_LIMIT_BYTES, TEXT_LIMIT_VARIABLE, limit_of, open_input,
    read_input,
};
pub use output::{NoOutput, Output};
pub use own::{check_own, open_own, own_folder, remove_unless_locked};
pub use partial::{Access, Partial, end_writing, remove_leftovers, write_whole};
pub use scratch::Scratch;
pub use system::{is_at, is_own, try_lock, unlock};

use std::path::Path;

/// Folder of a file: the current one for a name alone.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
