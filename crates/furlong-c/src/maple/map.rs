//! The map behind the functions.
#![forbid(unsafe_code)]

use core::num::NonZeroUsize;

use furlong::addr::{Extent, VirtAddr};
use furlong::maple::Maple;

/// Words at ranges of indices.
pub(crate) type Map = Maple<VirtAddr, NonZeroUsize>;

/// What a look-up finds.
pub(crate) type Found = (Extent<VirtAddr>, NonZeroUsize);
