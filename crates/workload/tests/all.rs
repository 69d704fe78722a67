//! All tests of readers and workloads in one program: it is linked once, and tests of every file run side by side.
#![allow(missing_docs)]

mod any_bytes;
mod errors;
mod field;
mod fio;
mod recordings;
mod reference;
mod round_trips;
mod support;
