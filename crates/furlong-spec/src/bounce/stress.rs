//! Random maps, syncs and unmaps on several threads. A write into another thread's run is detected.
#![forbid(unsafe_code)]

use furlong::bounce::{
    Area, Both, Custom, Device, Growth, HeapMemory, Limits, Mapped, Order, Plan, Pool, ZeroPads,
};
use furlong::check::Check;
use furlong::sync::SpinLock;

use crate::counts::counts;
use crate::{Random, ThreadCpu};

counts! {
    /// The counts of a stress run.
    pub struct Stressed {
        /// Mappings that were made, checked and unmapped.
        mapped: "mapped",
        /// Maps that failed for lack of room.
        refused: "refused",
        /// Blocks of the pool at the end.
        blocks: "blocks",
    }
}

/// Fills `bytes` with words that are unique to the mapping `name`.
fn fill(bytes: &mut [u8], name: u64) {
    for (at, chunk) in bytes.chunks_mut(8).enumerate() {
        let word = name
            .wrapping_add(at as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
}

type Config<O, A> = Custom<O, A, ZeroPads, ThreadCpu, SpinLock>;
type Held<'a, O, A> = (u64, Mapped<'a, Both<'a>, HeapMemory, Config<O, A>>);

/// Checks that the bytes copied back from the pool are those that were copied in.
///
/// Overwrites the CPU's side first, so that only the pool can supply the bytes.
fn verify<O: Order, A: Area>((name, mut mapped): Held<'_, O, A>, expected: &mut Vec<u8>) {
    let len = mapped.len();
    expected.resize(len, 0);
    fill(expected, name);
    mapped.original_mut().fill(0xff);
    mapped.sync_for_cpu(0..len).expect("all of it is mapped");
    assert!(
        mapped.original() == expected,
        "mapping {name:#x} was overwritten"
    );
}

/// A length: mostly a few slots, occasionally a whole segment.
fn size(random: &mut Random) -> usize {
    match random.below(64) {
        0 => 1 + random.index(262_144),
        1..8 => 1 + random.index(20_000),
        8..32 => 4096,
        _ => 1 + random.index(3000),
    }
}

/// Makes about `maps` mappings on `threads` threads together, and unmaps all of them.
///
/// # Panics
/// If a byte of a mapping was changed by another thread, or a slot is lost at the end.
#[must_use]
pub fn stress<O: Order, A: Area>(threads: usize, maps: u64, seed: u64) -> Stressed {
    let plan = Plan::new(512, 4)
        .growth(Growth::Inline)
        .blocks(4)
        .transients(4);
    let pool: Pool<_, Config<O, A>> = Pool::with_config(HeapMemory::new(), ThreadCpu, &plan)
        .unwrap_or_else(|none| panic!("{none}"));
    let devices = [
        Device::new(0, Limits::new()),
        Device::new(1, Limits::new().min_align_mask(0xfff)),
        Device::new(2, Limits::new().quota(400)),
    ];
    let devices = devices.map(|device| device.expect("good limits"));
    let mut stressed = Stressed::default();
    std::thread::scope(|scope| {
        let (pool, devices) = (&pool, &devices);
        let start = |thread| {
            scope.spawn(move || {
                ThreadCpu::set(thread);
                let mut random = Random::new(seed.wrapping_mul(64) + thread as u64);
                work(pool, devices, &mut random, maps / threads as u64)
            })
        };
        let working: Vec<_> = (0..threads).map(start).collect();
        for one in working {
            stressed += one.join().expect("no thread changes another's bytes");
        }
    });
    pool.check()
        .unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    assert_eq!(
        (pool.free_slots(), pool.used_slots()),
        (pool.slots(), 0),
        "seed {seed}"
    );
    assert_eq!((pool.transient_blocks(), pool.waiters()), (0, 0));
    assert_eq!(devices[2].used(), Some(0));
    stressed.blocks = pool.blocks() as u64;
    stressed
}

/// The work of one thread: batches of up to 40 mappings, unmapped in any order.
fn work<O: Order, A: Area>(
    pool: &Pool<HeapMemory, Config<O, A>>,
    devices: &[Device; 3],
    random: &mut Random,
    maps: u64,
) -> Stressed {
    let mut done = Stressed::default();
    let mut expected = Vec::new();
    let mut buffers: Vec<Vec<u8>> = vec![Vec::new(); 40];
    while done.mapped + done.refused < maps {
        let mut held: Vec<Held<'_, O, A>> = Vec::new();
        for buffer in &mut buffers {
            let name = random.next();
            buffer.resize(size(random), 0);
            fill(buffer, name);
            let device = &devices[random.index(3)];
            match pool.map(device, Both(buffer)) {
                Ok(mapped) => held.push((name, mapped)),
                Err(_) => done.refused += 1,
            }
            if random.below(3) > 0 && !held.is_empty() {
                let one = held.swap_remove(random.index(held.len()));
                verify(one, &mut expected);
                done.mapped += 1;
            }
        }
        done.mapped += held.len() as u64;
        held.into_iter().for_each(|one| verify(one, &mut expected));
        if random.below(16) == 0 {
            let _ = pool.tend();
        }
    }
    done
}
