//! All tests of the array in one program, which is linked once and runs the tests of all files in parallel.
#![allow(missing_docs)]

mod moved;
mod overtaking;
mod support;
mod timing;
