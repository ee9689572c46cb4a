//! The block driver of the crate `virtio-drivers` over a pool in static memory. The simulated disk
//! can access only memory that the pool has mapped for it.
#![expect(
    unsafe_code,
    reason = "requests without waiting are the driver's unsafe calls"
)]

mod disk;
mod machine;
mod queue;

use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

use disk::{Disk, EVENT, FLUSH, INDIRECT, MODERN, SECTOR, Wire};
use furlong::bounce::{Limits, SLOT};
use furlong_adapters::virtio::{Board, PoolHal};
use machine::{Bus, Machine, SLOTS};
use virtio_drivers::device::blk::{BlkReq, BlkResp, RespStatus, VirtIOBlk};
use virtio_drivers::{BufferDirection, Error, Hal};

type Driver<const N: usize> = VirtIOBlk<PoolHal<Machine<N>>, Wire<N>>;

fn driver<const N: usize>(disk: &Rc<RefCell<Disk>>) -> Driver<N> {
    VirtIOBlk::new(Wire::new(disk)).expect("there is room for its queue")
}

/// Random numbers that repeat for a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % end
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        bytes.fill_with(|| self.below(256) as u8);
    }
}

const CANARY: u8 = 0x3c;
const SECTORS: usize = 2048;

/// Random reads and writes of up to 250 KiB, with buffers at any address. The disk must contain the
/// written data, reads must return the disk's data, and bytes around the buffers must not change.
fn reads_and_writes<const N: usize>(disk: &Rc<RefCell<Disk>>, driver: &mut Driver<N>) {
    assert_eq!(driver.capacity(), SECTORS as u64);
    let mut numbers = Numbers(N as u64);
    let mut expected = vec![0; SECTORS * SECTOR];
    for round in 0..200 {
        let long = if round % 8 == 0 { 500 } else { 9 };
        let sectors = 1 + numbers.below(long);
        let (len, at) = (sectors * SECTOR, numbers.below(100));
        let first = numbers.below(SECTORS - sectors);
        let mut memory = vec![CANARY; at + len + 100];
        numbers.fill(&mut memory[at..at + len]);
        let there = first * SECTOR..first * SECTOR + len;
        if numbers.below(2) == 0 {
            expected[there].copy_from_slice(&memory[at..at + len]);
            let written = driver.write_blocks(first, &memory[at..at + len]);
            written.unwrap_or_else(|error| panic!("round {round}: {error}"));
        } else {
            let read = driver.read_blocks(first, &mut memory[at..at + len]);
            read.unwrap_or_else(|error| panic!("round {round}: {error}"));
            assert!(memory[at..at + len] == expected[there], "round {round}");
        }
        let around = memory[..at].iter().chain(&memory[at + len..]);
        assert!(around.copied().all(|byte| byte == CANARY), "round {round}");
    }
    assert!(disk.borrow().bytes == expected);
    driver.flush().unwrap();
    let mut id = [0xff; 20];
    assert_eq!(driver.device_id(&mut id), Ok(7));
    assert_eq!(&id[..8], b"furlong\0");
    assert_eq!(disk.borrow().bus_errors, 0);
}

/// Tests the same disk and pool with each set of features in turn.
fn all_features<const N: usize>(sets: &[(u64, bool)]) {
    Machine::<N>::boot(Limits::new());
    for (features, legacy) in sets {
        let disk = Disk::new(SECTORS, features | FLUSH);
        let wire = Wire {
            legacy: *legacy,
            ..Wire::new(&disk)
        };
        let mut driver: Driver<N> = VirtIOBlk::new(wire).expect("there is room for its queue");
        reads_and_writes(&disk, &mut driver);
        assert_eq!(disk.borrow().flushes, 1);
        drop(driver);
        Machine::<N>::is_drained();
    }
}

#[test]
fn a_disk_is_read_and_written_through_a_static_pool() {
    all_features::<0>(&[(MODERN, false), (MODERN | EVENT, false)]);
}

#[test]
fn chains_in_tables_of_their_own_and_old_layouts_go_through_the_pool_as_well() {
    all_features::<1>(&[
        (MODERN | INDIRECT, false),
        (INDIRECT | EVENT, false),
        (0, true),
    ]);
}

/// A byte string that must stay inside the driver.
const SECRET: &[u8; 16] = b"nobody sees this";

fn shows<const N: usize>(what: &[u8]) -> bool {
    let visible = Machine::<N>::visible();
    visible.windows(what.len()).any(|window| window == what)
}

#[test]
fn a_host_sees_what_is_written_while_it_is_and_nothing_of_what_lies_around() {
    Machine::<2>::boot(Limits::new());
    let disk = Disk::new(64, MODERN);
    let mut driver = driver::<2>(&disk);
    disk.borrow_mut().sleeps = true;
    let mut memory = SECRET.repeat(256);
    let message = b"for the disk alone, and its host";
    memory[SECTOR..SECTOR + message.len()].copy_from_slice(message);
    let (mut request, mut response) = (BlkReq::default(), BlkResp::default());
    let data = &memory[SECTOR..2 * SECTOR];
    let tail = data[message.len()..].to_vec();
    // SAFETY: all three outlive the request, and are not touched before it is complete.
    let token = unsafe { driver.write_blocks_nb(3, &mut request, data, &mut response) };
    let token = token.unwrap();
    assert!(shows::<2>(message) && shows::<2>(&tail));
    // The host sees only the part of the secret that was written.
    let visible = Machine::<2>::visible();
    let there = visible
        .windows(16)
        .filter(|window| window == SECRET)
        .count();
    let written = tail.windows(16).filter(|window| window == SECRET).count();
    assert_eq!(there, written);
    disk.borrow_mut().serve(&Bus::<Machine<2>>::new());
    assert_eq!(driver.peek_used(), Some(token));
    // SAFETY: the same three.
    let done = unsafe { driver.complete_write_blocks(token, &request, data, &mut response) };
    assert_eq!((done, response.status()), (Ok(()), RespStatus::OK));
    assert!(!shows::<2>(message) && !shows::<2>(SECRET));
    assert_eq!(&disk.borrow().bytes[3 * SECTOR..4 * SECTOR], data);
    drop(driver);
    Machine::<2>::is_drained();
}

