//! Taking a range out of a map: refused where it would cut an entry, or with every entry that it
//! touches, or exactly.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::{Entries, Map};
use crate::addr::{Address, Extent, Iova};
use crate::rbtree::{self, NoMemory, NodeId, Store};

/// Nodes that [`Map::cut_range`] needs at most: one, where it cuts the middle out of an entry. So
/// does an insertion; nothing else needs any.
pub const CUT_RANGE_NODES: usize = 1;

/// The range would cut this entry; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Straddles(pub Extent<Iova>);

impl fmt::Display for Straddles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is partly outside the range", self.0)
    }
}

impl Error for Straddles {}

impl<V, S: Store<Entries<V>>, C: rbtree::Config> Map<V, S, C> {
    /// Removes all entries in `range` and hands each to `removed`, in ascending order. Returns how
    /// many there were, which may be none. Entries are removed whole or not at all: what
    /// virtio-iommu and VFIO ask of UNMAP.
    ///
    /// # Errors
    /// [`Straddles`] names an entry that is only partly in the range, the lowest one; nothing has
    /// changed, and `removed` was not called.
    ///
    /// # Cost
    /// O(log n), and for each entry an amortised O(1) and an O(log n) climb at worst; no node.
    pub fn unmap_range(
        &mut self,
        range: Extent<Iova>,
        removed: impl FnMut(Extent<Iova>, V),
    ) -> Result<usize, Straddles> {
        let ends = [self.first_in(range), self.last_in(range)];
        let mut ends = ends.into_iter().flatten().map(|at| self.extent(at));
        match ends.find(|entry| entry.intersection(&range) != Some(*entry)) {
            Some(entry) => Err(Straddles(entry)),
            None => Ok(self.invalidate_range(range, removed)),
        }
    }

    /// Removes every entry of which an address is in `range`, whole, and hands each to `removed`,
    /// in ascending order. Returns how many there were. This is for caches, where too much gone
    /// costs a miss: what vhost does with an invalidation.
    ///
    /// # Cost
    /// As [`unmap_range`](Self::unmap_range).
    pub fn invalidate_range(
        &mut self,
        range: Extent<Iova>,
        mut removed: impl FnMut(Extent<Iova>, V),
    ) -> usize {
        let mut next = self.first_in(range);
        let mut count = 0;
        while let Some(at) = next {
            let extent = self.extent(at);
            next = self.next_in(at, range);
            let value = self.unlink(at);
            count += 1;
            removed(extent, value);
        }
        count
    }

    /// Removes exactly `range` and hands each piece to `removed`, in ascending order. Returns how
    /// many there were. An entry that straddles an end of the range is cut: `split` makes two
    /// values of one, the first for as many bytes from its start as it is told, the second for the
    /// rest. (Where `split` panics, the entry that it was to split is gone.)
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed, and neither function was called.
    ///
    /// # Cost
    /// As [`unmap_range`](Self::unmap_range), and the same again for an entry that is cut. It needs
    /// one node where it cuts the middle out of an entry, and else none: [`CUT_RANGE_NODES`].
    ///
    /// # Example
    /// ```
    /// use furlong::addr::{Extent, Iova};
    /// use furlong::iova::{Map, VecMap};
    ///
    /// let extent = |start, len| Extent::from_len(Iova::new(start), len).unwrap();
    /// let mut map: VecMap<u64> = Map::new(Vec::new());
    /// map.insert(extent(0x1000, 0x3000), 0x8000_0000)?;
    /// let split = |guest, bytes| (guest, guest + bytes);
    /// map.cut_range(extent(0x2000, 0x1000), split, |extent, guest| {
    ///     assert_eq!((extent.start(), guest), (Iova::new(0x2000), 0x8000_1000));
    /// })?;
    /// assert_eq!(map.get(Iova::new(0x3000)), Some((extent(0x3000, 0x1000), &0x8000_2000)));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn cut_range(
        &mut self,
        range: Extent<Iova>,
        mut split: impl FnMut(V, u64) -> (V, V),
        mut removed: impl FnMut(Extent<Iova>, V),
    ) -> Result<usize, NoMemory> {
        let mut next = self.first_in(range);
        let first = next.map(|at| self.extent(at));
        if first.is_some_and(|entry| entry.start() < range.start() && range.last() < entry.last()) {
            self.prepare(CUT_RANGE_NODES)?;
        }
        let mut count = 0;
        while let Some(at) = next {
            let mut part = self.extent(at);
            // The node behind it: where what is left of the entry goes.
            let behind = self.tree.next(at);
            next = self.next_in(at, range);
            let mut value = self.unlink(at);
            if let Some((below, rest)) = part.split_at(range.start()) {
                let (low, high) = split(value, range.start().raw() - part.start().raw());
                self.link(below, low, behind);
                (part, value) = (rest, high);
            }
            if let Some((rest, above)) = range.end().and_then(|end| part.split_at(end)) {
                let (low, high) = split(value, above.start().raw() - part.start().raw());
                self.link(above, high, behind);
                (part, value) = (rest, low);
            }
            count += 1;
            removed(part, value);
        }
        Ok(count)
    }

    /// Removes all entries and hands each to `removed`, in ascending order.
    ///
    /// # Cost
    /// O(n), no allocation.
    pub fn clear(&mut self, mut removed: impl FnMut(Extent<Iova>, V)) {
        let mut next = self.tree.first();
        while let Some(at) = next {
            next = self.tree.next(at);
            let extent = self.extent(at);
            let value = self.unlink(at);
            removed(extent, value);
        }
    }

    /// The node behind `at`, if it has an address of `range`.
    fn next_in(&self, at: NodeId, range: Extent<Iova>) -> Option<NodeId> {
        let next = self.tree.next(at);
        next.filter(|next| self.tree.item(*next).start <= range.last().raw())
    }
}
