//! Published figures beside ours: which were reproduced, which only in direction, and which were not and why.
//!
//! Every paper has a data file, [`published`], with its figures, the experiments that stand for them, the band in which
//! ours count as the same, and the null: a policy that does nothing in the place of the paper's. [`plan`] runs the
//! experiments with several seeds, as they are and with the null; [`reproduce`] works out ours by the formula of each
//! row; [`verdict`] holds them against each other; [`markdown`] and [`csv`] write what comes out, and [`row::Report`]
//! is its JSON. No figure is written anywhere but in the data files and in results.

pub mod csv;
pub mod markdown;
pub mod plan;
pub mod published;
pub mod reproduce;
mod results;
pub mod row;
pub mod verdict;
