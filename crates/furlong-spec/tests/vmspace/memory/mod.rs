//! Memory that runs out. For every operation and every k the k-th allocation fails and nothing
//! changes; and what was prepared suffices.

use furlong::addr::{Extent, VirtAddr};
use furlong::check::Check;
use furlong::maple::{self, Fan, Heap};
use furlong::rcu::{Domain, Rcu};
use furlong::sync::SpinLock;
use furlong::vmspace::{
    Area, BRK_CHANGES, Config, Custom, FaultError, Flags, ForkError, Freed, Hold, Layout,
    MAP_CHANGES, Maple, NoMemory, Prot, REMAP_CHANGES, Rbtree, Request, Shared, SharedConfig,
    Space, Standard, UNMAP_CHANGES,
};
use furlong_spec::heap::{Watched, counted, failing, failing_at};
use furlong_spec::vmspace::{Mix, NO_MEMORY, Operation, Refusal, WORLDS, operations};

type Tiny = maple::Custom<Fan<3, 3, 32>, Heap>;

type Seen = (Extent<VirtAddr>, Prot, u64, u32);

fn seen<C: Config, H: Hold>(space: &Space<u32, C, H>) -> Vec<Seen> {
    let areas = space.areas();
    areas
        .map(|area| (area.extent, area.prot, area.offset, *area.value))
        .collect()
}

/// The child of a fork, which has memory only for its current areas.
fn tight<C: Config<Index<u32>: Default>>(space: &Space<u32, C>) -> Space<u32, C> {
    let copy = |area: Area<'_, u32>| Ok::<_, ()>(*area.value);
    space.fork(copy).expect("there is memory for a child")
}

/// Carries out an operation. Returns the refusal, if there is one.
pub(crate) fn apply<C: Config, H: Hold>(
    space: &mut Space<u32, C, H>,
    operation: &Operation,
    freed: &mut dyn FnMut(Freed<u32>),
) -> Result<(), Refusal> {
    match *operation {
        Operation::Map(ref request) => {
            let mapped = space.map(request.clone(), freed);
            mapped.map(drop).map_err(|error| Refusal::Map(error.cause))
        }
        Operation::Unmap(start, len) => space.unmap(start, len, freed).map_err(Refusal::Unmap),
        Operation::Protect(start, len, prot) => {
            let done = space.protect(start, len, prot, freed);
            done.map_err(Refusal::Protect)
        }
        Operation::Advise(start, len, advice) => {
            let done = space.advise(start, len, advice, freed);
            done.map_err(Refusal::Advise)
        }
        Operation::Update(start, len, [set, clear]) => {
            let new = |flags: Flags| flags.without(clear) | set;
            let done = space.update(start, len, new, freed);
            done.map_err(Refusal::Update)
        }
        Operation::Remap(ref remap) => {
            let moved = space.remap(remap, freed);
            moved.map(drop).map_err(Refusal::Remap)
        }
        Operation::StartBrk(start) => {
            space.start_brk(start);
            Ok(())
        }
        Operation::Brk(end) => space.set_brk(end, 0, freed).map_err(Refusal::Brk),
        Operation::Fault(address, access) => {
            let found = space.fault(address, access).map(drop);
            found.map_err(Refusal::Fault)
        }
        _ => Ok(()),
    }
}

/// The number of changes to prepare for an operation.
fn changes<C: Config, H: Hold>(space: &Space<u32, C, H>, operation: &Operation) -> usize {
    match *operation {
        Operation::Map(_) => MAP_CHANGES,
        Operation::Unmap(..) => UNMAP_CHANGES,
        Operation::Protect(start, len, prot) if prot.contains(Prot::GROWS_DOWN) => {
            space.len().max(space.changes_in(start, len))
        }
        Operation::Protect(start, len, _)
        | Operation::Advise(start, len, _)
        | Operation::Update(start, len, _) => space.changes_in(start, len),
        Operation::Remap(_) => REMAP_CHANGES,
        Operation::Brk(_) | Operation::Fault(..) => BRK_CHANGES,
        _ => 0,
    }
}

