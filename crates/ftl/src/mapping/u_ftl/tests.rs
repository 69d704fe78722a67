use flashloom_units::Component;

use super::*;

mod model;

/// A tree of pages of 512 bytes: 21 extents a leaf, 11 at least, and 32 leaves below a root of two levels.
fn tree(entries: u32) -> (Tree, Vec<Ppn>) {
    (Tree::new(Layout::new(512, entries, 1)), vec![Ppn::NONE; entries as usize])
}

fn put(tree: &mut Tree, map: &mut [Ppn], places: impl IntoIterator<Item = (u32, Ppn)>) {
    for (lpn, page) in places {
        map[lpn as usize] = page;
        tree.changed(tree.find(Lpn(lpn)), Lpn(lpn), map);
    }
}

fn row(lpns: std::ops::Range<u32>, first: u32) -> impl Iterator<Item = (u32, Ppn)> {
    lpns.zip((first..).map(Ppn))
}

#[test]
fn a_page_is_divided_into_halves_of_what_is_left() {
    let layout = Layout::new(4_096, 100_000, 1);
    assert_eq!([0, 1, 2, 3].map(|level| layout.capacity(level)), [170, 128, 64, 32], "2,048 / 12, then 1,024 / 8");
    assert_eq!([1, 2, 3].map(|level| layout.root_capacity(level)), [256, 128, 64], "as much as the level below");
    // 100,000 / 85 leaves, these / 64, and so many children fit in a root above them.
    assert_eq!((layout.leaves(), layout.inner(), layout.levels()), (1_176, 18 + 1, 3));
    assert_eq!(layout.path_bytes(), 4_096 + 3 * 8);
}

#[test]
fn small_pages_are_refused_where_leaves_hold_no_row_of_planes_or_levels_no_three_children() {
    let refusal = |page_bytes, entries, planes| Layout::new(page_bytes, entries, planes).suits();
    assert_eq!((refusal(512, 1_000, 10).is_ok(), refusal(512, 1_000, 11).is_ok()), (true, false));
    // 11,000 entries are 1,000 leaves, 125 nodes above, 31, 15: the root above has room for 4.
    let found = refusal(512, 11_000, 1).unwrap_err();
    assert!(format!("{found:?}").contains("1000 leaves"), "{found:?}");
}

#[test]
fn a_page_in_the_middle_of_an_extent_makes_it_three_and_one_that_goes_on_unites_them_again() {
    let (mut tree, mut map) = tree(300);
    let leaf = Node(0);
    put(&mut tree, &mut map, row(20..40, 100));
    assert_eq!(tree.count(leaf), 1);
    put(&mut tree, &mut map, [(30, Ppn(500))]);
    assert_eq!(tree.count(leaf), 3);
    put(&mut tree, &mut map, [(31, Ppn(501))]);
    assert_eq!(tree.count(leaf), 3, "it goes on with the page before");
    put(&mut tree, &mut map, [(31, Ppn(111)), (30, Ppn(110))]);
    assert_eq!(tree.count(leaf), 1, "both are where they were");
    put(&mut tree, &mut map, [(30, Ppn::NONE)]);
    assert_eq!(tree.count(leaf), 2, "a page that is removed leaves a hole");
    put(&mut tree, &mut map, [(19, Ppn(99)), (40, Ppn(0))]);
    assert_eq!(tree.count(leaf), 3, "one more before the first extent, and one that goes on with nothing");
    assert_eq!(tree.check(&map), Ok(()));
}

/// Pages that are all extents of one.
fn single(lpns: impl IntoIterator<Item = u32>) -> impl Iterator<Item = (u32, Ppn)> {
    lpns.into_iter().map(|lpn| (lpn, Ppn(1_000 + 2 * lpn)))
}

