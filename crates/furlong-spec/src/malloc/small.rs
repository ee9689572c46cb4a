//! The small heap: operations, a model that says where each block has to be, and streams.
#![forbid(unsafe_code)]

use furlong::malloc::{Misuse, SmallHeap};

use crate::{Random, Subject};

const GRAIN: usize = SmallHeap::GRAIN;

/// An operation on a small heap, with blocks by the place where the program keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallOperation {
    /// Allocates a block and keeps it in a place.
    Allocate {
        /// The place.
        place: usize,
        /// Size in bytes.
        size: usize,
        /// Alignment, a power of two.
        align: usize,
    },
    /// Resizes the block in a place.
    Resize {
        /// The place.
        place: usize,
        /// New size in bytes.
        size: usize,
    },
    /// Frees the block in a place.
    Free(usize),
    /// Frees the block that was freed last once more, unless another one begins there.
    FreeAgain,
    /// Frees an address so many bytes inside the block in a place.
    FreeInside(usize, usize),
    /// Frees the block in a place with one grain more than it has.
    FreeLonger(usize),
    /// Frees an address of no region.
    FreeForeign,
    /// Counts the blocks and bytes.
    Count,
}

/// The result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallOutcome {
    /// No effect: the place had a block already, or had none.
    Idle,
    /// There is no place for the block. A block that was to be resized is unchanged.
    Refused,
    /// The block begins at this address.
    Block {
        /// Address of its first byte.
        address: usize,
        /// Usable size in bytes.
        usable: usize,
    },
    /// The block is freed.
    Freed,
    /// The contents of a block were not as written.
    Spoiled,
    /// The mistake was found, and nothing has changed.
    Found(Misuse),
    /// The memory now.
    Counted {
        /// Number of blocks.
        blocks: usize,
        /// Bytes in use.
        used: usize,
        /// Free bytes.
        free: usize,
        /// Bytes of the longest run of free ones.
        longest: usize,
    },
}

/// A live block of the model.
#[derive(Clone, Copy, Debug)]
struct Live {
    region: usize,
    at: usize,
    len: usize,
    align: usize,
}

/// A region of the model: the address of its first grain, and a flag for each grain in use.
#[derive(Clone, Debug)]
struct Grains {
    base: usize,
    used: Vec<bool>,
}

impl Grains {
    fn are_free(&self, at: usize, len: usize) -> bool {
        let grains = self.used.get(at..at.saturating_add(len));
        grains.is_some_and(|grains| !grains.contains(&true))
    }

    /// The lowest place, by trying each.
    fn place(&self, len: usize, align: usize) -> Option<usize> {
        let fits =
            |at: &usize| (self.base + at * GRAIN).is_multiple_of(align) && self.are_free(*at, len);
        (0..self.used.len()).find(fits)
    }
}

/// A flag for each grain, and every search from the first grain on.
#[derive(Clone, Debug)]
pub struct SmallModel {
    regions: Vec<Grains>,
    places: Vec<Option<Live>>,
    freed: Option<usize>,
}

/// The grains of a size; `None` if no layout has it.
fn grains(size: usize, align: usize) -> Option<usize> {
    let is_layout = isize::try_from(size).is_ok_and(|size| size <= isize::MAX - align as isize + 1);
    is_layout.then(|| size.div_ceil(GRAIN).max(1))
}

impl SmallModel {
    /// A program with `places` places, and regions by the address and number of their grains.
    #[must_use]
    pub fn new(places: usize, regions: &[(usize, usize)]) -> Self {
        let grains = |(base, len): &(usize, usize)| Grains {
            base: *base,
            used: vec![false; *len],
        };
        Self {
            regions: regions.iter().map(grains).collect(),
            places: vec![None; places],
            freed: None,
        }
    }

    fn mark(&mut self, live: Live, is_used: bool) {
        self.regions[live.region].used[live.at..live.at + live.len].fill(is_used);
    }

    fn keep(&mut self, place: usize, live: Live) -> SmallOutcome {
        self.mark(live, true);
        self.places[place] = Some(live);
        SmallOutcome::Block {
            address: self.regions[live.region].base + live.at * GRAIN,
            usable: live.len * GRAIN,
        }
    }

    /// The lowest place in the first region that has one.
    fn find(&self, len: usize, align: usize) -> Option<Live> {
        let mut regions = self.regions.iter().enumerate();
        regions.find_map(|(region, grains)| {
            let at = grains.place(len, align)?;
            Some(Live {
                region,
                at,
                len,
                align,
            })
        })
    }

    fn allocate(&mut self, place: usize, size: usize, align: usize) -> SmallOutcome {
        if self.places[place].is_some() {
            return SmallOutcome::Idle;
        }
        let found = grains(size, align).and_then(|len| self.find(len, align));
        found.map_or(SmallOutcome::Refused, |live| self.keep(place, live))
    }

