//! Operations on an address space, and their outcomes.

use furlong::addr::{Extent, VirtAddr};
use furlong::vmspace::{
    Access, Advice, AdviseError, BrkError, FaultError, Flags, MapError, Prot, ProtectError, Remap,
    RemapError, Request, UnmapError, UpdateError,
};

/// An operation. The value of an area is the number of its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Maps the request.
    Map(Request<u32>),
    /// Unmaps a length from an address.
    Unmap(VirtAddr, u64),
    /// Changes the protection of a length from an address.
    Protect(VirtAddr, u64, Prot),
    /// Applies an advice to a length from an address.
    Advise(VirtAddr, u64, Advice),
    /// Sets the first flags and clears the second ones in a length from an address.
    Update(VirtAddr, u64, [Flags; 2]),
    /// Moves or resizes a mapping.
    Remap(Remap),
    /// Sets the start of the heap.
    StartBrk(VirtAddr),
    /// Sets the end of the heap, whose object is 0.
    Brk(VirtAddr),
    /// Faults at an address.
    Fault(VirtAddr, Access),
    /// Finds the area that contains an address.
    Find(VirtAddr),
    /// Finds the first area that ends at the address or above it.
    Next(VirtAddr),
    /// Lists the areas that overlap an extent.
    AreasIn(Extent<VirtAddr>),
    /// Lists all areas.
    Areas,
    /// Returns the page counts by protection, and the end of the heap.
    Usage,
    /// Forks, and continues with the child.
    Fork,
    /// Unmaps everything.
    Clear,
}

/// The properties of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its extent.
    pub extent: Extent<VirtAddr>,
    /// Its protection.
    pub prot: Prot,
    /// The protections that it may be given.
    pub may: Prot,
    /// Its flags.
    pub flags: Flags,
    /// Its offset in the object.
    pub offset: u64,
    /// Its object.
    pub object: u32,
}

/// A piece that was unmapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Its former extent.
    pub extent: Extent<VirtAddr>,
    /// Its former protection.
    pub prot: Prot,
    /// Its former flags.
    pub flags: Flags,
    /// Its former offset in the object.
    pub offset: u64,
    /// Its object, if no part of the area is left.
    pub object: Option<u32>,
}

/// The refusal of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// A map was refused.
    Map(MapError),
    /// An unmap was refused.
    Unmap(UnmapError),
    /// A change of protection was refused.
    Protect(ProtectError),
    /// An advice was refused.
    Advise(AdviseError),
    /// A change of flags was refused.
    Update(UpdateError),
    /// A move or resize was refused.
    Remap(RemapError),
    /// A change of the heap's end was refused.
    Brk(BrkError),
    /// A fault has no usable area.
    Fault(FaultError),
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The start of the mapping, and the pieces unmapped.
    At(VirtAddr, Vec<Gone>),
    /// The pieces unmapped.
    Done(Vec<Gone>),
    /// The refusal, and the pieces unmapped before it.
    Refused(Refusal, Vec<Gone>),
    /// An area, or none.
    Area(Option<Seen>),
    /// Areas.
    Areas(Vec<Seen>),
    /// Numbers of pages by protection, from none to all, and the end of the heap.
    Usage([u64; 8], VirtAddr),
}
