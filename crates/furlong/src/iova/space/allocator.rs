//! The space: the set of reserved extents of a device's addresses.

use super::spare::Spare;
use crate::addr::{Address, Extent, Iova};
use crate::forms::debug_as;
use crate::iova::quarantine::tag::Tag;
use crate::iova::search::policy::{Choose, Position, SearchSpace};
use crate::iova::search::query::{self, Gap, Query, whole};
use crate::iova::{
    Config, Gaps, GeometryError, Grant, Kind, Owned, Policy, ReleaseError, Request, ReserveAtError,
    ReserveError, Reserved, Split, Stale, Standard, Storage,
};
use crate::rbtree::{Arena, NoMemory, Node, NodeId, RbTree};

#[cfg(feature = "alloc")]
use {crate::rbtree::Chunks, alloc::vec::Vec};

/// The tree of a space: reserved extents in granules.
pub(crate) type Tree<C, S> = RbTree<Arena<Gaps<<C as Config>::Measure>, S>, C>;
/// The node of a space, for arrays that the caller provides.
pub type SpaceNode<C = Standard> = Node<Gaps<<C as Config>::Measure>>;
/// A space whose nodes live in a `Vec`.
#[cfg(feature = "alloc")]
pub type VecSpace<C = Standard> = Space<C, Vec<SpaceNode<C>>>;
/// A space whose nodes live in chunks and never move, as a [`Domain`](crate::iova::Domain) uses it.
#[cfg(feature = "alloc")]
pub type ChunkSpace<C = Standard> = Space<C, Chunks<Gaps<<C as Config>::Measure>>>;

/// The set of reserved extents of a device's address space; finds gaps for more.
///
/// It hands out whole granules. It does not track the device's translations, nor their
/// invalidation.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, Iova};
/// use furlong::iova::{Lowest, Request, VecSpace};
///
/// let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).unwrap();
/// let mut space = VecSpace::new(all, 4096, Vec::new())?;
/// let low = Request::new(9000).align(1 << 16).window(Iova::new(1), Iova::new(0xffff_ffff));
/// let grant = space.reserve(&low, Lowest)?;
/// assert_eq!(grant.iova(), Iova::new(0x1_0000));
/// space.release(grant)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Space<C: Config, S: Storage<C>> {
    pub(crate) tree: Tree<C, S>,
    /// First and last granule.
    pub(crate) bounds: Gap,
    /// First and last node.
    pub(crate) ends: Option<[NodeId; 2]>,
    /// log2 of the bytes of a granule.
    pub(crate) shift: u32,
    /// Free nodes, not in the tree.
    pub(crate) spare: Spare,
    pub(crate) tag: Tag,
    /// True from the start to the end of a change; if it stays true, user code panicked in it.
    pub(crate) is_interrupted: bool,
    /// Remainder above the removed part, recorded while a cut is in progress.
    pub(crate) rest: Option<(Gap, Kind)>,
}

