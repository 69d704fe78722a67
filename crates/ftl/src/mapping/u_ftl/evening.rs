//! Dividing and uniting nodes, so that each has as many entries as it may have.

use flashloom_nand::Nand;

use super::ExtentMap;
use super::tree::Node;
use crate::mapping::page_store::PageStore;
use crate::mapping::translation::Frame;

impl ExtentMap {
    /// Divides and unites nodes on the path of a cached leaf until all have as many entries as they may have.
    pub(super) fn even_out(&mut self, store: &mut PageStore, nand: &mut Nand, mut leaf: Node) {
        while let Some((node, level)) = self.tree.uneven(leaf) {
            if node == self.tree.root() {
                self.change_levels();
            } else if self.tree.is_over(node, level) {
                self.divide(store, nand, (node, level));
            } else if let Some((left, right)) = self.tree.neighbours(node) {
                self.load(store, nand, if node == left { right } else { left });
                self.unite(store, left, right);
                if node == leaf {
                    leaf = left;
                }
            }
            self.is_changed[leaf.at()] = true;
            self.tree.copy_with(leaf);
            self.touch(leaf);
        }
    }

    /// Divides a node until none of its parts has too many entries. Each part gets a changed leaf below it.
    fn divide(&mut self, store: &mut PageStore, nand: &mut Nand, (node, level): (Node, usize)) {
        let mut left = node;
        let mut parts = vec![node];
        while self.tree.is_over(left, level) {
            let before = self.bytes_with_parent(left);
            let right = self.tree.divide(left, level, store.map());
            self.bytes = self.bytes + self.bytes_with_parent(left) - before;
            self.insert(right);
            self.divisions += 1;
            parts.push(right);
            left = right;
        }
        for part in parts {
            let changed = self.changed_leaf(part).unwrap_or_else(|| {
                let leaf = self.tree.first_leaf(part);
                self.load(store, nand, leaf);
                self.is_changed[leaf.at()] = true;
                leaf
            });
            self.tree.copy_with(changed);
            self.touch(changed);
        }
    }

    fn bytes_with_parent(&self, node: Node) -> u64 {
        self.tree.bytes(node) + self.tree.parent(node).map_or(0, |parent| self.tree.bytes(parent))
    }

    /// A changed leaf below a node, or the node itself, that is cached.
    fn changed_leaf(&self, node: Node) -> Option<Node> {
        if !self.recency.contains(node) {
            return None;
        }
        if self.tree.is_leaf(node) {
            return self.is_changed[node.at()].then_some(node);
        }
        self.tree.children(node).iter().find_map(|&child| self.changed_leaf(child))
    }

    /// Unites two cached neighbours.
    fn unite(&mut self, store: &mut PageStore, left: Node, right: Node) {
        let before = self.bytes_with_parent(left) + self.tree.bytes(right);
        self.tree.unite(left, right, store.map());
        self.bytes = self.bytes + self.bytes_with_parent(left) - before;
        self.recency.remove(right);
        self.touch(left);
        self.unions += 1;
        if self.tree.is_leaf(right) {
            self.is_changed[right.at()] = false;
            self.loads.changed(Frame(right.0));
            store.forget(self.lpn(right));
        }
    }

    /// Adds a level below a root with too many children, or takes the level of its only child away.
    fn change_levels(&mut self) {
        let root = self.tree.root();
        let before = self.tree.bytes(root);
        if self.tree.count(root) == 1 {
            let child = self.tree.children(root)[0];
            self.bytes -= self.tree.bytes(child);
            self.recency.remove(child);
            self.tree.shrink();
        } else {
            let child = self.tree.grow();
            self.insert(child);
        }
        self.bytes = self.bytes + self.tree.bytes(root) - before;
    }
}
