//! What is measured: the results of a run and of a comparison, formulas over them, and how numbers are written.
//!
//! [`result`] is the format of results, and [`schema`] says what is in it; [`formula`] computes the numbers that
//! expectations are about, [`estimate`] means over seeds with their intervals, [`number`] writes figures for people.
//! [`core_figure`] lists the figures that tables and pages show of every run.

pub mod core_figure;
pub mod estimate;
pub mod formula;
pub mod number;
pub mod result;
pub mod schema;