/// A refusal that does not occur: a stack grows in place, without memory.
const GROWS_IN_PLACE: [Refusal; 1] = [Refusal::Fault(FaultError::NoMemory)];

/// Streams of operations in worlds of all kinds.
fn streams<C>() -> impl Iterator<Item = (Space<u32, C>, Vec<Operation>)>
where
    C: Config<Index<u32>: Default>,
{
    let cases = (0..6).flat_map(|seed| WORLDS.into_iter().map(move |world| (seed, world)));
    cases.map(|(seed, world)| {
        let space = Space::with_config(world.layout()).expect("a layout");
        (space, operations(world, Mix::Growing, 200, seed).collect())
    })
}

/// The refusals for lack of memory that occurred less than five times.
fn fails_whole<C: Config<Index<u32>: Default>>() -> Vec<Refusal> {
    let mut refused = NO_MEMORY.map(|refusal| (refusal, 0));
    for (mut space, operations) in streams::<C>() {
        for operation in operations {
            space = tight(&space);
            let before = seen(&space);
            for failing in 0.. {
                let mut freed = 0;
                let (done, calls) = failing_at(failing, || {
                    apply(&mut space, &operation, &mut |_| freed += 1)
                });
                space
                    .check()
                    .unwrap_or_else(|broken| panic!("{operation:?}: {broken}"));
                if calls <= failing {
                    assert!(
                        !NO_MEMORY.iter().any(|error| done == Err(*error)),
                        "{done:?}"
                    );
                    break;
                }
                let refusal = done.expect_err("a call for memory failed");
                let count = refused.iter_mut().find(|(error, _)| *error == refusal);
                count.expect("it was refused for lack of memory").1 += 1;
                assert_eq!((seen(&space), freed), (before.clone(), 0), "{operation:?}");
            }
        }
    }
    let seldom = refused.into_iter().filter(|(_, count)| *count < 5);
    seldom.map(|(refusal, _)| refusal).collect()
}

#[test]
fn an_operation_without_memory_changes_nothing_in_a_tree_of_areas() {
    assert_eq!(fails_whole::<Custom<Rbtree>>(), GROWS_IN_PLACE);
}

#[test]
fn an_operation_without_memory_changes_nothing_in_a_tree_of_ranges() {
    assert_eq!(fails_whole::<Custom<Maple>>(), GROWS_IN_PLACE);
    assert_eq!(fails_whole::<Custom<Maple<Tiny>>>(), GROWS_IN_PLACE);
}

/// Carries out a prepared operation. Returns the number of frees.
fn commit<C: Config, H: Hold>(
    space: &mut Space<u32, C, H>,
    operation: &Operation,
    done: &mut u64,
) -> u64 {
    let changes = changes(space, operation);
    space.prepare(changes).expect("there is memory");
    let (result, calls) = failing(0..1, || apply(space, operation, &mut |_| ()));
    assert_eq!(calls.obtained, 0, "{operation:?}: {result:?}");
    *done += u64::from(result.is_ok());
    calls.freed
}

/// The number of frees during prepared operations.
fn frees_of_commits<C: Config<Index<u32>: Default>>() -> u64 {
    let (mut done, mut freed) = (0, 0);
    for (mut space, operations) in streams::<C>() {
        for operation in operations {
            space = tight(&space);
            freed += commit(&mut space, &operation, &mut done);
        }
    }
    assert!(done > 2000, "{done} operations did something");
    freed
}

#[test]
fn what_was_prepared_takes_no_memory() {
    assert_eq!(frees_of_commits::<Custom<Rbtree>>(), 0, "nodes are kept");
    assert_eq!(
        frees_of_commits::<Custom<Maple>>(),
        0,
        "records are kept too"
    );
    assert_eq!(frees_of_commits::<Custom<Maple<Tiny>>>(), 0);
}

