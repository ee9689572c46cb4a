//! A block's order, input and padding, derived from the run's seed.
//!
//! A fixed order (A B A B, or all of A and then all of B) mistakes drift for a difference. A fresh
//! random permutation in every block does not. The environment's length moves the stack and thus
//! changes the alignment of everything on it. It is therefore drawn for every block, and is the
//! same for all processes of a block.

use crate::hash::fnv1a;
use furlong_stats::random::Random;

/// Upper bound of the padding, in bytes.
const PADDING_LIMIT: usize = 4096;

/// The random decisions about a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockOrder {
    /// The processes `0..places` in the order in which they run.
    pub order: Vec<usize>,
    /// Seed of the input of all processes of the block.
    pub seed: u64,
    /// Bytes to add to the environment of all processes of the block.
    pub padding: usize,
}

impl BlockOrder {
    /// Draws the order of a block. The result depends on the arguments only, on every machine.
    ///
    /// # Shapes
    ///
    /// `places` is the number of processes in the block; `number` is the block's own.
    pub fn new(
        seed: u64,
        experiment: &str,
        workload: &str,
        number: u32,
        places: usize,
    ) -> BlockOrder {
        let mut key = [0; 32];
        let parts = [
            seed,
            fnv1a(experiment.as_bytes()),
            fnv1a(workload.as_bytes()),
            number.into(),
        ];
        for (bytes, part) in key.chunks_exact_mut(8).zip(parts) {
            bytes.copy_from_slice(&part.to_le_bytes());
        }
        let mut random = Random::of_key(key);
        let mut order: Vec<usize> = (0..places).collect();
        random.shuffle(&mut order);
        BlockOrder {
            order,
            seed: random.bits(),
            padding: random.below(PADDING_LIMIT),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::BlockOrder;

    #[test]
    fn the_same_block_gets_the_same_order_again() {
        let order = || BlockOrder::new(7, "iova-propagation", "plain", 3, 4);
        assert_eq!(order(), order());
    }

    #[test]
    fn every_argument_changes_the_order() {
        let seeds = [
            BlockOrder::new(7, "e", "w", 1, 4).seed,
            BlockOrder::new(8, "e", "w", 1, 4).seed,
            BlockOrder::new(7, "f", "w", 1, 4).seed,
            BlockOrder::new(7, "e", "x", 1, 4).seed,
            BlockOrder::new(7, "e", "w", 2, 4).seed,
        ];
        for (place, seed) in seeds.iter().enumerate() {
            assert!(!seeds[..place].contains(seed), "{seeds:?}");
        }
    }

    #[test]
    fn a_published_order_never_changes() {
        // A stored run is resumed with these values, so the algorithm must not change.
        let drawn = BlockOrder::new(1, "iova-propagation", "plain", 1, 4);
        assert_eq!(drawn.order, [2, 1, 3, 0]);
        assert_eq!(
            (drawn.seed, drawn.padding),
            (9_891_291_589_729_825_610, 433)
        );
    }

    #[test]
    fn every_order_of_three_comes_up_about_as_often() {
        let mut seen: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        for number in 0..6000 {
            *seen
                .entry(BlockOrder::new(1, "e", "w", number, 3).order)
                .or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        // 1,000 expected, standard deviation 29: six of those on either side.
        assert!(
            seen.values().all(|count| (826..1174).contains(count)),
            "{seen:?}"
        );
    }

    #[test]
    fn the_padding_covers_a_page_and_no_more() {
        let paddings: Vec<usize> = (0..2000)
            .map(|number| BlockOrder::new(1, "e", "w", number, 2).padding)
            .collect();
        assert!(paddings.iter().all(|padding| *padding < 4096));
        assert!(paddings.iter().any(|padding| *padding < 64));
        assert!(paddings.iter().any(|padding| *padding >= 4032));
    }
}
