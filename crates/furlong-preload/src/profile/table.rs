//! The samples: sums by stack, and those in use by their block.
//!
//! Both are arrays that fill from the front, with chains by hash, in memory that the system backs
//! as it is touched. So they take little memory while they are short, and are never moved.
#![forbid(unsafe_code)]

/// The most frames of a stack; the outermost ones of a deeper stack are left out.
pub(super) const FRAMES: usize = 64;
/// The most stacks, and the most samples in use.
const STACKS: usize = 1 << 16;
const LIVE: usize = 1 << 20;
const STACK_CHAINS: usize = 1 << 12;
const LIVE_CHAINS: usize = 1 << 14;

/// One allocation, in the unit of [`Sum::count`].
pub(super) const ONE: u64 = 1 << 16;

/// A number of allocations and of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    /// The number of allocations, times [`ONE`].
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
    }

    fn less(self, other: Self) -> Self {
        Self {
            count: self.count - other.count,
            bytes: self.bytes - other.bytes,
        }
    }
}

/// A stack, and the samples with it.
pub(super) struct Stack {
    frames: [usize; FRAMES],
    len: u32,
    next: u32,
    allocated: Sum,
    freed: Sum,
    /// The part of what was allocated that the parent process had in use at the fork.
    inherited: Sum,
}

impl Stack {
    /// Its return addresses, the innermost first.
    pub(super) fn frames(&self) -> &[usize] {
        self.frames.get(..self.len as usize).unwrap_or_default()
    }

    /// The part that this process allocated.
    pub(super) fn own(&self) -> Sum {
        self.allocated.less(self.inherited)
    }

    /// The part that is in use.
    pub(super) fn live(&self) -> Sum {
        self.allocated.less(self.freed)
    }
}

/// A sampled block in use.
struct Live {
    block: usize,
    sum: Sum,
    stack: u32,
    next: u32,
}

/// All samples. Zeroed memory is an empty table; entry 0 of each array stands for none.
pub(super) struct Table {
    stack_chains: [u32; STACK_CHAINS],
    live_chains: [u32; LIVE_CHAINS],
    stacks_len: u32,
    live_len: u32,
    /// The first of the entries of freed blocks.
    spare: u32,
    /// Samples that found the table full.
    pub(super) lost: u64,
    stacks: [Stack; STACKS],
    live: [Live; LIVE],
}

/// Mixes the bits of a number.
fn mix(number: usize) -> usize {
    let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize
}

impl Table {
    /// The stacks, in the order in which they were first seen.
    pub(super) fn stacks(&self) -> &[Stack] {
        let all = self.stacks.get(1..=self.stacks_len as usize);
        all.unwrap_or_default()
    }

    /// Begins a new process: what is in use was allocated by its parent.
    pub(super) fn inherit(&mut self) {
        let all = self.stacks.get_mut(1..=self.stacks_len as usize);
        for stack in all.unwrap_or_default() {
            stack.inherited = stack.live();
            (stack.allocated, stack.freed) = (stack.inherited, Sum::default());
        }
        self.lost = 0;
    }

    /// Adds a sampled block.
    pub(super) fn add(&mut self, block: usize, frames: &[usize], sum: Sum) {
        // A place is taken only for a known stack.
        let stack = self.stack_of(frames);
        let Some((stack, place)) = stack.and_then(|stack| Some((stack, self.place()?))) else {
            self.lost += 1;
            return;
        };
        self.stacks[stack as usize].allocated.add(sum);
        let chain = &mut self.live_chains[mix(block) % LIVE_CHAINS];
        self.live[place as usize] = Live {
            block,
            sum,
            stack,
            next: *chain,
        };
        *chain = place;
    }

    /// Removes a sampled block, unless it was lost.
    pub(super) fn remove(&mut self, block: usize) {
        let chain = mix(block) % LIVE_CHAINS;
        let (mut before, mut at) = (0, self.live_chains[chain]);
        while at != 0 && self.live[at as usize].block != block {
            (before, at) = (at, self.live[at as usize].next);
        }
        if at == 0 {
            return;
        }
        let found = &mut self.live[at as usize];
        let (next, stack, sum) = (found.next, found.stack, found.sum);
        found.next = self.spare;
        self.spare = at;
        match before {
            0 => self.live_chains[chain] = next,
            _ => self.live[before as usize].next = next,
        }
        self.stacks[stack as usize].freed.add(sum);
    }

