//! Parameters of a workload, parsed.
#![forbid(unsafe_code)]

use furlong::bounce::SLOT;
use serde::Deserialize;

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
    /// Blocks of a job's own part of a device.
    pub(super) blocks: usize,
}

/// Kinds of workloads, as the plan names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// Maps and unmaps slots, without copies.
    Slots,
    /// The same, after all slots were mapped and one mapping in eight was unmapped.
    FullSlots,
    /// Copies a buffer without mapping it.
    Memcpy,
    /// Maps a buffer and copies it both ways.
    Copies,
    /// Reads and writes by a device.
    Io(MediumKind),
}

/// Storage of a device's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MediumKind {
    Ram,
    Disk,
}

impl Shape {
    /// Parses a workload.
    ///
    /// # Errors
    /// The plan's kind is not known, or a parameter makes no sense.
    pub(super) fn of(workload: &Workload) -> Result<Self, Failure> {
        let number = |name: &str| Ok(workload.number(name, 1..=1 << 20)? as usize);
        let given = |name: &str| workload.params.get(name).map(|_| number(name)).transpose();
        let kind = workload.read()?;
        let single = matches!(kind, Kind::Memcpy | Kind::Copies);
        let shape = Self {
            kind,
            len: number("block_kib")? << 10,
            areas: given("areas")?.unwrap_or(AREAS),
            threads: if single { 1 } else { number("threads")? },
            binding: given("processors")?.map_or(CpuBinding::Own, CpuBinding::Processors),
            outstanding: match kind {
                Kind::Io(_) => number("queue_depth")?,
                _ if single => 1,
                _ => number("outstanding")?,
            },
            blocks: match kind {
                Kind::Io(_) => number("part_kib")? / number("block_kib")?,
                _ => 0,
            },
        };
        shape.check().map_err(|why| workload.wrong(why))?;
        Ok(shape)
    }

    /// Slots of a mapping.
    fn slots(&self) -> usize {
        self.len.div_ceil(SLOT as usize)
    }

    /// Checks that the live mappings fit.
    fn check(&self) -> Result<(), String> {
        if !self.areas.is_power_of_two() || self.areas > AREAS {
            return Err(format!("a block has 1, 2 or {AREAS} areas"));
        }
        let all = BLOCKS * BLOCK_SLOTS / self.slots().max(1);
        let room = match self.kind {
            Kind::FullSlots => all / 8,
            _ => all,
        };
        let wanted = self.outstanding * self.threads;
        if wanted > room || self.slots() > 128 {
            return Err(format!(
                "maps {wanted} times {} bytes at a time, where there is room for {room}",
                self.len
            ));
        }
        if matches!(self.kind, Kind::Io(_)) && self.blocks < self.outstanding {
            return Err("a job's part has fewer blocks than its queue".to_owned());
        }
        Ok(())
    }
}
