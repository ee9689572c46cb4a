//! Linux's numbers of errors.
#![forbid(unsafe_code)]

use core::fmt;

/// What a system call of Linux answers where it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
pub enum Errno {
    /// Operation not permitted.
    Eperm = 1,
    /// Try again.
    Eagain = 11,
    /// Out of memory, of addresses, or beyond a limit.
    Enomem = 12,
    /// Permission denied.
    Eacces = 13,
    /// Bad address.
    Efault = 14,
    /// It is there already.
    Eexist = 17,
    /// No such device.
    Enodev = 19,
    /// Invalid argument.
    Einval = 22,
    /// The value is too large.
    Eoverflow = 75,
    /// Not supported.
    Eopnotsupp = 95,
}

impl Errno {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Eperm,
        Self::Eagain,
        Self::Enomem,
        Self::Eacces,
        Self::Efault,
        Self::Eexist,
        Self::Enodev,
        Self::Einval,
        Self::Eoverflow,
        Self::Eopnotsupp,
    ];

    /// The number, which a system call returns negated.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// Linux's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eperm => "EPERM",
            Self::Eagain => "EAGAIN",
            Self::Enomem => "ENOMEM",
            Self::Eacces => "EACCES",
            Self::Efault => "EFAULT",
            Self::Eexist => "EEXIST",
            Self::Enodev => "ENODEV",
            Self::Einval => "EINVAL",
            Self::Eoverflow => "EOVERFLOW",
            Self::Eopnotsupp => "EOPNOTSUPP",
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
