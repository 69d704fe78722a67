//! Many sorted trees over one set of identifiers: a forest of treaps (Aragon and Seidel 1989), without allocation.
//!
//! Among equal keys the one inserted first comes first, as in the kernel's red-black trees that insert equals to the
//! right. Priorities are a fixed hash of the order of insertion, so that the shape, and with it the time taken, is the
//! same in every run. The links of all nodes and the roots of all trees are slots of one array: slots `2n` and `2n + 1`
//! are the left and right links of node `n`, and the roots lie behind them, so that splitting and joining need neither
//! recursion nor a special case for the root. Every operation is O(log n) in the size of the tree.

use std::marker::PhantomData;

use flashloom_units::{Id, NO_INDEX};
use serde::{Deserialize, Serialize};

/// The value in the high half, the order of insertion in the low half.
type Key = u128;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Node {
    key: Key,
    priority: u64,
}

/// A set of sorted trees over the identifiers `0..ids`; an identifier is in at most one of them.
pub struct Forest<I> {
    slots: Vec<u32>,
    nodes: Vec<Node>,
    inserted: u64,
    of: PhantomData<I>,
}

flashloom_units::state! { for<I> Forest<I> { nested slots; array nodes; value inserted; fixed of; } }

const fn left(node: u32) -> usize {
    node as usize * 2
}

const fn right(node: u32) -> usize {
    node as usize * 2 + 1
}

const fn least(value: u64) -> Key {
    (value as u128) << 64
}

impl<I: Id> Forest<I> {
    /// Makes `trees` empty trees over the identifiers `0..ids`.
    pub fn new(ids: u32, trees: u32) -> Self {
        let empty = Node { key: 0, priority: 0 };
        Self {
            slots: vec![NO_INDEX; ids as usize * 2 + trees as usize],
            nodes: vec![empty; ids as usize],
            inserted: 0,
            of: PhantomData,
        }
    }

    fn root(&self, tree: usize) -> usize {
        self.nodes.len() * 2 + tree
    }

    fn id(node: u32) -> Option<I> {
        (node != NO_INDEX).then(|| I::new(node))
    }

    /// The key under which an identifier was last inserted.
    #[inline]
    pub fn key(&self, id: I) -> u64 {
        (self.nodes[id.at()].key >> 64) as u64
    }

    /// The link of a node towards a key.
    #[inline(always)]
    fn child_towards(&self, node: u32, key: Key) -> usize {
        left(node) + usize::from(self.nodes[node as usize].key < key)
    }

    /// True if a tree is empty.
    #[inline]
    pub fn is_empty(&self, tree: usize) -> bool {
        self.slots[self.root(tree)] == NO_INDEX
    }

    /// Inserts an identifier into a tree, after those of the same key.
    pub fn insert(&mut self, tree: usize, id: I, value: u64) {
        self.inserted += 1;
        let key = least(value) | Key::from(self.inserted);
        // Fibonacci hashing, then a fold: neighbours in time get unrelated priorities.
        let mixed = self.inserted.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let priority = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.nodes[id.at()] = Node { key, priority };
        let mut slot = self.root(tree);
        loop {
            let node = self.slots[slot];
            if node == NO_INDEX || self.nodes[node as usize].priority < priority {
                self.slots[slot] = id.index();
                self.split(node, key, left(id.index()), right(id.index()));
                return;
            }
            slot = self.child_towards(node, key);
        }
    }

    /// Splits a subtree: nodes below `key` go under one slot, the others under the other.
    fn split(&mut self, mut node: u32, key: Key, mut below: usize, mut above: usize) {
        while node != NO_INDEX {
            if self.nodes[node as usize].key < key {
                self.slots[below] = node;
                below = right(node);
                node = self.slots[below];
            } else {
                self.slots[above] = node;
                above = left(node);
                node = self.slots[above];
            }
        }
        self.slots[below] = NO_INDEX;
        self.slots[above] = NO_INDEX;
    }

    /// Removes an identifier from its tree.
    pub fn remove(&mut self, tree: usize, id: I) {
        let key = self.nodes[id.at()].key;
        let mut slot = self.root(tree);
        while self.slots[slot] != id.index() {
            let node = self.slots[slot];
            assert!(node != NO_INDEX, "only what is in a tree can be taken out of it");
            slot = self.child_towards(node, key);
        }
        let (mut low, mut high) = (self.slots[left(id.index())], self.slots[right(id.index())]);
        while low != NO_INDEX && high != NO_INDEX {
            if self.nodes[low as usize].priority > self.nodes[high as usize].priority {
                self.slots[slot] = low;
                slot = right(low);
                low = self.slots[slot];
            } else {
                self.slots[slot] = high;
                slot = left(high);
                high = self.slots[slot];
            }
        }
        self.slots[slot] = if low == NO_INDEX { high } else { low };
    }

