//! Directions of data.
#![forbid(unsafe_code)]

/// The direction of a mapping's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Direction {
    /// The CPU writes, and the device reads.
    ToDevice = 0,
    /// The device writes, and the CPU reads.
    FromDevice = 1,
    /// Both.
    Both = 2,
}

impl Direction {
    /// True if the device reads: a sync copies the CPU's writes to the device.
    #[inline]
    pub const fn reaches_device(self) -> bool {
        !matches!(self, Self::FromDevice)
    }

    /// True if the device writes: its writes are copied back to the CPU.
    #[inline]
    pub const fn reaches_cpu(self) -> bool {
        !matches!(self, Self::ToDevice)
    }

    /// The direction with this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::ToDevice),
            1 => Some(Self::FromDevice),
            2 => Some(Self::Both),
            _ => None,
        }
    }
}
