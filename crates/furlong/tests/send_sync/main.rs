//! `Send` and `Sync` of every public type, as a table of required and forbidden properties. Also
//! the interfaces closed to other crates.
#![forbid(unsafe_code)]

mod closed;
#[path = "../compiler/mod.rs"]
mod compiler;
mod generic;
mod plain;
mod programs;
mod sources;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::MutexGuard;

/// Determines whether a type has a trait: an inherent item hides the one of the trait `No`, and
/// exists only if the type has the trait.
struct Is<T: ?Sized>(PhantomData<T>);

trait No {
    const SEND: bool = false;
    const SYNC: bool = false;
}

impl<T: ?Sized> No for Is<T> {}

impl<T: ?Sized + Send> Is<T> {
    const SEND: bool = true;
}

impl<T: ?Sized + Sync> Is<T> {
    const SYNC: bool = true;
}

/// Values that are both, only one of the two, and neither.
type Both = u64;
type Sent = Cell<u64>;
type Seen = MutexGuard<'static, u64>;
type None = Rc<u64>;

/// A type's path in the library, and two flags: `Send` and `Sync`.
type Row = (&'static str, bool, bool);

/// A row of the table.
macro_rules! row {
    ($name:literal, $($of:tt)+) => {
        ($name, crate::Is::<$($of)+>::SEND, crate::Is::<$($of)+>::SYNC)
    };
}
pub(crate) use row;

#[test]
fn the_questions_have_the_right_answers() {
    let asked = [
        row!("", Both),
        row!("", Sent),
        row!("", Seen),
        row!("", None),
    ];
    let answers = asked.map(|(_, send, sync)| (send, sync));
    assert_eq!(
        answers,
        [(true, true), (true, false), (false, true), (false, false)]
    );
}

#[test]
fn every_type_is_what_its_row_says() {
    let wrong = |rows: &[(Row, (bool, bool))]| {
        let differ = |(row, expected): &&(Row, (bool, bool))| (row.1, row.2) != *expected;
        rows.iter()
            .filter(differ)
            .map(|(row, _)| format!("{row:?}"))
            .collect::<Vec<_>>()
    };
    let plain: Vec<_> = plain::ROWS
        .iter()
        .copied()
        .map(|row| (row, (true, true)))
        .collect();
    assert_eq!(wrong(&plain), Vec::<String>::new());
    assert_eq!(wrong(&generic::rows()), Vec::<String>::new());
}

#[test]
fn every_public_type_has_a_row() {
    let plain = plain::ROWS.iter().copied().map(|row| row.0);
    let generic = generic::rows().into_iter().map(|(row, _)| row.0);
    let rows: BTreeSet<_> = plain.chain(generic).map(String::from).collect();
    let types = sources::public_types();
    let missing: Vec<_> = types.difference(&rows).collect();
    let gone: Vec<_> = rows.difference(&types).collect();
    assert!(types.len() > 250, "only {} types were found", types.len());
    assert!(
        missing.is_empty() && gone.is_empty(),
        "missing: {missing:?}; gone: {gone:?}"
    );
}
