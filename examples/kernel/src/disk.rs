//! A disk: QEMU's virtio-blk, with nothing between its driver and the device but the pool of bounce
//! buffers.
//!
//! QEMU's device has no limit of 32 address lines; the driver is told that it has. All that the
//! device is given are addresses in the pool: of its queue, of requests, and of data.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ptr::{self, NonNull};

use furlong::bounce::SLOT;
use furlong_adapters::virtio::PoolHal;
use virtio_drivers::device::blk::{SECTOR_SIZE, VirtIOBlk};
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport};

use crate::bounce::{self, Machine};
use crate::serial::say;

/// The first of the places where the machine may have a virtio device.
pub(crate) const FIRST: u64 = 0xfeb0_0000;
/// Bytes of each, and how many.
const LEN: usize = 512;
const PLACES: usize = 24;

/// Sectors that image.sh has written, and as many behind them that are written here.
const SECTORS: usize = 512;
/// Sectors of one request.
const AT_ONCE: usize = 64;

type Disk = VirtIOBlk<PoolHal<Machine>, MmioTransport<'static>>;

/// The first virtio device that is a disk.
fn find() -> Disk {
    let registers = |place: usize| {
        let start = ptr::with_exposed_provenance_mut(FIRST as usize + place * LEN);
        NonNull::<VirtIOHeader>::new(start).expect("no device is at address 0")
    };
    let transports = (0..PLACES).filter_map(|place| {
        // SAFETY: the machine has registers of a virtio device there, or nothing, which reads as 0;
        // they are mapped for good, and no other driver knows of them.
        unsafe { MmioTransport::new(registers(place), LEN) }.ok()
    });
    let mut disks = transports.filter(|found| found.device_type() == DeviceType::Block);
    let transport = disks.next().expect("the machine has a virtio-blk device");
    VirtIOBlk::new(transport).expect("the driver and the device agree")
}

/// A sector of text: a line, filled up with spaces.
fn text(of: &str, sector: usize) -> String {
    let line = format!("{of} {sector}");
    format!("{line:<511}\n")
}

/// The expected contents of the sectors from `first` on.
fn texts(of: &str, first: usize) -> Vec<u8> {
    let sectors = first..first + AT_ONCE;
    sectors
        .flat_map(|sector| text(of, sector).into_bytes())
        .collect()
}

fn read(disk: &mut Disk, first: usize) -> Vec<u8> {
    let mut bytes = vec![0xee; AT_ONCE * SECTOR_SIZE];
    disk.read_blocks(first, &mut bytes)
        .expect("the device reads");
    bytes
}

/// Holds the sectors from `first` on against what they should have.
fn judge(disk: &mut Disk, of: &str, first: usize) {
    let (found, wanted) = (read(disk, first), texts(of, first));
    let pairs = found.chunks(SECTOR_SIZE).zip(wanted.chunks(SECTOR_SIZE));
    let wrong = pairs
        .zip(first..)
        .find(|((found, wanted), _)| found != wanted);
    if let Some(((found, _), sector)) = wrong {
        let begin = String::from_utf8_lossy(&found[..32]).into_owned();
        panic!("sector {sector} of the disk begins with {begin:?}, not with \"{of} {sector}\"");
    }
}

/// Reads the prepared sectors, writes as many behind them, and reads those.
pub(crate) fn run() {
    let mut disk = find();
    assert_eq!(
        disk.capacity(),
        2 * SECTORS as u64,
        "the disk is as large as image.sh makes it"
    );
    for first in (0..SECTORS).step_by(AT_ONCE) {
        judge(&mut disk, "furlong sector", first);
    }
    for first in (SECTORS..2 * SECTORS).step_by(AT_ONCE) {
        let bytes = texts("written by the kernel to sector", first);
        disk.write_blocks(first, &bytes).expect("the device writes");
    }
    disk.flush().expect("the device has written everything");
    for first in (SECTORS..2 * SECTORS).step_by(AT_ONCE) {
        judge(&mut disk, "written by the kernel to sector", first);
    }
    let (most, least) = (bounce::high_water(), AT_ONCE * SECTOR_SIZE / SLOT as usize);
    assert!(
        most > least,
        "{most} slots were in use, and data alone takes {least}"
    );
    drop(disk);
    bounce::is_idle();
    say!(
        "disk",
        "virtio-blk: {SECTORS} sectors read, {SECTORS} written and read back through the pool, up \
         to {most} of its slots at a time; every byte right",
    );
}
