//! A block device in memory, and the transport through which its driver reaches it.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;

use virtio_drivers::transport::{DeviceStatus, DeviceType, InterruptStatus, Transport};
use virtio_drivers::{Error, PhysAddr};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::machine::{Bus, BusError, Machine};
use super::queue::{Buffer, Queue};

/// The size of a sector in bytes.
pub(crate) const SECTOR: usize = 512;

/// Feature: a flush command.
pub(crate) const FLUSH: u64 = 1 << 9;
/// Feature: chains in indirect tables.
pub(crate) const INDIRECT: u64 = 1 << 28;
/// Feature: notifications requested one by one.
pub(crate) const EVENT: u64 = 1 << 29;
/// Feature: a device that is not a legacy one.
pub(crate) const MODERN: u64 = 1 << 32;

const OK: u8 = 0;
const IO_ERROR: u8 = 1;
const UNSUPPORTED: u8 = 2;

/// A block device in memory.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// The contents of the disk.
    pub(crate) bytes: Vec<u8>,
    /// The features that it offers.
    pub(crate) features: u64,
    /// True while it serves no request.
    pub(crate) sleeps: bool,
    /// The largest number of bytes that it writes of a read before it reports a failure.
    pub(crate) breaks_after: Option<usize>,
    /// The number of flush commands.
    pub(crate) flushes: usize,
    /// The number of accesses to unmapped addresses.
    pub(crate) bus_errors: usize,
    status: DeviceStatus,
    queue: Option<Queue>,
}

impl Disk {
    /// A disk with so many sectors and these features.
    pub(crate) fn new(sectors: usize, features: u64) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self {
            bytes: vec![0; sectors * SECTOR],
            features,
            ..Self::default()
        }))
    }

    /// Serves every request that its driver has put into the queue.
    pub(crate) fn serve<const N: usize>(&mut self, bus: &Bus<Machine<N>>) {
        let Some(mut queue) = self.queue.take() else {
            panic!("a device without a queue was notified");
        };
        while let Some((head, buffers)) = queue.next(bus).expect("the queue is in the pool") {
            let (status, written) = match self.request(bus, &buffers) {
                Ok(done) => done,
                Err(BusError) => {
                    self.bus_errors += 1;
                    (IO_ERROR, 0)
                }
            };
            let last = buffers.last().filter(|last| last.writable && last.len == 1);
            let last = last.expect("a request ends with a place for its status");
            bus.write(last.at, &[status])
                .expect("and it is in the pool");
            let given = queue.give_back(bus, head, written + 1);
            given.expect("the queue is in the pool");
        }
        self.queue = Some(queue);
    }

    /// Serves one request. Returns its status and the number of bytes written.
    fn request<const N: usize>(
        &mut self,
        bus: &Bus<Machine<N>>,
        buffers: &[Buffer],
    ) -> Result<(u8, u32), BusError> {
        let mut header = [0; 16];
        bus.read(buffers[0].at, &mut header)?;
        let kind = u32::from_le_bytes(header[..4].try_into().expect("four bytes"));
        let sector = u64::from_le_bytes(header[8..].try_into().expect("eight bytes"));
        let data = &buffers[1..buffers.len() - 1];
        let from = sector as usize * SECTOR;
        match kind {
            0 => self.read(bus, from, data),
            1 => self.write(bus, from, data),
            4 => {
                self.flushes += 1;
                Ok((OK, 0))
            }
            8 => {
                bus.write(data[0].at, b"furlong\0")?;
                Ok((OK, 8))
            }
            _ => Ok((UNSUPPORTED, 0)),
        }
    }

    fn read<const N: usize>(
        &self,
        bus: &Bus<Machine<N>>,
        mut from: usize,
        data: &[Buffer],
    ) -> Result<(u8, u32), BusError> {
        let mut written = 0;
        for buffer in data {
            let Some(bytes) = self.bytes.get(from..from + buffer.len) else {
                return Ok((IO_ERROR, written));
            };
            let len = self.breaks_after.unwrap_or(bytes.len()).min(bytes.len());
            bus.write(buffer.at, &bytes[..len])?;
            written += len as u32;
            from += bytes.len();
        }
        let broken = self.breaks_after.is_some();
        Ok((if broken { IO_ERROR } else { OK }, written))
    }

    fn write<const N: usize>(
        &mut self,
        bus: &Bus<Machine<N>>,
        mut to: usize,
        data: &[Buffer],
    ) -> Result<(u8, u32), BusError> {
        for buffer in data {
            let Some(bytes) = self.bytes.get_mut(to..to + buffer.len) else {
                return Ok((IO_ERROR, 0));
            };
            bus.read(buffer.at, bytes)?;
            to += buffer.len;
        }
        Ok((OK, 0))
    }
}

