//! All tests of stack, drive and engine in one program: it is linked once, and tests of every file run side by side.
#![allow(missing_docs)]

mod accounts;
mod anatomy;
mod closed_forms;
mod end_of_life;
mod engine;
mod failures;
mod map_loads;
mod mapping_units;
mod merges;
mod out_of_band;
mod page_mappings;
mod random_operations;
mod read_cache;
mod reliability;
mod slc_cache;
mod splits;
mod state;
mod streams;
mod suits;
mod superblocks;
mod support;
mod targets;
mod watermarks;
mod write_buffer;
