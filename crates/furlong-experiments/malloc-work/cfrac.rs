//! Multi-word numbers, each a short-lived block, in the manner of cfrac (factoring by continued
//! fractions).
//!
//! The work expands the root of n = m * m + c and keeps its numerators modulo n. Each result is a
//! new block, and the old one is freed. The identity a * a = ±q (mod n) at the end of each
//! expansion proves the result right.
#![forbid(unsafe_code)]

use std::cmp::Ordering;

use crate::block::Bytes;
use crate::clock::timed;
use crate::options::Options;
use crate::random::Random;
use crate::said::{Said, die};

/// Steps of one expansion.
const STEPS: u64 = 64;

/// A number of limbs of 32 bits, the lowest first, without zeros at the top.
struct Number(Bytes);

impl Number {
    /// Copies limbs into a new block.
    fn new(limbs: &[u32]) -> Self {
        let used = limbs
            .iter()
            .rposition(|limb| *limb != 0)
            .map_or(0, |last| last + 1);
        let mut block = Bytes::new(4 * used, 0);
        for (bytes, limb) in block.chunks_mut(4).zip(limbs) {
            bytes.copy_from_slice(&limb.to_le_bytes());
        }
        Self(block)
    }

    fn limbs(&self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + '_ {
        let limbs = self.0.as_chunks::<4>().0.iter();
        limbs.map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn limb(&self, place: usize) -> u64 {
        u64::from(self.limbs().nth(place).unwrap_or(0))
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let places = self.limbs().len().max(other.limbs().len());
        let pairs = (0..places)
            .rev()
            .map(|place| self.limb(place).cmp(&other.limb(place)));
        pairs.fold(Ordering::Equal, Ordering::then)
    }

    /// `self + other * times`.
    fn plus(&self, other: &Self, times: u32) -> Self {
        let places = self.limbs().len().max(other.limbs().len()) + 1;
        let mut sum = [0; LIMBS_MAX];
        let mut carry = 0;
        for (place, limb) in sum[..places].iter_mut().enumerate() {
            carry += self.limb(place) + other.limb(place) * u64::from(times);
            *limb = carry as u32;
            carry >>= 32;
        }
        Self::new(&sum[..places])
    }

    /// `self - other`; `other` is no larger.
    fn minus(&self, other: &Self) -> Self {
        let places = self.limbs().len();
        let mut rest = [0; LIMBS_MAX];
        let mut borrow = 0;
        for (place, limb) in rest[..places].iter_mut().enumerate() {
            let less = other.limb(place) + borrow;
            let from = self.limb(place);
            *limb = from.wrapping_sub(less) as u32;
            borrow = u64::from(from < less);
        }
        Self::new(&rest[..places])
    }

    /// Half of the number, rounded down.
    fn halved(&self) -> Self {
        let places = self.limbs().len();
        let mut half = [0; LIMBS_MAX];
        for (place, limb) in half[..places].iter_mut().enumerate() {
            *limb = (self.limb(place) >> 1 | self.limb(place + 1) << 31) as u32;
        }
        Self::new(&half[..places])
    }

    fn copy(&self) -> Self {
        self.plus(self, 0)
    }

    fn free(self) {
        self.0.free();
    }
}

/// One more than the limbs of the largest number here.
const LIMBS_MAX: usize = 16;

/// Replaces a number and frees the old one.
fn put(place: &mut Number, new: Number) {
    std::mem::replace(place, new).free();
}

pub(crate) fn run(options: &Options) -> Said {
    let batches = options.take("operations").div_ceil(STEPS);
    let seed = options.take("seed");
    options.done();
    let done = timed(|| {
        let mut random = Random::of_thread(seed, 0);
        (0..batches)
            .map(|_| expand(&mut random))
            .fold(0, u64::wrapping_add)
    });
    Said::new(batches * STEPS, done)
}

/// `times * of` modulo `n`, by doubling.
fn product(times: &Number, of: &Number, n: &Number) -> Number {
    let mut sum = Number::new(&[]);
    for bit in (0..32 * times.limbs().len()).rev() {
        let twice = sum.plus(&sum, 1);
        put(&mut sum, twice);
        reduce(&mut sum, n);
        if times.limb(bit / 32) >> (bit % 32) & 1 == 1 {
            let more = sum.plus(of, 1);
            put(&mut sum, more);
            reduce(&mut sum, n);
        }
    }
    sum
}

fn reduce(number: &mut Number, n: &Number) {
    while number.cmp(n) != Ordering::Less {
        let less = number.minus(n);
        put(number, less);
    }
}

/// Returns the quotient, found by doubling and halving, and leaves the remainder in `rest`. `None`
/// if the quotient has 32 bits or more.
fn divide(rest: &mut Number, by: &Number) -> Option<u32> {
    let mut part = by.copy();
    let (mut times, mut quotient) = (1_u32, 0);
    while times < 1 << 31 && rest.cmp(&part) != Ordering::Less {
        let twice = part.plus(&part, 1);
        put(&mut part, twice);
        times *= 2;
    }
    let fits = rest.cmp(&part) == Ordering::Less;
    while times > 1 {
        times /= 2;
        let half = part.halved();
        put(&mut part, half);
        if rest.cmp(&part) != Ordering::Less {
            let less = rest.minus(&part);
            put(rest, less);
            quotient += times;
        }
    }
    part.free();
    fits.then_some(quotient)
}

/// State of an expansion: p and q of this step, q of the previous step, and the numerators of this
/// convergent and the previous one, modulo n.
struct Expansion {
    p: Number,
    q: Number,
    q_before: Number,
    a: Number,
    a_before: Number,
}

impl Expansion {
    /// Does one step. Returns false, without a step, if the quotient is too large.
    fn step(&mut self, m: &Number, n: &Number) -> bool {
        let mut rest = m.plus(&self.p, 1);
        let Some(quotient) = divide(&mut rest, &self.q) else {
            rest.free();
            return false;
        };
        let p = m.minus(&rest);
        rest.free();
        // q of the previous step, less the quotient times the growth of p.
        let q = if p.cmp(&self.p) == Ordering::Greater {
            let more = p.minus(&self.p);
            let zero = Number::new(&[]);
            let all = zero.plus(&more, quotient);
            let q = self.q_before.minus(&all);
            [more, zero, all].into_iter().for_each(Number::free);
            q
        } else {
            let less = self.p.minus(&p);
            let q = self.q_before.plus(&less, quotient);
            less.free();
            q
        };
        put(&mut self.p, p);
        put(&mut self.q_before, std::mem::replace(&mut self.q, q));
        let mut a = self.a_before.plus(&self.a, quotient);
        if divide(&mut a, n).is_none() {
            die("a numerator is larger than it can be: numbers were changed");
        }
        put(&mut self.a_before, std::mem::replace(&mut self.a, a));
        true
    }
}

/// Runs one expansion and checks its identity.
fn expand(random: &mut Random) -> u64 {
    let m = Number::new(&[random.next(), random.next() | 1 << 31]);
    let c = Number::new(&[random.next() | 1, random.next() >> 2]);
    let huge = Number::new(&[0, 0, 0, 0, 0, 1]);
    let square = product(&m, &m, &huge);
    let n = square.plus(&c, 1);
    let mut state = Expansion {
        p: m.copy(),
        q: c,
        q_before: Number::new(&[1]),
        a: m.copy(),
        a_before: Number::new(&[1]),
    };
    let steps = (0..STEPS).take_while(|_| state.step(&m, &n)).count();
    let left = product(&state.a, &state.a, &n);
    let right = if steps % 2 == 0 {
        n.minus(&state.q)
    } else {
        state.q.copy()
    };
    if left.cmp(&right) != Ordering::Equal {
        die("a continued fraction does not hold: numbers were changed");
    }
    let digest = left.limb(0) ^ left.limb(1) << 32;
    let Expansion {
        p,
        q,
        q_before,
        a,
        a_before,
    } = state;
    let all = [m, huge, square, n, left, right, p, q, q_before, a, a_before];
    all.into_iter().for_each(Number::free);
    digest
}
