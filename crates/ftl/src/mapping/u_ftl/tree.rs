//! A tree of the extents of a drive: a B+-tree whose leaves cover as many logical pages as their extents do.
//!
//! ```text
//! extent    consecutive pages on consecutive places. A drive of P planes writes consecutive pages to consecutive
//!           planes, so a page goes on with the extent of the page P before it, if its place is the next one
//! leaf      the extents of a range of pages; an extent ends with its leaf
//! divide    a node with more entries than it has room for: evenly into as few as have room
//! unite     a node less than half full, with its left neighbour below the same parent, or else the right one
//! root      what does not fit in it becomes a level below it; a root of one inner node takes its children
//! ```
//!
//! Which places pages are at is in the store's map. Here is where extents begin, a bit for each logical page, how many
//! each leaf has, and the inner nodes. O(levels log children) a lookup; a leaf is divided in O(its pages / 64).

use std::ops::Range;

use flashloom_nand::{Lpn, Ppn};
use flashloom_units::{Violation, ensure, violation};

use super::layout::{CHILD_BYTES, EXTENT_BYTES, HEADER_BYTES, Layout};
use crate::mapping::translation::EntryBits;

flashloom_units::ids! {
    /// A node: a leaf, by its number, or an inner node, numbered after all leaves. The first of these is the root.
    Node,
}

/// The extents of a drive, and the nodes that find them.
pub(super) struct Tree {
    pub(super) layout: Layout,
    /// Whether an extent begins at a logical page.
    begins: EntryBits,
    /// Extents of each leaf.
    extents: Vec<u32>,
    /// First logical page of each node; none if the number is free.
    first: Vec<Lpn>,
    parent: Vec<Node>,
    /// Children of each inner node, in order.
    children: Vec<Vec<Node>>,
    /// For each inner node the leaf whose page has its newest copy.
    copied_with: Vec<Node>,
    free_leaves: Vec<Node>,
    free_inner: Vec<Node>,
    /// Levels, with that of the root.
    pub(super) levels: u32,
}

flashloom_units::state! {
    Tree {
        nested begins, extents;
        ids first [layout.entries], parent [layout.leaves() + layout.inner()];
        array children;
        ids copied_with [layout.leaves()];
        value free_leaves, free_inner, levels;
        fixed layout;
    }
}

/// Whether a page goes on with the extent of the page a stripe before it.
fn follows(before: Ppn, page: Ppn) -> bool {
    before.is_some() && page.0 == before.0.wrapping_add(1)
}

impl Tree {
    /// The tree of an empty drive: a root, and a leaf without extents.
    pub(super) fn new(layout: Layout) -> Self {
        let (leaves, inner) = (layout.leaves(), layout.inner());
        let nodes = (leaves + inner) as usize;
        let mut tree = Self {
            begins: EntryBits::new(layout.entries),
            extents: vec![0; leaves as usize],
            first: vec![Lpn::NONE; nodes],
            parent: vec![Node::NONE; nodes],
            children: vec![Vec::new(); inner as usize],
            copied_with: vec![Node::NONE; inner as usize],
            free_leaves: (1..leaves).rev().map(Node).collect(),
            free_inner: (leaves + 1..leaves + inner).rev().map(Node).collect(),
            levels: 2,
            layout,
        };
        let (root, leaf) = (tree.root(), Node(0));
        tree.first[root.at()] = Lpn(0);
        tree.first[leaf.at()] = Lpn(0);
        tree.parent[leaf.at()] = root;
        tree.children_mut(root).push(leaf);
        tree
    }

    /// Number of nodes, in use or not.
    pub(super) fn nodes(&self) -> u32 {
        self.first.len() as u32
    }

    /// The leaves in use.
    pub(super) fn leaves(&self) -> impl Iterator<Item = Node> {
        (0..self.layout.leaves()).map(Node).filter(|&leaf| self.is_used(leaf))
    }

    pub(super) fn root(&self) -> Node {
        Node(self.layout.leaves())
    }

    pub(super) fn is_leaf(&self, node: Node) -> bool {
        node.0 < self.layout.leaves()
    }

    pub(super) fn is_used(&self, node: Node) -> bool {
        self.first[node.at()].is_some()
    }

    /// The node above; none of the root.
    pub(super) fn parent(&self, node: Node) -> Option<Node> {
        Some(self.parent[node.at()]).filter(|parent| parent.is_some())
    }

