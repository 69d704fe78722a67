//! Intrusive doubly linked lists: many lists over one set of members, in one flat array, without allocation.
//!
//! Each list is a ring through a sentinel, which lies before the members in the same array; a member is in at most one
//! list of a set. Every operation is O(1).

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::{Id, NO_INDEX, Reader, State, StateError, Writer};

/// The neighbours of a member, or both ends of a list at its sentinel.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Link {
    prev: u32,
    next: u32,
}

const UNLINKED: Link = Link { prev: NO_INDEX, next: NO_INDEX };

/// A set of lists over members of one kind, such as LRU lists of slots. Members enter at the back by default, so the
/// front is the oldest.
#[derive(Debug)]
pub struct Lists<I> {
    links: Vec<Link>,
    lists: u32,
    of: PhantomData<I>,
}

// What is loaded is a set of lists: the neighbours of every member name it, and each list leads back to its sentinel.
impl<I: Id> State for Lists<I> {
    fn save(&self, to: &mut Writer) {
        to.array(&self.links);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        from.array(&mut self.links)?;
        if from.rolls_back() {
            return Ok(());
        }
        self.check().map_err(|found| from.error("lists of members", found))
    }
}

impl<I: Id> Lists<I> {
    /// `lists` empty lists over the members `0..members`.
    pub fn new(members: u32, lists: u32) -> Self {
        let mut links: Vec<Link> = (0..lists).map(|sentinel| Link { prev: sentinel, next: sentinel }).collect();
        links.resize((lists + members) as usize, UNLINKED);
        Self { links, lists, of: PhantomData }
    }

    fn check(&self) -> Result<(), String> {
        let link = |node: u32| self.links.get(node as usize);
        for (node, &Link { prev, next }) in (0..).zip(&self.links) {
            let is_linked = link(prev).is_some_and(|prev| prev.next == node);
            let is_linked = is_linked && link(next).is_some_and(|next| next.prev == node);
            let is_alone = node >= self.lists && (prev, next) == (NO_INDEX, NO_INDEX);
            if !is_linked && !is_alone {
                return Err(format!("link {node}, between {prev} and {next}, which do not both lead back to it"));
            }
        }
        // No walk goes round for ever, because each link leads back to where it was come from.
        let mut listed = 0;
        for list in 0..self.lists {
            let mut node = self.links[list as usize].next;
            while node >= self.lists {
                (listed, node) = (listed + 1, self.links[node as usize].next);
            }
            if node != list {
                return Err(format!("list {list}, which leads to list {node}"));
            }
        }
        let linked = self.links[self.lists as usize..].iter().filter(|link| link.next != NO_INDEX).count();
        if linked == listed { Ok(()) } else { Err(format!("{linked} members with neighbours, but {listed} in lists")) }
    }

    /// Adds a member to the set, with the next free number and in no list.
    pub fn grow(&mut self) {
        self.links.push(UNLINKED);
    }

    #[inline(always)]
    fn node(&self, id: I) -> u32 {
        self.lists + id.index()
    }

    #[inline(always)]
    fn id(&self, node: u32) -> Option<I> {
        (node >= self.lists).then(|| I::new(node - self.lists))
    }

    #[inline(always)]
    fn link(&self, id: I) -> Link {
        self.links[self.node(id) as usize]
    }

    /// The member at the front of a list: the oldest.
    #[inline]
    pub fn front(&self, list: usize) -> Option<I> {
        self.id(self.links[list].next)
    }

    /// The member at the back of a list: the youngest.
    #[inline]
    pub fn back(&self, list: usize) -> Option<I> {
        self.id(self.links[list].prev)
    }

    /// True if a list has no members.
    #[inline]
    pub fn is_empty(&self, list: usize) -> bool {
        self.links[list].next == list as u32
    }

    /// True if a member is in any list of the set.
    #[inline]
    pub fn contains(&self, id: I) -> bool {
        self.link(id).next != NO_INDEX
    }

    /// The neighbour towards the front of the same list.
    #[inline]
    pub fn prev(&self, id: I) -> Option<I> {
        self.id(self.link(id).prev)
    }

    /// The neighbour towards the back of the same list.
    #[inline]
    pub fn next(&self, id: I) -> Option<I> {
        self.id(self.link(id).next)
    }

    /// Index of the list of which this is the only member; none if it has neighbours.
    pub fn alone_in(&self, id: I) -> Option<usize> {
        let Link { prev, next } = self.link(id);
        // Both neighbours are one and the same only where that is the sentinel.
        (prev == next).then_some(prev as usize)
    }

    /// Appends a member to a list.
    #[inline]
    pub fn push_back(&mut self, list: usize, id: I) {
        let last = self.links[list].prev;
        self.insert(id, last, list as u32);
    }

    /// Puts a member at the front of a list.
    #[inline]
    pub fn push_front(&mut self, list: usize, id: I) {
        let first = self.links[list].next;
        self.insert(id, list as u32, first);
    }

