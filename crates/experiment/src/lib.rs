//! Experiments: a checked configuration, one or many runs of it, and their results.
//!
//! [`config`] turns a file and options into one checked [`config::Config`] per run; [`run`] checks the recordings, runs
//! everything in parallel and checks the accounts against each other; [`result`] defines the results as JSON.
//! [`mod@reference`] and [`schema`] describe all of it, from the same tables.

pub mod config;
pub mod estimate;
pub mod figures;
pub mod formula;
pub mod log;
pub mod reference;
pub mod registry;
pub mod result;
pub mod run;
pub mod schema;
pub mod series;
pub mod slowest;
pub mod timeline;