#[test]
fn a_leaf_of_22_extents_is_divided_where_the_twelfth_begins() {
    let (mut tree, mut map) = tree(300);
    put(&mut tree, &mut map, single((0..21).map(|at| 10 * at)));
    assert!(!tree.is_uneven_leaf(Node(0)) && tree.count(Node(0)) == 21);
    put(&mut tree, &mut map, single([5]));
    assert_eq!(tree.uneven(Node(0)), Some((Node(0), 0)));
    let right = tree.divide(Node(0), 0, &map);
    // The extents are 0, 5, 10, 20 ... 90, 100 ...
    assert_eq!((tree.range(Node(0)), tree.range(right)), (0..100, 100..300));
    assert_eq!((tree.count(Node(0)), tree.count(right)), (11, 11));
    assert_eq!((tree.find(Lpn(99)), tree.find(Lpn(100))), (Node(0), right));
    tree.copy_with(Node(0));
    assert_eq!((tree.uneven(right), tree.check(&map)), (None, Ok(())));
    put(&mut tree, &mut map, [(100, Ppn::NONE)]);
    assert_eq!(tree.uneven(right), Some((right, 0)), "ten are less than half");
    assert_eq!((tree.neighbours(right), tree.neighbours(Node(0))), (Some((Node(0), right)), Some((Node(0), right))));
    tree.unite(Node(0), right, &map);
    assert_eq!((tree.count(Node(0)), tree.range(Node(0)), tree.check(&map)), (21, 0..300, Ok(())));
}

#[test]
fn a_root_with_more_children_than_fit_becomes_a_level_of_two_nodes() {
    let (mut tree, mut map) = tree(1_000);
    put(&mut tree, &mut map, single(0..1_000));
    let mut last = Node(0);
    while tree.children(tree.root()).len() < 33 {
        last = tree.divide(last, 0, &map);
    }
    let root = tree.root();
    assert_eq!(tree.uneven(Node(0)), Some((root, 1)));
    let left = tree.grow();
    assert_eq!((tree.children(root), tree.levels), (&[left][..], 3));
    // 33 children where 16 have room: three nodes, because the levels of a page are halves.
    let middle = tree.divide(left, 1, &map);
    let right = tree.divide(middle, 1, &map);
    assert_eq!([left, middle, right].map(|node| tree.count(node)), [11; 3]);
    assert_eq!(tree.path(last).collect::<Vec<_>>(), [last, right]);
    [right, middle, left].into_iter().for_each(|node| tree.copy_with(tree.first_leaf(node)));
    tree.unite(left, middle, &map);
    tree.unite(left, right, &map);
    assert_eq!(tree.uneven(Node(0)).map(|(node, _)| node), Some(left), "33 children");
    assert_eq!(tree.shrink(), left);
    assert_eq!((tree.children(root).len(), tree.levels), (33, 2));
}

#[test]
fn a_root_of_one_inner_node_takes_its_children() {
    let (mut tree, map) = tree(1_000);
    let node = tree.grow();
    tree.copy_with(Node(0));
    assert_eq!(tree.uneven(Node(0)), Some((tree.root(), 2)));
    assert_eq!((tree.shrink(), tree.levels), (node, 2));
    assert_eq!((tree.uneven(Node(0)), tree.check(&map)), (None, Ok(())));
}

type Lab = crate::mapping::cached::tests::Lab<ExtentMap>;

/// A drive of 1,365 logical pages with room for two paths.
fn lab() -> Lab {
    Lab::new("u-ftl", 64, |space| 2 * Layout::of(space).path_bytes())
}

/// Reads and writes of the map since a report.
fn since(before: MapReport, after: MapReport) -> (u64, u64) {
    (after.reads - before.reads, after.writes - before.writes)
}

#[test]
fn on_two_levels_a_miss_is_a_read_and_a_changed_leaf_a_program() {
    let mut lab = lab();
    // 136 single pages: at least seven leaves, of which about half are in memory.
    lab.write((0..136).map(|at| at * 7 % 136 * 10));
    assert_eq!(lab.state.map.tree.levels, 2);
    // All leaves are written then, and not changed any more.
    let before = lab.read((0..136).map(|at| 10 * at)).report;
    let reads = lab.read([0]).report;
    assert_eq!(since(before, reads), (1, 0), "the leaf is read, the root is in memory");
    assert_eq!(since(reads, lab.read([0]).report), (0, 0));
    let changed = lab.write([0, 10, 20]).report;
    assert_eq!(since(reads, changed), (0, 0), "in memory");
    let evicted = lab.read((50..136).map(|at| 10 * at)).report;
    assert_eq!(since(changed, evicted).1, 1, "one program for three changes");
}

