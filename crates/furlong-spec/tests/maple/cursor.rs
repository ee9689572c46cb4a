//! Cursors during changes of the map: compared with a list, and at the ends of the index range.
#![forbid(unsafe_code)]

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::maple::{Cursor, Edit, Maple, Place, RcuMaple, View};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong_spec::maple::{Mix, Model, Operation, Piece, SharedTree, Tree, operations};
use furlong_spec::{Random, Subject};

use crate::Tiny;

type Map = Maple<VirtAddr, u32, Tiny>;

fn extent(start: u64, last: u64) -> Extent<VirtAddr> {
    Extent::from_last(VirtAddr::new(start), VirtAddr::new(last)).unwrap()
}

fn ends(at: Extent<VirtAddr>) -> (u64, u64) {
    (at.start().raw(), at.last().raw())
}

fn piece((at, value): (Extent<VirtAddr>, u32)) -> Piece {
    let (start, last) = ends(at);
    (start, last, value)
}

/// The expected position of a cursor, and flags that a step up or down returns the same entry
/// again.
struct Expected {
    at: (u64, u64),
    again_up: bool,
    again_down: bool,
}

impl Expected {
    fn arrive(&mut self, found: Option<(u64, u64)>) {
        if let Some(at) = found {
            (self.at, self.again_up, self.again_down) = (at, false, false);
        }
    }

    fn find(&mut self, pieces: &[Piece], limit: u64) -> Option<Piece> {
        let (start, last) = self.at;
        let is_ahead = |piece: &&Piece| {
            let ahead = if self.again_up {
                piece.1 >= start
            } else {
                piece.1 > last
            };
            ahead && piece.0 <= limit
        };
        let found = pieces.iter().find(is_ahead).copied();
        self.again_down |= found.is_none();
        self.arrive(found.map(|piece| (piece.0, piece.1)));
        found
    }

    fn find_back(&mut self, pieces: &[Piece], limit: u64) -> Option<Piece> {
        let (start, last) = self.at;
        let is_behind = |piece: &&Piece| {
            let behind = if self.again_down {
                piece.0 <= last
            } else {
                piece.0 < start
            };
            behind && piece.1 >= limit
        };
        let found = pieces.iter().rev().find(is_behind).copied();
        self.again_up |= found.is_none();
        self.arrive(found.map(|piece| (piece.0, piece.1)));
        found
    }
}

/// Moves or queries a cursor, on the map and on the list.
fn look(
    cursor: &mut Cursor<VirtAddr>,
    view: View<'_, VirtAddr, u32, Tiny>,
    expected: &mut Expected,
    pieces: &[Piece],
    random: &mut Random,
) {
    let limit = random.below(2100);
    match random.below(6) {
        0 => assert_eq!(
            cursor.next(view).map(piece),
            expected.find(pieces, u64::MAX)
        ),
        1 => assert_eq!(
            cursor.previous(view).map(piece),
            expected.find_back(pieces, 0)
        ),
        2 => assert_eq!(
            cursor.find(view, VirtAddr::new(limit)).map(piece),
            expected.find(pieces, limit)
        ),
        3 => assert_eq!(
            cursor.find_back(view, VirtAddr::new(limit)).map(piece),
            expected.find_back(pieces, limit)
        ),
        4 => {
            let place = cursor.walk(view);
            let there = pieces.iter().find(|piece| piece.1 >= expected.at.0);
            match place {
                Place::Entry(at, value) => assert_eq!(Some(&piece((at, value))), there),
                Place::Gap(at) => assert!(there.is_none_or(|there| ends(at).1 + 1 == there.0)),
            }
            expected.arrive(Some(ends(place.extent())));
        }
        _ => {
            *cursor = Cursor::new(VirtAddr::new(limit));
            expected.at = (limit, limit);
            (expected.again_up, expected.again_down) = (true, true);
        }
    }
    assert_eq!(ends(cursor.extent()), expected.at);
}

/// Makes a change at the cursor, on the map and on the list.
fn edit<M: Edit<VirtAddr, u32>>(
    cursor: &Cursor<VirtAddr>,
    map: &mut M,
    model: &mut Model,
    random: &mut Random,
) {
    let (start, last) = ends(cursor.extent());
    if random.below(2) == 0 {
        let value = random.below(1000) as u32;
        cursor.store(map, value).unwrap();
        model.apply(&Operation::Store(start, last, value));
    } else {
        cursor.erase(map).unwrap();
        model.apply(&Operation::Erase(start));
    }
}

