//! Workloads: where requests come from.
//!
//! A run asks for [`Arrivals`], which depend on what has completed; [`Replayed`] makes them of a [`Source`] at a
//! [`Pace`]. A [`Source`] gives requests in order of arrival. [`open_trace`] reads one from a recording in any of the formats of
//! [`FORMATS`], as a stream, so that memory does not grow with its length; [`Synthetic`] makes requests from a seed.
//! [`fit`] maps their addresses onto a device, [`Limited`] ends them early. [`scan_trace`] checks and summarises a
//! recording, [`convert_trace`] writes it in another format.

mod address;
mod arrivals;
mod params;
mod request;
mod source;
mod synthetic;
mod trace;

pub use address::{Addresses, Fitted, fit};
pub use arrivals::{Arrivals, Pace, Replayed};
pub use params::{Replay, WORKLOADS, WorkloadParams};
pub use request::{Op, Request};
pub use source::{Limited, Source};
pub use synthetic::{Arrival, Pattern, Synthetic, SyntheticParams};
pub use trace::{
    ConvertReport, Event, FORMATS, Footprint, Format, FormatSpec, OutFormat, SkippedLines, Trace, TraceInfo,
    TraceOptions, convert_trace, open_trace, read_trace, scan_trace,
};
