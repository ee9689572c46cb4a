//! The trait of search orders: the next area if the CPU's own one has no room.
//!
//! With several blocks there are two ways through the grid of blocks and areas. Linux 6.12
//! (`swiotlb_find_slots`, "swiotlb: reduce area lock contention for non-primary IO TLB pools")
//! changed from the first to the second.

use crate::forms::Sealed;

/// The order in which the areas of all blocks are searched.
pub trait Order: Sealed + 'static {
    /// Calls `probe` with a block and a number of steps from the CPU's own area, each pair once,
    /// until it returns a value.
    ///
    /// # Shapes
    /// There are `blocks` blocks; `areas` returns the number of areas of one, at most `widest`.
    fn search<T>(
        blocks: usize,
        widest: usize,
        areas: impl Fn(usize) -> usize,
        probe: impl FnMut(usize, usize) -> Option<T>,
    ) -> Option<T>;
}

/// All areas of a block, then the next block: Linux before the change.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolFirst;

impl Sealed for PoolFirst {}

impl Order for PoolFirst {
    #[inline]
    fn search<T>(
        blocks: usize,
        _widest: usize,
        areas: impl Fn(usize) -> usize,
        mut probe: impl FnMut(usize, usize) -> Option<T>,
    ) -> Option<T> {
        (0..blocks).find_map(|block| (0..areas(block)).find_map(|step| probe(block, step)))
    }
}

/// The CPU's own area in all blocks, then the next area: Linux since the change. A block with fewer
/// areas than steps is skipped, so no area is searched twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct AreaFirst;

impl Sealed for AreaFirst {}

impl Order for AreaFirst {
    #[inline]
    fn search<T>(
        blocks: usize,
        widest: usize,
        areas: impl Fn(usize) -> usize,
        mut probe: impl FnMut(usize, usize) -> Option<T>,
    ) -> Option<T> {
        (0..widest).find_map(|step| {
            let wide = |block: &usize| step < areas(*block);
            (0..blocks)
                .filter(wide)
                .find_map(|block| probe(block, step))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{AreaFirst, Order, PoolFirst};

    fn path<O: Order>(areas: &[usize]) -> Vec<(usize, usize)> {
        let mut path = Vec::new();
        let widest = areas.iter().copied().max().unwrap_or(0);
        let none = O::search(
            areas.len(),
            widest,
            |block| areas[block],
            |block, step| {
                path.push((block, step));
                None::<()>
            },
        );
        assert!(none.is_none());
        path
    }

    #[test]
    fn pool_first_finishes_a_block_before_the_next() {
        let expected = [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)];
        assert_eq!(path::<PoolFirst>(&[2, 1, 2]), expected);
    }

    #[test]
    fn area_first_asks_the_own_area_everywhere_and_no_area_twice() {
        let expected = [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1)];
        assert_eq!(path::<AreaFirst>(&[2, 1, 2]), expected);
    }

    #[test]
    fn both_stop_at_the_first_answer() {
        let answer = |block, step| (block == 1).then_some(step);
        assert_eq!(PoolFirst::search(3, 2, |_| 2, answer), Some(0));
        assert_eq!(AreaFirst::search(3, 2, |_| 2, answer), Some(0));
    }
}
