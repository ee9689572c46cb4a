//! What a CPU does: of the mappings that it has it gives back one, and takes another.
#![forbid(unsafe_code)]

use std::thread;

use furlong::addr::{Extent, Iova};
use furlong_spec::Random;

use super::mapper::Mapper;
use crate::iova_magazine::watch::Watch;
use crate::traffic::Buffer;
use furlong_lab::model::Failure;

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
pub(super) struct Worker<M: Mapper> {
    len: usize,
    live: Vec<M::Mapping>,
    /// Which one goes next.
    places: Vec<u32>,
    at: usize,
}

impl<M: Mapper> Worker<M> {
    /// With `outstanding` mappings of `len` bytes.
    ///
    /// # Errors
    /// There is no room.
    pub(super) fn new(
        (len, outstanding): (usize, usize),
        random: &mut Random,
        mapper: &M,
        watch: &impl Watch,
    ) -> Result<Self, Failure> {
        let live = (0..outstanding).map(|_| map(len, mapper, watch));
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
    pub(super) fn turn<W: Watch>(&mut self, mapper: &M, watch: &W) -> Result<(), Failure> {
        let from = self.at;
        self.at = (self.at + TURN) % DRAWN;
        for place in &self.places[from..from + TURN] {
            let mapping = &mut self.live[*place as usize];
            if W::LOOKS {
                watch.released(extent(M::address(*mapping), self.len));
            }
            mapper.unmap(*mapping, self.len)?;
            *mapping = map(self.len, mapper, watch)?;
        }
        Ok(())
    }

    /// Gives back all that it has.
    ///
    /// # Errors
    /// A mapping was lost.
    pub(super) fn finish(self, mapper: &M) -> Result<(), Failure> {
        let mut live = self.live.into_iter();
        live.try_for_each(|mapping| mapper.unmap(mapping, self.len))
    }
}

#[inline(always)]
fn map<M: Mapper>(len: usize, mapper: &M, watch: &impl Watch) -> Result<M::Mapping, Failure> {
    let found = match mapper.map(len) {
        Some(mapping) => mapping,
        None => map_patiently(len, mapper)?,
    };
    claim(watch, M::address(found), len);
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
fn map_patiently<M: Mapper>(len: usize, mapper: &M) -> Result<M::Mapping, Failure> {
    for _ in 0..TRIES {
        thread::yield_now();
        if let Some(mapping) = mapper.map(len) {
            return Ok(mapping);
        }
    }
    Err(Failure(format!("there was no room for {len} bytes")))
}

fn extent(at: Iova, len: usize) -> Extent<Iova> {
    Extent::from_len(at, len as u64).expect("a mapping is somewhere")
}
