//! Published figures beside ours: which were reproduced, which only in direction, and which were not and why.
//!
//! Every paper has a data file, [`published`], with its figures, the experiments that stand for them and the band in
//! which ours count as the same. [`reproduce`] runs the experiments and works out ours by the formula of each row;
//! [`verdict`] holds them against each other; [`markdown`] and [`csv`] write what comes out, and [`row::Report`] is its
//! JSON. No figure is written anywhere but in the data files and in results.

pub mod csv;
pub mod markdown;
pub mod published;
pub mod reproduce;
pub mod row;
pub mod verdict;
