//! The library's pool over a simulated machine.
#![expect(
    unsafe_code,
    reason = "originals are vouched for: they are the machine's memory"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{
    Area, Back, Config, Cpu, Custom, Device, Direction, LockFree, Locked, MapError, Misuse, Order,
    Pool, State, Tally, ZeroPads, Zeroing,
};
use furlong::check::Check;
use furlong::sync::SpinLock;

use super::machine::{Machine, RAM};
use super::operation::{Operation, Outcome, Side};
use super::world::{World, digest};
use crate::Subject;

/// The CPU number that the test has set.
#[derive(Clone, Debug, Default)]
pub struct TestCpu(Arc<AtomicUsize>);

impl TestCpu {
    /// Sets the CPU number.
    pub fn set(&self, cpu: usize) {
        self.0.store(cpu, Ordering::SeqCst);
    }
}

impl Cpu for TestCpu {
    fn number(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A pool configuration for tests.
pub type Tried<O, A, Z = ZeroPads> = Custom<O, A, Z, TestCpu, SpinLock, Tally>;

/// Locked areas, with segments of 4 slots.
pub type SmallLocked = Locked<SpinLock, 4>;

/// Lock-free areas, with segments of two words of 2 slots each.
pub type SmallLockFree = LockFree<2>;

#[derive(Clone, Copy, Debug)]
struct Live {
    at: Iova,
    len: usize,
    device: usize,
    direction: Direction,
    original: Option<u64>,
}

/// A pool over a machine of its own.
pub struct PoolSubject<C: Config> {
    /// `None` only while the pool is saved and restored.
    pool: Option<Pool<Arc<Machine>, C>>,
    machine: Arc<Machine>,
    world: World,
    devices: Vec<Device>,
    cpu: TestCpu,
    live: Vec<Live>,
    ended: Option<Live>,
}

fn devices(world: &World) -> Vec<Device> {
    let limits = world.devices.iter().enumerate();
    limits
        .map(|(id, limits)| Device::new(id as u32, *limits).expect("good limits"))
        .collect()
}

impl<O: Order, A: Area, Z: Zeroing> PoolSubject<Tried<O, A, Z>> {
    /// A new pool over a new machine.
    ///
    /// # Panics
    /// If the pool cannot be made.
    #[must_use]
    pub fn new(world: &World) -> Self {
        let machine = Arc::new(Machine::new(world.ram, world.addresses));
        let cpu = TestCpu::default();
        let pool = Pool::with_config(Arc::clone(&machine), cpu.clone(), &world.plan);
        Self {
            pool: Some(pool.unwrap_or_else(|none| panic!("{none}"))),
            machine,
            world: world.clone(),
            devices: devices(world),
            cpu,
            live: Vec::new(),
            ended: None,
        }
    }

    /// Saves and restores the pool, and claims every mapping.
    fn save_restore(&mut self) {
        let old = self.pool.take().expect("there is one");
        let state: State = old
            .into_state()
            .unwrap_or_else(|_| panic!("there is memory"));
        self.devices = devices(&self.world);
        let machine = Arc::clone(&self.machine);
        let pool = Pool::restore_with_config(&state, machine, self.cpu.clone(), &self.world.plan);
        let pool = pool.expect("a pool has saved it");
        assert_eq!(pool.unclaimed(|_| {}), self.live.len());
        for live in &self.live {
            // SAFETY: originals lie in the machine's memory, and there is only this thread.
            let claimed = unsafe { pool.claim(&self.devices[live.device], live.at) };
            let claimed = claimed.expect("it was this device's");
            assert_eq!((claimed.len, claimed.direction), (live.len, live.direction));
            assert_eq!(claimed.has_original, live.original.is_some());
        }
        assert_eq!(pool.unclaimed(|_| {}), 0);
        self.pool = Some(pool);
    }

    /// Carries out an operation; `None` if it is for a mapping and there is none.
    fn attempt(&mut self, operation: &Operation) -> Option<Outcome> {
        let count = self.live.len();
        let of = |index: usize| index.checked_rem(count);
        Some(match *operation {
            Operation::OnCpu(cpu) => {
                self.cpu.set(cpu);
                Outcome::Done
            }
            Operation::Map {
                device,
                original,
                len,
                direction,
            } => self.map(device, original, len, direction),
            Operation::Allocate { device, len } => {
                let allocated = self.pool().allocate_raw(&self.devices[device], len);
                let at = allocated.map(|(at, _)| at);
                self.keep(at, device, len, Direction::Both, None)
            }
            Operation::Unmap(index, back) => self.unmap(of(index)?, back),
            Operation::UnmapWrongly {
                mapping,
                delta,
                device,
                direction,
            } => {
                let at = self.live[of(mapping)?].at.checked_add(delta);
                self.unmap_at(at.expect("it is small"), device, direction, Back::All)
            }
            Operation::UnmapAgain => {
                let ended = self.ended?;
                self.unmap_at(ended.at, ended.device, ended.direction, Back::All)
            }
            Operation::Sync {
                mapping,
                delta,
                len,
                side,
            } => self.sync(of(mapping)?, delta, len, side),
            Operation::DeviceWrites(index, byte) => {
                let live = self.live[of(index)?];
                self.machine.write_bus(live.at.raw(), &vec![byte; live.len]);
                Outcome::Done
            }
            Operation::CpuWrites(at, len, byte) => {
                self.machine.write_ram(RAM + at, &vec![byte; len]);
                Outcome::Done
            }
            Operation::Grow => {
                let grown = self.pool().grow();
                grown.map_or_else(Outcome::NotGrown, Outcome::Grown)
            }
            Operation::Tend => Outcome::Tended(self.pool().tend()),
            Operation::SaveRestore => {
                self.save_restore();
                Outcome::Done
            }
            Operation::Free => Outcome::Free(self.slots()),
            Operation::Bytes => Outcome::Bytes(self.digest()),
        })
    }
}

impl<C: Config> PoolSubject<C> {
    /// The pool.
    pub fn pool(&self) -> &Pool<Arc<Machine>, C> {
        self.pool.as_ref().expect("there is one")
    }

    /// The simulated machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    fn map(&mut self, device: usize, original: u64, len: usize, direction: Direction) -> Outcome {
        let at = PhysAddr::new(RAM + original);
        // SAFETY: originals lie in the machine's memory, and there is only this thread.
        let mapped = unsafe {
            self.pool()
                .map_raw(&self.devices[device], at, len, direction)
        };
        self.keep(mapped, device, len, direction, Some(original))
    }

    fn keep(
        &mut self,
        mapped: Result<Iova, MapError>,
        device: usize,
        len: usize,
        direction: Direction,
        original: Option<u64>,
    ) -> Outcome {
        match mapped {
            Ok(at) => {
                self.live.push(Live {
                    at,
                    len,
                    device,
                    direction,
                    original,
                });
                Outcome::Mapped(at.raw())
            }
            Err(error) => Outcome::Refused(error),
        }
    }

    fn unmap(&mut self, index: usize, back: Back) -> Outcome {
        let live = self.live[index];
        if live.original.is_some() {
            return self.unmap_at(live.at, live.device, live.direction, back);
        }
        let device = &self.devices[live.device];
        // SAFETY: no other code uses it.
        let ended = unsafe { self.pool().deallocate_raw(device, live.at) };
        self.end(live.at, ended)
    }

    /// Unmaps at an address, whichever mapping it belongs to.
    fn unmap_at(&mut self, at: Iova, device: usize, direction: Direction, back: Back) -> Outcome {
        let device = &self.devices[device];
        // SAFETY: as in `map`.
        let ended = unsafe { self.pool().unmap_raw(device, at, direction, back) };
        self.end(at, ended)
    }

    fn end(&mut self, at: Iova, ended: Result<(), Misuse>) -> Outcome {
        if let Err(misuse) = ended {
            return Outcome::NotUnmapped(misuse);
        }
        let index = self.live.iter().position(|live| live.at == at);
        self.ended = Some(self.live.swap_remove(index.expect("it was mapped")));
        Outcome::Done
    }

    fn sync(&self, index: usize, delta: u64, len: usize, side: Side) -> Outcome {
        let live = self.live[index];
        let (pool, device) = (self.pool(), &self.devices[live.device]);
        let at = live.at.checked_add(delta).expect("it is small");
        let synced = match side {
            // SAFETY: as in `map`.
            Side::Device => unsafe { pool.sync_for_device_raw(device, at, len, live.direction) },
            // SAFETY: as in `map`.
            Side::Cpu => unsafe { pool.sync_for_cpu_raw(device, at, len, live.direction) },
        };
        synced.map_or_else(Outcome::NotSynced, |()| Outcome::Done)
    }

    fn digest(&self) -> u64 {
        let ram = self.machine.read_ram(RAM, self.world.ram);
        let mut hash = digest(0xcbf2_9ce4_8422_2325, &ram);
        for block in self.pool().save().expect("there is memory").blocks {
            let len = block.slots as usize * furlong::bounce::SLOT as usize;
            hash = digest(hash, &block.device.to_le_bytes());
            hash = digest(hash, &self.machine.read_bus(block.device, len));
        }
        hash
    }

    fn slots(&self) -> [usize; 3] {
        let (slots, free) = (self.pool().slots(), self.pool().free_slots());
        [slots, free, self.pool().used_slots() - (slots - free)]
    }
}

impl<O: Order, A: Area, Z: Zeroing> Subject for PoolSubject<Tried<O, A, Z>> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        self.attempt(operation).unwrap_or(Outcome::NoMapping)
    }

    fn check(&self) -> Result<(), String> {
        self.pool().check().map_err(|broken| broken.to_string())
    }
}
