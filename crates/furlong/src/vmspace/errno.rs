//! Linux's error numbers.

use core::fmt;

/// An error number that a system call of Linux returns on failure.
///
/// # Example
/// Any error of a space converts to one by `?`:
/// ```
/// use furlong::vmspace::{Errno, Layout, MAP_CHANGES, Prot, Request, Space};
///
/// fn mmap(space: &mut Space<u32>, len: u64) -> Result<(), Errno> {
///     space.prepare(MAP_CHANGES)?;
///     space.map(Request::anonymous(len, Prot::READ, 7), drop)?;
///     Ok(())
/// }
///
/// fn fork(space: &Space<u32>, limit: u32) -> Result<Space<u32>, Errno> {
///     Ok(space.fork(|area| (*area.value < limit).then_some(7).ok_or(Errno::Eagain))?)
/// }
///
/// let mut space = Space::new(Layout::LINUX_X86_64)?;
/// assert_eq!(mmap(&mut space, 0), Err(Errno::Einval));
/// assert_eq!(mmap(&mut space, 4096), Ok(()));
/// assert_eq!(fork(&space, 8)?.len(), 1);
/// assert_eq!(fork(&space, 7).map(drop), Err(Errno::Eagain));
/// # Ok::<(), Errno>(())
/// ```
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
    /// It already exists.
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
    /// All error numbers.
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

impl core::error::Error for Errno {}
