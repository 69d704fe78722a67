//! All tests of the crate's public interface in one program: it is linked once, and tests of every file run side by
//! side.
#![allow(missing_docs)]

mod acceptance;
mod aged;
mod bounds;
mod cache;
mod checked_in;
mod comparison;
mod configuration;
mod conventional_drive;
mod documents;
mod effective_over_provisioning;
mod energy;
mod engine;
mod explained;
mod fit;
mod golden;
mod issued;
mod machine_paths;
mod older_results;
mod pace;
mod policies;
mod probe;
mod replicates;
mod rest;
mod series;
mod slap;
mod slc_cache;
mod slc_drives;
mod support;
mod validate;
mod walk;
mod which_scheduler;
mod which_stack;
mod workload;
mod write_amplification;
