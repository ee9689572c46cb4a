//! The index of Linux until 6.0: a balanced tree of areas with the largest gap below each.

use alloc::vec::Vec;

use super::gaps::View;
use crate::check::Check;
use crate::rbtree::{self, Broken, Checked, Counters, Custom, NodeId, Off, RbTree, Side, VecArena};
use crate::vmspace::{Attr, Entry, Gaps, Index, NoMemory, Pages, Piece, Value, hand_out};

/// The content of a node: an area, or a link in the list of free nodes.
#[derive(Clone, Copy, Debug)]
pub struct Node<A> {
    pub(crate) pages: Pages,
    attr: Attr,
    /// None in a free node.
    value: Option<A>,
}

/// The underlying tree.
pub(crate) type Tree<A, K> = RbTree<VecArena<Gaps<A>>, Custom<Checked, K>>;

/// Areas in a tree, one node for each.
///
/// Every search, every gap and every change of one area takes O(log n). A change of several areas
/// takes O(log n) for each. A change needs at most two nodes.
pub struct TreeIndex<A: Value, K: Counters = Off> {
    tree: Tree<A, K>,
    /// The first free node; each free node stores the next one in place of its first page.
    free: Option<NodeId>,
    free_count: usize,
}

/// The largest number of nodes that a change needs: one for the area that it stores, and one for
/// the part above it that is left of an old one.
const CHANGE_NODES: usize = 2;

impl<A: Value, K: Counters> Default for TreeIndex<A, K> {
    fn default() -> Self {
        Self {
            tree: RbTree::with_config(VecArena::new(Vec::new())),
            free: None,
            free_count: 0,
        }
    }
}

impl<A: Value, K: Counters> TreeIndex<A, K> {
    /// The work counters of the tree.
    pub fn counters(&self) -> &K {
        self.tree.counters()
    }

    /// The size of the nodes in bytes, including unused ones.
    pub fn bytes(&self) -> usize {
        self.tree.capacity() * size_of::<rbtree::Node<Gaps<A>>>()
    }

    fn entry(&self, at: NodeId) -> Entry<'_, A> {
        let node = self.tree.item(at);
        Entry {
            pages: node.pages,
            attr: node.attr,
            value: node.value.as_ref().expect("a linked node has an area"),
        }
    }

    fn pages(&self, at: NodeId) -> Pages {
        self.tree.item(at).pages
    }

    /// The first node with a page in `pages`.
    fn first_in(&self, pages: Pages) -> Option<NodeId> {
        let at = self.tree.lower_bound(pages.first)?;
        (self.pages(at).first <= pages.last).then_some(at)
    }

    /// Takes a free node for an area, outside of the tree. Its memory was prepared.
    fn take(&mut self, item: Node<A>) -> NodeId {
        let Some(at) = self.free else {
            return self.tree.push(item).expect("the change was prepared");
        };
        let free = self.tree.replace(at, item).ok();
        let next = free.expect("a free node is in no tree").pages.first;
        self.free = usize::try_from(next).ok().and_then(NodeId::from_index);
        self.free_count -= 1;
        at
    }

    /// Removes a node from the tree and keeps it for the next area.
    fn give(&mut self, at: NodeId) -> Node<A> {
        self.tree.remove(at).expect("an area is in the tree");
        self.keep(at)
    }

    /// Puts a node that is outside of the tree into the free list, and returns its content.
    fn keep(&mut self, at: NodeId) -> Node<A> {
        let first = self.free.map_or(u64::MAX, |next| next.index() as u64);
        let last = u64::MAX;
        let link = Node {
            pages: Pages { first, last },
            attr: Attr::NONE,
            value: None,
        };
        self.free = Some(at);
        self.free_count += 1;
        self.tree
            .replace(at, link)
            .ok()
            .expect("it is in no tree now")
    }

    /// Removes `pages` from all areas, beginning with that of `first`, except that of `spared`.
    fn cut(
        &mut self,
        first: NodeId,
        pages: Pages,
        spared: Option<NodeId>,
        removed: impl FnMut(Piece<A>),
    ) {
        let mut next = Some(first);
        let pieces = core::iter::from_fn(|| {
            loop {
                let at = next.filter(|at| self.pages(*at).first <= pages.last)?;
                let whole = self.pages(at);
                next = (whole.last < pages.last)
                    .then(|| self.tree.next(at))
                    .flatten();
                if Some(at) == spared {
                    continue;
                }
                let part = whole.and(pages).expect("the area has a page of them");
                let attr = self.tree.item(at).attr;
                let value = if part == whole {
                    self.give(at).value
                } else {
                    self.carve(at, part);
                    None
                };
                return Some(Piece {
                    pages: part,
                    attr,
                    value,
                });
            }
        });
        hand_out(pieces, removed);
    }

    /// Removes `part`, which is not all of it, from the area of `at`.
    fn carve(&mut self, at: NodeId, part: Pages) {
        let whole = self.pages(at);
        if whole.first == part.first {
            self.tree
                .update(at, |node| node.pages.first = part.last + 1);
            return;
        }
        // Cloned before anything is changed, because a clone may panic.
        let behind = part.last.checked_add(1).filter(|_| part.last < whole.last);
        let rest = behind.map(|first| {
            let node = self.tree.item(at);
            let last = whole.last;
            Node {
                pages: Pages { first, last },
                attr: node.attr,
                value: node.value.clone(),
            }
        });
        self.tree
            .update(at, |node| node.pages.last = part.first - 1);
        if let Some(rest) = rest {
            self.link_after(Some(at), rest);
        }
    }

    fn link_after(&mut self, previous: Option<NodeId>, node: Node<A>) -> NodeId {
        let at = self.take(node);
        let linked = self.tree.insert_after(previous, at);
        linked.expect("a free node is in no tree");
        at
    }

    fn view(&self, near: Side) -> View<'_, A, K> {
        View {
            tree: &self.tree,
            near,
        }
    }
}

