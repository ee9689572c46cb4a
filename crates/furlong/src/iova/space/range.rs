//! Ranges: lists the free and the reserved parts of a range, reserves all free parts, releases all
//! reserved parts.

use core::error::Error;
use core::fmt;

use crate::error::messages;

use super::allocator::Tree;
use crate::addr::{Address, Extent, Iova};
use crate::iova::search::query::{Gap, whole};
use crate::iova::{Config, Grant, Kind, Owned, ReserveAtError, Reserved, Space, Storage};
use crate::rbtree::{NoMemory, NodeId};

/// Nodes that a reservation needs, by size or by address: the number to [`prepare`](Space::prepare)
/// for each. Releasing and claiming need none.
pub const RESERVE_NODES: usize = 1;

/// Nodes that the release of a range or of a part of an extent needs at most. It needs one if it
/// cuts the middle out of an extent.
pub const RELEASE_RANGE_NODES: usize = 1;

messages! {
    /// Reason why an operation on a range was refused; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RangeError {
        /// It is not made of whole granules.
        Ragged(it: Extent<Iova>) => "{it:?} does not consist of whole granules";
        /// Part of it lies outside the space, which is given here.
        Outside(it: Extent<Iova>) => "the space is {it:?}";
        /// Out of memory for the nodes that it needs.
        NoMemory => "out of memory for more nodes";
    }
}

impl From<NoMemory> for RangeError {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

/// Grants for the remainder of an extent after a part of it was released.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "an extent stays reserved until its grant is released"]
pub struct Kept {
    /// Remainder below the part.
    pub below: Option<Grant>,
    /// Remainder above the part.
    pub above: Option<Grant>,
}

/// Error of [`Space::release_part`]. The grant is returned; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct NotReleased {
    /// Grant of the whole extent.
    pub grant: Grant,
    /// Reason for the refusal.
    pub cause: PartError,
}

messages! {
    /// Reason why no part of an extent was released.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PartError {
        /// The grant belongs to another space, or its extent has been released or cut by its
        /// address.
        Stale => "the extent was not granted by this space";
        /// The part is not made of whole granules.
        Ragged => "the part does not consist of whole granules";
        /// The part is not inside the extent.
        NotInside => "the part is not inside the extent";
        /// Out of memory for the node that a cut in the middle needs.
        NoMemory => "out of memory for another node";
    }
}

impl fmt::Display for NotReleased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extent = self.grant.extent();
        match self.cause {
            PartError::Stale => write!(f, "{extent:?} was not granted by this space"),
            PartError::NotInside => write!(f, "the part is not inside {extent:?}"),
            cause => cause.fmt(f),
        }
    }
}

impl Error for NotReleased {}

/// Walk over the free parts of a range. Parts already passed may be linked during the walk.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    /// Start of the rest of the range; `None` if nothing remains.
    next: Option<u64>,
    last: u64,
    /// The first extent that ends at or after `next`.
    behind: Option<NodeId>,
}

