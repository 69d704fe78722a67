//! Typed identifiers of the block layer.

flashloom_units::ids! {
    /// A request of the block layer, from its queueing to its completion. The number is reused afterwards.
    RequestId,
    /// A slot of the table of tasks that a scheduler remembers. The number is reused when the task is forgotten.
    TaskSlot,
}
