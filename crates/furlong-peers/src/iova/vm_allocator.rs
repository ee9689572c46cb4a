//! rust-vmm's `AddressAllocator`: an AVL tree of ranges, free and allocated ones.
//!
//! Firecracker and others place devices with it. It searches all nodes in order of address. It has
//! exact, lowest and highest placement with an alignment, but no window: its users have an
//! allocator for each.

use furlong::addr::{Address, Extent, Iova};
use furlong_experiments_devices::iova_gap::{self, AddressAllocator, Ask};
use furlong_lab::model::Failure;
use furlong_spec::iova::Place;
use serde::Deserialize;
use vm_allocator::{AllocPolicy, RangeInclusive};

use super::extents::extent;
use super::{Align, Offers, Peer};

/// rust-vmm's allocator.
pub struct VmAllocator(vm_allocator::AddressAllocator);

/// A node of its tree in serialised form, which is the only way to read its contents.
#[derive(Deserialize)]
struct Node {
    key: RangeInclusive,
    node_state: String,
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
}

impl VmAllocator {
    /// Its ranges in ascending order, with `true` for those that are allocated.
    ///
    /// # Errors
    /// If they are not in order.
    pub fn ranges(&self) -> Result<Vec<(Extent<Iova>, bool)>, Failure> {
        let saved = serde_json::to_value(&self.0).map_err(|error| Failure(error.to_string()))?;
        let root = saved.pointer("/interval_tree/root").cloned();
        let root: Option<Box<Node>> = serde_json::from_value(root.unwrap_or_default())
            .map_err(|error| Failure(format!("its saved form is not readable: {error}")))?;
        let mut ranges = Vec::new();
        collect(root.as_deref(), &mut ranges)?;
        let is_ascending = ranges
            .windows(2)
            .all(|pair| pair[0].0.last() < pair[1].0.start());
        if !is_ascending {
            return Err(Failure("its ranges overlap or are out of order".to_owned()));
        }
        Ok(ranges)
    }
}

fn collect(node: Option<&Node>, ranges: &mut Vec<(Extent<Iova>, bool)>) -> Result<(), Failure> {
    if let Some(node) = node {
        collect(node.left.as_deref(), ranges)?;
        let range = extent(node.key.start(), node.key.end())?;
        ranges.push((range, node.node_state == "Allocated"));
        collect(node.right.as_deref(), ranges)?;
    }
    Ok(())
}

impl AddressAllocator for VmAllocator {
    type Grant = RangeInclusive;

    fn new(space: Extent<Iova>, _: u64) -> Result<Self, Failure> {
        let size = space
            .len()
            .ok_or_else(|| Failure("it cannot represent the whole 64-bit space".into()))?;
        let theirs = vm_allocator::AddressAllocator::new(space.start().raw(), size);
        theirs.map(Self).map_err(|error| Failure(error.to_string()))
    }

    fn reserve_at(&mut self, extent: Extent<Iova>) -> Option<RangeInclusive> {
        let exactly = AllocPolicy::ExactMatch(extent.start().raw());
        self.0.allocate(extent.len()?, 1, exactly).ok()
    }

    #[inline]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, RangeInclusive)> {
        let policy = match ask.place {
            iova_gap::Place::Highest => AllocPolicy::LastMatch,
            _ => AllocPolicy::FirstMatch,
        };
        let range = self.0.allocate(ask.size, ask.align, policy).ok()?;
        Some((range.start(), range))
    }

    #[inline]
    fn release(&mut self, grant: RangeInclusive) {
        self.0.free(&grant).expect("the range is allocated");
    }

    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        let ranges = self.ranges()?.into_iter();
        Ok(ranges
            .filter(|range| range.1)
            .map(|range| range.0)
            .collect())
    }
}

impl Peer for VmAllocator {
    const OFFERS: Offers = Offers {
        places: &[Place::Lowest, Place::Highest],
        align: Align::InPlace,
        reserve_at: true,
        release_at: true,
        reserved: true,
        mistakes: true,
        ..Offers::ANY_PLACE
    };

    fn try_release(&mut self, grant: RangeInclusive) -> bool {
        self.0.free(&grant).is_ok()
    }

    fn release_at(&mut self, extent: Extent<Iova>) -> bool {
        let range = RangeInclusive::new(extent.start().raw(), extent.last().raw());
        range.and_then(|range| self.0.free(&range)).is_ok()
    }
}
