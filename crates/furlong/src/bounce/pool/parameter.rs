//! The command line: `slots[,areas][,force|noforce]`.

use crate::error::messages;

use crate::addr::Iova;
use crate::bounce::{BLOCK_MIN, Device, Plan, SEGMENT};

/// The default number of slots: 64 MiB.
const SLOTS: usize = 32768;

/// The buffers that are bounced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Only those that the device does not reach.
    #[default]
    Auto,
    /// All: the devices' host shares no memory but the pool.
    Force,
    /// None: there is no pool.
    NoForce,
}

impl Mode {
    /// True if `len` bytes at `at` are to be mapped through the pool for a device.
    pub fn bounces(self, device: &Device, at: Iova, len: u64) -> bool {
        match self {
            Self::Auto => !device.reaches(at, len),
            Self::Force => true,
            Self::NoForce => false,
        }
    }
}

/// A command-line parameter in Linux's form: `slots[,areas][,force|noforce]`.
///
/// Each part may be left out, in this order: `512,4,force`, `force`, `,4`, `0x2000`. Numbers are
/// decimal, hexadecimal after `0x`, octal after `0`. Slots are rounded up to whole segments, and
/// areas to a power of two. Then slots are rounded to a power of two that gives each area a
/// segment.
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
/// Linux `setup_io_tlb_npages`, which ignores parts that it does not understand. Here they are an
/// error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Slots, rounded up; `None` for the default.
    pub slots: Option<usize>,
    /// Areas, a power of two; `None` for one per CPU.
    pub areas: Option<usize>,
    /// The buffers that are bounced.
    pub mode: Mode,
}

messages! {
    /// Error of parsing a parameter. A field is the number of the part, from 0.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ParameterError {
        /// The parameter is empty.
        Empty => "the parameter is empty: write slots[,areas][,force|noforce]";
        /// The part is neither a number of slots or areas nor a mode, or it is out of place.
        Part(n: usize) => "part {} is not valid: write slots[,areas][,force|noforce]", n + 1;
        /// The number is larger than any pool.
        TooLarge(n: usize) => "part {} is larger than any pool", n + 1;
    }
}

/// The largest number of slots: 2 TiB.
const LARGEST: usize = 1 << 30;

/// A number as in C; `None` if the text is not a number.
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
                // Nothing may follow the mode.
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
            // 0 slots mean the default.
            self.slots = (count > 0).then_some(count);
        } else {
            self.areas = Some(count.max(1));
        }
    }

    /// Rounds slots to whole segments, and areas to a power of two.
    fn round(&mut self) {
        self.slots = self.slots.map(|slots| slots.next_multiple_of(SEGMENT));
        self.areas = self.areas.map(usize::next_power_of_two);
    }

    /// The plan for a machine with `cpus` CPUs, if [`mode`](Self::mode) needs a pool at all. The
    /// pool neither grows nor has transient blocks unless the caller changes the plan.
    pub fn plan(&self, cpus: usize) -> Plan {
        let areas = self.areas.unwrap_or(cpus.max(1)).min(LARGEST / SEGMENT);
        let areas = areas.next_power_of_two();
        let slots = self.slots.unwrap_or(SLOTS).max(areas * SEGMENT);
        let slots = slots.next_power_of_two();
        Plan::new(slots, areas).block_slots(slots, BLOCK_MIN.min(slots))
    }
}
