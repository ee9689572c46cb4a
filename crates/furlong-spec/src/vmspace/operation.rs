//! What can be asked of an address space, and what it answers.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, VirtAddr};
use furlong::vmspace::{
    Access, Advice, AdviseError, BrkError, FaultError, Flags, MapError, Prot, ProtectError, Remap,
    RemapError, Request, UnmapError,
};

/// An operation. The value of an area is the number of its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Map this.
    Map(Request<u32>),
    /// Unmap so many bytes from there on.
    Unmap(VirtAddr, u64),
    /// Protect so many bytes from there on.
    Protect(VirtAddr, u64, Prot),
    /// Advise for so many bytes from there on.
    Advise(VirtAddr, u64, Advice),
    /// Move or resize.
    Remap(Remap),
    /// Say where the heap begins.
    StartBrk(VirtAddr),
    /// Let the heap end there; it is of object 0.
    Brk(VirtAddr),
    /// Fault there.
    Fault(VirtAddr, Access),
    /// The area that has this address.
    Find(VirtAddr),
    /// The first area that ends there or behind.
    Next(VirtAddr),
    /// The areas of which a byte is in this.
    AreasIn(Extent<VirtAddr>),
    /// All areas.
    Areas,
    /// Pages by protection, and where the heap ends.
    Usage,
    /// Go on as the child of a fork.
    Fork,
    /// Take everything out.
    Clear,
}

/// An area as it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Where it is.
    pub extent: Extent<VirtAddr>,
    /// What may be done.
    pub prot: Prot,
    /// What may be allowed.
    pub may: Prot,
    /// What else is true.
    pub flags: Flags,
    /// Where in its object it begins.
    pub offset: u64,
    /// Its object.
    pub object: u32,
}

/// A piece that is mapped no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Where it was.
    pub extent: Extent<VirtAddr>,
    /// What could be done.
    pub prot: Prot,
    /// What else was true.
    pub flags: Flags,
    /// Where in its object it began.
    pub offset: u64,
    /// Its object, where nothing of the area is left.
    pub object: Option<u32>,
}

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// To map.
    Map(MapError),
    /// To unmap.
    Unmap(UnmapError),
    /// To protect.
    Protect(ProtectError),
    /// To take an advice.
    Advise(AdviseError),
    /// To move or resize.
    Remap(RemapError),
    /// To move the break.
    Brk(BrkError),
    /// To find the memory of a fault.
    Fault(FaultError),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This begins there, and that is mapped no more.
    At(VirtAddr, Vec<Gone>),
    /// That is mapped no more.
    Done(Vec<Gone>),
    /// It was refused, and that is mapped no more.
    Refused(Refusal, Vec<Gone>),
    /// An area, or none.
    Area(Option<Seen>),
    /// Areas.
    Areas(Vec<Seen>),
    /// Pages by protection, from none to all, and where the heap ends.
    Usage([u64; 8], VirtAddr),
}
