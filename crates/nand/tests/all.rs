//! All tests of the array in one program: it is linked once, and tests of every file run side by side.
#![allow(missing_docs)]

mod moved;
mod overtaking;
mod support;
mod timing;
