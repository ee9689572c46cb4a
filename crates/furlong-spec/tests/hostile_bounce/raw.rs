//! Mappings identified by their address, with a panic in each call of user code.
#![expect(unsafe_code, reason = "mappings are made and ended by address")]

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::Arc;

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{
    Area, AreaFirst, Back, Device, Direction, Growth, LockFree, Locked, Misuse, Order, Pool,
    PoolFirst,
};
use furlong_spec::Random;
use furlong_spec::hostile::{Ledger, Outcome, panic_at_every_call};

use super::memory::{Hostile, Lie};
use super::script::Kept;
use super::{Lying, Tested, device, is_whole, plan};

/// The kind of a mapping, which determines how to end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Raw,
    Allocated,
    Pointer,
}

/// A mapping known by its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) at: Iova,
    pub(crate) len: usize,
    pub(crate) way: Direction,
    pub(crate) kind: Kind,
}

const WAYS: [Direction; 3] = [Direction::ToDevice, Direction::FromDevice, Direction::Both];

/// The original of mappings by pointer, which lives for ever and has no other user.
fn pointed(len: usize) -> NonNull<[u8]> {
    thread_local! {
        static BYTES: NonNull<[u8]> = NonNull::from(Box::leak(vec![7_u8; 9000].into_boxed_slice()));
    }
    NonNull::slice_from_raw_parts(BYTES.with(|bytes| bytes.cast()), len)
}

/// Makes a mapping if there is room.
pub(crate) fn take<O: Order, A: Area>(
    pool: &Tested<O, A>,
    device: &Device,
    random: &mut Random,
) -> Option<Held> {
    let len = [1, 2048, 2049, 5000][random.index(4)];
    let way = WAYS[random.index(3)];
    let kind = [Kind::Raw, Kind::Raw, Kind::Allocated, Kind::Pointer][random.index(4)];
    let original = PhysAddr::new(random.below(9000));
    let at = match kind {
        // SAFETY: the memory has that many originals, and there is only this thread.
        Kind::Raw => unsafe { pool.map_raw(device, original, len, way) }.ok()?,
        Kind::Allocated => pool.allocate_raw(device, len).ok()?.0,
        // SAFETY: the bytes live for ever, and no other code uses them.
        Kind::Pointer => unsafe { pool.map_pointer(device, pointed(len), way) }.ok()?,
    };
    Some(Held { at, len, way, kind })
}

/// Ends a mapping.
pub(crate) fn give<O: Order, A: Area>(
    pool: &Tested<O, A>,
    device: &Device,
    held: Held,
    back: Back,
) -> Result<(), Misuse> {
    let Held { at, len, way, kind } = held;
    match kind {
        // SAFETY: the same arguments as in the map call, and no sync runs.
        Kind::Raw => unsafe { pool.unmap_raw(device, at, way, back) },
        // SAFETY: no other code uses it.
        Kind::Allocated => unsafe { pool.deallocate_raw(device, at) },
        // SAFETY: the same arguments as in the map call.
        Kind::Pointer => unsafe { pool.unmap_pointer(device, at, pointed(len), way, back) },
    }
}

/// The mappings of a script, which survive its panics.
#[derive(Default)]
struct Hand {
    held: RefCell<Vec<Held>>,
    /// The mapping that is being ended.
    ending: Cell<Option<Held>>,
}

/// One step of a script.
fn step<O: Order, A: Area>(pool: &Tested<O, A>, device: &Device, random: &mut Random, hand: &Hand) {
    let count = hand.held.borrow().len();
    let which = random.below(10);
    if which < 5 || count == 0 {
        let new = take(pool, device, random);
        hand.held.borrow_mut().extend(new);
        return;
    }
    let at = random.index(count);
    let one = hand.held.borrow()[at];
    let back = [Back::All, Back::First(3), Back::Nothing][random.index(3)];
    match which {
        5 | 6 => {
            hand.held.borrow_mut().remove(at);
            hand.ending.set(Some(one));
            assert_eq!(give(pool, device, one, back), Ok(()));
            hand.ending.set(None);
        }
        7 => {
            let (at, len, way) = (one.at, one.len, one.way);
            // SAFETY: the same arguments as in the map call, and no unmap runs.
            let synced = unsafe { pool.sync_for_device_raw(device, at, len, way) };
            assert_eq!(synced.is_ok(), one.kind == Kind::Raw);
            // SAFETY: as above.
            let synced = unsafe { pool.sync_for_cpu_raw(device, at, len, way) };
            assert_eq!(synced.is_ok(), one.kind == Kind::Raw);
        }
        8 => {
            let other = Device::new(8, *device.limits()).expect("good limits");
            assert!(give(pool, &other, one, back).is_err(), "it is another's");
            let behind = one.at.checked_add(1 << 30).expect("it is low");
            let nothing = Held { at: behind, ..one };
            assert!(give(pool, device, nothing, back).is_err());
        }
        _ => {
            let _ = pool.grow();
            pool.tend();
        }
    }
}

/// Makes each call of user code in a script panic once.
fn panics_of<O: Order, A: Area>(seed: u64, ledger: &mut Ledger) {
    let growth = [Growth::Inline, Growth::Deferred, Growth::Never][seed as usize % 3];
    let refused = if seed % 4 == 3 { seed as usize % 9 } else { 0 };
    let device = device();
    let made = Cell::new(None::<(Tested<O, A>, Arc<Hostile>, Hand)>);
    let place = Cell::new((0_u64, 0_usize));
    panic_at_every_call(
        |_| {
            let memory = Arc::new(Hostile::new(Lie::None, 0));
            let pool = Pool::with_config(Arc::clone(&memory), Lying, &plan(growth));
            let pool = pool.expect("there is memory for the first block");
            memory.refuse(refused);
            // Returned to the cell however the script ends.
            let kept = Kept::new((pool, memory, Hand::default()), &made);
            let (pool, _, hand) = kept.get();
            let mut random = Random::new(seed);
            for number in 0..14 {
                place.set((number, hand.held.borrow().len()));
                step(pool, &device, &mut random, hand);
            }
        },
        |k, outcome| {
            let Some((pool, memory, hand)) = made.take() else {
                return;
            };
            let what = format!("seed {seed}, {k}: {outcome:?}");
            if let Outcome::Panicked(of) = outcome {
                ledger.note("bounce::Pool by address", (place.get().0, of, k), seed);
            }
            if let Some(ending) = hand.ending.take() {
                // The mapping has either ended or is unchanged.
                let again = give(&pool, &device, ending, Back::Nothing);
                let gone = Err(Misuse::NotMapped(ending.at));
                assert!(again == Ok(()) || again == gone, "{what}: {again:?}");
            }
            let held = hand.held.into_inner();
            is_whole(&pool, &device, held.len(), &what);
            for one in held {
                assert_eq!(give(&pool, &device, one, Back::All), Ok(()), "{what}");
            }
            is_whole(&pool, &device, 0, &what);
            drop(pool);
            assert_eq!(memory.out(), memory.lost(), "{what}: blocks are out");
        },
    );
}

#[test]
fn a_panic_in_a_mapping_by_address_leaves_it_ended_or_as_it_was() {
    let mut ledger = Ledger::new();
    for seed in 0..150 {
        panics_of::<AreaFirst, LockFree>(seed, &mut ledger);
        panics_of::<PoolFirst, Locked>(seed, &mut ledger);
    }
    ledger.report(4000);
}
