//! Validation: a model beside measurements of a real drive.
//!
//! A measurement is replayed on the drive of an experiment, and what was recorded stands beside what was simulated:
//! latencies by operation and size ([`distribution`] says how far apart two distributions are), stalls and rates, each
//! beside the error of a null model that knows the measurement's own mean.

pub mod distribution;
mod result;

pub use result::{
    CellResult, Compared, CurvePoint, CurveResult, PercentileResult, RateResult, Score, StallResult, VALIDATION_SCHEMA,
    ValidatedInput, ValidationResult,
};
