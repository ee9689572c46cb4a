//! Devices: the reach and the quota of each.

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use furlong::addr::Iova;
use furlong::bounce::{Device, Limits};

use super::Bounce;
use crate::answer::{Given, answer, answer_in};
use crate::errno::Errno;
use crate::handle::{self, Home, boxed, footprint, place};

/// The reach of a device, and its constraints on buffers. Initialise it with furlong_bounce_limits,
/// then change single fields.
#[repr(C)]
pub struct BounceLimits {
    /// The last address that the device can put on the bus.
    pub reach: u64,
    /// Low address bits that a buffer's place in the pool must share with the original: 2^n - 1.
    pub min_align_mask: u64,
    /// Alignment of a run of slots, less one: 2^n - 1.
    pub align_mask: u64,
    /// A boundary, less one: 2^n - 1. A run must not cross a multiple of the boundary.
    pub boundary_mask: u64,
    /// Slots that the device may use at a time; 0 for no quota.
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

    /// Makes a device with these limits that may use the pool.
    fn admitted(&self, bounce: &Bounce, id: u32, home: Home) -> Result<BounceDevice, Errno> {
        let device = bounce.pool.admit(Device::new(id, self.limits())?);
        Ok(BounceDevice { device, home })
    }
}

/// A device that maps through a pool.
pub struct BounceDevice {
    pub(crate) device: Device,
    home: Home,
}

/// Initialises limits to no limits.
///
/// Returns 0, or -EINVAL (limits is NULL).
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_limits(limits: Option<&mut MaybeUninit<BounceLimits>>) -> c_int {
    answer_in(limits, || {
        let none = Limits::new();
        Ok(BounceLimits {
            reach: u64::MAX,
            min_align_mask: none.min_align_mask,
            align_mask: none.align_mask,
            boundary_mask: none.boundary_mask,
            quota: 0,
        })
    })
}

/// Makes a device for a pool on the heap; id is a number that identifies it, and that no other
/// device of the pool has. A device for a restricted pool can use no other pool. Devices are
/// destroyed before their pool.
///
/// Returns 0, -EINVAL (an argument is NULL, a mask is not a power of two less one, boundary_mask is
/// less than a slot) or -ENOMEM.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_device_create(
    bounce: Option<&Bounce>,
    id: u32,
    limits: Option<&BounceLimits>,
    device: Option<&mut MaybeUninit<*mut BounceDevice>>,
) -> c_int {
    answer_in(device, || {
        let device = limits.given()?.admitted(bounce.given()?, id, Home::Heap)?;
        Ok(Box::into_raw(boxed(device)?))
    })
}

/// The size in bytes that furlong_bounce_device_create_in needs.
///
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_device_bytes() -> usize {
    footprint::<BounceDevice>(1)
}

/// Makes a device in memory of bytes bytes that the caller supplies. The caller gets the memory
/// back when the device is destroyed.
///
/// Returns 0, -EINVAL (an argument is NULL; otherwise as furlong_bounce_device_create) or -ENOMEM
/// (bytes are too few).
/// Threads: concurrent.
///
/// # Safety
/// The memory is valid for reading and writing, and nobody else uses it until the device is
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_device_create_in(
    bounce: Option<&Bounce>,
    id: u32,
    limits: Option<&BounceLimits>,
    device: Option<&mut MaybeUninit<*mut BounceDevice>>,
    memory: *mut c_void,
    bytes: usize,
) -> c_int {
    answer_in(device, || {
        let (bounce, limits) = (bounce.given()?, limits.given()?);
        // SAFETY: the caller vouches for the memory.
        let memory = unsafe { handle::given(memory, bytes) }?;
        let (place, _) = place::<BounceDevice>(memory)?;
        let device = limits.admitted(bounce, id, Home::Given)?;
        Ok(ptr::from_mut(place.write(device)))
    })
}

/// Destroys a device without mappings in the pool.
///
/// Returns 0, -EINVAL (an argument is NULL) or -EBUSY (it has mappings): the device stays valid.
/// Threads: exclusive; the device must not be used afterwards. The call examines every slot.
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
        // SAFETY: it is alive, as the caller vouches.
        let own = unsafe { device.as_ref() };
        if bounce.pool.mappings_of(&own.device) > 0 {
            return Err(Errno::BUSY);
        }
        // SAFETY: the caller vouches for it.
        unsafe { handle::end(device.as_ptr(), |device| device.home) };
        Ok(())
    })
}

/// The number of slots that a device uses; 0 without a quota, because then they are not counted,
/// and for NULL.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_device_used(device: Option<&BounceDevice>) -> u32 {
    device.and_then(|device| device.device.used()).unwrap_or(0)
}

/// The length of the longest buffer that fits an empty pool for the device, at any alignment, if an
/// area of the pool has a whole segment of 128 slots; 0 for NULL. A smaller area holds no more than
/// its slots.
///
/// Threads: concurrent.
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
