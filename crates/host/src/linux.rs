//! Versions of Linux that a block layer can be.

use flashloom_units::choice;

choice! {
    /// Version of Linux whose block layer a scheduler stands in. From 6.1 on that is blk-mq.
    pub enum Linux {
        /// That of the scheduler: 6.12 for `none`, `mq-deadline` and `kyber`, 2.6.32 for all others.
        Auto = "auto",
        /// The long-term series of 2009: a queue for synchronous requests and one for asynchronous ones.
        V2_6_32 = "2.6.32",
        /// The long-term series of 2022.
        V6_1 = "6.1",
        /// The long-term series of 2024.
        V6_12 = "6.12",
        /// The long-term series of 2025, from 6.18.16 on.
        V6_18 = "6.18",
    }
}
