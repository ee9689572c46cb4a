//! Mappings: a buffer's place in a pool, identified by its device address.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{Back, Direction};

use super::Bounce;
use super::device::BounceDevice;
use crate::answer::{Given, answer, answer_in, put};
use crate::errno::Errno;

/// The device reads data that the CPU has written.
pub const FURLONG_BOUNCE_TO_DEVICE: u32 = 0;
/// The CPU reads data that the device has written.
pub const FURLONG_BOUNCE_FROM_DEVICE: u32 = 1;
/// Both directions.
pub const FURLONG_BOUNCE_BOTH: u32 = 2;

const _: () = {
    assert!(FURLONG_BOUNCE_TO_DEVICE == Direction::ToDevice as u32);
    assert!(FURLONG_BOUNCE_FROM_DEVICE == Direction::FromDevice as u32);
    assert!(FURLONG_BOUNCE_BOTH == Direction::Both as u32);
};

/// Converts C's direction.
fn direction(number: u32) -> Result<Direction, Errno> {
    let number = u8::try_from(number).ok();
    number.and_then(Direction::from_number).given()
}

/// Maps len bytes at original for a device. Copies them to the pool, whatever the direction, and
/// writes the device address of the first one to address.
///
/// Returns 0, -EINVAL (an argument is NULL, len is 0, the direction is unknown), -EOVERFLOW (no run
/// is that long), -EOPNOTSUPP (the pool cannot provide the alignment that the device requires),
/// -E2BIG (it crosses the device's boundary at every place), -EDQUOT (the device has used up its
/// quota), -EADDRNOTAVAIL (the device reaches no block), -ENOSPC (no area has room) or -EACCES (the
/// device was made for another pool): nothing has changed.
/// Threads: concurrent. It allocates only if the plan lets the pool grow inline or has transients.
///
/// # Safety
/// Until it is unmapped, len bytes at original are valid for reading, and for writing if the device
/// writes. Nobody else writes them while a map, sync or unmap copies them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_map(
    bounce: Option<&Bounce>,
    device: Option<&BounceDevice>,
    original: *mut c_void,
    len: usize,
    direction: u32,
    address: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    answer_in(address, || {
        let (bounce, device) = (bounce.given()?, device.given()?);
        let original = NonNull::new(original).given()?;
        let original = PhysAddr::new(original.as_ptr().expose_provenance() as u64);
        let direction = self::direction(direction)?;
        // SAFETY: the caller vouches for the original, whose address was exposed.
        let mapped = unsafe {
            bounce
                .pool
                .map_raw(&device.device, original, len, direction)
        };
        Ok(mapped?.raw())
    })
}

/// Ends the mapping that begins at address. If the device writes, the first written bytes are
/// copied back: SIZE_MAX for all, 0 for none. A larger number than the mapping's length counts as
/// its length.
///
/// Returns 0, -EINVAL (an argument is NULL, the direction is unknown), -ENOENT (nothing is mapped
/// there), -EDOM (the mapping begins elsewhere), -EPERM (another device mapped it), -EPROTOTYPE (it
/// was mapped in another direction) or -EBADF (it was allocated): nothing has changed.
/// Threads: concurrent, except with syncs of the same mapping.
///
/// # Safety
/// The original is valid as furlong_bounce_map requires.
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
/// Returns 0, -EINVAL (an argument is NULL, len is 0, the direction is unknown), -ERANGE (some of
/// the bytes are outside the mapping); otherwise as furlong_bounce_unmap: nothing was copied.
/// Threads: concurrent, except with the unmap of the same mapping.
///
/// # Safety
/// The original is valid as furlong_bounce_map requires.
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
/// Returns as furlong_bounce_sync_for_device.
/// Threads: concurrent, except with the unmap of the same mapping.
///
/// # Safety
/// The original is valid as furlong_bounce_map requires.
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

/// Allocates len zeroed bytes without an original, for a descriptor ring or a mailbox, until
/// furlong_bounce_deallocate. Writes the device address to address, and the CPU's address to
/// memory, unless that is NULL. The CPU must use volatile accesses.
///
/// Returns as furlong_bounce_map.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_allocate(
    bounce: Option<&Bounce>,
    device: Option<&BounceDevice>,
    len: usize,
    address: Option<&mut MaybeUninit<u64>>,
    memory: Option<&mut MaybeUninit<*mut c_void>>,
) -> c_int {
    answer_in(address, || {
        let (bounce, device) = (bounce.given()?, device.given()?);
        let (at, start) = bounce.pool.allocate_raw(&device.device, len)?;
        put(memory, start.as_ptr().cast());
        Ok(at.raw())
    })
}

/// Frees memory from furlong_bounce_allocate.
///
/// Returns 0, -EINVAL (an argument is NULL), -ENOENT (nothing is allocated there), -EDOM (it begins
/// elsewhere), -EPERM (another device has it) or -EBADF (it was mapped): nothing has changed.
/// Threads: concurrent.
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
        // SAFETY: the caller vouches that nobody uses it any more.
        unsafe { bounce.pool.deallocate_raw(&device.device, at) }?;
        Ok(())
    })
}
