//! Counts of operations by kind and outcome, for tables.
#![forbid(unsafe_code)]

use crate::Coverage;

/// The names of the outcomes that each kind of operation can have.
pub type Cells = &'static [(&'static str, &'static [&'static str])];

/// Cells that are required and have not occurred, and cells that have occurred and are not allowed.
/// Those of `seldom` are allowed and not required.
pub(super) fn differences(coverage: &Coverage, cells: &[Cells], seldom: Cells) -> Vec<String> {
    let listed = |cells: Cells| {
        let each = cells.iter();
        each.flat_map(|(kind, outcomes)| outcomes.iter().map(|one| (*kind, *one)))
    };
    let mut expected: Vec<_> = cells.iter().copied().flat_map(listed).collect();
    let missing = coverage.missing(expected.iter().copied());
    expected.extend(listed(seldom));
    [missing, coverage.unexpected(&expected)].concat()
}
