//! The command line: `slots[,areas][,force|noforce]`.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::device::Device;
use super::plan::{BLOCK_MIN, Plan};
use super::slot::SEGMENT;
use crate::addr::Iova;

/// Slots where none are asked for: 64 MiB.
const SLOTS: usize = 32768;

/// Whether buffers are bounced that a device reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Only those that it does not reach.
    #[default]
    Auto,
    /// All: nobody but the pool is shared with the devices' host.
    Force,
    /// None: there is no pool.
    NoForce,
}

impl Mode {
    /// Whether `len` bytes at `at` are to be mapped through the pool for a device.
    pub fn bounces(self, device: &Device, at: Iova, len: u64) -> bool {
        match self {
            Self::Auto => !device.reaches(at, len),
            Self::Force => true,
            Self::NoForce => false,
        }
    }
}

/// What is asked for on a command line, in Linux's form: `slots[,areas][,force|noforce]`.
///
/// Each part may be left out, in this order: `512,4,force`, `force`, `,4`, `0x2000`. Numbers are
/// decimal, hexadecimal after `0x`, octal after `0`. Slots are rounded up to whole segments, areas
/// to a power of two, and slots then to a power of two that gives each area a segment.
///
/// # Example
/// ```
/// use furlong::bounce::{Mode, Parameter};
///
/// let parameter: Parameter = "512,4,force".parse()?;
/// assert_eq!(parameter.mode, Mode::Force);
/// let plan = parameter.plan(64);
/// assert_eq!((plan.slots, plan.areas), (512, 4));
/// # Ok::<(), furlong::bounce::ParameterError>(())
/// ```
///
/// # Source
/// Linux `setup_io_tlb_npages`, which passes over what it does not understand; here that is an
/// error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Slots, rounded up; `None` for the default.
    pub slots: Option<usize>,
    /// Areas, a power of two; `None` for one a CPU.
    pub areas: Option<usize>,
    /// Whether all is bounced, or nothing.
    pub mode: Mode,
}

/// Why a parameter is not understood; each has the number of its part, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterError {
    /// There is nothing.
    Empty,
    /// The part is no number of slots or areas, nor a mode, or it is not in its place.
    Part(usize),
    /// The number is larger than any pool.
    TooLarge(usize),
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = "write slots[,areas][,force|noforce]";
        match self {
            Self::Empty => write!(f, "nothing is asked for: {form}"),
            Self::Part(part) => write!(f, "part {} is not understood: {form}", part + 1),
            Self::TooLarge(part) => write!(f, "part {} is more than any pool has", part + 1),
        }
    }
}

impl Error for ParameterError {}

/// More than this is no number of slots: 2 TiB.
const LARGEST: usize = 1 << 30;

/// A number as C writes it; `None` if it is none.
fn number(text: &str) -> Option<Result<usize, ()>> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    let all = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    let parse = |digits| usize::from_str_radix(digits, radix).map_err(|_| ());
    all.then(|| parse(digits))
}

fn mode(text: &str) -> Option<Mode> {
    match text {
        "force" => Some(Mode::Force),
        "noforce" => Some(Mode::NoForce),
        _ => None,
    }
}

impl core::str::FromStr for Parameter {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let parts = text.split(',').count();
        if text.chars().all(|char| char == ',') && parts <= 3 {
            return Err(ParameterError::Empty);
        }
        let mut parameter = Self::default();
        for (index, part) in text.split(',').enumerate() {
            if index > 2 {
                return Err(ParameterError::Part(index));
            }
            if let Some(mode) = mode(part) {
                parameter.mode = mode;
                // Nothing comes behind it.
                if index + 1 < parts {
                    return Err(ParameterError::Part(index + 1));
                }
                break;
            }
            match number(part) {
                Some(Ok(count)) if count <= LARGEST && index < 2 => parameter.set(index, count),
                Some(_) if index < 2 => return Err(ParameterError::TooLarge(index)),
                None if part.is_empty() && index < 2 => {}
                _ => return Err(ParameterError::Part(index)),
            }
        }
        parameter.round();
        Ok(parameter)
    }
}

impl Parameter {
    fn set(&mut self, index: usize, count: usize) {
        if index == 0 {
            // As in Linux 0 slots ask for the default.
            self.slots = (count > 0).then_some(count);
        } else {
            self.areas = Some(count.max(1));
        }
    }

    /// Slots become whole segments and areas a power of two.
    fn round(&mut self) {
        self.slots = self.slots.map(|slots| slots.next_multiple_of(SEGMENT));
        self.areas = self.areas.map(usize::next_power_of_two);
    }

    /// The pool that is asked for on a machine with so many CPUs, if [`mode`](Self::mode) wants one
    /// at all: it neither grows nor has transient blocks until it is told to.
    pub fn plan(&self, cpus: usize) -> Plan {
        let areas = self.areas.unwrap_or(cpus.max(1)).min(LARGEST / SEGMENT);
        let areas = areas.next_power_of_two();
        let slots = self.slots.unwrap_or(SLOTS).max(areas * SEGMENT);
        let slots = slots.next_power_of_two();
        Plan::new(slots, areas).block_slots(slots, BLOCK_MIN.min(slots))
    }
}
