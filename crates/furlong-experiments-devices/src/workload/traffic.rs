//! Buffers that drivers map: sizes of a network card and of an NVMe queue, from published figures.
//! The README of `iova-propagation` names the sources and the further assumptions.

use furlong_spec::Random;

/// A buffer for a device: its size, and its offset in its first page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Bytes.
    pub size: u32,
    /// Offset from the beginning of the first page, in bytes; less than a page.
    pub offset: u32,
}

/// Bytes of a page.
const PAGE: u32 = 4096;

/// A receive buffer: the lower or the upper half of a page.
const RECEIVE: u32 = 2048;

/// Frames of the simple Internet mix: bytes, and their number in a dozen.
const FRAMES: [(u32, u32); 3] = [(64, 7), (594, 4), (1518, 1)];

/// Requests of an enterprise workload, of 4 KiB and more: bytes, and their number in a hundred.
/// Requests smaller than a page count as a page.
const REQUESTS: [(u32, u32); 6] = [
    (4 << 10, 77),
    (8 << 10, 10),
    (16 << 10, 7),
    (32 << 10, 3),
    (64 << 10, 2),
    (1 << 20, 1),
];

impl Buffer {
    /// Draws a buffer in a network card's rings: as many to receive as to send.
    #[must_use]
    pub fn of_network_card(random: &mut Random) -> Self {
        if random.below(2) == 0 {
            Self {
                size: RECEIVE,
                offset: RECEIVE * random.below(2) as u32,
            }
        } else {
            // Frames lie anywhere in memory, aligned to 64 bytes.
            Self {
                size: weighted(&FRAMES, random),
                offset: 64 * random.below(u64::from(PAGE / 64)) as u32,
            }
        }
    }

    /// Draws a buffer in flight in an NVMe queue.
    #[must_use]
    pub fn of_nvme(random: &mut Random) -> Self {
        Self {
            size: weighted(&REQUESTS, random),
            offset: 0,
        }
    }

    /// Number of pages that the buffer touches.
    #[must_use]
    pub fn pages(self) -> u64 {
        u64::from((self.offset + self.size).div_ceil(PAGE))
    }
}

/// Draws a value with the frequency given by its weight.
fn weighted(table: &[(u32, u32)], random: &mut Random) -> u32 {
    let all: u32 = table.iter().map(|(_, weight)| weight).sum();
    let mut left = random.below(u64::from(all)) as u32;
    for (value, weight) in table {
        if left < *weight {
            return *value;
        }
        left -= weight;
    }
    unreachable!("the weights have a sum")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use furlong_spec::Random;

    use super::{Buffer, PAGE};

    #[test]
    fn sizes_have_their_proportions() {
        let mut random = Random::new(1);
        let mut counts = BTreeMap::<u32, u32>::new();
        for _ in 0..100_000 {
            *counts.entry(Buffer::of_nvme(&mut random).size).or_default() += 1;
        }
        let percent = |size: u32| f64::from(counts[&size]) / 1000.0;
        let expected = [(4096, 77.0), (8192, 10.0), (65_536, 2.0), (1 << 20, 1.0)];
        for (size, share) in expected {
            assert!(
                (percent(size) - share).abs() < 0.5,
                "{size}: {}",
                percent(size)
            );
        }
    }

    #[test]
    fn a_network_card_maps_a_page_or_two() {
        let mut random = Random::new(1);
        let buffers: Vec<_> = (0..10_000)
            .map(|_| Buffer::of_network_card(&mut random))
            .collect();
        assert!(buffers.iter().all(|buffer| buffer.offset < PAGE));
        let two = buffers.iter().filter(|buffer| buffer.pages() == 2).count();
        assert!(buffers.iter().all(|buffer| buffer.pages() <= 2));
        // Half are frames to send: 4 in 12 straddle in 9 of 64 places, 1 in 12 in 23 of 64.
        let expected = 10_000.0 * 0.5 * (4.0 / 12.0 * 9.0 / 64.0 + 1.0 / 12.0 * 23.0 / 64.0);
        assert!(
            (two as f64 - expected).abs() < 90.0,
            "{two}, not {expected}"
        );
    }
}
