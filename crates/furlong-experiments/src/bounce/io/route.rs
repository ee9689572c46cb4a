//! The way from a job's buffers to the device: through a pool, or straight.

use furlong::addr::Iova;
use furlong::bounce::{Area, Back, Counters, Device, Direction, Order, Pool};

use super::originals::Originals;
use super::part::Way;
use crate::bounce::ground::{Ground, Place};
use crate::bounce::{Arm, pool};
use crate::said;
use furlong_lab::model::Failure;

/// A way to the device.
pub(super) trait Route: Sync {
    /// Opens it for a buffer, in which a block that is written stands already: what ends it, and
    /// where the device finds the block. `None` where there is no room at this moment.
    fn open<'m>(
        &'m self,
        originals: &'m Originals,
        buffer: usize,
        way: Way,
    ) -> Option<(Iova, Place<'m>)>;

    /// Ends it: a block that was read stands in its buffer then.
    ///
    /// # Errors
    /// There was none.
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
pub(super) struct Bounced<O: Order, A: Area, K: Counters> {
    pool: Pool<Ground, Arm<O, A, K>>,
    device: Device,
}

impl<O: Order, A: Area, K: Counters> Bounced<O, A, K> {
    /// Through a pool of its own.
    ///
    /// # Errors
    /// There is no memory.
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self {
            pool: pool::pool(Ground::default(), pool::AREAS)?,
            device: pool::device()?,
        })
    }

    pub(super) fn pool(&self) -> &Pool<Ground, Arm<O, A, K>> {
        &self.pool
    }
}

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
        // SAFETY: the buffer is `len` bytes long and lives as long as `'m`; it is the job's alone,
        // which leaves it to the pool until it has closed the route.
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
        unmapped.map_err(said)
    }
}
