//! Ordered lists of slots or groups: several rings over the same members, each member in one of them at most.

use flashloom_units::NO_INDEX;

/// Doubly linked rings with an old and a young end, in two flat arrays. O(1) an operation.
pub(crate) struct Rings {
    /// Neighbours of each member; the entries after the last member are the rings' heads, between young and old end.
    older: Vec<u32>,
    younger: Vec<u32>,
    members: u32,
}

flashloom_units::state! { Rings { nested older, younger; fixed members; } }

impl Rings {
    pub(crate) fn new(members: u32, rings: u32) -> Self {
        let links = || (0..members + rings).map(|at| if at < members { NO_INDEX } else { at }).collect();
        Self { older: links(), younger: links(), members }
    }

    /// Puts a member that is in no ring at the young end of one.
    pub(crate) fn push(&mut self, ring: u32, member: u32) {
        let head = (self.members + ring) as usize;
        let youngest = std::mem::replace(&mut self.older[head], member);
        self.younger[youngest as usize] = member;
        self.older[member as usize] = youngest;
        self.younger[member as usize] = head as u32;
    }

    /// Puts a member that is in no ring at the old end of one.
    pub(crate) fn push_oldest(&mut self, ring: u32, member: u32) {
        let head = (self.members + ring) as usize;
        let oldest = std::mem::replace(&mut self.younger[head], member);
        self.older[oldest as usize] = member;
        self.younger[member as usize] = oldest;
        self.older[member as usize] = head as u32;
    }

    /// Takes a member out of the ring that it is in.
    pub(crate) fn remove(&mut self, member: u32) {
        let (older, younger) = (self.older[member as usize], self.younger[member as usize]);
        self.younger[older as usize] = younger;
        self.older[younger as usize] = older;
    }

    /// The ring that nobody but this member is in, if it is alone there.
    pub(crate) fn alone_in(&self, member: u32) -> Option<u32> {
        let (older, younger) = (self.older[member as usize], self.younger[member as usize]);
        // Both neighbours are one and the same only where that is the ring's head.
        (older == younger).then(|| older - self.members)
    }

    /// The member at the old end of a ring.
    pub(crate) fn oldest(&self, ring: u32) -> Option<u32> {
        let head = self.members + ring;
        Some(self.younger[head as usize]).filter(|&member| member != head)
    }
}
