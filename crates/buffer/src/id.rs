//! Numbers of slots.

flashloom_units::ids! {
    /// A slot of the buffer, with room for one page.
    SlotId,
}
