//! Experiments: a checked configuration, one or many runs of it, and their results.
//!
//! [`config`] turns a file and options into one checked [`config::Config`] a run; [`run`] checks the recordings, runs
//! everything in parallel and holds the accounts against each other; [`result`] is what comes out, as JSON. [`probe`]
//! finds the regions of a drive, and how many requests one of them serves at once.
//! [`mod@reference`] and [`schema`] describe all of it, from the same tables.

pub mod config;
pub mod estimate;
pub mod figures;
pub mod formula;
pub mod log;
pub mod probe;
pub mod reference;
pub mod registry;
pub mod result;
pub mod run;
pub mod schema;
pub mod slowest;
pub mod timeline;
