//! Mappings by address and by pointer. Every mistake of a kernel has its error and changes nothing,
//! and each byte is copied once in each direction.
#![expect(unsafe_code, reason = "mappings are made and ended by address")]

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{
    AreaFirst, Back, Backing, Device, Direction, Growth, Limits, LockFree, MapError, Memory,
    Misuse, OneCpu, Plan, Pool, SLOT, SyncError, ToDevice, Wanted,
};
use furlong::check::Check;
use furlong_spec::bounce::{Addresses, Machine, RAM, TestCpu, Tried};

type Tested = Pool<Arc<Machine>, Tried<AreaFirst, LockFree>>;

/// A pool without growth, which has one transient block after its segment is full.
fn pool() -> Tested {
    let machine = Arc::new(Machine::new(1 << 20, Addresses::new(1 << 30, 0)));
    let plan = Plan::new(128, 1).growth(Growth::Never).transients(1);
    let pool = Pool::with_config(machine, TestCpu::default(), &plan);
    pool.unwrap_or_else(|none| panic!("{none}"))
}

fn device(id: u32) -> Device {
    Device::new(id, Limits::new()).expect("good limits")
}

fn map(pool: &Tested, by: &Device, from: u64, len: usize, way: Direction) -> Iova {
    // SAFETY: the original is the machine's memory, and there is only this thread.
    let mapped = unsafe { pool.map_raw(by, PhysAddr::new(RAM + from), len, way) };
    mapped.expect("there is room")
}

fn unmap(pool: &Tested, by: &Device, at: Iova, way: Direction) -> Result<(), Misuse> {
    // SAFETY: as above.
    unsafe { pool.unmap_raw(by, at, way, Back::All) }
}

fn further(at: Iova, bytes: u64) -> Iova {
    at.checked_add(bytes).expect("it is small")
}

/// Calls `with` with a mapping in a block, and with one in a transient block, each between
/// neighbours whose bytes must not change.
fn everywhere(with: impl Fn(&Tested, &Device, Iova)) {
    for transient in [false, true] {
        let (pool, own) = (pool(), device(1));
        let machine = pool.memory();
        machine.write_ram(RAM, &[0xaa; 1 << 16]);
        let room = if transient { 126 } else { 50 };
        let before = map(&pool, &own, 0, room * SLOT as usize, Direction::FromDevice);
        let way = Direction::Both;
        let at = map(&pool, &own, 1 << 13, 5000, way);
        assert_eq!(pool.transient_blocks(), usize::from(transient));
        let after = map(&pool, &own, 100, 2048, Direction::ToDevice);
        let original = machine.read_ram(RAM, 1 << 20);
        with(&pool, &own, at);
        let seen = |at: Iova, len: usize| machine.read_bus(at.raw(), len);
        assert_eq!(seen(before, 1 << 14), original[..1 << 14]);
        assert_eq!(seen(after, 2048), original[100..2148]);
        assert!(machine.read_ram(RAM, 1 << 20) == original);
        pool.check().expect("no invariant is broken");
        assert_eq!(unmap(&pool, &own, before, Direction::FromDevice), Ok(()));
        assert_eq!(unmap(&pool, &own, after, Direction::ToDevice), Ok(()));
        assert_eq!((pool.used_slots(), pool.transient_blocks()), (0, 0));
    }
}

#[test]
fn a_mapping_that_was_ended_is_not_ended_again() {
    everywhere(|pool, own, at| {
        assert_eq!(unmap(pool, own, at, Direction::Both), Ok(()));
        for _ in 0..2 {
            let again = unmap(pool, own, at, Direction::Both);
            assert_eq!(again, Err(Misuse::NotMapped(at)));
        }
        let nowhere = Iova::new(77);
        let never = unmap(pool, own, nowhere, Direction::Both);
        assert_eq!(never, Err(Misuse::NotMapped(nowhere)));
    });
}

#[test]
fn nobody_ends_or_syncs_what_another_device_has_mapped() {
    everywhere(|pool, own, at| {
        let other = device(2);
        let foreign = Misuse::Foreign(1);
        assert_eq!(unmap(pool, &other, at, Direction::Both), Err(foreign));
        // SAFETY: the call is refused.
        let synced = unsafe { pool.sync_for_cpu_raw(&other, at, 1, Direction::Both) };
        assert_eq!(synced, Err(SyncError::Misuse(foreign)));
        assert_eq!(pool.mappings_of(own), 3);
        assert_eq!(unmap(pool, own, at, Direction::Both), Ok(()));
    });
}

