//! All tests of documents and of what is checked in beside the code, in one program: it is linked once, and tests of
//! every file run side by side.
#![allow(missing_docs)]

use std::sync::Arc;

use flashloom::config::Catalog;
use flashloom::config::registry::Registry;

mod checked_in;
mod documents;
mod explained;
mod figures;
mod machine_paths;
mod rooms;
mod support;
mod walk;
mod which_scheduler;
mod which_stack;

/// The built-in policies, and everything that the program writes.
fn catalog() -> Arc<Catalog> {
    flashloom::of_this_build(Registry::builtin()).catalog().expect("the built-in tables are in order")
}
