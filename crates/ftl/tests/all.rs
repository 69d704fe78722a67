//! All tests of the translation layer's public interface in one program: it is linked once, and tests of every file run
//! side by side.
#![allow(missing_docs)]

mod bounds;
mod closed_forms;
mod hot_pages;
mod kast_model;
mod kit;
mod perfect_workloads;
mod random_operations;
mod rooms;
mod support;
