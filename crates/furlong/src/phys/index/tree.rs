//! Arm `rbtree`: a balanced tree keyed by the first frame, as with `UVM_HOTPLUG`.
#![forbid(unsafe_code)]

use core::marker::PhantomData;
use core::ptr::NonNull;

use super::snapshot::{Piece, rebuild};
use crate::phys::{All, Arm, Change, Found, Frames, Refusal, Site};
use crate::rbtree::{Augment, NodeId, Nodes, RbTree, Side, VecArena};

/// The arm; see the [list of arms](crate::phys::Lookup).
#[derive(Clone, Copy, Debug)]
pub struct Tree;

/// Pieces by their first frame, without augmentation.
pub(super) struct ByStart<D>(PhantomData<D>);

impl<D> Augment for ByStart<D> {
    type Item = Piece<D>;
    type Key = u64;
    type Halves = [(); 2];
    type Summary = ();

    fn key(item: &Piece<D>) -> u64 {
        item.frames.start
    }
    fn empty(_: &Piece<D>, _: Side) {}
    fn half(_: &Piece<D>, _: Side, (): &()) {}
    fn join(_: &Piece<D>, _: Side, (): &(), (): &()) {}
}

/// The tree, and its unused nodes.
pub struct Pieces<D> {
    tree: RbTree<VecArena<ByStart<D>>>,
    /// Head of the free list, which is linked through the `index` of the items.
    unused: Option<NodeId>,
    unused_len: usize,
}

impl<D> Pieces<D> {
    /// The piece with `frame`. Calls `seen` for each piece it looks at.
    ///
    /// It has no panic: the guard of a table that may be unwound would lie in memory.
    #[inline]
    fn search(&self, frame: u64, mut seen: impl FnMut()) -> Option<&Piece<D>> {
        let nodes = self.tree.nodes();
        let mut next = self.tree.root();
        while let Some(at) = next {
            seen();
            let piece = nodes.get(at)?;
            let Frames { start, end } = piece.frames;
            if start <= frame && frame < end {
                return Some(piece);
            }
            next = nodes.child_if(at, frame >= start);
        }
        None
    }

    fn take(&mut self, frames: Frames) -> Option<Frames> {
        let behind = self.tree.upper_bound(frames.start);
        let last = match behind {
            Some(at) => self.tree.prev(at),
            None => self.tree.last(),
        };
        let overlaps = |at: &NodeId| self.tree.item(*at).frames.overlaps(frames);
        let at = last.filter(overlaps).or(behind.filter(overlaps))?;
        let taken = self.tree.item(at).frames;
        self.tree.remove(at).ok()?;
        let next = self.unused.map_or(u32::MAX, |at| at.index() as u32);
        let link = Piece {
            index: next,
            ..Piece::NONE
        };
        self.tree.replace(at, link).ok()?;
        self.unused = Some(at);
        self.unused_len += 1;
        Some(taken)
    }

    fn put(&mut self, piece: Piece<D>) {
        let at = self.unused.expect("room was made before");
        let link = self.tree.replace(at, piece);
        let link = link.unwrap_or_else(|_| unreachable!("the node is not in use"));
        self.unused = NodeId::from_index(link.index as usize);
        self.unused_len -= 1;
        self.tree.insert(at).expect("no piece begins there");
    }
}

impl Arm for Tree {
    type Shared<D> = ();
    type Private<D> = Pieces<D>;
    type Reader<'a, D: 'a> = &'a Pieces<D>;

    fn private<D>() -> Pieces<D> {
        Pieces {
            tree: RbTree::new(VecArena::from_iter([])),
            unused: None,
            unused_len: 0,
        }
    }

    #[inline]
    fn reader<'a, D>((): &'a (), private: &'a Pieces<D>) -> &'a Pieces<D> {
        private
    }

    #[inline]
    fn find<D>(pieces: &Pieces<D>, frame: u64, seen: impl FnMut()) -> Found {
        let piece = pieces.search(frame, seen);
        piece.map(|piece| piece.index).into()
    }

    #[inline]
    fn page<D>(
        pieces: &Pieces<D>,
        frame: u64,
        _: &All<'_, D>,
        seen: impl FnMut(),
    ) -> Option<NonNull<D>> {
        pieces.search(frame, seen)?.pages?.of(frame)
    }

    fn prepare<D>(site: &mut Site<'_, Self, D>, _: Frames, _: Change) -> Result<(), Refusal> {
        let most = site.snapshot.most_pieces();
        let private = &mut *site.private;
        while private.tree.len() + private.unused_len < most {
            private.tree.try_reserve(1).map_err(|_| Refusal::NoMemory)?;
            let next = private.unused.map_or(u32::MAX, |at| at.index() as u32);
            let link = Piece {
                index: next,
                ..Piece::NONE
            };
            let at = private.tree.push(link).map_err(|_| Refusal::NoMemory)?;
            private.unused = Some(at);
            private.unused_len += 1;
        }
        Ok(())
    }

    fn update<D>(site: &mut Site<'_, Self, D>, frames: Frames) {
        let Site {
            snapshot, private, ..
        } = site;
        rebuild(*snapshot, frames, *private, Pieces::take, Pieces::put);
    }

    fn clear<D>(site: &mut Site<'_, Self, D>) {
        *site.private = Self::private();
    }

    fn bytes<D>((): &(), private: &Pieces<D>) -> usize {
        private.tree.len() * size_of::<crate::rbtree::Node<ByStart<D>>>()
    }
}
