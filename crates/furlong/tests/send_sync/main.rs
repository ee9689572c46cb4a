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

/// A type's path in the library, whether it is `Send` and `Sync`, and the same as required.
type Row = (&'static str, [bool; 2], [bool; 2]);

const BOTH: [bool; 2] = [true, true];

macro_rules! row {
    ($name:expr, $of:ty, $required:expr) => {
        (
            $name,
            [crate::Is::<$of>::SEND, crate::Is::<$of>::SYNC],
            $required,
        )
    };
}

macro_rules! rows {
    ($($name:literal: $of:ty => $required:expr;)+) => {
        &[$(crate::row!($name, $of, $required),)+]
    };
}
pub(crate) use {row, rows};

fn wrong(rows: &[Row]) -> Vec<&Row> {
    let differ = |(_, is, required): &&Row| is != required;
    rows.iter().filter(differ).collect()
}

#[test]
fn every_type_is_what_its_row_says() {
    let questions: &[Row] = rows! {
        "both": Both => [true, true];
        "sent": Sent => [true, false];
        "seen": Seen => [false, true];
        "neither": None => [false, false];
    };
    for rows in [questions, plain::ROWS, generic::ROWS] {
        assert_eq!(wrong(rows), Vec::<&Row>::new());
    }
}

#[test]
fn every_public_type_has_a_row() {
    let rows = plain::ROWS.iter().chain(generic::ROWS);
    let rows: BTreeSet<_> = rows.map(|row| String::from(row.0)).collect();
    let types = sources::public_types();
    let missing: Vec<_> = types.difference(&rows).collect();
    let gone: Vec<_> = rows.difference(&types).collect();
    assert!(types.len() > 250, "only {} types were found", types.len());
    assert!(
        missing.is_empty() && gone.is_empty(),
        "missing: {missing:?}; gone: {gone:?}"
    );
}
