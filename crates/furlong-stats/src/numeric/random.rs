//! Random numbers that are the same on every machine for the same seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A seeded stream of random numbers. Stored seeds depend on the algorithm: it must not change.
#[derive(Clone, Debug)]
pub struct Random {
    source: ChaCha8Rng,
    spare: Option<f64>,
}

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        let source = ChaCha8Rng::seed_from_u64(seed);
        let spare = None;
        Self { source, spare }
    }

    /// A stream of its own for each key.
    pub fn of_key(key: [u8; 32]) -> Self {
        let source = ChaCha8Rng::from_seed(key);
        let spare = None;
        Self { source, spare }
    }

    /// 64 uniform random bits.
    pub fn bits(&mut self) -> u64 {
        self.source.next_u64()
    }

    /// A uniform number between 0 and 1, both excluded.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// One of `0..n`, each with the same probability; `n` must be positive.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        // The last, incomplete range of n numbers would favour the small ones.
        let unfair = u64::MAX - u64::MAX % n;
        loop {
            let bits = self.bits();
            if bits < unfair {
                return (bits % n) as usize;
            }
        }
    }

    /// A normal number with mean 0 and deviation 1, by Box and Muller's method.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }

    /// Puts the items in random order, each order with the same probability.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_names_one_stream() {
        let draw = |seed| {
            (0..8)
                .map({
                    let mut random = Random::new(seed);
                    move |_| random.bits()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn normal_numbers_have_the_moments_of_a_normal() {
        let mut random = Random::new(1);
        let n = 100_000;
        let all: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let moment = |k: i32| all.iter().map(|v| v.powi(k)).sum::<f64>() / f64::from(n);
        for (k, wanted) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)] {
            assert!(
                (moment(k) - wanted).abs() < 0.07,
                "moment {k} is {}",
                moment(k)
            );
        }
    }

    #[test]
    fn every_order_of_three_comes_up_alike() {
        let mut random = Random::new(2);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(
            seen.values().all(|&times| (880..1120).contains(&times)),
            "{seen:?}"
        );
    }
}
