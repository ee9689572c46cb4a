//! The trees under attack.

use std::mem::forget;

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::check::Check;
use furlong::maple::{Config, Custom, Fan, Maple, RcuMaple, View};
use furlong::rcu::RcuBox;
use furlong_spec::hostile::{Grace, Latch, Memory, Tracked, Watch};

use super::stream::{Caller, Operation, Piece};

/// Nodes so small that every change splits, merges or spans some of them.
pub(crate) type Tiny<S> = Custom<Fan<3, 3, 48>, S>;
/// Nodes of the default size.
pub(crate) type Wide = Custom<Fan<15, 32, 12>, Memory>;
pub(crate) type Boxed = RcuBox<Tracked>;

pub(crate) fn extent(start: u64, last: u64) -> Extent<VirtAddr> {
    Extent::from_last(VirtAddr::new(start), VirtAddr::new(last)).expect("in order")
}

/// The interface of a tree to an attack.
pub(crate) trait Shell {
    /// Carries out an operation.
    fn apply(&mut self, operation: Operation, number: u64, caller: Caller, watch: &Watch);
    /// The pieces in the tree, read from the entries themselves.
    fn contents(&self) -> Vec<Piece>;
    /// Checks every invariant.
    fn check(&self);
}

/// Treats returned entries as `caller` does.
fn deal<T>(mut entries: impl Iterator<Item = T>, caller: Caller) {
    match caller {
        Caller::Drops => drop(entries),
        Caller::Forgets(taken) => {
            let wanted = usize::try_from(taken).expect("few are taken");
            entries.by_ref().take(wanted).for_each(drop);
            forget(entries);
        }
        Caller::ForgetsAll => {
            entries.by_ref().for_each(drop);
            forget(entries);
        }
    }
}

fn pieces<C: Config>(view: View<'_, VirtAddr, Boxed, C>) -> Vec<Piece> {
    let piece = |(at, entry): (Extent<VirtAddr>, &Tracked)| {
        (at.start().raw(), at.last().raw(), entry.number())
    };
    view.iter().map(piece).collect()
}

fn sorted(pieces: &[Piece], watch: &Watch) -> impl Iterator<Item = (Extent<VirtAddr>, Boxed)> {
    let entry = |&(start, last, number): &Piece| {
        furlong_spec::hostile::user_code("Iterator::next");
        (extent(start, last), RcuBox::new(watch.value(number)))
    };
    pieces.iter().map(entry)
}

/// Calls every look-up of a tree, and forgets the iterators.
fn look<C: Config>(view: View<'_, VirtAddr, Boxed, C>, at: u64) {
    let index = VirtAddr::new(at);
    let (mut iter, mut back) = (view.iter(), view.range_back(extent(0, at)));
    let (first, last) = (iter.next(), back.next());
    forget((iter, back));
    let found = [view.find(index), view.find_back(index), first, last];
    let read = |(at, entry): (Extent<VirtAddr>, &Tracked)| at.last().raw() + entry.number();
    let sum: u64 = found.into_iter().flatten().map(read).sum();
    assert!(
        sum < 1 << 40,
        "entries are read, and are not what was freed"
    );
    let mut cursor = furlong::maple::Cursor::new(index);
    let _ = (cursor.next(view), cursor.previous(view), cursor.walk(view));
}

/// A tree with one owner.
pub(crate) type Owned<C> = Maple<VirtAddr, Boxed, C>;

/// A tree with one owner that contains `before`.
pub(crate) fn owned<C: Config>(before: &[Piece], watch: &Watch) -> Owned<C> {
    let loaded = Maple::from_sorted(sorted(before, watch));
    loaded.unwrap_or_else(|refused| panic!("{refused}"))
}

