//! All tests of the translation layer's public interface in one program, which is linked once and runs the tests of all
//! files in parallel.
#![allow(missing_docs)]

mod bounds;
mod closed_forms;
mod hot_pages;
mod janus_ftl;
mod kast_model;
mod kit;
mod last_model;
mod levelling;
mod mapping_units;
mod perfect_workloads;
mod random_operations;
mod sftl;
mod slc_cache;
mod superblock_ftl;
mod support;
