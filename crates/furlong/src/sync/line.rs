//! Cache lines of one's own.
#![forbid(unsafe_code)]

/// Bytes that two CPUs had better not share: two lines, since some processors fetch them in pairs.
pub(crate) const LINE: usize = 128;

/// Keeps a value out of others' cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

const _: () = assert!(align_of::<Padded<u8>>() == LINE);
