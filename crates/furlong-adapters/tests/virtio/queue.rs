//! The device's side of a split virtqueue.
#![forbid(unsafe_code)]

use super::machine::{Bus, BusError, Machine};

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// A buffer that the driver has put into a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    /// The address on the bus.
    pub(crate) at: u64,
    /// The length in bytes.
    pub(crate) len: usize,
    /// True if the device may write it.
    pub(crate) writable: bool,
}

/// A queue, at the addresses that the driver has set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    /// The number of descriptors.
    pub(crate) size: u16,
    /// The address of the descriptor table.
    pub(crate) descriptors: u64,
    /// The address of the available ring.
    pub(crate) driver: u64,
    /// The address of the used ring.
    pub(crate) device: u64,
    /// The number of available chains that were served.
    pub(crate) served: u16,
}

fn number<const LEN: usize, const N: usize>(
    bus: &Bus<Machine<N>>,
    at: u64,
) -> Result<[u8; LEN], BusError> {
    let mut bytes = [0; LEN];
    bus.read(at, &mut bytes)?;
    Ok(bytes)
}

impl Queue {
    /// The next available chain: the number of its head, and its buffers.
    pub(crate) fn next<const N: usize>(
        &self,
        bus: &Bus<Machine<N>>,
    ) -> Result<Option<(u16, Vec<Buffer>)>, BusError> {
        let offered = u16::from_le_bytes(number(bus, self.driver + 2)?);
        if offered == self.served {
            return Ok(None);
        }
        let place = self.driver + 4 + 2 * u64::from(self.served % self.size);
        let head = u16::from_le_bytes(number(bus, place)?);
        let mut buffers = Vec::new();
        Self::walk(bus, self.descriptors, self.size, head, &mut buffers)?;
        Ok(Some((head, buffers)))
    }

    /// Collects the chain that begins with a descriptor of a table.
    fn walk<const N: usize>(
        bus: &Bus<Machine<N>>,
        table: u64,
        size: u16,
        head: u16,
        buffers: &mut Vec<Buffer>,
    ) -> Result<(), BusError> {
        let mut at = head;
        loop {
            assert!(
                at < size && buffers.len() < 64,
                "the driver made a bad chain"
            );
            let entry: [u8; 16] = number(bus, table + 16 * u64::from(at))?;
            let word = |from: usize| u16::from_le_bytes([entry[from], entry[from + 1]]);
            let address = u64::from_le_bytes(entry[..8].try_into().expect("eight bytes"));
            let len = u32::from_le_bytes(entry[8..12].try_into().expect("four bytes"));
            let (flags, next) = (word(12), word(14));
            if flags & INDIRECT != 0 {
                return Self::walk(bus, address, (len / 16) as u16, 0, buffers);
            }
            buffers.push(Buffer {
                at: address,
                len: len as usize,
                writable: flags & WRITE != 0,
            });
            if flags & NEXT == 0 {
                return Ok(());
            }
            at = next;
        }
    }

    /// Returns a chain, of which `written` bytes were written.
    pub(crate) fn give_back<const N: usize>(
        &mut self,
        bus: &Bus<Machine<N>>,
        head: u16,
        written: u32,
    ) -> Result<(), BusError> {
        let element = [u32::from(head), written].map(u32::to_le_bytes).concat();
        let place = self.device + 4 + 8 * u64::from(self.served % self.size);
        bus.write(place, &element)?;
        self.served = self.served.wrapping_add(1);
        bus.write(self.device + 2, &self.served.to_le_bytes())?;
        // If events were negotiated, this requests a notification for the next chain.
        let event = self.device + 4 + 8 * u64::from(self.size);
        bus.write(event, &self.served.to_le_bytes())
    }
}
