//! Devices: what each can reach, and how much it may have.

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use furlong::addr::Iova;
use furlong::bounce::{Device, Limits};

use super::Bounce;
use crate::answer::{Given, answer};
use crate::errno::Errno;
use crate::handle::{self, Home, Housed, boxed, footprint, place};

/// What a device can reach and how its buffers must lie. Fill it in with furlong_bounce_limits and
/// change what differs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BounceLimits {
    /// The last address that the device can put on the bus.
    pub reach: u64,
    /// Low bits of the original's address that its place in the pool must share: 2^n - 1.
    pub min_align_mask: u64,
    /// What a run must start at a multiple of, less one: 2^n - 1.
    pub align_mask: u64,
    /// What a run must not cross a multiple of, less one: 2^n - 1.
    pub boundary_mask: u64,
    /// Slots that the device may have at a time; 0 for as many as there are.
    pub quota: u32,
}

impl BounceLimits {
    fn limits(&self) -> Limits {
        Limits {
            reach: Iova::new(self.reach),
            min_align_mask: self.min_align_mask,
            align_mask: self.align_mask,
            boundary_mask: self.boundary_mask,
            quota: (self.quota > 0).then_some(self.quota),
        }
    }

    /// A device with these limits that may use the pool.
    fn admitted(&self, bounce: &Bounce, id: u32, home: Home) -> Result<BounceDevice, Errno> {
        let device = bounce.pool.admit(Device::new(id, self.limits())?);
        Ok(BounceDevice { device, home })
    }
}

/// A device that maps through a pool.
#[derive(Debug)]
pub struct BounceDevice {
    pub(crate) device: Device,
    home: Home,
}

impl Housed for BounceDevice {
    fn home(&self) -> Home {
        self.home
    }
}

/// Fills limits in: none.
///
/// Answers 0, or -EINVAL (limits is NULL).
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_limits(limits: Option<&mut MaybeUninit<BounceLimits>>) -> c_int {
    answer(|| {
        let none = Limits::new();
        limits.given()?.write(BounceLimits {
            reach: u64::MAX,
            min_align_mask: none.min_align_mask,
            align_mask: none.align_mask,
            boundary_mask: none.boundary_mask,
            quota: 0,
        });
        Ok(())
    })
}

/// Makes a device with a number that tells it from others, for a pool; of a restricted pool it can
/// use no other. It is on the heap.
///
/// Answers 0, -EINVAL (an argument is NULL, a mask is no power of two less one, boundary_mask is
/// less than a slot) or -ENOMEM.
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_device_create(
    bounce: Option<&Bounce>,
    id: u32,
    limits: Option<&BounceLimits>,
    device: Option<&mut MaybeUninit<*mut BounceDevice>>,
) -> c_int {
    answer(|| {
        let (bounce, limits, out) = (bounce.given()?, limits.given()?, device.given()?);
        let device = limits.admitted(bounce, id, Home::Heap)?;
        out.write(Box::into_raw(boxed(device)?));
        Ok(())
    })
}

/// The bytes that furlong_bounce_device_create_in wants.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_device_bytes() -> usize {
    footprint::<BounceDevice>(1)
}

/// Makes the same device in memory of bytes bytes, which is the caller's again when the device is
/// destroyed.
///
/// Answers 0, -EINVAL (an argument is NULL; otherwise as furlong_bounce_device_create) or -ENOMEM
/// (bytes are too few).
/// Threads: side by side with everything.
///
/// # Safety
/// The memory is good for reading and writing, and nobody else's until the device is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_device_create_in(
    bounce: Option<&Bounce>,
    id: u32,
    limits: Option<&BounceLimits>,
    device: Option<&mut MaybeUninit<*mut BounceDevice>>,
    memory: *mut c_void,
    bytes: usize,
) -> c_int {
    answer(|| {
        let (bounce, limits, out) = (bounce.given()?, limits.given()?, device.given()?);
        // SAFETY: the caller vouches for the memory.
        let memory = unsafe { handle::given(memory, bytes) }?;
        let (place, _) = place::<BounceDevice>(memory)?;
        let device = limits.admitted(bounce, id, Home::Given)?;
        out.write(ptr::from_mut(place.write(device)));
        Ok(())
    })
}

/// Ends a device that has nothing mapped in the pool any more.
///
/// Answers 0, -EINVAL (an argument is NULL) or -EBUSY (it has): the device lives on.
/// Threads: nobody else uses the device any more. It looks at every slot.
///
/// # Safety
/// device came from furlong_bounce_device_create or furlong_bounce_device_create_in and has not
/// been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_device_destroy(
    bounce: Option<&Bounce>,
    device: *mut BounceDevice,
) -> c_int {
    answer(|| {
        let (bounce, device) = (bounce.given()?, NonNull::new(device).given()?);
        // SAFETY: it lives, as the caller vouches.
        let own = unsafe { device.as_ref() };
        if bounce.pool.mappings_of(&own.device) > 0 {
            return Err(Errno::BUSY);
        }
        // SAFETY: as the caller vouches.
        unsafe { handle::end(device) };
        Ok(())
    })
}

/// How many of its slots a device has; 0 without a quota, for then nobody counts, and for NULL.
///
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_device_used(device: Option<&BounceDevice>) -> u32 {
    device.and_then(|device| device.device.used()).unwrap_or(0)
}

/// The length of the longest buffer that fits an empty pool for the device, wherever it lies; 0 for
/// NULL.
///
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_longest(
    bounce: Option<&Bounce>,
    device: Option<&BounceDevice>,
) -> u64 {
    let both = bounce.zip(device);
    both.map_or(0, |(bounce, device)| {
        bounce.pool.longest(device.device.limits())
    })
}
