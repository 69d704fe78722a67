//! Raw input: the texts of files and options, and the values read from them, each with the place where it was written.

mod blank;
mod document;
mod expectation;
mod option;
mod other_kind;
mod range;
mod source;
mod value;

pub use document::Axis;
pub(super) use document::{Assignment, Document, MOST_RUNS, NAME, read as read_document};
pub use expectation::{Bounds, Expectation, KEYS as EXPECT_KEYS, OfThisExperiment};
pub(super) use option::{read_ends, read_set, read_vary};
pub use source::{Origin, Source};
pub(super) use source::{Report, Sources};
pub(super) use value::check_option;
