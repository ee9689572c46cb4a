//! Which way data goes.
#![forbid(unsafe_code)]

/// Which way the data of a mapping goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Direction {
    /// The device reads what the CPU has written.
    ToDevice = 0,
    /// The CPU reads what the device has written.
    FromDevice = 1,
    /// Both.
    Both = 2,
}

impl Direction {
    /// Whether the device reads: what the CPU has written goes to the device when it is synced.
    #[inline]
    pub const fn reaches_device(self) -> bool {
        !matches!(self, Self::FromDevice)
    }

    /// Whether the device writes: what it has written goes back to the CPU.
    #[inline]
    pub const fn reaches_cpu(self) -> bool {
        !matches!(self, Self::ToDevice)
    }

    /// The direction of this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::ToDevice),
            1 => Some(Self::FromDevice),
            2 => Some(Self::Both),
            _ => None,
        }
    }
}
