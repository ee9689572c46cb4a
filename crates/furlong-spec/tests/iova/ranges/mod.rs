//! Every verb about a range, over every range of every small space: overlapping fixed regions,
//! fills, cuts and claims. The spaces lie at 0, in the middle, and at the last byte of the 64-bit
//! range.
//!
//! Two bugs of upstream loops are among the cases. One loop searches for the first entry that ends
//! at or above the start of the range. It finds the one that ends exactly there, and computes a
//! hole of negative length. The other takes the entry that straddles the right end as a whole, and
//! clips the next one.

mod edges;

use core::iter::repeat_n;

use furlong::addr::{Extent, Iova};
use furlong::iova::{Kind, Standard};
use furlong_spec::iova::{Geometry, Model, Operation, Promise, SpaceSubject};
use furlong_spec::{Subject, judge};

use crate::PAGE;

/// The first and the last granule of an extent, and its kind.
type Part = (u64, u64, Kind);

const GRANULES: u64 = 5;

const SPACES: [Geometry; 3] = [
    Geometry::low(GRANULES as usize, PAGE),
    Geometry::high(GRANULES as usize, PAGE),
    Geometry {
        start: 8 * PAGE,
        granule: PAGE,
        granules: GRANULES as usize,
    },
];

/// Every way to reserve parts of `granules` granules.
pub(crate) fn layouts(granules: u64) -> Vec<Vec<Part>> {
    let mut found = vec![vec![]];
    let mut open = vec![(0, vec![])];
    while let Some((from, layout)) = open.pop() {
        for first in from..granules {
            for last in first..granules {
                for kind in [Kind::Granted, Kind::Fixed, Kind::Unclaimed] {
                    let mut longer: Vec<Part> = layout.clone();
                    longer.push((first, last, kind));
                    found.push(longer.clone());
                    open.push((last + 1, longer));
                }
            }
        }
    }
    found
}

fn extent(geometry: Geometry, first: u64, last: u64) -> Extent<Iova> {
    let len = (last - first + 1) as usize;
    let extent = geometry.granules(first as usize, len);
    extent.expect("a part of the space")
}

/// The operations that reserve the parts of a layout.
fn laid_out(geometry: Geometry, layout: &[Part]) -> Vec<Operation> {
    let (mut operations, mut grants) = (Vec::new(), 0);
    for (first, last, kind) in layout {
        let extent = extent(geometry, *first, *last);
        match kind {
            Kind::Fixed => operations.push(Operation::Fixed(extent)),
            Kind::Granted => {
                operations.push(Operation::ReserveAt(extent));
                grants += 1;
            }
            Kind::Unclaimed => {
                operations.extend([Operation::ReserveAt(extent), Operation::Disown(grants)]);
            }
        }
    }
    operations
}

/// Carries out each verb on a space with this layout, with looks before and after it. At the end
/// each grant is released, or refused because it was cut.
fn agrees(geometry: Geometry, layout: &[Part], range: Extent<Iova>) {
    let verbs = [
        Operation::Fixed(range),
        Operation::Fill(range),
        Operation::ReleaseRange(range),
        Operation::ReleasePart(0, range),
        Operation::ReleaseAt(range),
        Operation::Claim(range),
    ];
    for verb in verbs {
        let mut space = SpaceSubject::<Standard>::new(geometry);
        let mut model = Model::new(geometry, Promise::Exact);
        for operation in laid_out(geometry, layout) {
            assert_eq!(space.apply(&operation), model.apply(&operation));
        }
        let looks = [Operation::ReservedIn(range), Operation::FreeIn(range)];
        let after = [
            verb,
            Operation::Reserved,
            Operation::Free,
            Operation::ReleaseUnclaimed,
        ];
        let releases = repeat_n(Operation::Release(0), GRANULES as usize);
        let operations = looks.into_iter().chain(after).chain(releases);
        judge(&mut model, &mut space, operations)
            .unwrap_or_else(|divergence| panic!("{layout:?}: {divergence}"));
    }
}

#[test]
fn every_range_agrees_with_the_model_in_every_small_space() {
    for layout in layouts(GRANULES) {
        for first in 0..GRANULES {
            for last in first..GRANULES {
                for geometry in &SPACES[..2] {
                    agrees(*geometry, &layout, extent(*geometry, first, last));
                }
            }
        }
    }
}

#[test]
fn every_range_that_is_ragged_or_leaves_the_space_agrees_with_the_model() {
    let bytes = |start: i128, end: i128| {
        let (start, last) = (u64::try_from(start).ok()?, u64::try_from(end - 1).ok()?);
        Extent::from_last(Iova::new(start), Iova::new(last))
    };
    let granules = i128::from(GRANULES);
    for geometry in SPACES {
        let edge = |granule: i128| i128::from(geometry.start) + granule * i128::from(PAGE);
        let mut ranges = vec![bytes(0, 1 << 64)];
        for first in -1..=granules {
            for end in first + 1..=granules + 1 {
                let (start, end) = (edge(first), edge(end));
                ranges.extend([bytes(start, end), bytes(start - 1, end + 1)]);
                ranges.extend([bytes(start + 1, end), bytes(start, end - 1)]);
            }
        }
        for layout in layouts(GRANULES).iter().filter(|parts| parts.len() <= 1) {
            for range in ranges.iter().flatten() {
                agrees(geometry, layout, *range);
            }
        }
    }
}
