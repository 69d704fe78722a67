//! Workloads: where requests come from.
//!
//! Traces are read and written as streams, so memory does not grow with their length; generators make requests from a
//! seed.

mod request;

pub use request::{Op, Request};
