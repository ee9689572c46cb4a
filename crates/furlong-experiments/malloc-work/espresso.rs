//! Short-lived bit sets, in the manner of espresso, the logic minimiser. Two covers of cubes are
//! intersected, and each intersection is a new set on the heap. Empty sets and sets that another
//! contains are freed at once. The smaller cover is the input of the next turn.
#![forbid(unsafe_code)]

use crate::block::Bytes;
use crate::clock::timed;
use crate::options::Options;
use crate::random::Random;
use crate::said::Said;

/// Bytes of a cube: 48 to 128, by the number of variables.
const BYTES: [usize; 4] = [48, 64, 96, 128];

/// Cubes of a cover.
const CUBES: usize = 24;

/// Maximum number of cubes kept from a turn.
const KEPT_MAX: usize = 48;

pub(crate) fn run(options: &Options) -> Said {
    let wanted = options.take("operations");
    let seed = options.take("seed");
    options.done();
    let mut operations = 0;
    let done = timed(|| {
        let mut random = Random::of_thread(seed, 0);
        let mut digest = 0;
        while operations < wanted {
            let bytes = BYTES[random.below(BYTES.len())];
            digest ^= minimise(bytes, &mut random, &mut operations).rotate_left(5);
        }
        digest
    });
    Said::new(operations, done)
}

type Cover = Vec<Bytes>;

fn cover(bytes: usize, random: &mut Random) -> Cover {
    let cube = |_| {
        let mut block = Bytes::new(bytes, 0xff);
        for _ in 0..bytes / 2 {
            block[random.below(bytes)] &= random.next() as u8 | random.next() as u8;
        }
        block
    };
    (0..CUBES).map(cube).collect()
}

/// Intersects random covers with one another for a few turns.
fn minimise(bytes: usize, random: &mut Random, operations: &mut u64) -> u64 {
    let mut one = cover(bytes, random);
    *operations += CUBES as u64;
    for _ in 0..4 {
        let other = cover(bytes, random);
        *operations += (CUBES + one.len() * other.len()) as u64;
        let met = meet(&one, &other);
        for set in [one, other] {
            set.into_iter().for_each(Bytes::free);
        }
        one = met;
    }
    let bits = |cube: &Bytes| -> u64 { cube.iter().map(|byte| u64::from(byte.count_ones())).sum() };
    let digest = one
        .iter()
        .map(bits)
        .fold(0, |digest: u64, bits| digest.rotate_left(9) ^ bits);
    one.into_iter().for_each(Bytes::free);
    digest
}

fn meet(one: &Cover, other: &Cover) -> Cover {
    let mut met: Cover = Vec::new();
    for (left, right) in one
        .iter()
        .flat_map(|left| other.iter().map(move |right| (left, right)))
    {
        let mut both = Bytes::new(left.len(), 0);
        let pairs = left.iter().zip(right.iter());
        both.iter_mut()
            .zip(pairs)
            .for_each(|(slot, (left, right))| *slot = left & right);
        let empty = both.iter().all(|byte| *byte == 0);
        let inside = |known: &Bytes| {
            both.iter()
                .zip(known.iter())
                .all(|(new, known)| new & !known == 0)
        };
        if empty || met.iter().any(inside) || met.len() >= KEPT_MAX {
            both.free();
        } else {
            met.push(both);
        }
    }
    met
}