/// The same for a space with readers.
fn frees_beside_readers<C: SharedConfig>() -> u64 {
    let (mut done, mut freed) = (0, 0);
    for (seed, world) in (0..4).flat_map(|seed| WORLDS.map(|world| (seed, world))) {
        let domain = Domain::new();
        let space = Shared::<u32, _, _, C>::new(world.layout(), &domain, SpinLock::new());
        let space = space.expect("a layout");
        for operation in operations(world, Mix::Growing, 200, seed) {
            freed += commit(&mut space.lock(), &operation, &mut done);
            domain.poll(usize::MAX);
        }
    }
    assert!(done > 1500, "{done} operations did something");
    freed
}

#[test]
fn what_was_prepared_beside_readers_takes_no_memory_and_gives_none_back() {
    assert_eq!(frees_beside_readers::<Standard>(), 0);
    assert_eq!(frees_beside_readers::<Custom<Maple<Tiny>>>(), 0);
}

/// Carries out operations under a lock, prepared before it was taken.
fn commits_without_memory_under_the_lock<C: SharedConfig>() {
    let (mut done, mut failed) = (0, 0);
    for (seed, world) in (0..4).flat_map(|seed| WORLDS.map(|world| (seed, world))) {
        let domain = Domain::new();
        let space = Shared::<u32, _, _, C>::new(world.layout(), &domain, Watched::default());
        let space = space.expect("a layout");
        for operation in operations(world, Mix::Growing, 200, seed) {
            let changes = changes(&space.lock(), &operation);
            for number in 0.. {
                let commit = || {
                    let mut locked = space.lock_prepared(changes)?;
                    Ok::<_, NoMemory>(apply(&mut locked, &operation, &mut |_| ()))
                };
                let (committed, calls) = failing(number..number + 1, commit);
                assert_eq!(calls.under_lock, 0, "{operation:?}");
                match committed {
                    Err(NoMemory) => failed += 1,
                    Ok(result) => {
                        done += u64::from(result.is_ok());
                        break;
                    }
                }
            }
            domain.poll(usize::MAX);
        }
        space.check().expect("a whole space");
    }
    assert!(done > 1500, "{done} operations did something");
    assert!(failed > 100, "{failed} calls for memory failed");
}

#[test]
fn what_was_prepared_before_the_lock_takes_no_memory_under_it() {
    commits_without_memory_under_the_lock::<Standard>();
    commits_without_memory_under_the_lock::<Custom<Maple<Tiny>>>();
}

/// Forks a space with each allocation failing in turn. Returns the number of failures.
fn forks_whole<C: Config<Index<u32>: Default>>() -> u64 {
    let mut failed = 0;
    for (mut space, operations) in streams::<C>().take(8) {
        for operation in operations {
            let _ = apply(&mut space, &operation, &mut |_| ());
        }
        let before = seen(&space);
        for failing in 0.. {
            let mut child = Space::<u32, C>::with_config(*space.layout()).expect("a layout");
            let copy = |area: Area<'_, u32>| Ok::<_, ()>(*area.value);
            let (copied, calls) = failing_at(failing, || child.copy_from(&space, copy));
            child.check().expect("a part of a child is whole");
            assert_eq!(seen(&space), before);
            if calls <= failing {
                assert_eq!(copied, Ok(()));
                break;
            }
            assert_eq!(copied, Err(ForkError::NoMemory));
            failed += 1;
        }
    }
    failed
}

#[test]
fn a_fork_without_memory_leaves_the_parent_and_a_whole_part_of_the_child() {
    assert_eq!(forks_whole::<Custom<Rbtree>>(), 8, "one allocation a fork");
    let few = forks_whole::<Custom<Maple>>();
    assert!(few > 15, "records and nodes: {few}");
    assert!(forks_whole::<Custom<Maple<Tiny>>>() > 50, "a node each");
}

