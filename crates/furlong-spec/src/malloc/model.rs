//! The naive model: addresses that are never reused, and a map of the live blocks.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use super::operation::{Operation, Outcome};
use crate::Subject;
use crate::compare::Judge;

/// Largest size of a block, in bytes: a program has no larger address space.
const MOST: usize = 1 << 47;

/// A live block.
#[derive(Clone, Copy, Debug)]
struct Live {
    address: usize,
    usable: usize,
}

/// The live blocks, by place. As a [`Subject`] it allocates upwards and never reuses an address. As
/// a [`Judge`] it checks the outcomes of another allocator.
#[derive(Clone, Debug)]
pub struct Model {
    places: Vec<Option<Live>>,
    /// End of each live block, by start.
    extents: BTreeMap<usize, usize>,
    next: usize,
    /// True if memory may be short.
    short: bool,
    /// True if usable sizes include bytes that the program may not use.
    sealed: bool,
}

impl Model {
    /// A program with `places` places. `short` is true if memory may be short.
    #[must_use]
    pub fn new(places: usize, short: bool) -> Self {
        Self {
            places: vec![None; places],
            extents: BTreeMap::new(),
            next: 1 << 20,
            short,
            sealed: false,
        }
    }

    /// The same, for an allocator whose usable sizes may include bytes that the program may not
    /// use.
    #[must_use]
    pub fn sealed(self, sealed: bool) -> Self {
        Self { sealed, ..self }
    }

    /// True if the range overlaps a live block.
    fn overlaps(&self, address: usize, usable: usize) -> bool {
        let end = address.saturating_add(usable);
        let before = self.extents.range(..end).next_back();
        before.is_some_and(|(_, last)| *last > address)
    }

    fn put(&mut self, place: usize, live: Live) {
        self.places[place] = Some(live);
        // At least one byte, so that no two blocks begin at the same address.
        self.extents
            .insert(live.address, live.address + live.usable.max(1));
    }

    fn take(&mut self, place: usize) -> Option<Live> {
        let live = self.places[place].take()?;
        self.extents.remove(&live.address);
        Some(live)
    }

    fn count(&self) -> Outcome {
        Outcome::Counted {
            blocks: self.extents.len(),
            bytes: self.places.iter().flatten().map(|live| live.usable).sum(),
        }
    }

    /// Allocates a block from the model's own addresses.
    fn bump(&mut self, size: usize, align: usize) -> Outcome {
        let align = align.max(16);
        if size > MOST || align > MOST {
            return Outcome::Refused;
        }
        let address = self.next.next_multiple_of(align);
        self.next = address + size + 1;
        Outcome::Block {
            address,
            usable: size,
            intact: true,
        }
    }

    /// The place, size and alignment of the request that an operation makes.
    fn request(&self, operation: &Operation) -> Option<(usize, usize, usize)> {
        match *operation {
            Operation::Allocate {
                place, size, align, ..
            } if self.places[place].is_none() => Some((place, size, align)),
            // A resize does not keep the old block's alignment.
            Operation::Resize { place, size } => self.places[place].map(|_| (place, size, 16)),
            _ => None,
        }
    }

    /// True if a block is a correct result of a request. Makes it live.
    fn accept(&mut self, (place, size, align): (usize, usize, usize), found: &Outcome) -> bool {
        match *found {
            Outcome::Refused => self.short || size > MOST || align > MOST,
            Outcome::Block {
                address,
                usable,
                intact,
            } => {
                let before = self.take(place);
                let good = intact
                    && address != 0
                    && address.is_multiple_of(align.max(16))
                    && usable >= size
                    && size <= MOST
                    && !self.overlaps(address, usable);
                match before {
                    Some(before) if !good => self.put(place, before),
                    _ if !good => {}
                    _ => self.put(place, Live { address, usable }),
                }
                good
            }
            _ => false,
        }
    }

    /// The only correct outcome of an operation that requests no memory.
    fn answer(&mut self, operation: &Operation) -> Outcome {
        match *operation {
            Operation::Look(place) if self.places[place].is_some() => Outcome::Intact(true),
            Operation::Free(place) | Operation::FreeSized(place) => self
                .take(place)
                .map_or(Outcome::Idle, |_| Outcome::Intact(true)),
            Operation::Allocate { .. } | Operation::Resize { .. } | Operation::Look(_) => {
                Outcome::Idle
            }
            Operation::Count => self.count(),
            _ => Outcome::Done,
        }
    }
}

impl Subject for Model {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let Some(request) = self.request(operation) else {
            return self.answer(operation);
        };
        let found = self.bump(request.1, request.2);
        if self.accept(request, &found) {
            found
        } else {
            Outcome::Refused
        }
    }

    fn check(&self) -> Result<(), String> {
        let mut last = 0;
        for (start, end) in &self.extents {
            if *start < last {
                return Err(format!("two live blocks have {start:#x}"));
            }
            last = *end;
        }
        Ok(())
    }
}

/// True if a count has the same blocks and at least the expected bytes.
fn holds(expected: Outcome, found: Outcome) -> bool {
    let counted = |outcome| match outcome {
        Outcome::Counted { blocks, bytes } => Some((blocks, bytes)),
        _ => None,
    };
    let both = counted(expected).zip(counted(found));
    both.is_some_and(|((blocks, bytes), (found, more))| blocks == found && bytes <= more)
}

impl Judge for Model {
    fn judge(&mut self, operation: &Operation, found: &Outcome) -> Result<(), Outcome> {
        let Some(request) = self.request(operation) else {
            let answer = self.answer(operation);
            let right = answer == *found || self.sealed && holds(answer, *found);
            return if right { Ok(()) } else { Err(answer) };
        };
        if self.accept(request, found) {
            Ok(())
        } else {
            Err(self.bump(request.1, request.2))
        }
    }
}
