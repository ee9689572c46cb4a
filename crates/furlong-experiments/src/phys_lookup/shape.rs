//! Workloads, parsed from name and parameters: calls per batch, and their memory.
#![forbid(unsafe_code)]

use furlong_spec::phys_map::REAL_MAPS;

use super::layout::Layout;
use furlong_lab::model::{Failure, Workload};

/// Kinds of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Segments of eight frames, side by side.
    Find,
    /// A chunk with holes.
    Frag,
    /// Many segments, far apart.
    Fleet,
    /// One map of [`REAL_MAPS`], or all of them.
    Maps(Option<usize>),
    /// As [`Find`](Self::Find), with a read-side section around each lookup.
    Guard,
    /// As [`Find`](Self::Find) without a lookup.
    Loop,
    /// As [`Find`](Self::Find), beside another thread.
    Race(Beside),
}

/// Activity of the other thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// It computes.
    Computes,
    /// It plugs and unplugs this many times a second, and computes otherwise.
    Plugs(u64),
    /// It plugs and unplugs as fast as it can.
    PlugsAlways,
}

/// A parsed workload.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// True if addresses are drawn inside the loop.
    pub(super) random: bool,
    /// Calls of a batch.
    pub(super) calls: u64,
    /// The parameters of the layouts.
    sizes: Sizes,
}

/// Parameters; 0 if absent.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    start_mib: u64,
    end_mib: u64,
    segments: u64,
    scale: u64,
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
        let name = workload.name.as_str();
        let (plain, random) = match name.strip_suffix("-rand") {
            Some(plain) => (plain, true),
            None => (name, false),
        };
        let param = |name: &str| workload.params.get(name).copied();
        let wrong = |what: &str| Failure(format!("`{name}`: {what}"));
        let kind = match plain {
            _ if plain.starts_with("find-") => Kind::Find,
            _ if plain.starts_with("frag-") => Kind::Frag,
            "loop" => Kind::Loop,
            _ if random => return Err(wrong("there is no such workload")),
            "fleet" => Kind::Fleet,
            "maps" => Kind::Maps(None),
            "guard" => Kind::Guard,
            "plug-race" => Kind::Race(match param("pairs_per_s") {
                Some(pairs @ 1..=1_000_000) => Beside::Plugs(pairs),
                _ => return Err(wrong("`pairs_per_s` is a number from 1 to 1,000,000")),
            }),
            "plug-race-idle" => Kind::Race(Beside::Computes),
            "plug-race-full" => Kind::Race(Beside::PlugsAlways),
            _ => {
                let map = plain.strip_prefix("map-");
                let place = REAL_MAPS.iter().position(|known| Some(known.name) == map);
                Kind::Maps(Some(
                    place.ok_or_else(|| wrong("there is no such workload"))?,
                ))
            }
        };
        let is_seed = matches!(kind, Kind::Find | Kind::Frag);
        let calls = match param("calls") {
            None if !is_seed => CALLS,
            Some(calls @ 1..=1_000_000_000) => calls,
            _ => return Err(wrong("`calls` is a number from 1 to 1,000,000,000")),
        };
        let sizes = Sizes {
            start_mib: param("start_mib").unwrap_or(0),
            end_mib: param("end_mib").unwrap_or(0),
            segments: param("segments").unwrap_or(0),
            scale: param("scale").unwrap_or(1),
        };
        let shape = Self {
            kind,
            random,
            calls,
            sizes,
        };
        shape.check().map_err(wrong)?;
        Ok(shape)
    }

    fn check(&self) -> Result<(), &'static str> {
        let Sizes {
            start_mib,
            end_mib,
            segments,
            scale,
        } = self.sizes;
        match self.kind {
            Kind::Frag if !(1 <= start_mib && start_mib < end_mib && end_mib <= MIB_MAX) => {
                Err("`start_mib` is at least 1, `end_mib` is larger and at most 2048")
            }
            Kind::Fleet if !(2..=100_000).contains(&segments) => {
                Err("`segments` is a number from 2 to 100,000")
            }
            Kind::Maps(_) if !(1..=1 << 20).contains(&scale) => {
                Err("`scale` is a number from 1 to 2^20")
            }
            _ => Ok(()),
        }
    }

    /// The memory layouts of the workload; most have one.
    ///
    /// # Errors
    /// A real map cannot be read.
    pub(super) fn layouts(&self, seed: u64) -> Result<Vec<Layout>, Failure> {
        let Sizes {
            start_mib,
            end_mib,
            segments,
            scale,
        } = self.sizes;
        Ok(match self.kind {
            Kind::Find | Kind::Guard | Kind::Loop | Kind::Race(_) => vec![Layout::side_by_side()],
            Kind::Frag => vec![Layout::fragments(start_mib, end_mib, seed)],
            Kind::Fleet => vec![Layout::fleet(segments, seed)],
            Kind::Maps(which) => {
                let maps = match which {
                    Some(at) => &REAL_MAPS[at..=at],
                    None => &REAL_MAPS[..],
                };
                let layout = |map| Layout::of_map(map, scale).map_err(Failure);
                maps.iter().map(layout).collect::<Result<_, _>>()?
            }
        })
    }
}
