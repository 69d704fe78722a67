//! Exports: results and runs in the formats of other programs.
//!
//! [`html`] makes pages with pictures of results, also of sweeps ([`dataset`]). [`perfetto`] and [`parquet_log`] watch
//! a run, and write it as a trace for the Perfetto viewer and as a log in columns.

pub mod dataset;
pub mod html;
pub mod parquet_log;
pub mod perfetto;