impl<A: Value, K: Counters> Index<A> for TreeIndex<A, K> {
    type Broken = Broken<NodeId>;

    fn len(&self) -> usize {
        self.tree.len()
    }

    fn at_or_after(&self, page: u64) -> Option<Entry<'_, A>> {
        self.tree.lower_bound(page).map(|at| self.entry(at))
    }

    fn beside(&self, page: u64) -> [Option<Entry<'_, A>>; 2] {
        let above = self.tree.lower_bound(page);
        let below = match above {
            Some(at) if self.pages(at).first < page => Some(at),
            Some(at) => self.tree.prev(at),
            None => self.tree.last(),
        };
        [below, above].map(|at| at.map(|at| self.entry(at)))
    }

    fn iter<'a>(&'a self, pages: Pages) -> impl Iterator<Item = Entry<'a, A>>
    where
        A: 'a,
    {
        let nodes = core::iter::successors(self.first_in(pages), |at| self.tree.next(*at));
        nodes
            .map(|at| self.entry(at))
            .take_while(move |entry| entry.pages.first <= pages.last)
    }

    fn lowest(&self, window: Pages, len: u64) -> Option<Pages> {
        self.view(Side::Left).search(window, len)
    }

    fn highest(&self, window: Pages, len: u64) -> Option<Pages> {
        self.view(Side::Right).search(window, len)
    }

    fn prepare(&mut self, changes: usize) -> Result<(), NoMemory> {
        let nodes = changes.checked_mul(CHANGE_NODES).ok_or(NoMemory)?;
        let more = nodes.saturating_sub(self.free_count);
        self.tree.try_reserve(more)
    }

    fn prepare_over(&mut self, _over: Pages) -> Result<(), NoMemory> {
        self.prepare(1)
    }

    fn put(&mut self, pages: Pages, attr: Attr, value: A) -> Result<(), A> {
        if self.free.is_none() && self.tree.try_reserve(1).is_err() {
            return Err(value);
        }
        let next = self.tree.lower_bound(pages.first);
        let value = Some(value);
        let at = self.take(Node { pages, attr, value });
        let linked = self.tree.insert_before(next, at);
        linked.expect("a free node is in no tree");
        Ok(())
    }

    fn erase(&mut self, pages: Pages, removed: impl FnMut(Piece<A>)) -> Result<(), NoMemory> {
        let Some(at) = self.first_in(pages) else {
            return Ok(());
        };
        let owner = self.pages(at);
        if owner.first < pages.first && pages.last < owner.last {
            self.prepare(1)?;
        }
        self.cut(at, pages, None, removed);
        Ok(())
    }

    fn grow(&mut self, of: u64, pages: Pages) -> Result<(), NoMemory> {
        let at = self.tree.lower_bound(of).expect("the page is mapped");
        self.tree.update(at, |node| node.pages = pages);
        Ok(())
    }

    fn extend(&mut self, of: u64, pages: Pages, mut freed: impl FnMut(A)) -> Result<(), NoMemory> {
        let at = self.tree.lower_bound(of).expect("the page is mapped");
        let first = self.first_in(pages).expect("it has one of them");
        self.cut(first, pages, Some(at), |piece| {
            piece.value.into_iter().for_each(&mut freed);
        });
        self.tree.update(at, |node| node.pages = pages);
        Ok(())
    }

    fn change(&mut self, pages: Pages, attr: Attr) -> Result<(), NoMemory> {
        let at = self.first_in(pages).expect("the pages are mapped");
        let whole = self.pages(at);
        if pages == whole {
            self.tree.update(at, |node| node.attr = attr);
            return Ok(());
        }
        self.prepare(1)?;
        let value = self.tree.item(at).value.clone();
        self.carve(at, pages);
        let node = Node { pages, attr, value };
        let at_start = pages.first == whole.first;
        let previous = if at_start {
            self.tree.prev(at)
        } else {
            Some(at)
        };
        self.link_after(previous, node);
        Ok(())
    }

    fn copy_from<E, S: Index<A>>(
        &mut self,
        source: &S,
        mut copy: impl FnMut(Entry<'_, A>) -> Result<Option<A>, E>,
    ) -> Result<(), Option<E>> {
        let room = self.tree.try_reserve(source.len());
        room.map_err(|_| None)?;
        let mut last = None;
        for area in source.iter(Pages::ALL) {
            let Entry { pages, attr, .. } = area;
            let value = copy(area).map_err(Some)?;
            if value.is_some() {
                last = Some(self.link_after(last, Node { pages, attr, value }));
            }
        }
        Ok(())
    }

    fn clear(&mut self, removed: impl FnMut(Piece<A>)) {
        self.tree.clear();
        (self.free, self.free_count) = (None, 0);
        let nodes = self.tree.nodes().ids().rev();
        let pieces = nodes.filter_map(|at| {
            let Node { pages, attr, value } = self.keep(at);
            value.map(|value| Piece {
                pages,
                attr,
                value: Some(value),
            })
        });
        hand_out(pieces, removed);
    }

    fn check(&self) -> Result<(), Broken<NodeId>> {
        self.tree.check()
    }
}