    /// A node and those above it, without the root.
    pub(super) fn path(&self, node: Node) -> impl Iterator<Item = Node> {
        std::iter::successors(Some(node), |&node| self.parent(node)).take_while(|&node| node != self.root())
    }

    fn inner(&self, node: Node) -> usize {
        node.at() - self.layout.leaves() as usize
    }

    pub(super) fn children(&self, node: Node) -> &[Node] {
        &self.children[self.inner(node)]
    }

    fn children_mut(&mut self, node: Node) -> &mut Vec<Node> {
        let at = self.inner(node);
        &mut self.children[at]
    }

    /// Entries of a node: extents of a leaf, children of another.
    pub(super) fn count(&self, node: Node) -> u32 {
        if self.is_leaf(node) { self.extents[node.at()] } else { self.children(node).len() as u32 }
    }

    /// Bytes that a node takes in memory.
    pub(super) fn bytes(&self, node: Node) -> u64 {
        let entry = if self.is_leaf(node) { EXTENT_BYTES } else { CHILD_BYTES };
        HEADER_BYTES + entry * u64::from(self.count(node))
    }

    /// The leaf whose page has the newest copy of a node below the root.
    pub(super) fn page_of(&self, node: Node) -> Node {
        if self.is_leaf(node) { node } else { self.copied_with[self.inner(node)] }
    }

    /// Records that the page of a leaf has, or will have, the newest copies of the nodes above it.
    pub(super) fn copy_with(&mut self, leaf: Node) {
        let mut node = leaf;
        while let Some(parent) = self.parent(node) {
            let at = self.inner(parent);
            self.copied_with[at] = leaf;
            node = parent;
        }
    }

    /// The leaf of a logical page.
    pub(super) fn find(&self, lpn: Lpn) -> Node {
        let mut node = self.root();
        while !self.is_leaf(node) {
            let children = self.children(node);
            node = children[children.partition_point(|child| self.first[child.at()] <= lpn) - 1];
        }
        node
    }

    /// The first leaf below a node, or the node itself.
    pub(super) fn first_leaf(&self, node: Node) -> Node {
        self.find(self.first[node.at()])
    }

    /// Index of a node among the children of its parent.
    fn index(&self, node: Node, parent: Node) -> usize {
        self.children(parent).partition_point(|child| self.first[child.at()] < self.first[node.at()])
    }

    /// The logical pages of a leaf.
    pub(super) fn range(&self, leaf: Node) -> Range<u32> {
        let mut node = leaf;
        let next = loop {
            let Some(parent) = self.parent(node) else { break self.layout.entries };
            if let Some(next) = self.children(parent).get(self.index(node, parent) + 1) {
                break self.first[next.at()].0;
            }
            node = parent;
        };
        self.first[leaf.at()].0..next
    }

    /// Whether an extent of a leaf that starts at `start` begins at an entry.
    fn begins(&self, start: u32, entry: u32, map: &[Ppn]) -> bool {
        let (page, planes) = (map[entry as usize], self.layout.planes);
        page.is_some() && (entry - start < planes || !follows(map[(entry - planes) as usize], page))
    }

    /// Looks again whether an extent of a leaf begins at an entry.
    fn look_again(&mut self, leaf: Node, start: u32, entry: u32, map: &[Ppn]) {
        let begins = self.begins(start, entry, map);
        let began = self.begins.replace(entry, begins);
        let extents = &mut self.extents[leaf.at()];
        *extents = *extents + u32::from(begins) - u32::from(began);
    }

    /// Divides or unites extents of a leaf after the place of a page has changed.
    pub(super) fn changed(&mut self, leaf: Node, lpn: Lpn, map: &[Ppn]) {
        let Range { start, end } = self.range(leaf);
        self.look_again(leaf, start, lpn.0, map);
        let following = lpn.0 + self.layout.planes;
        if following < end {
            self.look_again(leaf, start, following, map);
        }
    }

    /// Whether a node at a level has too many entries or too few.
    fn is_uneven(&self, node: Node, level: usize) -> bool {
        let (count, layout) = (self.count(node), &self.layout);
        match self.parent(node) {
            None => count > layout.root_capacity(level) || (count == 1 && level > 1),
            Some(parent) => {
                let has_neighbour = || self.children(parent).len() > 1;
                count > layout.capacity(level) || (count < layout.least(level) && has_neighbour())
            }
        }
    }

    pub(super) fn is_uneven_leaf(&self, leaf: Node) -> bool {
        self.is_uneven(leaf, 0)
    }

