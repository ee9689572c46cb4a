//! Bounce buffers for a disk, for a confidential guest, and for a service that is replaced.
//!
//! ```text
//! cargo run --example bounce
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::{Duration, Instant};

use furlong::addr::Iova;
use furlong::bounce::{
    AreaFirst, Custom, Device, FromDevice, Growth, HeapMemory, Limits, LockFree, Mode, OneCpu,
    Parameter, Plan, Pool, ToDevice, ZeroUnmapped,
};

fn main() -> Result<(), Box<dyn Error>> {
    read_a_disk()?;
    keep_a_guests_secrets()?;
    wait_for_room()
}

/// A pool of the size that a kernel command line requests, and a disk that uses it.
fn read_a_disk() -> Result<(), Box<dyn Error>> {
    let parameter: Parameter = "512,4,force".parse()?;
    let plan = parameter.plan(1).growth(Growth::Inline).blocks(4);
    let pool = Pool::new(HeapMemory::new(), OneCpu, &plan)?;
    // NVMe: data must keep its offset within a page.
    let disk = Device::new(1, Limits::new().min_align_mask(0xfff))?;

    let mut block = vec![0; 64 * 1024];
    let start = Iova::new(block.as_ptr().addr() as u64);
    assert_eq!(parameter.mode, Mode::Force);
    if parameter.mode.bounces(&disk, start, block.len() as u64) {
        let read = pool.map(&disk, FromDevice(&mut block))?;
        println!("a read of {} bytes at {}", read.len(), read.address());
        // Here the driver fills a descriptor, and the device writes.
        read.finish(64 * 1024);
    }
    let (slots, most) = (pool.slots(), pool.high_water());
    println!(
        "the pool: {slots} slots, {} free, at most {most} in use",
        pool.free_slots()
    );
    Ok(())
}

/// In a confidential guest the host can read the pool, so unmapped data is zeroed. A ring of
/// descriptors is shared with the host on purpose.
fn keep_a_guests_secrets() -> Result<(), Box<dyn Error>> {
    type Guest = Custom<AreaFirst, LockFree, ZeroUnmapped>;
    let pool: Pool<_, Guest> =
        Pool::with_config(HeapMemory::new(), OneCpu, &Plan::restricted(512))?;
    let nic = pool.admit(Device::new(2, Limits::new().quota(64))?);

    let mut ring = pool.allocate(&nic, 4096)?;
    ring.write(0, &[1, 2, 3])?;
    let packet = pool.map(&nic, ToDevice(b"to be encrypted by the network, not by us"))?;
    println!(
        "a packet at {}, its ring at {}",
        packet.address(),
        ring.address()
    );
    println!(
        "the card uses {} slots of 64",
        nic.used().unwrap_or_default()
    );
    drop(packet);
    Ok(())
}

/// Callers that can wait form a queue while the pool is full.
fn wait_for_room() -> Result<(), Box<dyn Error>> {
    let pool = Pool::new(HeapMemory::new(), OneCpu, &Plan::new(8, 2))?;
    let disk = Device::new(3, Limits::new())?;
    let page = [7; 4096];
    let held: Result<Vec<_>, _> = (0..4).map(|_| pool.map(&disk, ToDevice(&page))).collect();
    let refused = pool
        .map(&disk, ToDevice(&page))
        .map(|mapped| mapped.address());
    println!("no room: {}", refused.expect_err("it is full"));

    let deadline = Instant::now() + Duration::from_secs(10);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mapped = pool.wait(&disk, ToDevice(&page)).block_until(deadline)?;
            Ok::<_, Box<dyn Error + Send + Sync>>(mapped.address())
        });
        drop(held);
        let at = waiter.join().map_err(|_| "the waiter panicked")?;
        println!("room at {}", at.map_err(|error| error.to_string())?);
        Ok(())
    })
}
