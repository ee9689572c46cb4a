//! How a domain makes its device forget.
#![forbid(unsafe_code)]

/// How a domain makes its device forget: its translations' cache, for all devices that use them.
pub trait Flush {
    /// Invalidates the whole TLB. When it returns, the device uses no translation that was taken
    /// down before the call.
    ///
    /// It is called with no lock of the domain held, possibly from several CPUs at once, and may
    /// wait. It may use the same domain. What may flush calls it again then: a reservation where
    /// the domain is out of addresses, a release into a full quarantine, a flush, draining. An
    /// implementation that does any of these bounds the depth itself.
    ///
    /// If it panics, what waited for the flush waits for the next one, and a token in the hands of
    /// the call that flushed has leaked.
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
