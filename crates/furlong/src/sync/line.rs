//! Padding to separate cache lines.
#![forbid(unsafe_code)]

/// Size of a region that two CPUs should not share: two lines, since some processors fetch them in
/// pairs.
pub(crate) const LINE: usize = 128;

/// Keeps a value in cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

const _: () = assert!(align_of::<Padded<u8>>() == LINE);
