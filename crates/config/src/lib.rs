//! Configurations: TOML files and command line options in, checked and typed parameters out.
//!
//! Five layers, each of which uses only those before it:
//!
//! ```text
//! catalog     all that a configuration can contain: sections, policies of a registry, their keys
//! raw         all that was written: texts, assignments, axes, expectations, each with its place
//! checked     one value of every key, of its kind and in its range
//! typed       one run: the parameters of every section, and the rules across keys
//! experiment  a file and its options: one run, or the runs of a comparison
//! ```
//!
//! Every problem is found in one pass, and nothing after this module sees an unchecked value.

mod catalog;
mod checked;
mod experiment;
pub mod missing;
mod raw;
pub mod registry;
pub mod schema;
mod statistics;
mod typed;

pub use catalog::{
    Catalog, EXPECT, EndOfLife, FIT, KeyId, Precondition, Rest, RunParams, SECTIONS, Section, Table, Timing, VARY,
    WORKLOAD, WorkloadName,
};
pub use experiment::{Experiment, Need, Reason, Sweep, Unfit, Unused, Variant, check_set, needs, path_of};
pub use raw::{Axis, Bounds, EXPECT_KEYS, Expectation, OfThisExperiment, Origin, Source};
pub use statistics::{no_number, numbers, object_of, statistics};
pub use typed::{Config, Found, example, json_value, toml_value};