    #[inline]
    fn insert(&mut self, id: I, prev: u32, next: u32) {
        debug_assert!(!self.contains(id), "a member is in at most one list");
        let node = self.node(id);
        self.links[node as usize] = Link { prev, next };
        self.links[prev as usize].next = node;
        self.links[next as usize].prev = node;
    }

    /// Removes a member from its list.
    #[inline]
    pub fn remove(&mut self, id: I) {
        debug_assert!(self.contains(id), "only what is in a list can be taken out");
        let node = self.node(id) as usize;
        let Link { prev, next } = std::mem::replace(&mut self.links[node], UNLINKED);
        self.links[prev as usize].next = next;
        self.links[next as usize].prev = prev;
    }

    /// Removes the member at the front of a list and returns it.
    #[inline]
    pub fn pop_front(&mut self, list: usize) -> Option<I> {
        let first = self.front(list)?;
        self.remove(first);
        Some(first)
    }

    /// Removes `old` from its list and moves `id` to its position.
    pub fn take_place(&mut self, id: I, old: I) {
        debug_assert!(id != old, "a member cannot take its own place");
        self.remove(id);
        let at = self.node(old) as usize;
        let Link { prev, next } = std::mem::replace(&mut self.links[at], UNLINKED);
        self.insert(id, prev, next);
    }

    /// The members of a list from front to back.
    pub fn iter(&self, list: usize) -> impl Iterator<Item = I> + '_ {
        std::iter::successors(self.front(list), |&id| self.next(id))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    const MEMBERS: u32 = 12;
    const LISTS: usize = 3;

    #[test]
    fn what_is_not_a_set_of_lists_is_not_loaded() {
        let mut lists = Lists::<u32>::new(4, 2);
        (0..3).for_each(|member| lists.push_back(0, member));
        let saved = |links: &[(usize, u32, u32)]| {
            let mut damaged = Lists::<u32> { links: lists.links.clone(), lists: 2, of: PhantomData };
            links.iter().for_each(|&(at, prev, next)| damaged.links[at] = Link { prev, next });
            crate::save_state(&damaged).unwrap()
        };
        let load = |bytes: &[u8]| crate::load_state(&mut Lists::<u32>::new(4, 2), bytes);
        assert_eq!(load(&saved(&[])), Ok(()));
        let refused = |links: &[(usize, u32, u32)]| load(&saved(links)).unwrap_err().found;
        assert!(refused(&[(2, 0, 77)]).contains("do not both lead back"), "a member beyond the last");
        assert!(refused(&[(5, 2, 3)]).contains("do not both lead back"), "a member that nobody knows of");
        assert_eq!(refused(&[(0, 0, 0), (2, 4, 3), (4, 3, 2)]), "3 members with neighbours, but 0 in lists");
        assert_eq!(refused(&[(1, 0, 0), (0, 1, 1), (2, 4, 3), (4, 3, 2)]), "list 0, which leads to list 1");
    }

    proptest! {
        #[test]
        fn lists_behave_as_double_ended_queues(
            steps in prop::collection::vec((0..5u8, 0..MEMBERS, 0..MEMBERS, 0..LISTS), 0..200),
        ) {
            let mut lists = Lists::<u32>::new(MEMBERS, LISTS as u32);
            let mut model = vec![VecDeque::<u32>::new(); LISTS];
            for (what, a, b, list) in steps {
                let place = |model: &[VecDeque<u32>], id| {
                    (0..LISTS).find_map(|list| model[list].iter().position(|&at| at == id).map(|at| (list, at)))
                };
                let (of_a, of_b) = (place(&model, a), place(&model, b));
                prop_assert_eq!(lists.contains(a), of_a.is_some());
                match (what, of_a, of_b) {
                    (0, None, _) => {
                        lists.push_back(list, a);
                        model[list].push_back(a);
                    }
                    (1, Some((list, at)), _) => {
                        lists.remove(a);
                        model[list].remove(at);
                    }
                    (2, Some((from, at)), Some((to, place))) if a != b => {
                        lists.take_place(a, b);
                        model[to][place] = a;
                        model[from].remove(at);
                    }
                    (3, None, _) => {
                        lists.push_front(list, a);
                        model[list].push_front(a);
                    }
                    (4, ..) => prop_assert_eq!(lists.pop_front(list), model[list].pop_front()),
                    _ => {}
                }
                for (list, model) in model.iter().enumerate() {
                    let ids: Vec<u32> = lists.iter(list).collect();
                    prop_assert_eq!(&ids, &Vec::from(model.clone()));
                    prop_assert_eq!(lists.is_empty(list), ids.is_empty());
                    prop_assert_eq!((lists.front(list), lists.back(list)), (ids.first().copied(), ids.last().copied()));
                    let is_alone = |&id: &u32| lists.alone_in(id) == Some(list);
                    prop_assert_eq!(ids.iter().any(is_alone), ids.len() == 1);
                    for pair in ids.windows(2) {
                        prop_assert_eq!((lists.prev(pair[1]), lists.next(pair[0])), (Some(pair[0]), Some(pair[1])));
                    }
                }
            }
        }
    }
}
