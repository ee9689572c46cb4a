//! Buffers aligned to a page, like those of block devices.
#![forbid(unsafe_code)]

/// Bytes of a page.
pub(super) const PAGE: usize = 4096;

/// A buffer aligned to a page.
pub(super) struct Buffer {
    bytes: Vec<u8>,
    from: usize,
    len: usize,
}

impl Buffer {
    /// Makes a buffer with varied bytes.
    pub(super) fn new(len: usize, salt: u8) -> Self {
        let mut bytes = vec![0; len + PAGE];
        let from = bytes.as_ptr().addr().wrapping_neg() % PAGE;
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (at % 251) as u8 ^ salt;
        }
        Self { bytes, from, len }
    }

    pub(super) fn slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..self.from + self.len]
    }
}
