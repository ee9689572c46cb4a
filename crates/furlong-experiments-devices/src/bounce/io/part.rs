//! A job's own part of the device, and the job's order through it.
#![forbid(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;

use furlong_spec::Random;

use super::content::{Name, mix};
use crate::bounce::buffer::Buffer;
use furlong_lab::error::cause;
use furlong_lab::model::Failure;

/// Order in which blocks are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Sequential,
    Random,
}

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Read,
    Write,
}

/// A range of blocks and their expected content.
pub(super) struct Part {
    /// Number of its first block.
    first: usize,
    /// Bytes of a block.
    len: usize,
    /// Number of writes of each block.
    generations: Vec<u32>,
    shuffled: Vec<u32>,
    /// Passes so far.
    passes: u64,
}

impl Part {
    /// Makes a part of `blocks` blocks of `len` bytes, from the device's block `first` on.
    pub(super) fn new(first: usize, blocks: usize, len: usize, seed: u64) -> Self {
        let mut shuffled: Vec<u32> = (0..blocks as u32).collect();
        Random::new(seed ^ first as u64).shuffle(&mut shuffled);
        Self {
            first,
            len,
            generations: vec![0; blocks],
            shuffled,
            passes: 0,
        }
    }

    pub(super) fn blocks(&self) -> usize {
        self.generations.len()
    }

    /// Blocks in a batch, which is one sequential and one random pass.
    pub(super) fn blocks_a_round(&self) -> u64 {
        2 * self.blocks() as u64
    }

    /// Returns the block at a place of a pass, and its direction.
    pub(super) fn step(&self, path: Path, place: usize) -> (usize, Way) {
        let block = match path {
            Path::Sequential => place,
            Path::Random => self.shuffled[place] as usize,
        };
        let way = match mix(self.passes << 32 ^ block as u64) >> 63 {
            0 => Way::Read,
            _ => Way::Write,
        };
        (block, way)
    }

    /// Ends a pass.
    pub(super) fn next_pass(&mut self) {
        self.passes += 1;
    }

    /// Byte offset of a block on the device.
    pub(super) fn offset(&self, block: usize) -> u64 {
        ((self.first + block) * self.len) as u64
    }

    /// Expected content of a block.
    pub(super) fn name(&self, block: usize) -> Name {
        Name {
            block: (self.first + block) as u64,
            generation: self.generations[block],
        }
    }

    /// Counts one more write of a block and returns its new content.
    pub(super) fn rewrite(&mut self, block: usize) -> Name {
        self.generations[block] += 1;
        self.name(block)
    }

    /// The final state as words, for the digest.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> {
        self.generations.iter().map(|number| u64::from(*number))
    }

    /// Writes every block for the first time.
    pub(super) fn fill(&self, file: &File) -> Result<(), Failure> {
        let mut buffer = Buffer::new(self.len, 0);
        for block in 0..self.blocks() {
            self.name(block).write(buffer.slice());
            let written = file.write_all_at(buffer.slice(), self.offset(block));
            written.map_err(|error| {
                Failure(format!("the device cannot be written: {}", cause(&error)))
            })?;
        }
        Ok(())
    }

    /// Reads every block and compares every byte with the data last written.
    pub(super) fn verify(&self, file: &File) -> Result<(), Failure> {
        let mut expected = vec![0; self.len];
        let mut buffer = Buffer::new(self.len, 0);
        for block in 0..self.blocks() {
            let read = file.read_exact_at(buffer.slice(), self.offset(block));
            read.map_err(|error| Failure(format!("the device cannot be read: {}", cause(&error))))?;
            self.name(block).write(&mut expected);
            if buffer.slice() != expected {
                return Err(wrong(self.name(block)));
            }
        }
        Ok(())
    }
}

/// Reports a block with wrong content.
pub(super) fn wrong(name: Name) -> Failure {
    Failure(format!(
        "block {} does not hold the data of write {}",
        name.block,
        name.generation + 1
    ))
}
