//! Reports: the results of runs and comparisons as [`text`] for people, and as [`csv`].

pub mod csv;
pub mod text;
