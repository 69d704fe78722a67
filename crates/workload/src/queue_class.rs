//! The class of a submission queue: what a drive's arbiter knows of it.

use flashloom_units::choice;

choice! {
    /// Class of a submission queue, as NVMe has it for the weighted arbiter.
    pub enum QueueClass {
        /// Before all other classes.
        Urgent = "urgent",
        /// Shares with medium and low by the weight of this class.
        High = "high",
        /// Shares with high and low by the weight of this class.
        Medium = "medium",
        /// Shares with high and medium by the weight of this class.
        Low = "low",
    }
}
