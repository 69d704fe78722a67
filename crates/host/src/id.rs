//! Typed identifiers of the block layer.

flashloom_units::ids! {
    /// A request of the block layer, from its queueing to its completion; reused afterwards.
    RequestId,
    /// A task that a scheduler remembers, dense over those that it remembers; reused when a task is forgotten.
    TaskSlot,
}
