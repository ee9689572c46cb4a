//! Device addresses for a guest and for a network card.
//!
//! ```text
//! cargo run --example iova
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use furlong::addr::{Extent, Iova};
use furlong::iova::{
    Domain, Flush, Guard, Highest, Hint, Level, Lowest, OneCpu, Request, VecMap, VecSpace,
};

const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    place_registers()?;
    run_a_network_card()?;
    translate()
}

/// A virtual machine monitor places the registers of devices in a guest below 4 GiB: each bank at
/// a multiple of its size, none where firmware already is.
fn place_registers() -> Result<(), Box<dyn Error>> {
    let hole = Extent::from_end(Iova::new(0xc000_0000), Iova::new(0x1_0000_0000));
    let mut space = VecSpace::new(hole.ok_or("a hole has a size")?, PAGE, Vec::new())?;
    let firmware = Extent::from_len(Iova::new(0xfec0_0000), 2 * MIB).ok_or("so has firmware")?;
    space.reserve_fixed(firmware, |_| ())?;

    println!("registers in a guest:");
    for size in [16 * MIB, PAGE, 256 * MIB, 64 * 1024] {
        let bank = space.reserve(&Request::new(size).align(size), Lowest)?;
        println!("  {:>10} bytes at {}", size, bank.iova());
    }
    let refused = space.reserve(&Request::new(1 << 30), Lowest);
    println!("  1 GiB: {}", refused.expect_err("it does not fit"));
    Ok(())
}

/// Stands for the invalidation of the card's TLB; it only counts.
#[derive(Default)]
struct Iommu {
    flushes: AtomicU64,
}

impl Flush for Iommu {
    fn flush(&self) {
        self.flushes.fetch_add(1, Ordering::SeqCst);
    }
}

/// A card with 32 address lines. Its driver maps a buffer a packet; an address is used again only
/// after the card has forgotten it.
fn run_a_network_card() -> Result<(), Box<dyn Error>> {
    // Without page 0 nobody is ever given address 0, which drivers take for none.
    let below_4g = Extent::from_last(Iova::new(PAGE), Iova::new(0xffff_ffff));
    let space = VecSpace::new(below_4g.ok_or("a window has a size")?, PAGE, Vec::new())?;
    let domain = Domain::new(space, Iommu::default(), OneCpu, 1)?;

    for _ in 0..100_000 {
        let buffer = domain.reserve(&Request::new(2048), Highest)?;
        // Here the driver maps the buffer, the card works, and the driver unmaps it.
        if domain.release_later(buffer)? == Level::High {
            domain.flush();
        }
    }
    // A descriptor ring wants guards beside it, and is released alone: the token is what is left of
    // the grant until the flush, and only it makes the addresses free.
    let ring = domain.reserve(&Request::new(65_536).guard(Guard::ONE), Highest)?;
    let token = domain.release(ring)?;
    domain.flusher().flush();
    domain.redeem(token)?;

    let flushes = domain.flusher().flushes.load(Ordering::SeqCst);
    println!("a network card: 100,000 buffers, {flushes} flushes of its TLB");
    Ok(())
}

/// An IOMMU in software: from a device's address to the guest's memory, with a hint a queue.
fn translate() -> Result<(), Box<dyn Error>> {
    let mut iotlb = VecMap::new(Vec::new());
    for page in 0..1000 {
        let extent = Extent::from_len(Iova::new(page * 2 * PAGE), PAGE).ok_or("a page")?;
        iotlb.insert(extent, 0x7000_0000 + page * PAGE)?;
    }
    let mut queue = Hint::default();
    let address = Iova::new(42 * 2 * PAGE + 0x123);
    let (extent, memory) = iotlb.lookup(address, &mut queue).ok_or("it is mapped")?;
    println!("translation: {address} is in {extent:?}, backed at {memory:#x}");
    Ok(())
}
