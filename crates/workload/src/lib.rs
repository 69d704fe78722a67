//! Workloads: the origin of requests.
//!
//! [`workload::Workload`] is the trait of a workload: each kind is checked, read and started through it.
//!
//! A run drives [`Arrivals`], which depend on completions; [`Replayed`] makes them of a [`Source`] at a [`Pace`]. A
//! [`Source`] returns requests in order of arrival. [`open_trace`] reads one from a recording in any of the formats of
//! [`FORMATS`], as a stream, so that memory does not grow with its length; [`Synthetic`] makes requests from a seed.
//! [`Synthesized`] fits a published characterisation, [`Filebench`] runs threads over a modelled file system.
//! [`FioJobs`] are the jobs of an [`FioJobFile`], which wait for their own requests. [`fit`] maps their addresses onto
//! a device, [`Limited`] ends them early. [`scan_trace`] checks and summarises a recording, [`scan_latencies`] its
//! latencies, [`convert_trace`] writes it
//! in another format, and [`TraceWriter`] any requests in one.

mod address;
mod arrivals;
mod filebench;
mod fio;
mod limits;
mod params;
mod placed;
mod queue_class;
mod remark;
mod request;
mod slots;
mod source;
mod synthesized;
mod synthetic;
mod trace;
pub mod workload;

pub use address::{Addresses, fit, rebase};
pub use arrivals::{Arrivals, Pace, Replayed};
pub use filebench::{BACKGROUND_DEPTH, Filebench, FilebenchParams, FilebenchReport, FlowReport, Personality};
pub use fio::{FioDirection, FioDrive, FioJobFile, FioJobs, FioPercentiles, FioRange, FioReport, FioSamples, Samples};
pub use limits::{Limits, Throttled};
pub use params::{Replay, WORKLOADS, WorkloadParams};
pub use placed::{Part, Placed};
pub use queue_class::QueueClass;
pub use remark::Remark;
pub use request::{IO_PRIORITIES, Op, Priority, PriorityClass, Request, TASK_IDS};
pub use source::{Limited, Source};
pub use synthesized::{Character, Characterisation, Synthesized, SynthesizedParams};
pub use synthetic::{Arrival, Pattern, Synthetic, SyntheticParams};
pub use trace::{
    ALL_DEVICES, ConvertReport, DeviceInfo, Event, FORMATS, Fingerprint, Footprint, Format, FormatSpec, LOG_COLUMNS,
    LatencySource, OutFormat, Pairs, RecordedLatencies, SORT_LIMIT, SORT_LIMIT_VARIABLE, SizeUnit, SkippedLines,
    TimeUnit, Trace, TraceInfo, TraceOptions, TraceWriter, Unconverted, convert_trace, open_trace, read_trace,
    scan_latencies, scan_trace,
};
pub use workload::{Running, Workload};
