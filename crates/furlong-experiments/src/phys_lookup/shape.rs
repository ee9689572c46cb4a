//! Workloads: their kinds, as the plan names them, calls per batch, and memory.

use furlong_spec::phys_map::{REAL_MAPS, RealMap};
use serde::Deserialize;

use super::layout::Layout;
use furlong_lab::model::{Failure, Workload};

/// Kinds of workloads, as the plan names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// Segments of eight frames, side by side.
    Find(Draw),
    /// A chunk with holes.
    Frag(Draw),
    /// Many segments, far apart.
    Fleet,
    /// All of [`REAL_MAPS`].
    Maps,
    /// One of them.
    Map(MapPlace),
    /// As [`Find`](Self::Find), with a read-side section around each lookup.
    Guard,
    /// As [`Find`](Self::Find) without a lookup.
    Loop(Draw),
    /// As [`Find`](Self::Find), beside another thread.
    Race(Beside),
}

/// The time at which addresses are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Draw {
    /// Before the loop.
    Beforehand,
    /// At random, inside the loop.
    Random,
}

/// The place of a map in [`REAL_MAPS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct MapPlace(usize);

impl TryFrom<String> for MapPlace {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let place = REAL_MAPS.iter().position(|map| map.name == name);
        place
            .map(Self)
            .ok_or_else(|| format!("there is no map `{name}`"))
    }
}

/// Activity of the other thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Beside {
    /// It computes.
    Computes,
    /// It plugs and unplugs this many times a second, which is a parameter, and computes otherwise.
    Plugs(#[serde(skip)] u64),
    /// It plugs and unplugs as fast as it can.
    PlugsAlways,
}

/// A parsed workload.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// Calls of a batch.
    pub(super) calls: u64,
    memory: Memory,
}

/// Memory of a workload.
#[derive(Clone, Copy, Debug)]
enum Memory {
    SideBySide,
    Fragments {
        start_mib: u64,
        end_mib: u64,
    },
    Fleet {
        segments: u64,
    },
    Maps {
        maps: &'static [RealMap],
        scale: u64,
    },
}

/// Calls per batch if no document specifies them: enough to make the clock negligible.
const CALLS: u64 = 4096;

/// Maximum MiB of a workload: its random addresses have 31 bits.
const MIB_MAX: u64 = 2048;

impl Shape {
    /// Parses a workload.
    ///
    /// # Errors
    /// It is not known, or a parameter is missing or invalid.
    pub(super) fn of(workload: &Workload) -> Result<Self, Failure> {
        let mut kind = workload.read()?;
        if let Kind::Race(Beside::Plugs(rate)) = &mut kind {
            *rate = workload.number("pairs_per_s", 1..=1_000_000)?;
        }
        let is_seed = matches!(kind, Kind::Find(_) | Kind::Frag(_));
        let calls = match workload.params.get("calls") {
            None if !is_seed => CALLS,
            _ => workload.number("calls", 1..=1_000_000_000)?,
        };
        let maps = |maps| {
            let scale = match workload.params.get("scale") {
                None => 1,
                Some(_) => workload.number("scale", 1..=1 << 20)?,
            };
            Ok(Memory::Maps { maps, scale })
        };
        let memory = match kind {
            Kind::Find(_) | Kind::Guard | Kind::Loop(_) | Kind::Race(_) => Memory::SideBySide,
            Kind::Frag(_) => {
                let end_mib = workload.number("end_mib", 2..=MIB_MAX)?;
                let start_mib = workload.number("start_mib", 1..=end_mib - 1)?;
                Memory::Fragments { start_mib, end_mib }
            }
            Kind::Fleet => Memory::Fleet {
                segments: workload.number("segments", 2..=100_000)?,
            },
            Kind::Maps => maps(&REAL_MAPS)?,
            Kind::Map(MapPlace(at)) => maps(&REAL_MAPS[at..=at])?,
        };
        Ok(Self {
            kind,
            calls,
            memory,
        })
    }

    /// True if addresses are drawn inside the loop.
    pub(super) fn is_random(&self) -> bool {
        let random = Draw::Random;
        [Kind::Find(random), Kind::Frag(random), Kind::Loop(random)].contains(&self.kind)
    }

    /// The memory layouts of the workload; most have one.
    ///
    /// # Errors
    /// A real map cannot be read.
    pub(super) fn layouts(&self, seed: u64) -> Result<Vec<Layout>, Failure> {
        Ok(match self.memory {
            Memory::SideBySide => vec![Layout::side_by_side()],
            Memory::Fragments { start_mib, end_mib } => {
                vec![Layout::fragments(start_mib, end_mib, seed)]
            }
            Memory::Fleet { segments } => vec![Layout::fleet(segments, seed)],
            Memory::Maps { maps, scale } => {
                let layout = |map| Layout::of_map(map, scale).map_err(Failure);
                maps.iter().map(layout).collect::<Result<_, _>>()?
            }
        })
    }
}
