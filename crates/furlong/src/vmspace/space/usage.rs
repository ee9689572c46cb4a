//! Counts of mapped pages.

use crate::vmspace::Prot;

/// The number of mapped pages, by protection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    by_prot: [u64; 8],
}

impl Usage {
    /// All mapped pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.by_prot.iter().sum()
    }

    /// The pages with exactly this protection.
    #[must_use]
    pub fn with(&self, prot: Prot) -> u64 {
        self.by_prot[slot(prot)]
    }

    /// The pages that allow all accesses in `prot`.
    #[must_use]
    pub fn allowing(&self, prot: Prot) -> u64 {
        let allow = |bits: &u32| Prot::from_bits(*bits).contains(prot.known());
        let bits = (0..8).filter(allow);
        bits.map(|bits| self.with(Prot::from_bits(bits))).sum()
    }

    /// True if all counts are equal. A compiler makes `==` of arrays a call of `bcmp`, which a
    /// kernel in C need not have.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let pairs = self.by_prot.iter().zip(&other.by_prot);
        pairs.fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
    }

    pub(super) fn add(&mut self, prot: Prot, pages: u64) {
        self.by_prot[slot(prot)] += pages;
    }

    pub(super) fn sub(&mut self, prot: Prot, pages: u64) {
        self.by_prot[slot(prot)] -= pages;
    }
}

fn slot(prot: Prot) -> usize {
    prot.known().bits() as usize
}
