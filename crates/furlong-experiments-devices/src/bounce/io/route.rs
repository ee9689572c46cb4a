//! The route from a job's buffers to the device: through a pool, or straight.

use furlong::addr::Iova;
use furlong::bounce::{Area, Back, Counters, Direction, Order};

use super::originals::Originals;
use super::part::Way;
use crate::bounce::pool::Pooled;
use crate::bounce::test_memory::{Place, TestMemory};
use furlong_lab::model::Failure;

/// A route to the device.
pub(super) trait Route: Sync {
    /// Opens the route for a buffer, which already holds the data of a write. Returns the handle
    /// that closes it, and the block's memory for the device. `None` if there is no room now.
    fn open<'m>(
        &'m self,
        originals: &'m Originals,
        buffer: usize,
        way: Way,
    ) -> Option<(Iova, Place<'m>)>;

    /// Closes the route: a block that was read is then in its buffer.
    ///
    /// # Errors
    /// The route was not open.
    fn close(&self, end: Iova, way: Way) -> Result<(), Failure>;
}

/// The device works on the buffer itself.
pub(super) struct Straight;

impl Route for Straight {
    fn open<'m>(
        &'m self,
        originals: &'m Originals,
        buffer: usize,
        _: Way,
    ) -> Option<(Iova, Place<'m>)> {
        Some((Iova::new(0), originals.place(buffer)))
    }

    fn close(&self, _: Iova, _: Way) -> Result<(), Failure> {
        Ok(())
    }
}

/// The device works on bounce memory.
pub(super) type Bounced<O, A, K> = Pooled<TestMemory, O, A, K>;

fn direction(way: Way) -> Direction {
    match way {
        Way::Read => Direction::FromDevice,
        Way::Write => Direction::ToDevice,
    }
}

impl<O: Order, A: Area, K: Counters> Route for Bounced<O, A, K> {
    fn open<'m>(
        &'m self,
        originals: &'m Originals,
        buffer: usize,
        way: Way,
    ) -> Option<(Iova, Place<'m>)> {
        let (original, len) = (originals.address(buffer), originals.each());
        // SAFETY: the buffer is `len` bytes long and lives as long as `'m`; only the job accesses
        // it, and it leaves it to the pool until it has closed the route.
        let mapped = unsafe {
            self.pool
                .map_raw(&self.device, original, len, direction(way))
        };
        let at = mapped.ok()?;
        let place = self.pool.memory().place(at, len);
        Some((at, place.expect("a mapping is in a block")))
    }

    fn close(&self, end: Iova, way: Way) -> Result<(), Failure> {
        let direction = direction(way);
        // SAFETY: as in `open`; nothing is synced.
        let unmapped = unsafe { self.pool.unmap_raw(&self.device, end, direction, Back::All) };
        unmapped.map_err(Failure::of)
    }
}