#[test]
fn a_fork_asks_for_blocks_of_nodes_and_one_array_however_many_areas_there_are() {
    let areas = 1000;
    let mut space =
        Space::<u32, Custom<Maple>>::with_config(Layout::LINUX_X86_64).expect("a layout");
    for number in 0..areas {
        // Different numbers, so that no two areas merge.
        let request = Request::anonymous(0x1000, Prot::READ, number);
        space.map(request, drop).expect("there is room");
    }
    let copy = |area: Area<'_, u32>| Ok::<_, ()>(*area.value);
    let (child, calls) = counted(|| space.fork(copy).expect("there is memory"));
    assert_eq!(seen(&child), seen(&space));
    assert!(calls.obtained < 40, "{} allocations", calls.obtained);
    let ((), calls) = counted(|| drop(child));
    assert!(calls.freed < 40, "{} pieces of memory", calls.freed);
}

#[test]
fn a_fork_that_the_caller_refuses_hands_over_what_was_copied() {
    for (mut space, operations) in streams::<Custom<Maple>>().take(8) {
        for operation in operations {
            let _ = apply(&mut space, &operation, &mut |_| ());
        }
        let mut copied = 0;
        let refuses = |area: Area<'_, u32>| {
            copied += 1;
            if copied == 2 {
                Err("enough")
            } else {
                Ok(*area.value)
            }
        };
        let child = Space::<u32, Custom<Maple>>::with_config(*space.layout());
        let mut child = child.expect("a layout");
        let refused = child.copy_from(&space, refuses);
        assert_eq!(refused, Err(ForkError::Refused("enough")));
        assert_eq!(child.len(), 1);
        child.check().expect("a part of a child is whole");
    }
}

/// Clears spaces with the first allocation failing.
fn clears_without_memory<C>()
where
    C: Config<Index<u32>: Default>,
{
    for (mut space, operations) in streams::<C>() {
        for operation in operations {
            let _ = apply(&mut space, &operation, &mut |_| ());
        }
        // A space that keeps no memory for later changes.
        let mut space = tight(&space);
        let (areas, mut freed) = (space.len(), 0);
        let ((), calls) = failing_at(0, || space.clear(|_| freed += 1));
        assert_eq!((calls, freed), (0, areas));
        assert!(space.is_empty());
        space.check().expect("it is empty");
    }
}

#[test]
fn clearing_needs_no_memory() {
    clears_without_memory::<Custom<Rbtree>>();
    clears_without_memory::<Custom<Maple>>();
    clears_without_memory::<Custom<Maple<Tiny>>>();
}

/// The same under a lock, with readers, and with nothing prepared. The space is a fresh copy, which
/// keeps no spare nodes; a space that was changed keeps nodes that its changes released.
fn clears_beside_readers_without_memory<C: SharedConfig>() {
    for (seed, world) in (0..4).flat_map(|seed| WORLDS.map(|world| (seed, world))) {
        let domain = Domain::new();
        let new = || Shared::<u32, _, _, C>::new(world.layout(), &domain, SpinLock::new());
        let [parent, space] = [new(), new()].map(|space| space.expect("a layout"));
        for operation in operations(world, Mix::Growing, 200, seed) {
            let _ = apply(&mut parent.lock(), &operation, &mut |_| ());
        }
        let copy = |area: Area<'_, u32>| Ok::<_, ()>(*area.value);
        let mut locked = space.lock();
        let copied = locked.copy_from(&parent.lock(), copy);
        copied.expect("there is memory for a child");
        let (areas, mut freed) = (locked.len(), 0);
        let ((), calls) = failing_at(0, || locked.clear(|_| freed += 1));
        assert_eq!((calls, freed), (0, areas));
        assert!(locked.is_empty());
        drop(locked);
        space.check().expect("it is empty");
    }
}

#[test]
fn clearing_beside_readers_needs_no_memory() {
    clears_beside_readers_without_memory::<Standard>();
    clears_beside_readers_without_memory::<Custom<Maple<Tiny>>>();
}