impl<C: Config> Shell for Owned<C> {
    fn apply(&mut self, operation: Operation, number: u64, caller: Caller, watch: &Watch) {
        let entry = || RcuBox::new(watch.value(number));
        match operation {
            Operation::Insert(start, last) => drop(self.insert(extent(start, last), entry())),
            Operation::Store(start, last) => {
                let stored = self.store(extent(start, last), entry());
                deal(stored.expect("there is memory"), caller);
            }
            Operation::Erase(index) => {
                let erased = self.erase(VirtAddr::new(index)).expect("there is memory");
                deal(erased.into_iter(), caller);
            }
            Operation::EraseRange(start, last) => {
                let erased = self.erase_range(extent(start, last));
                deal(erased.expect("there is memory"), caller);
            }
            Operation::Drain(start, last) => {
                let drained = self.drain(extent(start, last));
                deal(drained.expect("there is memory"), caller);
            }
            Operation::Change(start, last) => {
                // All of them are held at once, so that two references to one would be seen.
                let held: Vec<_> = self.range_mut(extent(start, last)).collect();
                let mut new: Vec<_> = held
                    .iter()
                    .map(|(_, value)| watch.value(value.number() + 1))
                    .collect();
                for ((_, value), new) in held.into_iter().zip(&mut new) {
                    std::mem::swap(value, new);
                }
            }
            Operation::Resize(index, start, last) => {
                let _ = self.resize(VirtAddr::new(index), extent(start, last));
            }
            Operation::Clear => self.clear(),
            Operation::Duplicate => {
                let copy = |_, entry: &Tracked| Ok::<_, ()>(RcuBox::new(entry.clone()));
                let copy = self.duplicate(copy).expect("there is memory");
                assert_eq!(copy.contents(), self.contents());
            }
            Operation::Load => {
                let loaded = owned::<C>(&self.contents(), watch);
                assert_eq!(loaded.contents(), self.contents());
            }
            Operation::Prepare(changes) => {
                self.prepare(changes).expect("there is memory");
                self.trim();
            }
            Operation::Look(index) => look(self.view(), index),
        }
    }

    fn contents(&self) -> Vec<Piece> {
        pieces(self.view())
    }

    fn check(&self) {
        Check::check(self).expect("the tree is whole");
    }
}

/// A tree with readers.
pub(crate) type Read<'d, C> = RcuMaple<VirtAddr, Boxed, &'d Grace, Latch, C>;

/// A tree with readers that contains `before`.
pub(crate) fn read<'d, C: Config>(before: &[Piece], rcu: &'d Grace, watch: &Watch) -> Read<'d, C> {
    let loaded = RcuMaple::from_sorted(rcu, Latch::default(), sorted(before, watch));
    loaded.unwrap_or_else(|refused| panic!("{refused}"))
}

impl<C: Config> Shell for Read<'_, C> {
    fn apply(&mut self, operation: Operation, number: u64, caller: Caller, watch: &Watch) {
        let entry = || RcuBox::new(watch.value(number));
        if let Operation::Prepare(changes) = operation {
            let mut session = self.lock_prepared(changes).expect("there is memory");
            forget(session.unused());
            return;
        }
        let mut session = self.lock();
        match operation {
            Operation::Insert(start, last) => drop(session.insert(extent(start, last), entry())),
            Operation::Store(start, last) => {
                let stored = session.store(extent(start, last), entry());
                deal(stored.expect("there is memory"), caller);
            }
            Operation::Erase(index) => {
                let erased = session.erase(VirtAddr::new(index));
                deal(erased.expect("there is memory").into_iter(), caller);
            }
            Operation::EraseRange(start, last) => {
                let erased = session.erase_range(extent(start, last));
                deal(erased.expect("there is memory"), caller);
            }
            Operation::Resize(index, start, last) => {
                let _ = session.resize(VirtAddr::new(index), extent(start, last));
            }
            Operation::Drain(start, last) => {
                let view = session.view();
                let at = |index| view.get(VirtAddr::new(index)).map(|(at, _)| at);
                let first = at(start).map_or(start, |at| at.start().raw());
                let last = at(last).map_or(last, |at| at.last().raw());
                let drained = session.erase_range(extent(first, last));
                deal(drained.expect("there is memory"), caller);
            }
            Operation::Clear => {
                let all = session.erase_range(extent(0, u64::MAX));
                drop(all.expect("there is memory"));
                session
                    .load_sorted(sorted(&[], watch))
                    .unwrap_or_else(|refused| panic!("{refused}"));
            }
            Operation::Duplicate => {
                let copy = |_, entry: &Tracked| Ok::<_, ()>(RcuBox::new(entry.clone()));
                let copy = session.duplicate(*self.rcu(), Latch::default(), copy);
                assert!(copy.is_ok(), "there is memory");
            }
            Operation::Load => {
                let loaded = sorted(&pieces(session.view()), watch).next().into_iter();
                drop(session.load_sorted(loaded));
            }
            Operation::Look(index) => look(session.view(), index),
            Operation::Prepare(_) | Operation::Change(..) => {}
        }
        if caller == Caller::ForgetsAll {
            forget(session);
        }
    }

    fn contents(&self) -> Vec<Piece> {
        let reader = self.rcu().0.register().expect("there are slots");
        let guard = reader.enter();
        let view = self.read(&guard);
        pieces(view)
    }

    fn check(&self) {
        Check::check(self).expect("the tree is whole");
    }
}
