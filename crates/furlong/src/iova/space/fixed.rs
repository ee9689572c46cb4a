//! Firmware and machine regions, which may overlap each other.

use crate::addr::{Extent, Iova};
use crate::iova::{Config, Kind, ReserveAtError, Space, Storage};

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// Reserves `region` for the firmware or the machine: regions listed by a device tree or an
    /// RMRR, or the window of message-signalled interrupts. Regions may overlap each other. Parts
    /// already covered by other fixed extents stay as they are; each remaining part becomes a
    /// [`Fixed`](Kind::Fixed) extent. These new extents are passed to `added`, in ascending order;
    /// a caller that maps regions has yet to map them. Returns their number.
    ///
    /// A fixed extent has no grant. Releases of ranges skip it; [`release_at`](Self::release_at)
    /// releases it.
    ///
    /// # Errors
    /// See [`ReserveAtError`]; [`Occupied`](ReserveAtError::Occupied) if it overlaps an extent of
    /// another kind. Nothing has changed, and `added` was not called.
    ///
    /// # Cost
    /// Same as [`fill`](Self::fill): at most one node more than the number of fixed extents that
    /// overlap the region. All nodes are obtained before the first one is used.
    ///
    /// # Example
    /// ```
    /// use furlong::addr::{Extent, Iova};
    /// use furlong::iova::VecSpace;
    ///
    /// let extent = |start, len| Extent::from_len(Iova::new(start), len).unwrap();
    /// let mut space = VecSpace::new(extent(0, 1 << 32), 4096, Vec::new())?;
    /// space.reserve_fixed(extent(0x3000, 0x2000), |_| ())?;
    /// let mut added = Vec::new();
    /// space.reserve_fixed(extent(0x1000, 0x8000), |part| added.push(part))?;
    /// assert_eq!(added, [extent(0x1000, 0x2000), extent(0x5000, 0x4000)]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn reserve_fixed(
        &mut self,
        region: Extent<Iova>,
        mut added: impl FnMut(Extent<Iova>),
    ) -> Result<usize, ReserveAtError> {
        self.recover();
        let wanted = self.inside(region)?;
        let mut owners = self.reserved_in(region);
        if let Some(owner) = owners.find(|owner| owner.kind != Kind::Fixed) {
            return Err(ReserveAtError::Occupied(owner.extent));
        }
        drop(owners);
        let mut parts = self.parts(wanted);
        let count = self.prepare_parts(parts);
        let count = count.map_err(|_| ReserveAtError::NoMemory)?;
        while let Some((gap, behind)) = parts.step(&self.tree) {
            let linked = self.link(gap, behind, Kind::Fixed);
            linked.expect("memory was there before the first one");
            added(self.bytes(gap.into()));
        }
        Ok(count)
    }
}
