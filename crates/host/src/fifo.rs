//! Many first-in first-out lists over one set of identifiers: doubly linked, intrusive, without allocation.
//!
//! Each list is a ring through a sentinel, which lies behind the identifiers in the same array; an identifier is in at
//! most one list of a set. Every operation is O(1).

use std::marker::PhantomData;

use flashloom_units::NO_INDEX;
use serde::{Deserialize, Serialize};

use crate::id::Id;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Link {
    prev: u32,
    next: u32,
}

const UNLINKED: Link = Link { prev: NO_INDEX, next: NO_INDEX };

/// A set of lists over the identifiers `0..ids`.
#[derive(Debug)]
pub struct Fifos<I> {
    links: Vec<Link>,
    ids: u32,
    of: PhantomData<I>,
}

flashloom_units::state! { for<I> Fifos<I> { array links; fixed ids, of; } }

impl<I: Id> Fifos<I> {
    /// `lists` empty lists over the identifiers `0..ids`.
    pub fn new(ids: u32, lists: u32) -> Self {
        let mut links = vec![UNLINKED; ids as usize];
        links.extend((ids..ids + lists).map(|sentinel| Link { prev: sentinel, next: sentinel }));
        Self { links, ids, of: PhantomData }
    }

    fn id(&self, node: u32) -> Option<I> {
        (node < self.ids).then(|| I::new(node))
    }

    /// The oldest of a list.
    #[inline]
    pub fn front(&self, list: usize) -> Option<I> {
        self.id(self.links[self.ids as usize + list].next)
    }

    /// Whether a list is empty.
    #[inline]
    pub fn is_empty(&self, list: usize) -> bool {
        self.front(list).is_none()
    }

    /// Whether an identifier is in any list.
    #[inline]
    pub fn contains(&self, id: I) -> bool {
        self.links[id.at()].next != NO_INDEX
    }

    /// The neighbour that came just before in the same list.
    pub fn prev(&self, id: I) -> Option<I> {
        self.id(self.links[id.at()].prev)
    }

    /// The neighbour that came just after in the same list.
    pub fn next(&self, id: I) -> Option<I> {
        self.id(self.links[id.at()].next)
    }

    /// Appends to a list.
    #[inline]
    pub fn push_back(&mut self, list: usize, id: I) {
        debug_assert!(!self.contains(id), "an identifier is in at most one list");
        let sentinel = self.ids + list as u32;
        let last = self.links[sentinel as usize].prev;
        self.links[id.at()] = Link { prev: last, next: sentinel };
        self.links[last as usize].next = id.index();
        self.links[sentinel as usize].prev = id.index();
    }

    /// Takes out of its list.
    #[inline]
    pub fn remove(&mut self, id: I) {
        debug_assert!(self.contains(id), "only what is in a list can be taken out");
        let Link { prev, next } = std::mem::replace(&mut self.links[id.at()], UNLINKED);
        self.links[prev as usize].next = next;
        self.links[next as usize].prev = prev;
    }

    /// Moves `id` to the place of `old`, which leaves its list.
    pub fn take_place(&mut self, id: I, old: I) {
        debug_assert!(id != old, "an identifier cannot take its own place");
        self.remove(id);
        let link = std::mem::replace(&mut self.links[old.at()], UNLINKED);
        self.links[id.at()] = link;
        self.links[link.prev as usize].next = id.index();
        self.links[link.next as usize].prev = id.index();
    }

    /// From the oldest to the youngest of a list.
    pub fn iter(&self, list: usize) -> impl Iterator<Item = I> + '_ {
        std::iter::successors(self.front(list), |&id| self.next(id))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::id::RequestId;

    const IDS: u32 = 12;
    const LISTS: usize = 3;

    proptest! {
        #[test]
        fn lists_behave_as_double_ended_queues(
            steps in prop::collection::vec((0..3u8, 0..IDS, 0..IDS, 0..LISTS), 0..200),
        ) {
            let mut fifos = Fifos::<RequestId>::new(IDS, LISTS as u32);
            let mut model = vec![VecDeque::<u32>::new(); LISTS];
            for (what, a, b, list) in steps {
                let place = |model: &[VecDeque<u32>], id| {
                    (0..LISTS).find_map(|list| model[list].iter().position(|&at| at == id).map(|at| (list, at)))
                };
                let (of_a, of_b) = (place(&model, a), place(&model, b));
                prop_assert_eq!(fifos.contains(RequestId(a)), of_a.is_some());
                match (what, of_a, of_b) {
                    (0, None, _) => {
                        fifos.push_back(list, RequestId(a));
                        model[list].push_back(a);
                    }
                    (1, Some((list, at)), _) => {
                        fifos.remove(RequestId(a));
                        model[list].remove(at);
                    }
                    (2, Some((from, at)), Some((to, place))) if a != b => {
                        fifos.take_place(RequestId(a), RequestId(b));
                        model[to][place] = a;
                        model[from].remove(at);
                    }
                    _ => {}
                }
                for (list, model) in model.iter().enumerate() {
                    let ids: Vec<u32> = fifos.iter(list).map(|id| id.0).collect();
                    prop_assert_eq!(&ids, &Vec::from(model.clone()));
                    prop_assert_eq!(fifos.is_empty(list), ids.is_empty());
                    for pair in ids.windows(2) {
                        prop_assert_eq!(fifos.prev(RequestId(pair[1])), Some(RequestId(pair[0])));
                    }
                }
            }
        }
    }
}