    /// The lowest node of a path that has too many entries or too few, and its level.
    pub(super) fn uneven(&self, leaf: Node) -> Option<(Node, usize)> {
        let path = std::iter::successors(Some(leaf), |&node| self.parent(node));
        path.zip(0..).find(|&(node, level)| self.is_uneven(node, level))
    }

    /// Whether a node has more entries than fit.
    pub(super) fn is_over(&self, node: Node, level: usize) -> bool {
        self.count(node) > self.layout.capacity(level)
    }

    /// A node and its neighbour below the same parent: the left one, of the first node the right one.
    pub(super) fn neighbours(&self, node: Node) -> Option<(Node, Node)> {
        let parent = self.parent(node)?;
        let right = self.index(node, parent).max(1);
        let children = self.children(parent);
        Some((children[right - 1], *children.get(right)?))
    }

    /// Takes a node that is not in use.
    fn take(&mut self, is_leaf: bool, first: Lpn, parent: Node) -> Node {
        let free = if is_leaf { &mut self.free_leaves } else { &mut self.free_inner };
        let node = free.pop().expect("nodes at least half full are no more than the layout has");
        self.first[node.at()] = first;
        self.parent[node.at()] = parent;
        node
    }

    fn free(&mut self, node: Node) {
        self.first[node.at()] = Lpn::NONE;
        self.parent[node.at()] = Node::NONE;
        let free = if self.is_leaf(node) { &mut self.free_leaves } else { &mut self.free_inner };
        free.push(node);
    }

    /// Divides a node below the root that has too many entries; returns the new one to its right, which may have too
    /// many, too. The caller says which leaves both are copied with ([`Self::copy_with`]).
    pub(super) fn divide(&mut self, node: Node, level: usize, map: &[Ppn]) -> Node {
        let count = self.count(node);
        let kept = count / count.div_ceil(self.layout.capacity(level));
        let parent = self.parent[node.at()];
        let right = if self.is_leaf(node) {
            let Range { start, end } = self.range(node);
            let border = self.begins.nth(start, kept).expect("as many extents as are counted begin in a leaf");
            let right = self.take(true, Lpn(border), parent);
            self.extents[right.at()] = count - kept;
            self.extents[node.at()] = kept;
            self.look_at_border(right, border..end, border, map);
            right
        } else {
            let moved = self.children_mut(node).split_off(kept as usize);
            let right = self.take(false, self.first[moved[0].at()], parent);
            let (from, to) = (self.inner(node), self.inner(right));
            self.copied_with[to] = self.copied_with[from];
            moved.iter().for_each(|child| self.parent[child.at()] = right);
            *self.children_mut(right) = moved;
            right
        };
        let at = self.index(node, parent) + 1;
        self.children_mut(parent).insert(at, right);
        right
    }

    /// Unites neighbours below the same parent: what the right one has goes to the left one.
    pub(super) fn unite(&mut self, left: Node, right: Node, map: &[Ppn]) {
        let parent = self.parent[right.at()];
        let at = self.index(right, parent);
        if self.is_leaf(left) {
            let (start, moved) = (self.first[left.at()].0, self.range(right));
            self.extents[left.at()] += std::mem::take(&mut self.extents[right.at()]);
            self.look_at_border(left, moved, start, map);
        } else {
            let moved = std::mem::take(self.children_mut(right));
            moved.iter().for_each(|child| self.parent[child.at()] = left);
            self.children_mut(left).extend(moved);
        }
        self.children_mut(parent).remove(at);
        self.free(right);
    }

    /// Looks again at the pages behind a border of leaves, whose extents the border ends.
    fn look_at_border(&mut self, leaf: Node, behind: Range<u32>, start: u32, map: &[Ppn]) {
        let end = behind.end.min(behind.start + self.layout.planes);
        (behind.start..end).for_each(|entry| self.look_again(leaf, start, entry, map));
    }

    /// Puts a level below the root, of one node with all its children. Returns the node.
    pub(super) fn grow(&mut self) -> Node {
        let root = self.root();
        let node = self.take(false, Lpn(0), root);
        let children = std::mem::replace(self.children_mut(root), vec![node]);
        children.iter().for_each(|child| self.parent[child.at()] = node);
        *self.children_mut(node) = children;
        self.levels += 1;
        node
    }