impl<S: Storage<Standard>> Space<Standard, S> {
    /// An empty space over the bytes of `extent`, in granules of `granule` bytes.
    ///
    /// If the array can grow, nodes beyond those of `nodes` are added on demand.
    ///
    /// # Errors
    /// See [`GeometryError`].
    ///
    /// # Panics
    /// If a node of `nodes` is in a tree.
    ///
    /// # Cost
    /// O(nodes).
    ///
    /// # Example
    /// Without an allocator, over the caller's array; the initial contents of its nodes do not
    /// matter:
    /// ```
    /// use furlong::addr::{Extent, Iova};
    /// use furlong::iova::{Lowest, Request, Reserved, Space, SpaceNode, Standard};
    ///
    /// let mut nodes = [SpaceNode::<Standard>::new(Reserved { start: 0, last: 0 }); 64];
    /// let low = Extent::from_last(Iova::new(0), Iova::new(0xffff_ffff)).unwrap();
    /// let mut space = Space::new(low, 4096, &mut nodes[..])?;
    /// let grant = space.reserve(&Request::new(4096), Lowest)?;
    /// # let _ = grant;
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn new(extent: Extent<Iova>, granule: u64, nodes: S) -> Result<Self, GeometryError> {
        Self::with_config(extent, granule, nodes)
    }
}

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// A space with any configuration; otherwise the same as [`new`](Space::new).
    ///
    /// # Errors
    /// See [`GeometryError`].
    ///
    /// # Panics
    /// If a node of `nodes` is in a tree.
    pub fn with_config(
        extent: Extent<Iova>,
        granule: u64,
        nodes: S,
    ) -> Result<Self, GeometryError> {
        if !granule.is_power_of_two() {
            return Err(GeometryError::Granule(granule));
        }
        let shift = granule.trailing_zeros();
        let bounds = whole(extent, shift).ok_or(GeometryError::Ragged(extent))?;
        let mut tree = RbTree::with_config(Arena::new(nodes));
        let spare = Spare::of(&mut tree);
        Ok(Self {
            tree,
            bounds,
            ends: None,
            shift,
            spare,
            tag: Tag::fresh(),
            is_interrupted: false,
            rest: None,
        })
    }

    /// Reserves space for `request` at the place that `policy` chooses.
    ///
    /// A request that may be split is cut only if no place was found that holds it whole. The place
    /// is then the policy's choice for the request without its boundary.
    ///
    /// # Errors
    /// See [`ReserveError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n) for size and window, for an alignment equal to the size, and for alignments and
    /// boundaries that the [measure](crate::iova::Measure) knows. Any other boundary costs at most
    /// [`PATIENCE`](crate::iova::PATIENCE) times that; any other alignment costs O(n).
    /// [`Best`](crate::iova::Best) and [`Random`](crate::iova::Random) cost more. No allocation
    /// after [`prepare`](Self::prepare).
    #[inline]
    pub fn reserve<P: Policy>(
        &mut self,
        request: &Request,
        mut policy: P,
    ) -> Result<Grant, ReserveError> {
        self.recover();
        let position = self.position(request, &mut policy)?;
        let data =
            query::data(request, position.start, self.shift).ok_or(ReserveError::ZeroSize)?;
        let reserved = Reserved {
            start: position.start,
            last: data.last().raw() >> self.shift,
        };
        let at = self.take(reserved).map_err(|_| ReserveError::NoMemory)?;
        self.is_interrupted = true;
        let (gap, edge) = (position.found.gap, position.found.edge);
        let is_end = gap.first == self.bounds.first || gap.last == self.bounds.last;
        self.tree.expect_end(is_end);
        let linked = self.tree.insert_at_edge(edge, at);
        linked.expect("a free node is in no tree");
        self.joined(at);
        self.is_interrupted = false;
        Ok(Grant {
            at,
            tag: self.tag,
            extent: self.bytes(reserved),
            data,
        })
    }

    /// The place for a request; reserves nothing.
    #[inline]
    fn position<P: Policy>(
        &self,
        request: &Request,
        policy: &mut P,
    ) -> Result<Position, ReserveError> {
        let query = Query::new(request, self.shift);
        let refusal = match query {
            Ok(query) => match self.choose(request, &query, policy) {
                Ok(position) => return Ok(position),
                Err(refusal) => refusal,
            },
            Err(error) => error,
        };
        self.split(request, policy, refusal)
    }

    /// The place for a request that will be cut because no place respects its boundary.
    #[cold]
    fn split<P: Policy>(
        &self,
        request: &Request,
        policy: &mut P,
        refusal: ReserveError,
    ) -> Result<Position, ReserveError> {
        let is_bounded = request.boundary.is_some() && request.split == Split::AtBoundary;
        let is_full = matches!(
            refusal,
            ReserveError::NoSpace { .. }
                | ReserveError::GaveUp(_)
                | ReserveError::CrossesBoundary { .. }
        );
        if !is_bounded || !is_full {
            return Err(refusal);
        }
        let query = Query::unbounded(request, self.shift)?;
        self.choose(request, &query, policy)
    }

    #[inline]
    fn choose<P: Choose>(
        &self,
        request: &Request,
        query: &Query,
        policy: &mut P,
    ) -> Result<Position, ReserveError> {
        let search = SearchSpace::new(self, query);
        match policy.choose(&search) {
            Some(position) => Ok(position),
            None if search.gave_up() => Err(ReserveError::GaveUp(request.boundary.unwrap_or(0))),
            None => Err(self.no_space(query)),
        }
    }

    #[cold]
    fn no_space(&self, query: &Query) -> ReserveError {
        let bytes = |granules: u64| granules.saturating_mul(self.granule());
        ReserveError::NoSpace {
            wanted: bytes(query.need.span),
            largest: bytes(self.largest()),
        }
    }

    /// Reserves exactly `extent`.
    ///
    /// # Errors
    /// See [`ReserveAtError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n).
    pub fn reserve_at(&mut self, extent: Extent<Iova>) -> Result<Grant, ReserveAtError> {
        self.recover();
        let wanted = self.inside(extent)?;
        let next = self.tree.lower_bound(wanted.first);
        if let Some(at) = next.filter(|at| self.tree.item(*at).start <= wanted.last) {
            return Err(ReserveAtError::Occupied(self.bytes(*self.tree.item(at))));
        }
        let at = self.link(wanted, next, Kind::Granted);
        let at = at.map_err(|_| ReserveAtError::NoMemory)?;
        Ok(Grant {
            at,
            tag: self.tag,
            extent,
            data: extent,
        })
    }

    /// `extent` in granules, if it is valid and inside the space.
    pub(crate) fn inside(&self, extent: Extent<Iova>) -> Result<Gap, ReserveAtError> {
        let wanted = whole(extent, self.shift).ok_or(ReserveAtError::Ragged(extent))?;
        if wanted.first < self.bounds.first || self.bounds.last < wanted.last {
            return Err(ReserveAtError::Outside(self.extent()));
        }
        Ok(wanted)
    }

    /// Links a node for `wanted`, which is free, before `next`.
    pub(crate) fn link(
        &mut self,
        wanted: Gap,
        next: Option<NodeId>,
        kind: Kind,
    ) -> Result<NodeId, NoMemory> {
        self.recover();
        let at = self.take(wanted.into())?;
        self.join(at, next, kind);
        Ok(at)
    }

    /// Links a node, already taken from the free list, before `next`.
    pub(crate) fn join(&mut self, at: NodeId, next: Option<NodeId>, kind: Kind) {
        self.is_interrupted = true;
        if kind != Kind::Granted {
            self.tree.set_mark(at, kind as u8);
        }
        let linked = self.tree.insert_before(next, at);
        linked.expect("a free node is in no tree");
        self.joined(at);
        self.is_interrupted = false;
    }

    /// Updates the ends after a node has been linked.
    #[inline]
    pub(super) fn joined(&mut self, at: NodeId) {
        let Some([first, last]) = &mut self.ends else {
            self.ends = Some([at; 2]);
            return;
        };
        let (start, tree) = (self.tree.item(at).start, &self.tree);
        if start < tree.item(*first).start {
            *first = at;
        } else if start > tree.item(*last).start {
            *last = at;
        }
    }

    /// Updates the ends before a node is removed. Returns true if it is one of them.
    #[inline]
    fn leaves(&mut self, at: NodeId) -> bool {
        let Some([first, last]) = self.ends.filter(|ends| ends.contains(&at)) else {
            return false;
        };
        let inner = [self.tree.next(first), self.tree.prev(last)];
        self.ends = match inner {
            [Some(next), _] if at == first => Some([next, last]),
            [_, Some(prev)] => Some([first, prev]),
            _ => None,
        };
        true
    }

    /// Releases the extent of a grant.
    ///
    /// # Errors
    /// The grant is returned if it is not one of this space's current grants; nothing has changed.
    ///
    /// # Cost
    /// Amortised O(1) changes, and a climb of O(log n) in the worst case; no search.
    #[inline]
    pub fn release(&mut self, grant: Grant) -> Result<(), Stale> {
        if !self.holds(&grant) {
            return Err(Stale(grant));
        }
        self.unlink(grant.at);
        Ok(())
    }

    /// Returns true if the extent of a grant is still reserved as granted.
    #[inline]
    pub fn holds(&self, grant: &Grant) -> bool {
        grant.tag.is_with(self.tag)
            && grant.at.index() < self.tree.nodes().len()
            && self.tree.is_linked(grant.at)
            && self.kind(grant.at) == Kind::Granted
            && self.bytes(*self.tree.item(grant.at)) == grant.extent
    }

    /// Releases exactly `extent`, of any kind, by its address. Drop an existing grant of it: if the
    /// same extent is granted again, the old grant is indistinguishable from the new one.
    ///
    /// # Errors
    /// See [`ReleaseError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n).
    pub fn release_at(&mut self, extent: Extent<Iova>) -> Result<Kind, ReleaseError> {
        self.recover();
        let at = self.exactly(extent)?;
        let kind = self.kind(at);
        self.unlink(at);
        Ok(kind)
    }

    /// Removes a node from the tree and keeps it for the next reservation.
    #[inline]
    pub(crate) fn unlink(&mut self, at: NodeId) {
        self.recover();
        self.is_interrupted = true;
        let is_end = self.leaves(at);
        self.tree.expect_end(is_end);
        self.tree
            .remove(at)
            .expect("a reserved extent is in the tree");
        self.spare.give(&mut self.tree, at);
        self.is_interrupted = false;
    }

    /// The reserved extent that contains an address.
    ///
    /// # Cost
    /// O(log n).
    #[must_use]
    pub fn owner(&self, address: Iova) -> Option<Owned> {
        let granule = address.raw() >> self.shift;
        let at = self.tree.lower_bound(granule)?;
        (self.tree.item(at).start <= granule).then(|| self.owned(at))
    }

    pub(super) fn owned(&self, at: NodeId) -> Owned {
        Owned {
            extent: self.bytes(*self.tree.item(at)),
            kind: self.kind(at),
            index: at.index(),
        }
    }

    pub(crate) fn kind(&self, at: NodeId) -> Kind {
        Kind::from_mark(self.tree.mark(at))
    }

    /// Reserved extents in ascending order; `rev()` descends.
    pub fn reserved(&self) -> impl DoubleEndedIterator<Item = Owned> + '_ {
        self.tree.iter().map(|at| self.owned(at))
    }

    /// Gaps in ascending order.
    pub fn free(&self) -> impl Iterator<Item = Extent<Iova>> + '_ {
        self.free_in(self.extent())
    }

    /// Number of reserved extents.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Returns true if nothing is reserved.
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// The counters of the tree.
    pub fn counters(&self) -> &C::Counters {
        self.tree.counters()
    }

    /// A node for `item`, not yet in the tree.
    #[inline]
    pub(crate) fn take(&mut self, item: Reserved) -> Result<NodeId, NoMemory> {
        self.spare.take(&mut self.tree, item)
    }

    /// Converts granules to bytes.
    #[inline]
    pub(crate) fn bytes(&self, reserved: Reserved) -> Extent<Iova> {
        let start = Iova::new(reserved.start << self.shift);
        let last = Iova::new((reserved.last << self.shift) | (self.granule() - 1));
        Extent::from_last(start, last).expect("a reserved extent is not empty")
    }
}

debug_as! { Space<C, S> where [C: Config, S: Storage<C>]: |it| [it.reserved()] }