    fn resize(&mut self, place: usize, size: usize) -> SmallOutcome {
        let Some(old) = self.places[place] else {
            return SmallOutcome::Idle;
        };
        let Some(len) = grains(size, old.align) else {
            return SmallOutcome::Refused;
        };
        // With its own grains free it may stay, or move within its region.
        self.mark(old, false);
        let region = &self.regions[old.region];
        let stays = region.are_free(old.at, len).then_some(old.at);
        let moved = stays.or_else(|| region.place(len, old.align));
        let moved = moved.map(|at| Live { at, len, ..old });
        self.mark(old, true);
        let Some(new) = moved.or_else(|| self.find(len, old.align)) else {
            return SmallOutcome::Refused;
        };
        self.mark(old, false);
        self.keep(place, new)
    }

    fn address(&self, live: Live) -> usize {
        self.regions[live.region].base + live.at * GRAIN
    }

    /// The mistake in a free of an address where no block begins.
    fn misuse(&self, address: usize) -> Misuse {
        let found = self.regions.iter().find_map(|region| {
            let offset = address.checked_sub(region.base)?;
            region.used.get(offset / GRAIN).map(|used| (offset, *used))
        });
        match found {
            None => Misuse::Foreign,
            Some((offset, used)) if used || offset % GRAIN != 0 => Misuse::NotABlock,
            Some(_) => Misuse::DoubleFree,
        }
    }

    fn count(&self) -> SmallOutcome {
        let used = self.regions.iter().flat_map(|region| &region.used);
        let (used, all) = used.fold((0, 0), |(used, all), now| {
            (used + usize::from(*now), all + 1)
        });
        let runs = self
            .regions
            .iter()
            .flat_map(|region| region.used.split(|used| *used).map(<[bool]>::len));
        SmallOutcome::Counted {
            blocks: self.places.iter().flatten().count(),
            used: used * GRAIN,
            free: (all - used) * GRAIN,
            longest: runs.max().unwrap_or(0) * GRAIN,
        }
    }
}

impl Subject for SmallModel {
    type Operation = SmallOperation;
    type Outcome = SmallOutcome;

    fn apply(&mut self, operation: &SmallOperation) -> SmallOutcome {
        match *operation {
            SmallOperation::Allocate { place, size, align } => self.allocate(place, size, align),
            SmallOperation::Resize { place, size } => self.resize(place, size),
            SmallOperation::Free(place) => match self.places[place].take() {
                Some(live) => {
                    self.mark(live, false);
                    self.freed = Some(self.address(live));
                    SmallOutcome::Freed
                }
                None => SmallOutcome::Idle,
            },
            SmallOperation::FreeAgain => {
                let begins = |at| {
                    self.places
                        .iter()
                        .flatten()
                        .any(|live| self.address(*live) == at)
                };
                match self.freed {
                    Some(address) if !begins(address) => SmallOutcome::Found(self.misuse(address)),
                    _ => SmallOutcome::Idle,
                }
            }
            SmallOperation::FreeInside(place, by) => match self.places[place] {
                Some(live) if by < live.len * GRAIN => SmallOutcome::Found(Misuse::NotABlock),
                _ => SmallOutcome::Idle,
            },
            SmallOperation::FreeLonger(place) => match self.places[place] {
                Some(_) => SmallOutcome::Found(Misuse::WrongSize),
                None => SmallOutcome::Idle,
            },
            SmallOperation::FreeForeign => SmallOutcome::Found(Misuse::Foreign),
            SmallOperation::Count => self.count(),
        }
    }
}

/// A size: of a few grains mostly, and of up to `most` bytes; seldom one that is impossible.
fn size(random: &mut Random, most: usize) -> usize {
    match random.below(200) {
        0 => usize::MAX - random.index(most),
        1 => isize::MAX as usize - random.index(64),
        2..20 => random.index(most + 1),
        20..60 => random.index(most / 16 + 1),
        _ => random.index(200),
    }
}

/// `count` operations of a program with `places` places on regions of up to `most` bytes. The seed
/// is enough to repeat them.
pub fn small_operations(
    places: usize,
    most: usize,
    count: usize,
    seed: u64,
) -> impl Iterator<Item = SmallOperation> {
    let mut random = Random::new(seed);
    (0..count).map(move |_| {
        let place = random.index(places);
        match random.below(100) {
            0..45 => SmallOperation::Allocate {
                place,
                size: size(&mut random, most),
                align: match random.below(8) {
                    0 => 1 << random.below(17),
                    1 => 1 << random.below(7),
                    _ => 8,
                },
            },
            45..65 => SmallOperation::Resize {
                place,
                size: size(&mut random, most),
            },
            65..90 => SmallOperation::Free(place),
            90..92 => SmallOperation::FreeAgain,
            92..94 => SmallOperation::FreeInside(place, 1 + random.index(4 * GRAIN)),
            94..96 => SmallOperation::FreeLonger(place),
            96 => SmallOperation::FreeForeign,
            _ => SmallOperation::Count,
        }
    })
}
