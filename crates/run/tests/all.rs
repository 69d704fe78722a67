//! All tests of the crate's public interface in one program: it is linked once, and tests of every file run side by
//! side.
#![allow(missing_docs)]

mod acceptance;
mod aged;
mod bounds;
mod cache;
mod comparison;
mod configuration;
mod conventional_drive;
mod effective_over_provisioning;
mod energy;
mod engine;
mod front;
mod golden;
mod issued;
mod lifetimes;
mod older_results;
mod pace;
mod policies;
mod preset_rates;
mod replicates;
mod rest;
mod series;
mod slap;
mod slc_cache;
mod slc_drives;
mod support;
mod tenants;
mod workload;
mod write_amplification;
