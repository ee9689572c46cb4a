//! What a trace can be replayed on.
#![forbid(unsafe_code)]

use furlong::addr::VirtAddr;
use furlong::vmspace::{
    Access, Area, Config, Errno, FaultError, Layout, Prot, Remap, Request, Space,
};

/// An address space as a kernel drives it. The value of an area is the number of its object; what
/// is mapped no more is dropped.
pub trait AddressSpace: Sized {
    /// An empty one.
    fn new(layout: &Layout) -> Self;

    /// The child of a fork.
    fn fork(&self) -> Self;

    /// Maps, and returns where it begins.
    ///
    /// # Errors
    /// As Linux.
    fn map(&mut self, request: &Request<u32>) -> Result<VirtAddr, Errno>;

    /// Where [`map`](Self::map) would map, if the subject chooses places itself.
    fn choice(&self, _request: &Request<u32>) -> Option<VirtAddr> {
        None
    }

    /// Unmaps.
    ///
    /// # Errors
    /// As Linux.
    fn unmap(&mut self, start: VirtAddr, len: u64) -> Result<(), Errno>;

    /// Changes a protection.
    ///
    /// # Errors
    /// As Linux.
    fn protect(&mut self, start: VirtAddr, len: u64, prot: Prot) -> Result<(), Errno>;

    /// Moves or resizes, and returns where it begins.
    ///
    /// # Errors
    /// As Linux.
    fn remap(&mut self, remap: &Remap) -> Result<VirtAddr, Errno>;

    /// Says where the heap begins.
    fn start_brk(&mut self, start: VirtAddr);

    /// Moves the end of the heap if it can, and returns where it is.
    fn brk(&mut self, end: VirtAddr) -> VirtAddr;

    /// Finds the area of a fault, or lets a stack grow to have it.
    ///
    /// # Errors
    /// Why there is none.
    fn fault(&mut self, address: VirtAddr, access: Access) -> Result<(), FaultError>;

    /// How many areas there are.
    fn areas(&self) -> usize;
}

impl<C: Config<Index<u32>: Default>> AddressSpace for Space<u32, C> {
    fn new(layout: &Layout) -> Self {
        Self::with_config(*layout).expect("the layout makes sense")
    }

    fn fork(&self) -> Self {
        let copy = |area: Area<'_, u32>| Ok::<_, ()>(*area.value);
        let child = Self::fork(self, copy);
        child.expect("there is memory for a child")
    }

    fn map(&mut self, request: &Request<u32>) -> Result<VirtAddr, Errno> {
        Ok(Self::map(self, request.clone(), drop)?)
    }

    fn choice(&self, request: &Request<u32>) -> Option<VirtAddr> {
        self.would_map(request).ok()
    }

    fn unmap(&mut self, start: VirtAddr, len: u64) -> Result<(), Errno> {
        Ok(Self::unmap(self, start, len, drop)?)
    }

    fn protect(&mut self, start: VirtAddr, len: u64, prot: Prot) -> Result<(), Errno> {
        Ok(Self::protect(self, start, len, prot, drop)?)
    }

    fn remap(&mut self, remap: &Remap) -> Result<VirtAddr, Errno> {
        Ok(Self::remap(self, remap, drop)?)
    }

    fn start_brk(&mut self, start: VirtAddr) {
        Self::start_brk(self, start);
    }

    fn brk(&mut self, end: VirtAddr) -> VirtAddr {
        // Linux tells nothing but where the break is.
        let _ = self.set_brk(end, 0, drop);
        Self::brk(self)
    }

    fn fault(&mut self, address: VirtAddr, access: Access) -> Result<(), FaultError> {
        // One look is enough where nothing grows.
        match self.find(address) {
            Some(area) if area.prot.allows(access) => Ok(()),
            _ => Self::fault(self, address, access).map(drop),
        }
    }

    fn areas(&self) -> usize {
        self.len()
    }
}
