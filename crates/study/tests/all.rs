//! All tests of the crate's public interface in one program: it is linked once, and tests of every file run side by
//! side.
#![allow(missing_docs)]

mod budgets;
mod checked_in;
mod fit;
mod probe;
mod validate;
