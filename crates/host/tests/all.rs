//! All tests of the block layer in one program: it is linked once, and tests of every file run side by side.
#![allow(missing_docs)]

mod bounded_turns;
mod drain;
mod kyber_model;
mod model;
mod naive_model;
mod suits;
mod support;
mod table;