impl Parts {
    /// The next free part, and the node before which its node must be inserted.
    pub(crate) fn step<C: Config, S: Storage<C>>(
        &mut self,
        tree: &Tree<C, S>,
    ) -> Option<(Gap, Option<NodeId>)> {
        loop {
            let first = self.next.filter(|first| *first <= self.last)?;
            let behind = self.behind;
            let Some((at, item)) = behind
                .map(|at| (at, tree.item(at)))
                .filter(|(_, item)| item.start <= self.last)
            else {
                self.next = None;
                let last = self.last;
                return Some((Gap { first, last }, behind));
            };
            self.next = item.last.checked_add(1);
            self.behind = tree.next(at);
            if let Some(last) = item.start.checked_sub(1).filter(|last| first <= *last) {
                return Some((Gap { first, last }, behind));
            }
        }
    }
}

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// The bytes of `range` that are in the space and in no extent, in ascending order.
    /// [`fill`](Self::fill) needs one node for each of these parts.
    ///
    /// # Cost
    /// O(log n) for the first, and O(1) on average for each extent that overlaps the range.
    pub fn free_in(&self, range: Extent<Iova>) -> impl Iterator<Item = Extent<Iova>> + '_ {
        let granules = self.around(range);
        let mut parts = granules.map(|granules| self.parts(granules));
        let parts = core::iter::from_fn(move || parts.as_mut()?.step(&self.tree));
        parts.filter_map(move |(gap, _)| self.bytes(gap.into()).intersection(&range))
    }

    /// The extents that overlap `range`, whole, in ascending order.
    ///
    /// # Cost
    /// Same as [`free_in`](Self::free_in).
    pub fn reserved_in(&self, range: Extent<Iova>) -> impl Iterator<Item = Owned> + '_ {
        let granules = self.around(range);
        let first = granules.and_then(|granules| self.tree.lower_bound(granules.first));
        let nodes = core::iter::successors(first, |at| self.tree.next(*at));
        nodes
            .map(|at| self.owned(at))
            .take_while(move |owned| owned.extent.overlaps(&range))
    }

    /// Reserves every free part of `range`, each as an extent of its own, and passes its grant to
    /// `granted`, in ascending order. Returns their number, which is 0 if nothing is free.
    ///
    /// A range that reaches beyond the space is refused; clip it with [`Extent::intersection`].
    ///
    /// # Errors
    /// See [`RangeError`]; nothing has changed, and `granted` was not called.
    ///
    /// # Cost
    /// O(log n) for each part, and O(1) on average for each extent that overlaps the range. Each
    /// part takes a node; all nodes are obtained before the first one is used. That is at most one
    /// node more than the number of extents that overlap the range. [`free_in`](Self::free_in)
    /// counts them.
    ///
    /// # Example
    /// ```
    /// use furlong::addr::{Extent, Iova};
    /// use furlong::iova::VecSpace;
    ///
    /// let extent = |start, len| Extent::from_len(Iova::new(start), len).unwrap();
    /// let mut space = VecSpace::new(extent(0, 1 << 32), 4096, Vec::new())?;
    /// let doorbell = space.reserve_at(extent(0xfee0_1000, 0x1000))?;
    /// // Reserve the addresses of interrupt messages.
    /// let mut rest = Vec::new();
    /// space.fill(extent(0xfee0_0000, 1 << 20), |grant| rest.push(grant))?;
    /// assert_eq!(rest[0].extent(), extent(0xfee0_0000, 0x1000));
    /// assert_eq!(rest[1].extent(), extent(0xfee0_2000, 0xf_e000));
    /// # let _ = doorbell;
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn fill(
        &mut self,
        range: Extent<Iova>,
        mut granted: impl FnMut(Grant),
    ) -> Result<usize, RangeError> {
        self.recover();
        let wanted = self.within(range)?;
        let mut parts = self.parts(wanted);
        let count = self.prepare_parts(parts)?;
        while let Some((gap, behind)) = parts.step(&self.tree) {
            let at = self.link(gap, behind, Kind::Granted);
            let at = at.expect("memory was there before the first one");
            granted(self.granted(at));
        }
        Ok(count)
    }

    /// Releases all of `range` except [`Fixed`](Kind::Fixed) extents. Each piece is passed to
    /// `released`, in ascending order, with the kind and the index that its extent had. Returns
    /// their number, which is 0 if nothing of the range was reserved.
    ///
    /// An extent that is partly inside is cut. The remainder stays reserved, but becomes
    /// [`Unclaimed`](Kind::Unclaimed): its grant is stale, and [`claim`](Self::claim) makes a new
    /// one. The lowest remaining part keeps the index. The owner of the grant can avoid all this
    /// with [`release_part`](Self::release_part). Drop the grants of extents that are wholly
    /// inside, as for [`release_at`](Self::release_at).
    ///
    /// # Errors
    /// See [`RangeError`]; nothing has changed, and `released` was not called.
    ///
    /// # Cost
    /// O(log n), plus the cost of a [`release`](Self::release) for each piece. It needs one node if
    /// it cuts the middle out of an extent, and none otherwise: [`RELEASE_RANGE_NODES`].
    pub fn release_range(
        &mut self,
        range: Extent<Iova>,
        mut released: impl FnMut(Owned),
    ) -> Result<usize, RangeError> {
        self.recover();
        let wanted = self.within(range)?;
        let mut next = self.tree.lower_bound(wanted.first);
        if next.is_some_and(|at| self.kind(at) != Kind::Fixed && self.is_middle(at, wanted)) {
            self.prepare(RELEASE_RANGE_NODES)?;
        }
        let mut count = 0;
        while let Some(at) = next.filter(|at| self.tree.item(*at).start <= wanted.last) {
            next = self.tree.next(at);
            let kind = self.kind(at);
            if kind == Kind::Fixed {
                continue;
            }
            let item = self.tree.item(at);
            let part = Reserved {
                start: item.start.max(wanted.first),
                last: item.last.min(wanted.last),
            };
            self.carve(at, part, Kind::Unclaimed);
            count += 1;
            released(Owned {
                extent: self.bytes(part),
                kind,
                index: at.index(),
            });
        }
        Ok(count)
    }

    /// Releases `part` of a grant's extent. The remainders get grants of their own; the lowest one
    /// keeps the index. The data of each is its share of the original data, or all of it if that
    /// share is empty.
    ///
    /// # Errors
    /// See [`PartError`]; the grant is returned, and nothing has changed.
    ///
    /// # Cost
    /// Same as [`release`](Self::release), and one node if the part is in the middle:
    /// [`RELEASE_RANGE_NODES`].
    pub fn release_part(&mut self, grant: Grant, part: Extent<Iova>) -> Result<Kept, NotReleased> {
        let ready = self.part_of(&grant, part).and_then(|wanted| {
            let nodes = usize::from(self.is_middle(grant.at, wanted));
            let room = self.prepare(nodes);
            room.map(|()| wanted).map_err(|_| PartError::NoMemory)
        });
        let wanted = match ready {
            Ok(wanted) => wanted,
            Err(cause) => return Err(NotReleased { grant, cause }),
        };
        let is_below = grant.extent.start() < part.start();
        let above = self.carve(grant.at, wanted.into(), Kind::Granted);
        Ok(Kept {
            below: is_below.then(|| self.share(&grant, grant.at)),
            above: above.map(|at| self.share(&grant, at)),
        })
    }

    /// The grant of `at`, whose extent is a piece of that of `grant`.
    fn share(&self, grant: &Grant, at: NodeId) -> Grant {
        let extent = self.bytes(*self.tree.item(at));
        Grant {
            at,
            tag: grant.tag,
            extent,
            data: grant.data.intersection(&extent).unwrap_or(extent),
        }
    }

    /// Cuts `part` off a grant's extent without releasing it, and returns its grant. The lowest
    /// piece keeps the index.
    ///
    /// # Panics
    /// If there are fewer free nodes than [`cuts`](Self::cuts).
    #[cfg(feature = "alloc")]
    pub(crate) fn part_off(
        &mut self,
        grant: Grant,
        part: Extent<Iova>,
    ) -> Result<(Grant, Kept), NotReleased> {
        let wanted = match self.part_of(&grant, part) {
            Ok(wanted) => wanted,
            Err(cause) => return Err(NotReleased { grant, cause }),
        };
        self.recover();
        let item = *self.tree.item(grant.at);
        let above = (wanted.last < item.last).then(|| self.cut(grant.at, wanted.last + 1));
        let is_below = item.start < wanted.first;
        let at = match is_below {
            true => self.cut(grant.at, wanted.first),
            false => grant.at,
        };
        let kept = Kept {
            below: is_below.then(|| self.share(&grant, grant.at)),
            above: above.map(|at| self.share(&grant, at)),
        };
        Ok((self.share(&grant, at), kept))
    }

    /// Number of nodes that [`part_off`](Self::part_off) needs.
    #[cfg(feature = "alloc")]
    pub(crate) fn cuts(&self, grant: &Grant, part: Extent<Iova>) -> usize {
        let Ok(wanted) = self.part_of(grant, part) else {
            return 0;
        };
        let item = self.tree.item(grant.at);
        usize::from(item.start < wanted.first) + usize::from(wanted.last < item.last)
    }

    /// `part` in granules, if it can be released from the grant's extent.
    fn part_of(&self, grant: &Grant, part: Extent<Iova>) -> Result<Gap, PartError> {
        if !self.holds(grant) {
            return Err(PartError::Stale);
        }
        let wanted = whole(part, self.shift).ok_or(PartError::Ragged)?;
        if grant.extent.intersection(&part) != Some(part) {
            return Err(PartError::NotInside);
        }
        Ok(wanted)
    }

    /// Removes `part` from the extent of `at`, which contains it. The remainders become `kind`;
    /// returns the node of the remainder above the part. If there is a remainder on both sides, a
    /// free node must exist.
    fn carve(&mut self, at: NodeId, part: Reserved, kind: Kind) -> Option<NodeId> {
        self.recover();
        let item = *self.tree.item(at);
        match (item.start < part.start, part.last < item.last) {
            (true, true) => {
                return Some(self.divide(at, part.start - 1, part.last + 1, kind));
            }
            (true, false) => self.shrink(at, kind, |item| item.last = part.start - 1),
            (false, true) => {
                self.shrink(at, kind, |item| item.start = part.last + 1);
                return Some(at);
            }
            (false, false) => self.unlink(at),
        }
        None
    }

    /// Cuts the extent of `at` in two before granule `first`, and returns the node of the upper
    /// piece. Both keep its kind.
    #[cfg(feature = "alloc")]
    pub(crate) fn cut(&mut self, at: NodeId, first: u64) -> NodeId {
        self.divide(at, first - 1, first, self.kind(at))
    }

    /// Ends the extent of `at` at `last`, and reserves its granules from `first` on by another
    /// node, which is returned. Both pieces become `kind`.
    ///
    /// The lower piece is shortened before the upper one is linked. A panic of user code between
    /// the two would leave reserved granules free. So the upper piece is recorded in `rest`, and
    /// [`recover`](Self::recover) reserves it before any other reservation.
    fn divide(&mut self, at: NodeId, last: u64, first: u64, kind: Kind) -> NodeId {
        let rest = Gap {
            first,
            last: self.tree.item(at).last,
        };
        let next = self.tree.next(at);
        let above = self.take(rest.into());
        let above = above.expect("memory was there before the cut");
        self.is_interrupted = true;
        self.rest = Some((rest, kind));
        self.shrink(at, kind, |item| item.last = last);
        self.join(above, next, kind);
        self.rest = None;
        above
    }

    /// Moves an end of the extent of `at`, and sets its kind.
    fn shrink(&mut self, at: NodeId, kind: Kind, change: impl FnOnce(&mut Reserved)) {
        self.is_interrupted = true;
        self.tree.update(at, change);
        self.tree.set_mark(at, kind as u8);
        self.is_interrupted = false;
    }

    /// True if a remainder of the extent of `at` lies on both sides of `part`.
    fn is_middle(&self, at: NodeId, part: Gap) -> bool {
        let item = self.tree.item(at);
        item.start < part.first && part.last < item.last
    }

    /// Obtains a node for each of `parts`, and returns their number.
    pub(super) fn prepare_parts(&mut self, mut parts: Parts) -> Result<usize, NoMemory> {
        let mut count = 0;
        while parts.step(&self.tree).is_some() {
            count += 1;
        }
        self.prepare(count).map(|()| count)
    }

    /// The free parts of a range in granules.
    pub(crate) fn parts(&self, range: Gap) -> Parts {
        Parts {
            next: Some(range.first),
            last: range.last,
            behind: self.tree.lower_bound(range.first),
        }
    }

    /// The granules of the space that overlap `range`.
    fn around(&self, range: Extent<Iova>) -> Option<Gap> {
        let first = (range.start().raw() >> self.shift).max(self.bounds.first);
        let last = (range.last().raw() >> self.shift).min(self.bounds.last);
        (first <= last).then_some(Gap { first, last })
    }

    pub(crate) fn within(&self, range: Extent<Iova>) -> Result<Gap, RangeError> {
        self.inside(range).map_err(|error| match error {
            ReserveAtError::Ragged(range) => RangeError::Ragged(range),
            _ => RangeError::Outside(self.extent()),
        })
    }

    /// The grant of an extent, all of which is data.
    pub(crate) fn granted(&self, at: NodeId) -> Grant {
        let extent = self.bytes(*self.tree.item(at));
        Grant {
            at,
            tag: self.tag,
            extent,
            data: extent,
        }
    }
}

impl From<Gap> for Reserved {
    fn from(gap: Gap) -> Self {
        Self {
            start: gap.first,
            last: gap.last,
        }
    }
}
