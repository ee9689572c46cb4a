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
use furlong::iova::{Domain, Flush, Guard, Highest, Level, Lowest, OneCpu, Request, VecSpace};
use furlong::maple::Maple;

const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    place_registers()?;
    run_a_network_card()?;
    translate()
}

/// A virtual machine monitor places device registers in a guest below 4 GiB. Each bank is at a
/// multiple of its size, and none overlaps the firmware.
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

/// Counts the invalidations of the card's TLB, in place of a real one.
#[derive(Default)]
struct Iommu {
    flushes: AtomicU64,
}

impl Flush for Iommu {
    fn flush(&self) {
        self.flushes.fetch_add(1, Ordering::SeqCst);
    }
}

/// A card with 32 address lines. Its driver maps one buffer per packet. An address is reused only
/// after the card's TLB was flushed.
fn run_a_network_card() -> Result<(), Box<dyn Error>> {
    // The space starts after page 0, because drivers take address 0 for "none".
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
    // A descriptor ring has guards beside it, and is released by itself. Its release gives a token:
    // the addresses are free only once the token is redeemed after the flush.
    let ring = domain.reserve(&Request::new(65_536).guard(Guard::ONE), Highest)?;
    let token = domain.release(ring)?;
    domain.flusher().flush();
    domain.redeem(token)?;

    let flushes = domain.flusher().flushes.load(Ordering::SeqCst);
    println!("a network card: 100,000 buffers, {flushes} flushes of its TLB");
    Ok(())
}

/// An IOMMU in software: translates a device's address to guest memory.
fn translate() -> Result<(), Box<dyn Error>> {
    let mut iotlb: Maple<Iova, Box<u64>> = Maple::new();
    for page in 0..1000 {
        let extent = Extent::from_len(Iova::new(page * 2 * PAGE), PAGE).ok_or("a page")?;
        iotlb.insert(extent, Box::new(0x7000_0000 + page * PAGE))?;
    }
    let address = Iova::new(42 * 2 * PAGE + 0x123);
    let (extent, memory) = iotlb.view().get(address).ok_or("it is mapped")?;
    println!("translation: {address} is in {extent:?}, backed at {memory:#x}");
    Ok(())
}
