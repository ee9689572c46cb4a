//! Removal of a range from a map: whole entries only, or every entry that overlaps it, or exactly
//! the range.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::{Entries, Map};
use crate::addr::{Address, Extent, Iova};
use crate::rbtree::{self, NoMemory, NodeId, Store};

/// Nodes that [`Map::cut_range`] needs at most. It needs one if it cuts the middle out of an entry.
/// An insertion needs one, too; no other operation needs any.
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
    /// Removes all entries in `range` and passes each to `removed`, in ascending order. Returns
    /// their number, which may be 0. Entries are removed whole or not at all, as virtio-iommu and
    /// VFIO specify for UNMAP.
    ///
    /// # Errors
    /// [`Straddles`] contains the lowest entry that is only partly in the range; nothing has
    /// changed, and `removed` was not called.
    ///
    /// # Cost
    /// O(log n), plus amortised O(1) for each entry, with a climb of O(log n) in the worst case. No
    /// node.
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

    /// Removes every entry that overlaps `range`, whole, and passes each to `removed`, in ascending
    /// order. Returns their number. This suits caches, where removing too much only costs a miss,
    /// as in vhost's invalidation.
    ///
    /// # Cost
    /// Same as [`unmap_range`](Self::unmap_range).
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

    /// Removes exactly `range` and passes each piece to `removed`, in ascending order. Returns
    /// their number. An entry that straddles an end of the range is cut: `split` receives a value
    /// and a number of bytes, and returns the value for that many bytes from the start and the
    /// value for the rest. If `split` panics, the entry that it was to split is lost.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed, and neither function was called.
    ///
    /// # Cost
    /// Same as [`unmap_range`](Self::unmap_range), and as much again for each entry that is cut. It
    /// needs one node if it cuts the middle out of an entry, and none otherwise:
    /// [`CUT_RANGE_NODES`].
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
            // The node after it, before which the remainders of the entry are inserted.
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

    /// Removes all entries and passes each to `removed`, in ascending order.
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

    /// The node after `at`, if it overlaps `range`.
    fn next_in(&self, at: NodeId, range: Extent<Iova>) -> Option<NodeId> {
        let next = self.tree.next(at);
        next.filter(|next| self.tree.item(*next).start <= range.last().raw())
    }
}
