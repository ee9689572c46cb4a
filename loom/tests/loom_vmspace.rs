//! Loom models of faults beside changes of a space, with nodes of three slots; `ci/loom.sh` runs
//! them.
//!
//! In each, one thread faults on a page. It looks the area up without a lock and fills the page
//! table under the table's lock. Still under it, it checks that the area is unchanged; if not, it
//! removes the entry that it filled. Another thread changes the space and empties the page table
//! afterwards. In every order, the final table holds exactly the mapped pages. A fault sees an area
//! in a single state, and the area's value is dropped by a write that loom tracks: a fault still
//! using it would fail the model.
//!
//! Each rule below was broken by hand, one at a time; these models failed:
//!
//! | broken | models that then fail |
//! |---|---|
//! | a fault does not check (a model shows it) | unmapped, cut, protected, replaced, moved |
//! | it checks the extent, not the record | protected, replaced |
//!
//! The names are words of the models' names.

mod number;

use std::sync::Arc;

use furlong::{
    addr::{Address, VirtAddr},
    check::Check,
    maple::{Custom as Nodes, Fan, Heap},
    rcu::{Domain, Rcu, ReaderSlot},
    sync::{Lock, SpinLock},
    vmspace::{At, Custom, Layout, Maple, Prot, Remap, RemapFlags, Request, Shared, Value},
};
use loom::thread;
use number::Number;

impl Value for Number {
    fn merges(&self, next: &Self) -> bool {
        self.get() == next.get()
    }
}

type Tiny = Custom<Maple<Nodes<Fan<3, 3, 32>, Heap>>>;
type OneReader = Arc<Domain<[ReaderSlot; 1]>>;
type Space = Shared<Number, OneReader, SpinLock, Tiny>;

/// The entry of a page in a page table: the object and the protection that were filled in.
type Filled = Option<(u64, Prot)>;

struct World {
    space: Space,
    table: Lock<SpinLock, Filled>,
}

const PAGE: u64 = 4096;

fn at(page: u64) -> VirtAddr {
    VirtAddr::new(0x10_0000 + page * PAGE)
}

fn map(space: &Space, first: u64, pages: u64, number: u64) {
    let prot = Prot::READ | Prot::WRITE;
    let offset = at(first).raw();
    let request = Request::object(pages * PAGE, prot, offset, Number::new(number));
    let mapped = space.lock().map(request.at(At::Fixed(at(first))), drop);
    assert!(mapped.is_ok());
}

/// Definition of a model.
#[derive(Clone, Copy)]
struct Model {
    /// First page, number of pages and object of each initial area.
    areas: &'static [(u64, u64, u64)],
    change: fn(&Space),
    /// The page of the fault.
    page: u64,
    /// True if the fault checks that its area is unchanged.
    asks: bool,
}

impl Model {
    fn new(areas: &'static [(u64, u64, u64)], page: u64, change: fn(&Space)) -> Self {
        Self {
            areas,
            change,
            page,
            asks: true,
        }
    }

    fn build(&self) -> World {
        let domain = Arc::new(Domain::with_slots(ReaderSlot::array()));
        let space = Space::new(Layout::LINUX_X86_64, domain, SpinLock::new());
        let space = space.unwrap();
        for (first, pages, number) in self.areas {
            map(&space, *first, *pages, *number);
        }
        space.rcu().poll(usize::MAX);
        space.rcu().poll(usize::MAX);
        World {
            space,
            table: Lock::new(SpinLock::new(), None),
        }
    }

    fn fault(&self, world: &World) {
        let reader = world.space.rcu().register().unwrap();
        let guard = reader.enter();
        let Some(seen) = world.space.look(&guard, at(self.page)) else {
            return;
        };
        let area = seen.area();
        assert!(area.extent.contains(at(self.page)));
        let mut table = world.table.lock();
        *table = Some((area.value.get(), area.prot));
        if self.asks && !seen.is_current() {
            *table = None;
        }
    }

    fn change(&self, world: &World) {
        (self.change)(&world.space);
        *world.table.lock() = None;
        world.space.rcu().poll(usize::MAX);
        world.space.rcu().poll(usize::MAX);
    }

    /// Explores every order of the two, with either one spawned first.
    fn run(self) {
        for fault_first in [true, false] {
            let mut builder = loom::model::Builder::new();
            builder.max_branches = 100_000;
            builder.check(move || {
                let world = Arc::new(self.build());
                let there = Arc::clone(&world);
                let thread = thread::spawn(move || {
                    if fault_first {
                        self.fault(&there)
                    } else {
                        self.change(&there)
                    }
                });
                if fault_first {
                    self.change(&world)
                } else {
                    self.fault(&world)
                }
                thread.join().unwrap();
                world.space.check().unwrap();
                let space = world.space.lock();
                let mapped = space.find(at(self.page));
                let mapped = mapped.map(|area| (area.value.get(), area.prot));
                let filled = *world.table.lock();
                assert!(
                    filled.is_none() || filled == mapped,
                    "{filled:?}, {mapped:?}"
                );
            });
        }
    }
}

/// One leaf with room, and a full one.
const ROOMY: &[(u64, u64, u64)] = &[(0, 3, 1), (8, 2, 2)];
const FULL: &[(u64, u64, u64)] = &[(0, 3, 1), (8, 2, 2), (16, 2, 3)];

fn unmap(space: &Space, first: u64, pages: u64) {
    let unmapped = space.lock().unmap(at(first), pages * PAGE, drop);
    assert!(unmapped.is_ok());
}

#[test]
fn a_page_of_an_area_that_is_unmapped_is_not_left_in_the_table() {
    Model::new(ROOMY, 8, |space| unmap(space, 8, 2)).run();
}

#[test]
fn a_page_that_is_cut_out_of_an_area_is_not_left_in_the_table() {
    Model::new(ROOMY, 1, |space| unmap(space, 1, 1)).run();
}

#[test]
fn a_page_that_is_cut_out_where_a_leaf_is_split_is_not_left_in_the_table() {
    Model::new(FULL, 1, |space| unmap(space, 1, 1)).run();
}

#[test]
fn a_page_that_is_protected_is_not_left_as_it_was() {
    let protects = |space: &Space| {
        let done = space.lock().protect(at(8), 2 * PAGE, Prot::READ, drop);
        assert!(done.is_ok());
    };
    Model::new(ROOMY, 8, protects).run();
}

#[test]
fn a_page_of_an_area_that_is_replaced_is_not_left_of_the_old_object() {
    Model::new(FULL, 8, |space| map(space, 8, 2, 5)).run();
}

#[test]
fn a_page_of_an_area_that_is_moved_is_not_left_where_it_was() {
    let moves = |space: &Space| {
        let remap = Remap {
            start: at(8),
            old_len: 2 * PAGE,
            new_len: 2 * PAGE,
            flags: RemapFlags::MAY_MOVE | RemapFlags::FIXED,
            new_start: at(24),
        };
        assert_eq!(space.lock().remap(&remap, drop), Ok(at(24)));
    };
    Model::new(ROOMY, 8, moves).run();
}

#[test]
fn a_page_stays_while_its_neighbours_come_and_go() {
    let neighbours = |space: &Space| {
        map(space, 10, 1, 4);
        unmap(space, 0, 3);
    };
    Model::new(FULL, 8, neighbours).run();
}

#[test]
#[should_panic(expected = "None")]
fn a_fault_that_does_not_ask_leaves_a_page_that_is_gone() {
    let model = Model {
        asks: false,
        ..Model::new(ROOMY, 8, |space| unmap(space, 8, 2))
    };
    model.run();
}