/// The transport between a driver and a disk.
pub(crate) struct Wire<const N: usize> {
    /// The disk, shared with the test.
    pub(crate) disk: Rc<RefCell<Disk>>,
    /// The bus of the disk.
    pub(crate) bus: Bus<Machine<N>>,
    /// True if queues have the layout of legacy devices.
    pub(crate) legacy: bool,
}

impl<const N: usize> Wire<N> {
    /// A transport to this disk, with the modern queue layout.
    pub(crate) fn new(disk: &Rc<RefCell<Disk>>) -> Self {
        Self {
            disk: Rc::clone(disk),
            bus: Bus::new(),
            legacy: false,
        }
    }

    /// The configuration registers of a disk: first the number of sectors.
    fn registers(&self) -> [u8; 64] {
        let sectors = (self.disk.borrow().bytes.len() / SECTOR) as u64;
        let mut registers = [0; 64];
        registers[..8].copy_from_slice(&sectors.to_le_bytes());
        registers
    }
}

impl<const N: usize> Transport for Wire<N> {
    fn device_type(&self) -> DeviceType {
        DeviceType::Block
    }

    fn read_device_features(&mut self) -> u64 {
        self.disk.borrow().features
    }

    fn write_driver_features(&mut self, features: u64) {
        assert_eq!(features & !self.disk.borrow().features, 0, "never offered");
    }

    fn max_queue_size(&mut self, _: u16) -> u32 {
        256
    }

    fn notify(&mut self, queue: u16) {
        assert_eq!(queue, 0, "a disk has one queue");
        let mut disk = self.disk.borrow_mut();
        if !disk.sleeps {
            disk.serve(&self.bus);
        }
    }

    fn get_status(&self) -> DeviceStatus {
        self.disk.borrow().status
    }

    fn set_status(&mut self, status: DeviceStatus) {
        self.disk.borrow_mut().status = status;
    }

    fn set_guest_page_size(&mut self, size: u32) {
        assert_eq!(size, 4096);
    }

    fn requires_legacy_layout(&self) -> bool {
        self.legacy
    }

    fn queue_set(
        &mut self,
        _: u16,
        size: u32,
        descriptors: PhysAddr,
        driver: PhysAddr,
        device: PhysAddr,
    ) {
        self.disk.borrow_mut().queue = Some(Queue {
            size: u16::try_from(size).expect("a queue is short"),
            descriptors,
            driver,
            device,
            served: 0,
        });
    }

    fn queue_unset(&mut self, _: u16) {
        self.disk.borrow_mut().queue = None;
    }

    fn queue_used(&mut self, _: u16) -> bool {
        self.disk.borrow().queue.is_some()
    }

    fn ack_interrupt(&mut self) -> InterruptStatus {
        InterruptStatus::empty()
    }

    fn read_config_generation(&self) -> u32 {
        0
    }

    fn read_config_space<T: FromBytes + IntoBytes>(&self, offset: usize) -> Result<T, Error> {
        let registers = self.registers();
        let bytes = registers.get(offset..offset + size_of::<T>());
        let value = bytes.and_then(|bytes| T::read_from_bytes(bytes).ok());
        value.ok_or(Error::ConfigSpaceTooSmall)
    }

    fn write_config_space<T: IntoBytes + Immutable>(
        &mut self,
        _: usize,
        _: T,
    ) -> Result<(), Error> {
        Err(Error::Unsupported)
    }
}
