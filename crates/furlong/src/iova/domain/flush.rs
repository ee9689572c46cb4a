//! The device's TLB, as a domain flushes it.

/// Flushes the translation cache of a domain, for all devices that use it.
pub trait Flush {
    /// Invalidates the whole TLB. When it returns, the device uses no translation that was removed
    /// before the call.
    ///
    /// It is called with no lock of the domain held, possibly from several CPUs at once, and may
    /// wait. It may use the same domain. An operation that may flush then recurses: a reservation
    /// in a domain out of addresses, a release into a full quarantine, a flush, a drain. An
    /// implementation that uses any of these must bound the depth itself.
    ///
    /// If it panics, the waiting tokens wait for the next flush, and a token passed to the flushing
    /// call has leaked.
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

/// No device caches translations: for addresses of a guest's memory or of its devices' registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTlb;

impl Flush for NoTlb {
    fn flush(&self) {}
}