    /// Takes the only child of the root, an inner node, out of the tree. Returns it.
    pub(super) fn shrink(&mut self) -> Node {
        let root = self.root();
        let node = self.children(root)[0];
        let children = std::mem::take(self.children_mut(node));
        children.iter().for_each(|child| self.parent[child.at()] = root);
        *self.children_mut(root) = children;
        self.free(node);
        self.levels -= 1;
        node
    }

    /// Checks every node, and every extent against the map. Relies on nothing.
    pub(super) fn check(&self, map: &[Ppn]) -> Result<(), Violation> {
        let levels = self.levels as usize;
        if !(2..=self.layout.levels()).contains(&levels) || self.parent(self.root()).is_some() {
            return Err(violation!("extent tree: {levels} levels, of {}", self.layout.levels()));
        }
        let mut is_used = vec![false; self.nodes() as usize];
        self.check_below(self.root(), levels - 1, 0..self.layout.entries, (map, &mut is_used))?;
        for (node, is_used) in (0..).map(Node).zip(&mut is_used) {
            if *is_used != self.is_used(node) {
                return Err(violation!("extent tree: node {} is not in the tree as its first page says", node.0));
            }
        }
        for (free, is_leaf) in [(&self.free_leaves, true), (&self.free_inner, false)] {
            for &node in free {
                let is_free = is_used.get_mut(node.at()).is_some_and(|is_used| !std::mem::replace(is_used, true));
                ensure!(is_free && self.is_leaf(node) == is_leaf, "extent tree: node {} is free, and in use", node.0);
            }
        }
        match is_used.iter().position(|is_used| !is_used) {
            Some(node) => Err(violation!("extent tree: node {node} is neither free nor in use")),
            None => self.check_copies(),
        }
    }

    /// Checks a node at a level that has to cover `range`, and all nodes below it.
    fn check_below(
        &self,
        node: Node,
        level: usize,
        range: Range<u32>,
        (map, is_used): (&[Ppn], &mut [bool]),
    ) -> Result<(), Violation> {
        let wrong = |found: String| Err(violation!("extent tree: node {} {found}", node.0));
        if std::mem::replace(&mut is_used[node.at()], true) {
            return wrong("is in the tree twice".to_owned());
        }
        if self.first[node.at()] != Lpn(range.start) {
            return wrong(format!("does not start at logical page {}", range.start));
        }
        let (least, is_root) = (self.layout.least(level), node == self.root());
        if level == 0 {
            let begin = |&entry: &u32| self.begins(range.start, entry, map);
            let is_marked = |entry: u32| self.begins.get(entry) == begin(&entry);
            let extents = range.clone().filter(begin).count() as u32;
            if self.extents[node.at()] != extents || !range.clone().all(is_marked) {
                return wrong(format!("has not {extents} extents"));
            }
            let is_alone = range.len() == self.layout.entries as usize;
            return if is_alone || range.len() >= least as usize { Ok(()) } else { wrong("is too short".to_owned()) };
        }
        let children = self.children(node);
        let room = if is_root { 1..=self.layout.root_capacity(level) } else { least..=self.layout.capacity(level) };
        if !room.contains(&(children.len() as u32)) || (is_root && level > 1 && children.len() == 1) {
            return wrong(format!("has {} children at level {level}", children.len()));
        }
        let total = self.nodes();
        let is_child =
            |child: &Node| child.0 < total && self.is_leaf(*child) == (level == 1) && self.parent[child.at()] == node;
        if !children.iter().all(is_child) {
            return wrong("has a child of another level or node".to_owned());
        }
        for (at, &child) in children.iter().enumerate() {
            let start = if at == 0 { range.start } else { self.first[child.at()].0 };
            let end = children.get(at + 1).map_or(range.end, |next| self.first[next.at()].0);
            if start >= end || end > range.end {
                return wrong(format!("has no order of its children at {start}"));
            }
            self.check_below(child, level - 1, start..end, (map, is_used))?;
        }
        Ok(())
    }

    /// Checks that the newest copy of each inner node is in the page of a leaf below it.
    fn check_copies(&self) -> Result<(), Violation> {
        let is_inner = |&node: &Node| self.is_used(node) && node != self.root();
        for node in (self.layout.leaves()..self.nodes()).map(Node).filter(is_inner) {
            let leaf = self.page_of(node);
            if leaf.is_none() || !self.is_used(leaf) || !self.path(leaf).any(|above| above == node) {
                return Err(violation!("extent tree: the copy of node {} is with none of its leaves", node.0));
            }
        }
        Ok(())
    }
}
