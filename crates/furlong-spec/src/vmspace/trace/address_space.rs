//! The interface of an address space that a trace can be replayed on.

use furlong::addr::VirtAddr;
use furlong::vmspace::{
    Access, Area, Config, Errno, FaultError, Layout, Prot, Remap, Request, Space,
};

/// An address space as a kernel uses it. The value of an area is the number of its object. Unmapped
/// pieces are dropped.
pub trait AddressSpace: Sized {
    /// An empty space.
    fn new(layout: &Layout) -> Self;

    /// The child of a fork.
    fn fork(&self) -> Self;

    /// Maps, and returns the start of the mapping.
    ///
    /// # Errors
    /// As in Linux.
    fn map(&mut self, request: &Request<u32>) -> Result<VirtAddr, Errno>;

    /// The start that [`map`](Self::map) would choose, if the subject chooses places itself.
    fn choice(&self, _request: &Request<u32>) -> Option<VirtAddr> {
        None
    }

    /// Unmaps.
    ///
    /// # Errors
    /// As in Linux.
    fn unmap(&mut self, start: VirtAddr, len: u64) -> Result<(), Errno>;

    /// Changes a protection.
    ///
    /// # Errors
    /// As in Linux.
    fn protect(&mut self, start: VirtAddr, len: u64, prot: Prot) -> Result<(), Errno>;

    /// Moves or resizes a mapping, and returns its start.
    ///
    /// # Errors
    /// As in Linux.
    fn remap(&mut self, remap: &Remap) -> Result<VirtAddr, Errno>;

    /// Sets the start of the heap.
    fn start_brk(&mut self, start: VirtAddr);

    /// Moves the end of the heap if possible, and returns it.
    fn brk(&mut self, end: VirtAddr) -> VirtAddr;

    /// Finds the area of a fault, or grows a stack to cover it.
    ///
    /// # Errors
    /// The reason that there is no usable area.
    fn fault(&mut self, address: VirtAddr, access: Access) -> Result<(), FaultError>;

    /// The number of areas.
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
        // As in Linux, an error shows only in the unchanged end.
        let _ = self.set_brk(end, 0, drop);
        Self::brk(self)
    }

    fn fault(&mut self, address: VirtAddr, access: Access) -> Result<(), FaultError> {
        // One look-up suffices unless a stack has to grow.
        match self.find(address) {
            Some(area) if area.prot.allows(access) => Ok(()),
            _ => Self::fault(self, address, access).map(drop),
        }
    }

    fn areas(&self) -> usize {
        self.len()
    }
}
