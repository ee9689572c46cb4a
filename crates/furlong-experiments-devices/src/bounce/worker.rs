//! Work of a CPU: it repeatedly unmaps one of its mappings and makes another.
#![forbid(unsafe_code)]

use std::thread;

use furlong::addr::{Extent, Iova};
use furlong_spec::Random;

use super::mapper::Mapper;
use crate::iova_magazine::watch::Watch;
use crate::traffic::Buffer;
use furlong_lab::model::Failure;

/// Mappings in a turn.
pub(super) const TURN: usize = 64;

/// Places that are drawn beforehand and reused cyclically.
const DRAWN: usize = 2048;

/// Attempts after which a map without room has failed. Other CPUs map and unmap meanwhile, so one
/// search may miss slots that were free all along.
const TRIES: u32 = 100_000;

/// Stands for any buffer in a [`Watch`]: the length of a mapping is known to be right.
const ANY: Buffer = Buffer { size: 1, offset: 0 };

/// A CPU and its mappings.
pub(super) struct Worker<M: Mapper> {
    len: usize,
    live: Vec<M::Mapping>,
    /// Drawn order of the mappings to replace.
    places: Vec<u32>,
    at: usize,
}

impl<M: Mapper> Worker<M> {
    /// Makes a worker with `outstanding` mappings of `len` bytes.
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

    /// Runs one turn.
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

    /// Unmaps everything.
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

/// Reports a new mapping to the watcher.
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
    Err(Failure(format!("the pool had no room for {len} bytes")))
}

fn extent(at: Iova, len: usize) -> Extent<Iova> {
    Extent::from_len(at, len as u64).expect("a mapping is somewhere")
}