    /// Sorts an identifier of a tree anew, after those of the same key.
    pub fn resort(&mut self, tree: usize, id: I, value: u64) {
        self.remove(tree, id);
        self.insert(tree, id, value);
    }

    /// The first identifier whose key is not below `key`.
    #[inline]
    fn first_from(&self, tree: usize, key: Key) -> Option<I> {
        let (mut node, mut found) = (self.slots[self.root(tree)], NO_INDEX);
        while node != NO_INDEX {
            let slot = self.child_towards(node, key);
            found = if slot == left(node) { node } else { found };
            node = self.slots[slot];
        }
        Self::id(found)
    }

    /// The last identifier whose key is below `key`.
    #[inline]
    fn last_before(&self, tree: usize, key: Key) -> Option<I> {
        let (mut node, mut found) = (self.slots[self.root(tree)], NO_INDEX);
        while node != NO_INDEX {
            let slot = self.child_towards(node, key);
            found = if slot == right(node) { node } else { found };
            node = self.slots[slot];
        }
        Self::id(found)
    }

    /// The identifier with the least key.
    #[inline]
    pub fn first(&self, tree: usize) -> Option<I> {
        self.first_from(tree, 0)
    }

    /// The identifier with the greatest key, the latest of equal ones.
    #[inline]
    pub fn last(&self, tree: usize) -> Option<I> {
        self.last_before(tree, Key::MAX)
    }

    /// The first identifier whose key is at least `value`.
    #[inline]
    pub fn at_or_after(&self, tree: usize, value: u64) -> Option<I> {
        self.first_from(tree, least(value))
    }

    /// The first identifier whose key is `value`.
    #[inline]
    pub fn at(&self, tree: usize, value: u64) -> Option<I> {
        self.at_or_after(tree, value).filter(|&id| self.key(id) == value)
    }

    /// The identifier that comes after another in its tree.
    pub fn next(&self, tree: usize, id: I) -> Option<I> {
        self.first_from(tree, self.nodes[id.at()].key + 1)
    }

    /// The identifier that comes before another in its tree.
    pub fn prev(&self, tree: usize, id: I) -> Option<I> {
        self.last_before(tree, self.nodes[id.at()].key)
    }

    /// All identifiers of a tree, in ascending order of their keys.
    pub fn iter(&self, tree: usize) -> impl Iterator<Item = I> + '_ {
        std::iter::successors(self.first(tree), move |&id| self.next(tree, id))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::id::RequestId;

    const IDS: u32 = 24;

    fn depth(forest: &Forest<RequestId>, node: u32) -> u32 {
        if node == NO_INDEX {
            return 0;
        }
        1 + depth(forest, forest.slots[left(node)]).max(depth(forest, forest.slots[right(node)]))
    }

    proptest! {
        #[test]
        fn a_tree_behaves_as_a_map_sorted_by_key_and_order(
            steps in prop::collection::vec((0..IDS, 0..2usize, 0..10u64), 0..300),
        ) {
            let mut forest = Forest::<RequestId>::new(IDS, 2);
            let mut model = [BTreeMap::<(u64, usize), u32>::new(), BTreeMap::new()];
            for (order, (id, tree, value)) in steps.into_iter().enumerate() {
                let held = (0..2).find_map(|tree| {
                    model[tree].iter().find(|(_, held)| **held == id).map(|(key, _)| (tree, *key))
                });
                if let Some((tree, key)) = held {
                    forest.remove(tree, RequestId(id));
                    model[tree].remove(&key);
                } else {
                    forest.insert(tree, RequestId(id), value);
                    model[tree].insert((value, order), id);
                }
                for (tree, model) in model.iter().enumerate() {
                    let ids: Vec<u32> = forest.iter(tree).map(|id| id.0).collect();
                    prop_assert_eq!(&ids, &model.values().copied().collect::<Vec<_>>());
                    prop_assert_eq!(forest.is_empty(tree), model.is_empty());
                    prop_assert_eq!(forest.last(tree).map(|id| id.0), ids.last().copied());
                    let expected = model.range((value, 0)..).next().map(|(_, id)| RequestId(*id));
                    prop_assert_eq!(forest.at_or_after(tree, value), expected);
                    let exact = model.range((value, 0)..(value + 1, 0)).next().map(|(_, id)| RequestId(*id));
                    prop_assert_eq!(forest.at(tree, value), exact);
                    for pair in ids.windows(2) {
                        prop_assert_eq!(forest.prev(tree, RequestId(pair[1])), Some(RequestId(pair[0])));
                    }
                }
            }
        }
    }

    #[test]
    fn ascending_insertion_stays_shallow() {
        let ids = 1 << 14;
        let mut forest = Forest::<RequestId>::new(ids, 1);
        (0..ids).for_each(|id| forest.insert(0, RequestId(id), u64::from(id)));
        let depth = depth(&forest, forest.slots[forest.root(0)]);
        assert!((15..=56).contains(&depth), "{depth} levels for 2^14 nodes; four times the logarithm is the bound");
    }
}
