//! Reports: of runs and comparisons as [`text`], also of sweeps ([`dataset`]) as a page with pictures ([`html`]), and
//! of the reproduction of published figures.
//!
//! Reproduction says which figures of papers were reproduced, which only in direction, and which were not and why.
//!
//! Every paper has a data file ([`published`]) with its figures, the experiments that repeat them, the tolerance band
//! of each, and the null: a policy that does nothing, which takes the place of the paper's policy. [`plan`] runs the
//! experiments with several seeds, as they are and with the null; [`reproduce`] computes our figures by the formula of
//! each row; [`verdict`] compares them with the published ones; [`markdown`] and [`csv`] write the report, whose JSON
//! is [`row::Report`]. No figure is written anywhere but in the data files and in results.

pub mod csv;
pub mod dataset;
pub mod drive;
pub mod html;
pub mod markdown;
pub mod plan;
pub mod published;
pub mod reproduce;
mod results;
pub mod row;
pub mod text;
pub mod verdict;
