//! What a CPU does: of the mappings that it has it gives back one, and takes another.
#![forbid(unsafe_code)]

use std::thread;

use furlong::addr::{Extent, Iova};
use furlong::bounce::{Area, Counters, Order};
use furlong_spec::Random;

use super::slots::Slots;
use crate::experiments::Failure;
use crate::experiments::iova_magazine::watch::Watch;
use crate::experiments::traffic::Buffer;

/// Mappings of a turn.
pub(super) const TURN: usize = 64;

/// Places that are drawn beforehand, and gone through again and again.
const DRAWN: usize = 2048;

/// A map that has found no room so often has failed. Others give back and take meanwhile, so that
/// one may miss what was free all the time.
const TRIES: u32 = 100_000;

/// For whoever watches: the length of a mapping is known to be right.
const ANY: Buffer = Buffer { size: 1, offset: 0 };

/// A CPU and what it has.
pub(super) struct Worker {
    len: usize,
    live: Vec<Iova>,
    /// Which one goes next.
    places: Vec<u32>,
    at: usize,
}

impl Worker {
    /// With `outstanding` mappings of `len` bytes.
    ///
    /// # Errors
    /// There is no room.
    pub(super) fn new<O: Order, A: Area, K: Counters>(
        (len, outstanding): (usize, usize),
        random: &mut Random,
        slots: &Slots<O, A, K>,
        watch: &impl Watch,
    ) -> Result<Self, Failure> {
        let live = (0..outstanding).map(|_| map(len, slots, watch));
        let live = live.collect::<Result<_, _>>()?;
        let places = (0..DRAWN).map(|_| random.index(outstanding) as u32);
        Ok(Self {
            len,
            live,
            places: places.collect(),
            at: 0,
        })
    }

    /// One turn.
    ///
    /// # Errors
    /// A mapping was lost, or there is no room.
    #[inline(never)]
    pub(super) fn turn<O: Order, A: Area, K: Counters, W: Watch>(
        &mut self,
        slots: &Slots<O, A, K>,
        watch: &W,
    ) -> Result<(), Failure> {
        let from = self.at;
        self.at = (self.at + TURN) % DRAWN;
        for place in &self.places[from..from + TURN] {
            let mapping = &mut self.live[*place as usize];
            if W::LOOKS {
                watch.released(extent(*mapping, self.len));
            }
            slots.unmap(*mapping)?;
            *mapping = map(self.len, slots, watch)?;
        }
        Ok(())
    }

    /// Gives back all that it has.
    ///
    /// # Errors
    /// A mapping was lost.
    pub(super) fn finish<O: Order, A: Area, K: Counters>(
        self,
        slots: &Slots<O, A, K>,
    ) -> Result<(), Failure> {
        self.live.into_iter().try_for_each(|at| slots.unmap(at))
    }
}

#[inline(always)]
fn map<O: Order, A: Area, K: Counters>(
    len: usize,
    slots: &Slots<O, A, K>,
    watch: &impl Watch,
) -> Result<Iova, Failure> {
    let found = match slots.map(len) {
        Some(at) => at,
        None => map_patiently(len, slots)?,
    };
    claim(watch, found, len);
    Ok(found)
}

/// Tells whoever watches that a mapping was made.
#[inline(always)]
pub(super) fn claim<W: Watch>(watch: &W, at: Iova, len: usize) {
    if W::LOOKS {
        watch.granted(extent(at, len), ANY);
    }
}

#[cold]
fn map_patiently<O: Order, A: Area, K: Counters>(
    len: usize,
    slots: &Slots<O, A, K>,
) -> Result<Iova, Failure> {
    for _ in 0..TRIES {
        thread::yield_now();
        if let Some(at) = slots.map(len) {
            return Ok(at);
        }
    }
    Err(Failure(format!("there was no room for {len} bytes")))
}

fn extent(at: Iova, len: usize) -> Extent<Iova> {
    Extent::from_len(at, len as u64).expect("a mapping is somewhere")
}
