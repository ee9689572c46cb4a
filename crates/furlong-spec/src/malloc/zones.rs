//! Zones of an allocator next to its own blocks, at random. Each block keeps its contents until it
//! or its zone is freed, and the memory in use always equals the model's.
#![forbid(unsafe_code)]

use furlong::malloc::{Batched, Hardening, Inlined, Malloc, Zone};

use super::block::{Block, Giver};
use super::pages::Pages;
use super::parts::{Owned, Parts};
use super::stream::{align, size};
use crate::Random;
use crate::counts::counts;

/// The maximum number of zones at a time.
const ZONES: usize = 5;

/// The maximum number of blocks in each zone, and outside the zones.
const PLACES: usize = 120;

/// The number of operations between two counts with a check of all invariants.
const COUNT: u64 = 1500;

type Parted<H> = Parts<H, Inlined, Batched>;

counts! {
    /// The counts of a run.
    pub struct Zoned {
        /// Allocations, resizes and frees.
        operations: "operations",
        /// Allocations and resizes that were refused.
        refused: "refused",
        /// Zones that were created.
        zones: "zones",
        /// Blocks that were freed with their zone.
        dropped: "blocks gone with them",
    }
}

/// A zone, or the allocator itself, and the program's blocks from it.
struct Holder {
    giver: Box<dyn Giver>,
    blocks: Vec<Block>,
}

impl Holder {
    fn new(giver: impl Giver + 'static) -> Self {
        Self {
            giver: Box::new(giver),
            blocks: Vec::new(),
        }
    }

    /// Runs one operation on a random block. The error names the fault.
    fn step(&mut self, random: &mut Random, done: &mut Zoned) -> Result<(), &'static str> {
        done.operations += 1;
        let full = self.blocks.len() >= PLACES || random.below(5) < 2;
        if self.blocks.is_empty() || !full {
            return self.allocate(random, done);
        }
        let block = self.blocks.swap_remove(random.index(self.blocks.len()));
        if random.below(5) > 0 {
            let intact = block.free(&*self.giver, false);
            return intact.then_some(()).ok_or("a block was overwritten");
        }
        let wanted = size(random).max(1);
        match block.resize(&*self.giver, wanted) {
            Ok((block, true)) => self.blocks.push(block),
            Ok(_) => return Err("a resize lost what was there"),
            Err(block) => {
                done.refused += 1;
                self.blocks.push(block);
            }
        }
        Ok(())
    }

    fn allocate(&mut self, random: &mut Random, done: &mut Zoned) -> Result<(), &'static str> {
        let (zeroed, key) = (random.below(8) == 0, random.next());
        let request = (size(random), align(random));
        match Block::allocate(&*self.giver, request, zeroed, key) {
            Some((block, true)) => self.blocks.push(block),
            Some(_) => return Err("a block is not zero"),
            None => done.refused += 1,
        }
        Ok(())
    }

    /// The sum of the usable sizes, in bytes; `None` if a block was changed.
    fn count(&self) -> Option<usize> {
        let usable = |block: &Block| block.is_intact().then(|| block.usable(&*self.giver));
        self.blocks.iter().map(usable).sum()
    }
}

/// Checks that the memory in use is that of the holders, and that no invariant is broken.
fn count<H: Hardening>(
    malloc: &'static Malloc<Parted<H>>,
    holders: &[Holder],
) -> Result<(), String> {
    malloc.check().map_err(|broken| broken.to_string())?;
    let now = malloc.statistics();
    let blocks: usize = holders.iter().map(|holder| holder.blocks.len()).sum();
    let bytes: Option<usize> = holders.iter().map(Holder::count).sum();
    let bytes = bytes.ok_or("a block was overwritten")?;
    let exact = if H::SCRUB {
        bytes <= now.used_bytes
    } else {
        bytes == now.used_bytes
    };
    if blocks == now.used_blocks && exact {
        Ok(())
    } else {
        Err(format!("{blocks} blocks of {bytes} bytes, but {now:?}"))
    }
}

fn run<H: Hardening>(operations: u64, limit: usize, seed: u64) -> Result<Zoned, String> {
    let owned = Owned::<Parted<H>>::new(Pages::new(limit));
    let malloc = owned.get();
    let mut random = Random::new(seed);
    let mut done = Zoned::default();
    let mut holders = vec![Holder::new(malloc)];
    while done.operations < operations {
        let at = random.index(ZONES + 1);
        if at >= holders.len() {
            if let Some(zone) = Zone::new(malloc) {
                done.zones += 1;
                holders.push(Holder::new(zone));
            }
        } else if at > 0 && random.below(700) == 0 {
            done.dropped += holders.swap_remove(at).blocks.len() as u64;
        }
        let at = at.min(holders.len() - 1);
        holders[at].step(&mut random, &mut done)?;
        if done.operations.is_multiple_of(COUNT) {
            count(malloc, &holders)?;
        }
    }
    holders.truncate(1);
    count(malloc, &holders)?;
    let own = holders.pop().map(|holder| holder.blocks);
    for block in own.into_iter().flatten() {
        block.free(&malloc, true);
    }
    count(malloc, &holders)?;
    malloc.end_thread();
    Ok(done)
}

/// Runs at least `operations` operations of a program in a system with `limit` bytes. The seed is
/// enough to repeat them.
///
/// # Errors
/// The first divergence between allocator and model.
pub fn zones<H: Hardening>(operations: u64, limit: usize, seed: u64) -> Result<Zoned, String> {
    let thread = std::thread::spawn(move || run::<H>(operations, limit, seed));
    thread
        .join()
        .unwrap_or_else(|_| Err("the program was stopped".to_owned()))
}