    /// An entry for a block; `None` if there are too many.
    fn place(&mut self) -> Option<u32> {
        if self.spare != 0 {
            let place = self.spare;
            self.spare = self.live[place as usize].next;
            return Some(place);
        }
        let place = self.live_len + 1;
        (place < LIVE as u32).then(|| {
            self.live_len = place;
            place
        })
    }

    /// The entry of a stack; `None` if it is new and there are too many.
    fn stack_of(&mut self, frames: &[usize]) -> Option<u32> {
        let frames = frames.get(..frames.len().min(FRAMES))?;
        let hash = frames
            .iter()
            .fold(0, |hash, frame| mix(hash ^ frame) ^ frame);
        let chain = mix(hash) % STACK_CHAINS;
        let mut at = self.stack_chains[chain];
        while at != 0 && self.stacks[at as usize].frames() != frames {
            at = self.stacks[at as usize].next;
        }
        let new = self.stacks_len + 1;
        if at != 0 || new == STACKS as u32 {
            return (at != 0).then_some(at);
        }
        let stack = &mut self.stacks[new as usize];
        stack.frames[..frames.len()].copy_from_slice(frames);
        stack.len = frames.len() as u32;
        stack.next = self.stack_chains[chain];
        self.stack_chains[chain] = new;
        self.stacks_len = new;
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::memory::mapped;
    use super::{ONE, STACKS, Sum, Table};

    #[test]
    fn the_table_agrees_with_maps() {
        let table: &mut Table = mapped().expect("there is memory");
        let mut live = HashMap::new();
        let mut sums: HashMap<Vec<usize>, (Sum, Sum)> = HashMap::new();
        let mut state = 1_usize;
        for at in 0..20_000_usize {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(at);
            let block = (state >> 40) % 500 * 16;
            if let Some((frames, sum)) = live.remove(&block) {
                table.remove(block);
                sums.entry(frames).or_default().1.add(sum);
            } else {
                let frames = vec![(state >> 50) % 7 + 1; (state >> 55) % 70];
                let sum = Sum {
                    count: ONE * 3 / 2,
                    bytes: at as u64,
                };
                table.add(block, &frames, sum);
                let frames = frames[..frames.len().min(64)].to_vec();
                sums.entry(frames.clone()).or_default().0.add(sum);
                live.insert(block, (frames, sum));
            }
        }
        assert_eq!(table.stacks().len(), sums.len());
        assert!(
            live.len() > 100 && sums.len() > 100,
            "{} {}",
            live.len(),
            sums.len()
        );
        for stack in table.stacks() {
            let (allocated, freed) = sums[stack.frames()];
            assert_eq!(stack.own(), allocated);
            assert_eq!(stack.live(), allocated.less(freed));
        }
        table.remove(7);
        assert_eq!(table.lost, 0);
        table.inherit();
        for stack in table.stacks() {
            let (allocated, freed) = sums[stack.frames()];
            assert_eq!(stack.own(), Sum::default());
            assert_eq!(stack.live(), allocated.less(freed));
        }
        for (block, (frames, sum)) in live {
            table.remove(block);
            table.add(block, &frames, sum);
        }
        let own = table.stacks().iter().map(|stack| stack.own().bytes);
        let live = table.stacks().iter().map(|stack| stack.live().bytes);
        assert_eq!(own.sum::<u64>(), live.sum(), "all were allocated again");
    }

    #[test]
    fn a_full_table_counts_what_it_has_no_room_for() {
        let table: &mut Table = mapped().expect("there is memory");
        let sum = Sum {
            count: ONE,
            bytes: 1,
        };
        for frame in 1..STACKS + 9 {
            table.add(frame * 16, &[frame], sum);
        }
        assert_eq!((table.stacks().len(), table.lost), (STACKS - 1, 9));
        assert_eq!(table.live_len as usize, STACKS - 1, "no place is wasted");
    }
}
