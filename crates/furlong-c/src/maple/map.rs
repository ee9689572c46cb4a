//! The map behind the functions.
#![forbid(unsafe_code)]

use core::num::NonZeroUsize;

use furlong::addr::{Extent, VirtAddr};
use furlong::maple::Maple;

/// The map: words at ranges of indices.
pub(crate) type Map = Maple<VirtAddr, NonZeroUsize>;

/// The result of a look-up.
pub(crate) type Found = (Extent<VirtAddr>, NonZeroUsize);
