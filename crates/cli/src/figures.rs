//! Formatting of figures and tables for people, as the whole project does it.

pub use flashloom::figures::number::{count, percent, size, time};
pub use flashloom::report::text::{rows, table};
