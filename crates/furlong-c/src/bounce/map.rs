//! Mappings: a buffer's place in a pool, found again by the address that the device has.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{Back, Direction};

use super::Bounce;
use super::device::BounceDevice;
use crate::answer::{Given, answer, put};
use crate::errno::Errno;

/// The device reads what the CPU has written.
pub const FURLONG_BOUNCE_TO_DEVICE: u32 = 0;
/// The CPU reads what the device has written.
pub const FURLONG_BOUNCE_FROM_DEVICE: u32 = 1;
/// Both.
pub const FURLONG_BOUNCE_BOTH: u32 = 2;

const _: () = {
    assert!(FURLONG_BOUNCE_TO_DEVICE == Direction::ToDevice as u32);
    assert!(FURLONG_BOUNCE_FROM_DEVICE == Direction::FromDevice as u32);
    assert!(FURLONG_BOUNCE_BOTH == Direction::Both as u32);
};

/// The direction that C means.
fn direction(number: u32) -> Result<Direction, Errno> {
    let number = u8::try_from(number).ok();
    number.and_then(Direction::from_number).given()
}

/// Maps len bytes at original for a device, copies them there whatever the direction, and writes
/// where the device finds the first one to address.
///
/// Answers 0, -EINVAL (an argument is NULL, len is 0, there is no such direction), -EOVERFLOW (no
/// run is that long), -EOPNOTSUPP (the device asks for more alignment than there is), -E2BIG (it
/// crosses the device's boundary wherever it lies), -EDQUOT (the device has its slots already),
/// -EADDRNOTAVAIL (the device reaches no block), -ENOSPC (no area has room) or -EACCES (the device
/// was made for another pool): nothing has changed.
/// Threads: side by side with everything. It allocates only where the plan lets the pool grow
/// inline or has transients.
///
/// # Safety
/// Until it is unmapped, len bytes at original are good for reading, and for writing if the device
/// writes; nobody else writes them while a map, sync or unmap copies them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_map(
    bounce: Option<&Bounce>,
    device: Option<&BounceDevice>,
    original: *mut c_void,
    len: usize,
    direction: u32,
    address: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    answer(|| {
        let (bounce, device, out) = (bounce.given()?, device.given()?, address.given()?);
        let original = NonNull::new(original).given()?;
        let original = PhysAddr::new(original.as_ptr().expose_provenance() as u64);
        let direction = self::direction(direction)?;
        // SAFETY: the caller vouches for the original, which is found by its exposed address.
        let mapped = unsafe {
            bounce
                .pool
                .map_raw(&device.device, original, len, direction)
        };
        out.write(mapped?.raw());
        Ok(())
    })
}

/// Ends the mapping that begins at address. If the device writes, the first written bytes are
/// copied back: SIZE_MAX for all, 0 for none; of what is said beyond the mapping nothing is
/// believed.
///
/// Answers 0, -EINVAL (an argument is NULL, there is no such direction), -ENOENT (nothing is mapped
/// there), -EDOM (the mapping begins elsewhere), -EPERM (another device mapped it), -EPROTOTYPE (it
/// was mapped in another direction) or -EBADF (it was allocated): nothing has changed.
/// Threads: side by side with everything but syncs of the same mapping.
///
/// # Safety
/// The original is as furlong_bounce_map asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_unmap(
    bounce: Option<&Bounce>,
    device: Option<&BounceDevice>,
    address: u64,
    direction: u32,
    written: usize,
) -> c_int {
    answer(|| {
        let (bounce, device) = (bounce.given()?, device.given()?);
        let (at, direction) = (Iova::new(address), self::direction(direction)?);
        let back = Back::First(written);
        // SAFETY: the caller vouches for the original.
        unsafe { bounce.pool.unmap_raw(&device.device, at, direction, back) }?;
        Ok(())
    })
}

/// Copies len bytes from address on to the device, if it reads.
///
/// Answers 0, -EINVAL (an argument is NULL, len is 0, there is no such direction), -ERANGE (some of
/// the bytes are outside the mapping); otherwise as furlong_bounce_unmap: nothing was copied.
/// Threads: side by side with everything but the unmap of the same mapping.
///
/// # Safety
/// The original is as furlong_bounce_map asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_sync_for_device(
    bounce: Option<&Bounce>,
    device: Option<&BounceDevice>,
    address: u64,
    len: usize,
    direction: u32,
) -> c_int {
    answer(|| {
        let (pool, device) = (&bounce.given()?.pool, &device.given()?.device);
        let (at, direction) = (Iova::new(address), self::direction(direction)?);
        // SAFETY: the caller vouches for the original, and that nobody unmaps it meanwhile.
        unsafe { pool.sync_for_device_raw(device, at, len, direction) }?;
        Ok(())
    })
}

/// Copies len bytes from address on back to the original, if the device writes.
///
/// Answers as furlong_bounce_sync_for_device.
/// Threads: side by side with everything but the unmap of the same mapping.
///
/// # Safety
/// The original is as furlong_bounce_map asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_sync_for_cpu(
    bounce: Option<&Bounce>,
    device: Option<&BounceDevice>,
    address: u64,
    len: usize,
    direction: u32,
) -> c_int {
    answer(|| {
        let (pool, device) = (&bounce.given()?.pool, &device.given()?.device);
        let (at, direction) = (Iova::new(address), self::direction(direction)?);
        // SAFETY: the caller vouches for the original, and that nobody unmaps it meanwhile.
        unsafe { pool.sync_for_cpu_raw(device, at, len, direction) }?;
        Ok(())
    })
}

/// Takes len bytes without an original, zeroed, until furlong_bounce_deallocate: a descriptor ring,
/// a mailbox. Writes where the device has them to address, and where the CPU has them to memory,
/// unless that is NULL; the CPU is to use volatile accesses.
///
/// Answers as furlong_bounce_map.
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_allocate(
    bounce: Option<&Bounce>,
    device: Option<&BounceDevice>,
    len: usize,
    address: Option<&mut MaybeUninit<u64>>,
    memory: Option<&mut MaybeUninit<*mut c_void>>,
) -> c_int {
    answer(|| {
        let (bounce, device, out) = (bounce.given()?, device.given()?, address.given()?);
        let (at, start) = bounce.pool.allocate_raw(&device.device, len)?;
        out.write(at.raw());
        put(memory, start.as_ptr().cast());
        Ok(())
    })
}

/// Gives back what furlong_bounce_allocate has taken.
///
/// Answers 0, -EINVAL (an argument is NULL), -ENOENT (nothing is there), -EDOM (it begins
/// elsewhere), -EPERM (another device has it) or -EBADF (it was mapped): nothing has changed.
/// Threads: side by side with everything.
///
/// # Safety
/// Nobody uses the memory any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_deallocate(
    bounce: Option<&Bounce>,
    device: Option<&BounceDevice>,
    address: u64,
) -> c_int {
    answer(|| {
        let (bounce, device) = (bounce.given()?, device.given()?);
        let at = Iova::new(address);
        // SAFETY: the caller says that nobody uses it any more.
        unsafe { bounce.pool.deallocate_raw(&device.device, at) }?;
        Ok(())
    })
}