#[test]
fn requests_in_flight_have_slots_of_their_own() {
    Machine::<3>::boot(Limits::new());
    let disk = Disk::new(64, MODERN);
    Numbers(3).fill(&mut disk.borrow_mut().bytes);
    let mut driver = driver::<3>(&disk);
    disk.borrow_mut().sleeps = true;
    let mut buffers = [[0; 2 * SECTOR]; 5];
    let mut requests: [BlkReq; 5] = std::array::from_fn(|_| BlkReq::default());
    let mut responses: [BlkResp; 5] = std::array::from_fn(|_| BlkResp::default());
    let mut tokens = Vec::new();
    for (number, buffer) in buffers.iter_mut().enumerate() {
        let (request, response) = (&mut requests[number], &mut responses[number]);
        // SAFETY: they outlive the requests, and are not touched before those are complete.
        let token = unsafe { driver.read_blocks_nb(7 * number, request, buffer, response) };
        tokens.push(token.unwrap());
    }
    // Five slots for headers, five for data, five for responses; four for two pages of the queue.
    assert_eq!(Machine::<3>::pool().used_slots(), 15 + 4);
    disk.borrow_mut().serve(&Bus::<Machine<3>>::new());
    for (number, buffer) in buffers.iter_mut().enumerate() {
        let (request, response) = (&requests[number], &mut responses[number]);
        // SAFETY: the same ones.
        let done =
            unsafe { driver.complete_read_blocks(tokens[number], request, buffer, response) };
        assert_eq!(done, Ok(()));
        let from = 7 * number * SECTOR;
        assert_eq!(buffer[..], disk.borrow().bytes[from..from + 2 * SECTOR]);
    }
    drop(driver);
    Machine::<3>::is_drained();
}

#[test]
fn a_disk_that_breaks_off_leaves_the_rest_of_a_buffer_as_it_was() {
    Machine::<4>::boot(Limits::new());
    let disk = Disk::new(8, MODERN);
    disk.borrow_mut().bytes.fill(1);
    let mut driver = driver::<4>(&disk);
    // Leave old data in the pool.
    driver.write_blocks(4, &[2; 4 * SECTOR]).unwrap();
    disk.borrow_mut().breaks_after = Some(100);
    let mut buffer = [3; 4 * SECTOR];
    assert_eq!(driver.read_blocks(0, &mut buffer), Err(Error::IoError));
    assert!(buffer[..100] == [1; 100] && buffer[100..] == [3; 4 * SECTOR - 100]);
    disk.borrow_mut().breaks_after = None;
    assert_eq!(driver.read_blocks(7, &mut buffer), Err(Error::IoError));
    assert_eq!(driver.read_blocks(4, &mut buffer), Ok(()));
    assert_eq!(buffer, [2; 4 * SECTOR]);
    drop(driver);
    Machine::<4>::is_drained();
}

#[test]
fn a_driver_that_finds_no_room_for_its_queue_is_told_so() {
    Machine::<5>::boot(Limits::new().quota(3));
    let disk = Disk::new(8, MODERN);
    let driver: Result<Driver<5>, Error> = VirtIOBlk::new(Wire::new(&disk));
    assert_eq!(driver.map(|_| ()), Err(Error::DmaError));
    let (at, _) = PoolHal::<Machine<5>>::dma_alloc(usize::MAX, BufferDirection::Both);
    assert_eq!(at, 0);
    Machine::<5>::is_drained();
}

#[test]
fn a_buffer_that_cannot_be_mapped_is_found_nowhere() {
    Machine::<6>::boot(Limits::new());
    let disk = Disk::new(SECTORS, MODERN);
    let mut driver = driver::<6>(&disk);
    let longest = Machine::<6>::pool().longest(&Limits::new()) as usize;
    assert_eq!(longest, SLOTS / 4 * SLOT as usize);
    let mut buffer = vec![7; longest + SECTOR];
    assert_eq!(driver.read_blocks(0, &mut buffer), Err(Error::IoError));
    assert!(buffer.iter().all(|byte| *byte == 7));
    assert_eq!((disk.borrow().bus_errors, Machine::<6>::refused()), (1, 1));
    assert_eq!(driver.read_blocks(0, &mut buffer[SECTOR..]), Ok(()));
    assert!(buffer[SECTOR..].iter().all(|byte| *byte == 0));
    drop(driver);
    Machine::<6>::is_drained();
}

#[test]
#[should_panic(expected = "nothing is mapped at 0x500000000")]
fn what_was_unshared_is_not_unshared_again() {
    Machine::<7>::boot(Limits::new());
    let mut bytes = [0; 100];
    let buffer = NonNull::from(&mut bytes[..]);
    let towards = BufferDirection::DeviceToDriver;
    // SAFETY: the buffer lives here, and nobody else uses it.
    let at = unsafe { PoolHal::<Machine<7>>::share(buffer, towards) };
    // SAFETY: it was shared just now.
    unsafe { PoolHal::<Machine<7>>::unshare(at, buffer, towards) };
    assert_eq!(Machine::<7>::pool().used_slots(), 0);
    // SAFETY: this breaks the contract, but is refused before any memory is touched.
    unsafe { PoolHal::<Machine<7>>::unshare(at, buffer, towards) };
}
