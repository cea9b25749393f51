//! A red-black tree (Guibas and Sedgewick, 1978; Cormen et al., "Introduction to Algorithms", chapter 13) of what lies
//! beyond holes, by sequence number.
//!
//! Linux 6.1 keeps its out-of-order queue in such a tree. Its shape shows: on the way down to its place a segment may be
//! joined to a buffer that it continues before a buffer is met that has it already. So the nodes have to lie as they do
//! in Linux, which balances as the book does; a removed node's place is taken by the next one in order.

/// Index of a node; [`NONE`] where there is none.
pub(super) type NodeId = u32;
/// No node.
pub(super) const NONE: NodeId = NodeId::MAX;

/// A side of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

use Side::{Left, Right};

impl Side {
    fn other(self) -> Self {
        if self == Left { Right } else { Left }
    }
}

#[derive(Clone, Debug)]
struct Node<T> {
    value: T,
    parent: NodeId,
    children: [NodeId; 2],
    is_red: bool,
}

/// The tree. The caller chooses where a node is added.
#[derive(Clone, Debug)]
pub(super) struct Tree<T> {
    nodes: Vec<Node<T>>,
    /// Nodes that are not used.
    free: Vec<NodeId>,
    root: NodeId,
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), root: NONE }
    }
}

impl<T: Copy> Tree<T> {
    pub(super) fn root(&self) -> NodeId {
        self.root
    }

    pub(super) fn value(&self, at: NodeId) -> &T {
        &self.nodes[at as usize].value
    }

    pub(super) fn value_mut(&mut self, at: NodeId) -> &mut T {
        &mut self.nodes[at as usize].value
    }

    pub(super) fn child(&self, at: NodeId, side: Side) -> NodeId {
        self.nodes[at as usize].children[side as usize]
    }

    /// The lowest node.
    pub(super) fn first(&self) -> NodeId {
        if self.root == NONE { NONE } else { self.outermost(self.root, Left) }
    }

    /// The highest node.
    pub(super) fn last(&self) -> NodeId {
        if self.root == NONE { NONE } else { self.outermost(self.root, Right) }
    }

    /// The next higher node.
    pub(super) fn next(&self, at: NodeId) -> NodeId {
        self.neighbour(at, Right)
    }

    /// The next lower node.
    pub(super) fn previous(&self, at: NodeId) -> NodeId {
        self.neighbour(at, Left)
    }

    fn neighbour(&self, mut at: NodeId, side: Side) -> NodeId {
        if self.child(at, side) != NONE {
            return self.outermost(self.child(at, side), side.other());
        }
        loop {
            let parent = self.parent(at);
            if parent == NONE || self.child(parent, side.other()) == at {
                return parent;
            }
            at = parent;
        }
    }