#[test]
fn a_mapping_is_ended_at_its_start_in_its_direction_by_its_own_call() {
    everywhere(|pool, own, at| {
        let inside = further(at, 1);
        let started = Err(Misuse::NotStart(at));
        assert_eq!(unmap(pool, own, inside, Direction::Both), started);
        let way = Err(Misuse::Direction(Direction::Both));
        assert_eq!(unmap(pool, own, at, Direction::ToDevice), way);
        // SAFETY: the call is refused.
        assert_eq!(unsafe { pool.deallocate_raw(own, at) }, Err(Misuse::Kind));
        let mut bytes = [0; 5000];
        let pointer = NonNull::from(&mut bytes[..]);
        // SAFETY: as above.
        let pointed = unsafe { pool.unmap_pointer(own, at, pointer, Direction::Both, Back::All) };
        assert_eq!((pointed, bytes), (Err(Misuse::Kind), [0; 5000]));
        assert_eq!(unmap(pool, own, at, Direction::Both), Ok(()));
    });
}

#[test]
fn a_device_with_mappings_alive_is_not_removed_and_goes_on() {
    everywhere(|pool, own, at| {
        let machine = pool.memory();
        let gone = device(3);
        let (ring, _) = pool.allocate_raw(&gone, 512).unwrap();
        let before = machine.read_bus(at.raw(), 5000);
        let still = pool.remove(gone).unwrap_err();
        assert_eq!((still.device.id(), still.mappings), (3, 1));
        let gone = still.device;
        assert_eq!(pool.mappings_of(&gone), 1);
        // SAFETY: no other code uses the memory.
        unsafe { pool.deallocate_raw(&gone, ring) }.unwrap();
        drop(pool.map(&gone, ToDevice(&[5; 512])).unwrap());
        pool.remove(gone).expect("it has nothing mapped");
        assert_eq!(machine.read_bus(at.raw(), 5000), before);
        assert_eq!(unmap(pool, own, at, Direction::Both), Ok(()));
    });
}

#[test]
fn a_sync_stays_inside_its_mapping() {
    everywhere(|pool, own, at| {
        let outside = Err(SyncError::Outside {
            start: at,
            len: 5000,
        });
        let wrong = [(0, 5001), (4999, 2), (5000, 1), (1, usize::MAX)];
        for (delta, len) in wrong {
            let from = further(at, delta);
            // SAFETY: the call is refused.
            let cpu = unsafe { pool.sync_for_cpu_raw(own, from, len, Direction::Both) };
            // SAFETY: as above.
            let device = unsafe { pool.sync_for_device_raw(own, from, len, Direction::Both) };
            assert_eq!((cpu, device), (outside, outside), "{delta} {len}");
        }
        // SAFETY: as above.
        let empty = unsafe { pool.sync_for_cpu_raw(own, at, 0, Direction::Both) };
        assert_eq!(empty, Err(SyncError::ZeroSize));
        let way = SyncError::Misuse(Misuse::Direction(Direction::Both));
        // SAFETY: as above.
        let other = unsafe { pool.sync_for_cpu_raw(own, at, 1, Direction::FromDevice) };
        assert_eq!(other, Err(way));
        // The last byte belongs to the mapping.
        pool.memory().write_ram(RAM + (1 << 13) + 4999, &[7]);
        // SAFETY: the original is the machine's memory, and there is only this thread.
        let last = unsafe { pool.sync_for_device_raw(own, further(at, 4999), 1, Direction::Both) };
        assert_eq!(last, Ok(()));
        assert_eq!(pool.memory().read_bus(at.raw() + 4998, 2), [0xaa, 7]);
        pool.memory().write_ram(RAM + (1 << 13) + 4999, &[0xaa]);
        // SAFETY: as above.
        unsafe { pool.unmap_raw(own, at, Direction::Both, Back::Nothing) }.unwrap();
    });
}

