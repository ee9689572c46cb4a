//! Properties of the functions on words: size classes, runs of bits, alignments, boundaries, and
//! extents at both ends of an address space.
//!
//! Each system has its own in a file `proofs.rs`, beside the functions. `bash ci/prove.sh` proves
//! them for all inputs; the tests here try them at the edges and at random.
#![forbid(unsafe_code)]

/// The words that a property is about. It holds whatever they are: each property makes of them what
/// its function takes, such as a length between 1 and 64.
pub type Input = [u64; 5];

/// A statement about a function, for all inputs.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The module, and the function that states the property.
    pub name: &'static str,
    /// True if the property holds for these words.
    pub holds: fn(&Input) -> bool,
    /// The values that each word is tried with one by one, counted from 0; 0 stands for all values
    /// at once. Division by a word that is not known is out of a solver's reach.
    pub cases: Input,
}

impl Property {
    /// A property that is proved for all words at once.
    #[must_use]
    pub const fn new(name: &'static str, holds: fn(&Input) -> bool) -> Self {
        Self::in_cases(name, holds, [0; 5])
    }

    /// A property that is proved for some of its words one value at a time.
    #[must_use]
    pub const fn in_cases(name: &'static str, holds: fn(&Input) -> bool, cases: Input) -> Self {
        Self { name, holds, cases }
    }
}

/// All properties of the library.
pub fn all() -> impl Iterator<Item = &'static Property> {
    let modules = [
        crate::addr::proofs::PROPERTIES,
        crate::iova::proofs::PROPERTIES,
        crate::phys::proofs::PROPERTIES,
        crate::bounce::proofs::PROPERTIES,
        crate::malloc::proofs::PROPERTIES,
    ];
    modules.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::{Input, Property, all};

    /// Words at which arithmetic goes wrong.
    const EDGES: [u64; 11] = [
        0,
        1,
        2,
        3,
        63,
        64,
        127,
        1 << 32,
        1 << 63,
        u64::MAX - 1,
        u64::MAX,
    ];

    fn assert_holds(property: &Property, input: &Input) {
        assert!((property.holds)(input), "{} {input:x?}", property.name);
    }

    #[test]
    fn every_property_holds_at_the_edges() {
        for property in all() {
            for at in 0..EDGES.len().pow(5) {
                let edge = |word| EDGES[at / EDGES.len().pow(word) % EDGES.len()];
                assert_holds(property, &[0, 1, 2, 3, 4].map(edge));
            }
        }
    }

    #[test]
    fn every_property_holds_for_random_words() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Short words too, so that sums do not always overflow.
            state >> (state % 64)
        };
        for property in all() {
            for _ in 0..20_000 {
                assert_holds(property, &[0; 5].map(|_: u64| random()));
            }
        }
    }
}
