//! Parameters of a workload, parsed.
#![forbid(unsafe_code)]

use furlong::bounce::SLOT;

use super::pool::{AREAS, BLOCK_SLOTS, BLOCKS};
use crate::cpu_binding::CpuBinding;
use furlong_lab::model::{Failure, Workload};

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// Bytes of a mapping.
    pub(super) len: usize,
    /// Areas of a block.
    pub(super) areas: usize,
    /// Number of workers, or jobs.
    pub(super) threads: usize,
    /// CPU numbers of the workers.
    pub(super) binding: CpuBinding,
    /// Live mappings of each worker.
    pub(super) outstanding: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Maps and unmaps slots, without copies.
    Slots {
        /// Maps all slots beforehand, then unmaps one mapping in eight.
        full: bool,
    },
    /// Copies a buffer without mapping it.
    Memcpy,
    /// Maps a buffer and copies it both ways.
    Copies,
    /// Reads and writes by a device.
    Io(Queue),
}

/// Work of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queue {
    pub(super) medium: MediumKind,
    /// Blocks of a job's own part of the device.
    pub(super) blocks: usize,
}

/// Storage of a device's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediumKind {
    Ram,
    Disk,
}

impl Shape {
    /// Parses a workload.
    ///
    /// # Errors
    /// The workload's name or its parameters are not known.
    pub(super) fn of(workload: &Workload) -> Result<Self, Failure> {
        let name = &workload.name;
        let param = |name: &str| workload.params.get(name).copied();
        let number = |key: &str| {
            let value = param(key).and_then(|value| usize::try_from(value).ok());
            let value = value.filter(|value| (1..=1 << 20).contains(value));
            value.ok_or_else(|| Failure(format!("`{name}` has no usable parameter `{key}`")))
        };
        let kind = match name.split('-').next() {
            Some("empty" | "outstanding" | "overflow" | "pool" | "shared") => {
                Kind::Slots { full: false }
            }
            Some("full") => Kind::Slots { full: true },
            Some("memcpy") => Kind::Memcpy,
            Some("copy") => Kind::Copies,
            Some("small" | "big" | "4way") => Kind::Io(Queue {
                medium: match name.rsplit('-').next() {
                    Some("ram") => MediumKind::Ram,
                    Some("disk") => MediumKind::Disk,
                    _ => return Err(Failure(format!("`{name}` names neither ram nor disk"))),
                },
                blocks: number("part_kib")? / number("block_kib")?,
            }),
            _ => return Err(Failure(format!("`{name}` is not a workload"))),
        };
        let single = matches!(kind, Kind::Memcpy | Kind::Copies);
        let outstanding = match kind {
            Kind::Io(_) => number("queue_depth")?,
            _ if single => 1,
            _ => number("outstanding")?,
        };
        let shape = Self {
            kind,
            len: number("block_kib")? << 10,
            areas: match param("areas") {
                Some(_) => number("areas")?,
                None => AREAS,
            },
            threads: if single { 1 } else { number("threads")? },
            binding: match param("processors") {
                Some(_) => CpuBinding::Processors(number("processors")?),
                None => CpuBinding::Own,
            },
            outstanding,
        };
        shape.check(name).map(|()| shape)
    }

    /// Slots of a mapping.
    fn slots(&self) -> usize {
        self.len.div_ceil(SLOT as usize)
    }

    /// Checks that the live mappings fit.
    fn check(&self, name: &str) -> Result<(), Failure> {
        if !self.areas.is_power_of_two() || self.areas > AREAS {
            let text = format!("`{name}`: a block has 1, 2 or {AREAS} areas");
            return Err(Failure(text));
        }
        let all = BLOCKS * BLOCK_SLOTS / self.slots().max(1);
        let room = match self.kind {
            Kind::Slots { full: true } => all / 8,
            _ => all,
        };
        let wanted = self.outstanding * self.threads;
        if wanted > room || self.slots() > 128 {
            return Err(Failure(format!(
                "`{name}` maps {wanted} times {} bytes at a time, where there is room for {room}",
                self.len
            )));
        }
        match self.kind {
            Kind::Io(queue) if queue.blocks < self.outstanding => {
                let text = format!("`{name}`: a job's part has fewer blocks than its queue");
                Err(Failure(text))
            }
            _ => Ok(()),
        }
    }
}