    /// Adds a node below `parent`, where there is none yet on this side; the first one has no parent.
    pub(super) fn insert(&mut self, parent: NodeId, side: Side, value: T) -> NodeId {
        let node = Node { value, parent, children: [NONE; 2], is_red: true };
        let at = match self.free.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as NodeId - 1
            }
        };
        match parent {
            NONE => self.root = at,
            _ => self.nodes[parent as usize].children[side as usize] = at,
        }
        self.separate_reds(at);
        at
    }

    /// Takes a node out.
    pub(super) fn remove(&mut self, at: NodeId) -> T {
        let [left, right] = self.nodes[at as usize].children;
        // The node whose place becomes empty: it has one child at most.
        let leaves = if left != NONE && right != NONE { self.outermost(right, Left) } else { at };
        let [left, right] = self.nodes[leaves as usize].children;
        let child = if left != NONE { left } else { right };
        let (mut parent, was_red) = (self.parent(leaves), self.is_red(leaves));
        let side = if parent == NONE { Left } else { self.side(leaves) };
        self.put_in_place_of(leaves, child);
        if leaves != at {
            if parent == at {
                parent = leaves;
            }
            let (children, is_red) = (self.nodes[at as usize].children, self.is_red(at));
            self.put_in_place_of(at, leaves);
            self.nodes[leaves as usize].children = children;
            self.nodes[leaves as usize].is_red = is_red;
            for child in children.into_iter().filter(|&child| child != NONE) {
                self.nodes[child as usize].parent = leaves;
            }
        }
        if child != NONE {
            self.nodes[child as usize].is_red = false;
        } else if !was_red {
            self.lengthen(parent, side);
        }
        self.free.push(at);
        self.nodes[at as usize].value
    }

    fn parent(&self, at: NodeId) -> NodeId {
        self.nodes[at as usize].parent
    }

    fn is_red(&self, at: NodeId) -> bool {
        at != NONE && self.nodes[at as usize].is_red
    }

    fn paint(&mut self, at: NodeId, is_red: bool) {
        self.nodes[at as usize].is_red = is_red;
    }

    /// The side of its parent on which a node is.
    fn side(&self, at: NodeId) -> Side {
        if self.child(self.parent(at), Left) == at { Left } else { Right }
    }

    /// The node that is farthest on one side, below this one or itself.
    fn outermost(&self, mut at: NodeId, side: Side) -> NodeId {
        while self.child(at, side) != NONE {
            at = self.child(at, side);
        }
        at
    }

    /// The parent of `old` gets `new`, or nothing, instead.
    fn put_in_place_of(&mut self, old: NodeId, new: NodeId) {
        let parent = self.parent(old);
        if parent == NONE {
            self.root = new;
        } else {
            let side = self.side(old);
            self.nodes[parent as usize].children[side as usize] = new;
        }
        if new != NONE {
            self.nodes[new as usize].parent = parent;
        }
    }

    /// A node goes down to one side, and its child on the other side takes its place.
    fn rotate(&mut self, at: NodeId, side: Side) {
        let up = self.child(at, side.other());
        let inner = self.child(up, side);
        self.put_in_place_of(at, up);
        self.nodes[up as usize].children[side as usize] = at;
        self.nodes[at as usize].parent = up;
        self.nodes[at as usize].children[side.other() as usize] = inner;
        if inner != NONE {
            self.nodes[inner as usize].parent = at;
        }
    }

    /// A new red node may have a red parent (Cormen et al., section 13.3).
    fn separate_reds(&mut self, mut at: NodeId) {
        while self.is_red(self.parent(at)) {
            let mut parent = self.parent(at);
            let grandparent = self.parent(parent);
            let side = self.side(parent);
            let uncle = self.child(grandparent, side.other());
            if self.is_red(uncle) {
                self.paint(parent, false);
                self.paint(uncle, false);
                self.paint(grandparent, true);
                at = grandparent;
                continue;
            }
            if self.side(at) != side {
                self.rotate(parent, side);
                parent = at;
            }
            self.paint(parent, false);
            self.paint(grandparent, true);
            self.rotate(grandparent, side.other());
            break;
        }
        let root = self.root;
        self.paint(root, false);
    }

    /// The ways down one side of a node have a black node less than those down the other (Cormen et al., section 13.4).
    fn lengthen(&mut self, mut parent: NodeId, mut side: Side) {
        while parent != NONE {
            let mut sibling = self.child(parent, side.other());
            if self.is_red(sibling) {
                self.paint(sibling, false);
                self.paint(parent, true);
                self.rotate(parent, side);
                sibling = self.child(parent, side.other());
            }
            if !self.is_red(self.child(sibling, side.other())) {
                let near = self.child(sibling, side);
                if !self.is_red(near) {
                    self.paint(sibling, true);
                    if self.is_red(parent) {
                        return self.paint(parent, false);
                    }
                    let below = parent;
                    parent = self.parent(below);
                    if parent != NONE {
                        side = self.side(below);
                    }
                    continue;
                }
                self.paint(near, false);
                self.paint(sibling, true);
                self.rotate(sibling, side.other());
                sibling = near;
            }
            let far = self.child(sibling, side.other());
            self.paint(sibling, self.is_red(parent));
            self.paint(parent, false);
            self.paint(far, false);
            return self.rotate(parent, side);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_units::Stream;
    use std::collections::BTreeSet;

    /// Black nodes on each way down from here; no red node has a red child.
    fn black_height(tree: &Tree<u64>, at: NodeId) -> u32 {
        if at == NONE {
            return 0;
        }
        let children = tree.nodes[at as usize].children;
        let heights = children.map(|child| black_height(tree, child));
        assert_eq!(heights[0], heights[1], "below {}", tree.value(at));
        for child in children.into_iter().filter(|&child| child != NONE) {
            assert_eq!(tree.parent(child), at);
            assert!(!(tree.is_red(at) && tree.is_red(child)), "{} and {} are red", tree.value(at), tree.value(child));
        }
        heights[0] + u32::from(!tree.is_red(at))
    }

    fn insert(tree: &mut Tree<u64>, value: u64) {
        let (mut parent, mut side, mut at) = (NONE, Left, tree.root());
        while at != NONE {
            side = if value < *tree.value(at) { Left } else { Right };
            (parent, at) = (at, tree.child(at, side));
        }
        tree.insert(parent, side, value);
    }

    fn in_order(tree: &Tree<u64>) -> Vec<(NodeId, u64)> {
        let mut nodes = Vec::new();
        let mut at = tree.first();
        while at != NONE {
            nodes.push((at, *tree.value(at)));
            at = tree.next(at);
        }
        nodes
    }

    #[test]
    fn what_is_added_and_removed_at_random_stays_in_order_and_balanced() {
        let mut draws = Stream::new(1, "tree");
        let (mut tree, mut values) = (Tree::default(), BTreeSet::new());
        for step in 0..4_000u32 {
            // It grows at first, and shrinks to nothing.
            let grows = draws.below(10) < if step < 1_500 { 7 } else { 3 };
            if grows {
                let value = draws.below(1 << 40);
                assert!(values.insert(value));
                insert(&mut tree, value);
            } else if !values.is_empty() {
                let nodes = in_order(&tree);
                let (at, value) = nodes[draws.below(nodes.len() as u64) as usize];
                assert_eq!(tree.remove(at), value);
                values.remove(&value);
            }
            assert!(!tree.is_red(tree.root()));
            black_height(&tree, tree.root());
            assert!(in_order(&tree).iter().map(|&(_, value)| value).eq(values.iter().copied()));
        }
        assert!(values.is_empty() && tree.nodes.len() > 400, "{} at most, {} left", tree.nodes.len(), values.len());
    }

    /// Cormen et al., exercise 13.3-2: the tree of 41, 38, 31, 12, 19, 8.
    #[test]
    fn an_exercise_of_the_book() {
        let mut tree = Tree::default();
        for value in [41, 38, 31, 12, 19, 8] {
            insert(&mut tree, value);
        }
        let child = |at, side| tree.child(at, side);
        let show = |at: NodeId| (*tree.value(at), tree.is_red(at));
        let root = tree.root();
        let left = child(root, Left);
        assert_eq!([show(root), show(left), show(child(root, Right))], [(38, false), (19, true), (41, false)]);
        assert_eq!([show(child(left, Left)), show(child(left, Right))], [(12, false), (31, false)]);
        assert_eq!(show(child(child(left, Left), Left)), (8, true));
    }
}
