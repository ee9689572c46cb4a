//! Any subject compared with the model over random operations.

use core::ops::Range;

use super::{Geometry, Mix, Model, Operation, Outcome, Promise, all_operations};
use crate::coverage::kind;
use crate::{Coverage, Subject, Through, judge};

/// Spaces at both ends of the 64-bit range, in its middle, and over all of it. Most are small; one
/// has more sufficient gaps than a search examines.
pub const GEOMETRIES: [Geometry; 10] = [
    Geometry::low(64, 1),
    Geometry::low(12, 4096),
    Geometry::low(200, 4096),
    Geometry::high(64, 1),
    Geometry::high(40, 4096),
    Geometry {
        start: 0x1_2345_6000,
        granule: 4096,
        granules: 64,
    },
    Geometry {
        start: 37,
        granule: 1,
        granules: 50,
    },
    Geometry::low(64, 1 << 58),
    Geometry::high(5, 1 << 61),
    Geometry::high(1000, 1 << 16),
];

const MIXES: [Mix; 3] = [Mix::Growing, Mix::Steady, Mix::Shrinking];

/// The number of operations in a stream.
const STREAM: usize = 500;

/// Compares subjects with the model over streams from `seeds` in each of [`GEOMETRIES`]. `build`
/// makes the subject and the model for a space and a seed.
///
/// # Errors
/// The first divergence, with all that is needed to repeat it.
pub fn trial<S>(
    build: impl Fn(Geometry, u64) -> (S, Model),
    seeds: Range<u64>,
) -> Result<Coverage, String>
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    let mut all = Coverage::default();
    for seed in seeds {
        for geometry in GEOMETRIES {
            for mix in MIXES {
                let stream = all_operations(geometry, mix, STREAM, seed)
                    .flat_map(|operation| [operation, Operation::Reserved]);
                let (subject, mut model) = build(geometry, seed);
                let mut subject = Through::new(subject, |operation, outcome| {
                    // It follows every operation, to compare the whole state.
                    if !matches!(operation, Operation::Reserved) {
                        all.note(kind(operation), word(&outcome));
                    }
                    outcome
                });
                judge(&mut model, &mut subject, stream)
                    .map_err(|error| format!("seed {seed}, {mix:?}, {geometry:?}: {error}"))?;
            }
        }
    }
    Ok(all)
}

const fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Granted(_) => "granted",
        Outcome::Refused(_) | Outcome::RefusedAt(_) => "Refused",
        _ => "done",
    }
}

/// As [`trial`], for subjects of one kind.
///
/// # Errors
/// As [`trial`].
pub fn trial_of<S>(
    build: impl Fn(Geometry) -> S,
    promise: Promise,
    seeds: Range<u64>,
) -> Result<Coverage, String>
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    trial(
        |geometry, _| (build(geometry), Model::new(geometry, promise)),
        seeds,
    )
}