#[test]
fn what_is_mapped_by_pointer_is_unmapped_with_the_same_original() {
    let (pool, own) = (pool(), device(1));
    let mut bytes = [1_u8; 3000];
    let mut other = [2_u8; 3000];
    let way = Direction::Both;
    let pointer = NonNull::from(&mut bytes[..]);
    // SAFETY: the original outlives the mapping, and no other code uses it.
    let at = unsafe { pool.map_pointer(&own, pointer, way) }.unwrap();
    assert_eq!(pool.memory().read_bus(at.raw(), 3000), [1; 3000]);
    pool.memory().write_bus(at.raw(), &[9; 3000]);
    let short = NonNull::slice_from_raw_parts(pointer.cast(), 2999);
    for wrong in [NonNull::from(&mut other[..]), short] {
        // SAFETY: the call is refused.
        let ended = unsafe { pool.unmap_pointer(&own, at, wrong, way, Back::All) };
        assert_eq!(ended, Err(Misuse::Original));
    }
    assert_eq!(unmap(&pool, &own, at, way), Err(Misuse::Kind));
    // SAFETY: the same original as in the map call.
    let ended = unsafe { pool.unmap_pointer(&own, at, pointer, way, Back::First(10)) };
    assert_eq!(ended, Ok(()));
    assert!(bytes[..10] == [9; 10] && bytes[10..] == [1; 2990] && other == [2; 3000]);
    // SAFETY: no byte is copied to it.
    let read_only = unsafe {
        let empty = NonNull::slice_from_raw_parts(NonNull::dangling(), 0);
        pool.map_pointer(&own, empty, Direction::ToDevice)
    };
    assert_eq!(read_only, Err(MapError::ZeroSize));
    assert_eq!(pool.used_slots(), 0);
}

/// Counts the bytes copied between originals and bounce memory, by direction.
struct Counted(Machine, [AtomicUsize; 2]);

// SAFETY: every call is forwarded.
unsafe impl Memory for Counted {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        self.0.obtain(wanted)
    }

    unsafe fn free(&self, backing: Backing) {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { self.0.free(backing) }
    }

    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize) {
        self.1[0].fetch_add(len, Ordering::SeqCst);
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { self.0.read(from, to, len) }
    }

    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize) {
        self.1[1].fetch_add(len, Ordering::SeqCst);
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { self.0.write(to, from, len) }
    }
}

#[test]
fn every_byte_is_copied_once_each_way_and_none_that_was_not_asked_for() {
    let machine = Machine::new(1 << 18, Addresses::new(1 << 30, 0));
    let memory = Counted(machine, Default::default());
    let pool = Pool::new(memory, OneCpu, &Plan::new(128, 1)).unwrap_or_else(|_| panic!());
    let own = device(1);
    let copied = || {
        let counts = &pool.memory().1;
        counts
            .each_ref()
            .map(|count| count.swap(0, Ordering::SeqCst))
    };
    let ways = [Direction::ToDevice, Direction::FromDevice, Direction::Both];
    for (len, way) in [1, 2047, 4096, 1 << 18]
        .into_iter()
        .flat_map(|len| ways.map(|way| (len, way)))
    {
        let back = if way == Direction::ToDevice { 0 } else { len };
        for (asked, expected) in [
            (Back::All, back),
            (Back::First(1), back.min(1)),
            (Back::First(usize::MAX), back),
            (Back::Nothing, 0),
        ] {
            // SAFETY: the original is the machine's memory, and there is only this thread.
            let at = unsafe { pool.map_raw(&own, PhysAddr::new(RAM), len, way) }.unwrap();
            assert_eq!(copied(), [len, 0], "{len} {way:?}");
            // SAFETY: as above.
            unsafe { pool.unmap_raw(&own, at, way, asked) }.unwrap();
            assert_eq!(copied(), [0, expected], "{len} {way:?} {asked:?}");
        }
    }
}

#[test]
fn a_device_that_unmaps_for_another_of_its_number_keeps_its_quota() {
    let pool = pool();
    let limits = Limits::new().quota(8);
    let [mapper, other] = [(); 2].map(|()| Device::new(1, limits).expect("good limits"));
    let at = map(&pool, &mapper, 0, 4096, Direction::Both);
    assert_eq!(unmap(&pool, &other, at, Direction::Both), Ok(()));
    assert_eq!((mapper.used(), other.used()), (Some(2), Some(0)));
    let at = map(&pool, &other, 0, 8 * SLOT as usize, Direction::Both);
    assert_eq!(unmap(&pool, &other, at, Direction::Both), Ok(()));
    assert_eq!((pool.used_slots(), other.used()), (0, Some(0)));
}
