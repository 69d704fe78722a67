//! The part of a result about energy.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

result_types! {
    /// Energy of the array during the workload, in joules, from what it did and what the keys of `[device]` say that
    /// this takes:
    ///
    /// ```text
    /// read_joules    = pages read * read_energy
    /// program_joules = pages programmed * program_energy
    /// erase_joules   = blocks erased * erase_energy
    /// bus_joules     = bytes that crossed channels * bus_energy
    /// idle_joules    = (dies * time until the drive was idle for good - time that dies were occupied) * idle_power
    /// ```
    ///
    /// Operations count whatever they are for, those that failed too, and each retry of a read as a read; a copy within
    /// a die is a read and a program that move nothing. In a block in SLC mode a read takes `slc_read_energy`, a
    /// program `slc_program_energy`, and an erase as much as any. Of partial reads only their sectors cross the
    /// channel. Controller, write buffer and link are not in it.
    EnergyResult {
        /// Energy of page reads in joules.
        read_joules: f64,
        /// Energy of page programs in joules.
        program_joules: f64,
        /// Energy of block erases in joules.
        erase_joules: f64,
        /// Energy of moving data over the channels in joules.
        bus_joules: f64,
        /// Energy of dies that no operation occupied in joules.
        idle_joules: f64,
        /// Sum of the five in joules.
        total_joules: f64,
        /// Bytes that crossed channels, either way.
        bus_bytes: u64,
        /// Joules per gigabyte (10^9 bytes) that the host read or wrote; absent if it did neither.
        joules_per_gb?: f64,
    }
}