/// Mixes look-ups, changes at the cursor, and changes elsewhere, in random order.
#[test]
fn cursors_agree_with_a_list_whatever_changes() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut changes = operations(2000, Mix::Steady, 4000, seed);
        let (mut model, mut tree, mut shared) = (
            Model::new(),
            Tree::<u32, Tiny>::new(),
            SharedTree::<u32, Tiny>::new(),
        );
        let mut cursors = [Cursor::new(VirtAddr::new(0)); 2];
        let mut expected = [0, 1].map(|_| Expected {
            at: (0, 0),
            again_up: true,
            again_down: true,
        });
        for _ in 0..1000 {
            for change in changes.by_ref().take(2) {
                model.apply(&change);
                tree.apply(&change);
                shared.apply(&change);
            }
            let draw = random.next();
            let alike = || Random::new(draw);
            let session = shared.map.lock();
            let views = [tree.0.view(), session.view()];
            for ((cursor, view), expected) in cursors.iter_mut().zip(views).zip(&mut expected) {
                look(cursor, view, expected, model.pieces(), &mut alike());
            }
            drop(session);
            if random.below(4) == 0 {
                let mut again = model.clone();
                edit(&cursors[0], &mut tree.0, &mut model, &mut alike());
                edit(
                    &cursors[1],
                    &mut shared.map.lock(),
                    &mut again,
                    &mut alike(),
                );
                assert_eq!(model.pieces(), again.pieces());
            }
        }
        tree.check().unwrap();
        shared.check().unwrap();
    }
}

#[test]
fn a_cursor_that_has_run_out_finds_its_entry_on_the_way_back() {
    let mut map = Map::with_config();
    for start in [0, 10, 20] {
        map.insert(extent(start, start + 4), start as u32).unwrap();
    }
    let mut cursor = Cursor::new(VirtAddr::new(12));
    assert_eq!(cursor.next(map.view()).map(piece), Some((10, 14, 10)));
    assert_eq!(cursor.next(map.view()).map(piece), Some((20, 24, 20)));
    assert_eq!(cursor.next(map.view()), None);
    assert_eq!(cursor.previous(map.view()).map(piece), Some((20, 24, 20)));
    assert_eq!(cursor.previous(map.view()).map(piece), Some((10, 14, 10)));
    assert_eq!(cursor.previous(map.view()).map(piece), Some((0, 4, 0)));
    assert_eq!(cursor.previous(map.view()), None);
    assert_eq!(cursor.next(map.view()).map(piece), Some((0, 4, 0)));
    assert_eq!(cursor.next(map.view()).map(piece), Some((10, 14, 10)));
}

#[test]
fn a_cursor_goes_over_gaps_to_both_ends_of_the_index() {
    let mut map = Map::with_config();
    map.insert(extent(10, 19), 1).unwrap();
    map.insert(extent(u64::MAX, u64::MAX), 2).unwrap();
    let mut cursor = Cursor::new(VirtAddr::new(0));
    let mut places = Vec::new();
    while let Some(place) = cursor.next_place(map.view()) {
        places.push(ends(place.extent()));
    }
    let all = [(0, 9), (10, 19), (20, u64::MAX - 1), (u64::MAX, u64::MAX)];
    assert_eq!(places, all);
    let mut back = vec![ends(cursor.extent())];
    while let Some(place) = cursor.previous_place(map.view()) {
        back.insert(0, ends(place.extent()));
    }
    assert_eq!(back, all);
}

#[test]
fn a_cursor_at_a_gap_takes_what_is_stored_there() {
    let mut map = Map::with_config();
    map.insert(extent(10, 19), 1).unwrap();
    let mut cursor = Cursor::new(VirtAddr::new(0));
    let window = extent(0, 99);
    assert!(cursor.lowest_gap(&map, 20, window));
    cursor.store(&mut map, 2).unwrap();
    assert!(cursor.highest_gap(&map, 20, window));
    cursor.store(&mut map, 3).unwrap();
    assert!(!cursor.lowest_gap(&map, 200, window));
    let stored: Vec<Piece> = map.iter().map(piece).collect();
    assert_eq!(stored, [(10, 19, 1), (20, 39, 2), (80, 99, 3)]);
    assert_eq!(
        cursor.erase(&mut map).unwrap().map(piece),
        Some((80, 99, 3))
    );
    assert_eq!(cursor.erase(&mut map), Ok(None));
    assert_eq!(cursor.previous(map.view()).map(piece), Some((20, 39, 2)));
}

#[test]
fn a_cursor_goes_on_in_another_session() {
    let map = RcuMaple::<VirtAddr, u32, _, _, Tiny>::with_config(Domain::new(), SpinLock::new());
    for start in (0..100).step_by(10) {
        map.lock().insert(extent(start, start + 4), 1).unwrap();
    }
    let mut cursor = Cursor::new(VirtAddr::new(0));
    let mut erased = 0;
    loop {
        let mut session = map.lock();
        let Some((at, _)) = cursor.next(session.view()) else {
            break;
        };
        assert_eq!(at, cursor.extent());
        erased += usize::from(cursor.erase(&mut session).unwrap().is_some());
    }
    assert_eq!((erased, map.lock().view().len()), (10, 0));
}