#[test]
fn on_three_levels_a_miss_reads_the_page_of_the_node_above_and_that_of_the_leaf_unless_they_are_one() {
    let mut lab = lab();
    let pages = 1_365;
    lab.write((0..pages).map(|at| at * 512 % pages));
    assert_eq!(lab.state.map.tree.levels, 3);
    lab.read(0..pages);
    let root = lab.state.map.tree.root();
    let node = lab.state.map.tree.children(root)[0];
    let leaves: Vec<Node> = lab.state.map.tree.children(node).to_vec();
    let with = lab.state.map.tree.page_of(node);
    let lpn = |lab: &Lab, leaf: Node| lab.state.map.tree.range(leaf).start;
    // The path of a leaf whose page is not the newest below its node, then one with the node in its page.
    let other = *leaves.iter().find(|&&leaf| leaf != with).expect("a node has several leaves");
    for (leaf, expected) in [(other, 2), (with, 1)] {
        let before = lab.read([pages - 1]).report;
        assert!(!lab.state.map.recency.contains(node) && !lab.state.map.recency.contains(leaf));
        let first = lpn(&lab, leaf);
        assert_eq!(since(before, lab.read([first]).report), (expected, 0));
        // Other nodes push both out.
        lab.read(pages / 2..pages);
    }
    // A change of the other leaf takes one program, which has the node: its page is the newest one then.
    let before = lab.read([0]).report;
    let first = lpn(&lab, other);
    lab.write([first]);
    let after = lab.read(pages / 2..pages).report;
    assert_eq!((since(before, after).1, lab.state.map.tree.page_of(node)), (1, other));
    let before = lab.read([pages - 1]).report;
    assert_eq!(since(before, lab.read([first]).report), (1, 0), "node and leaf in one read");
}

#[test]
fn a_moved_page_of_the_tree_takes_the_nodes_above_along() {
    let mut lab = lab();
    let pages = 1_365;
    lab.write((0..pages).map(|at| at * 512 % pages));
    lab.read(0..pages);
    let Lab { mut nand, mut state, .. } = lab;
    let tree = &state.map.tree;
    let node = tree.children(tree.root())[0];
    let leaf = *tree.children(node).iter().find(|&&leaf| leaf != tree.page_of(node)).expect("several leaves");
    let lpn = state.map.lpn(leaf);
    let mut alone = 0;
    for block in (0..state.store.geometry().total_blocks() as u32).map(BlockId) {
        let (tree, before) = (&state.map.tree, state.map.report.reads);
        let leaves = state.store.valid_pages(block).filter(|lpn| lpn.0 >= pages).map(|lpn| Node(lpn.0 - pages));
        let above = leaves.map(|leaf| (leaf, tree.parent(leaf).expect("the root is above")));
        let uncached = above.filter(|&(_, node)| !state.map.recency.contains(node));
        let (own, others): (Vec<_>, Vec<_>) = uncached.partition(|&(leaf, node)| tree.page_of(node) == leaf);
        let expected: std::collections::BTreeSet<u32> = others.iter().map(|&(_, node)| tree.page_of(node).0).collect();
        alone += own.iter().filter(|(leaf, _)| !expected.contains(&leaf.0)).count();
        state.map.begins(&mut nand, &state.store, block);
        assert_eq!(state.map.report.reads - before, expected.len() as u64, "each newest copy once, but for its own");
    }
    assert!(alone > 0, "some node's newest copy is in a block without another leaf of it");
    state.map.moved(PlaneId(0), lpn, state.store.map());
    assert_eq!(state.map.tree.page_of(node), leaf);
}

#[test]
fn a_moved_page_changes_its_leaf_in_memory_or_its_leaf_is_read_when_it_is_due() {
    let mut lab = lab();
    lab.write((0..136).map(|at| at * 7 % 136 * 10));
    let before = lab.read((0..136).map(|at| 10 * at)).report;
    let Lab { mut nand, mut state, .. } = lab;
    let plane = PlaneId(1);
    let (cached, uncached) = (Lpn(135 * 10), Lpn(0));
    [cached, uncached, Lpn(10)].into_iter().for_each(|lpn| state.map.moved(plane, lpn, state.store.map()));
    assert!(state.map.is_changed[state.map.tree.find(cached).at()]);
    state.map.write_back_due(&mut state.store, &mut nand);
    assert_eq!(since(before, state.map.report), (0, 0), "nothing is read before the victim is erased");
    state.map.ended(plane);
    for _ in 0..2 {
        state.map.write_back_due(&mut state.store, &mut nand);
        assert_eq!(state.map.report.reads - before.reads, 1, "both are in one leaf");
        assert!(state.map.recency.contains(state.map.tree.find(uncached)));
    }
    assert_eq!(state.check(), Ok(()));
}
