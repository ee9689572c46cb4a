//! How a domain makes its device forget.
#![forbid(unsafe_code)]

/// How a domain makes its device forget: its translations' cache, for all devices that use them.
pub trait Flush {
    /// Invalidates the whole TLB. When it returns, the device uses no translation that was taken
    /// down before the call.
    ///
    /// It is called with no lock of the domain held, possibly from several CPUs at once, and may
    /// wait. It should not reserve from the same domain: where that is out of addresses, it would
    /// flush again.
    fn flush(&self);
}

impl<F: Flush + ?Sized> Flush for &F {
    fn flush(&self) {
        (**self).flush();
    }
}

#[cfg(feature = "alloc")]
impl<F: Flush + ?Sized> Flush for alloc::sync::Arc<F> {
    fn flush(&self) {
        (**self).flush();
    }
}

/// Nothing remembers translations: addresses of a guest's memory or of its devices' registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTlb;

impl Flush for NoTlb {
    fn flush(&self) {}
}
