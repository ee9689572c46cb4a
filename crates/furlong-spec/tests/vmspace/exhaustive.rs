//! Every short sequence of operations in spaces of six and eight pages, at both ends of the 64-bit
//! range.

use furlong::maple::{self, Fan, Heap};
use furlong::vmspace::{
    Access, Advice, At, Config, Custom, Flags, Linux, Maple, Prot, Rbtree, Remap, RemapFlags,
    Request,
};
use furlong_spec::vmspace::{Kept, Model, Operation, SpaceSubject, World};
use furlong_spec::{compare, every_sequence};

type Tiny = maple::Custom<Fan<3, 3, 32>, Heap>;

const RW: Prot = Prot::from_bits(3);

/// Ranges of whole pages, as first address and length.
fn ranges(world: World, lens: &[u64]) -> Vec<(u64, u64)> {
    let all = world.first..=world.last();
    let of_len = |len: u64| all.clone().map(move |first| (first, len));
    let ranges = lens.iter().flat_map(|len| of_len(*len));
    ranges
        .filter(|(first, len)| first + (len - 1) <= world.last())
        .collect()
}

fn maps(
    world: World,
    lens: &[u64],
    shape: impl Fn(Request<u32>) -> Request<u32>,
) -> Vec<Operation> {
    let request = |(first, len): (u64, u64)| {
        let request = Request::anonymous(len * world.page, RW, 0);
        Operation::Map(shape(request.at(At::Fixed(world.address(first)))))
    };
    ranges(world, lens).into_iter().map(request).collect()
}

/// Runs every sequence of `length` operations on a new space, and compares all areas after each
/// operation. Returns the number of operations compared.
fn holds<C>(world: World, keeps_part: bool, alphabet: &[Operation], length: u32) -> u64
where
    C: Config<Index<Kept>: Default>,
{
    let mut count = 0;
    for sequence in every_sequence(alphabet, length) {
        let all = sequence.iter().cloned();
        let all = all.flat_map(|operation| [operation, Operation::Areas]);
        let mut subject = SpaceSubject::<C>::new(world.layout());
        let compared = compare(&mut Model::new(world, keeps_part), &mut subject, all);
        compared.unwrap_or_else(|divergence| panic!("{sequence:?}: {divergence}"));
        count += u64::from(length);
    }
    count
}

const WORLDS: [World; 2] = [World::low(6), World::high(6, 4096)];

#[test]
fn every_sequence_of_three_maps_unmaps_and_protections_holds() {
    for world in WORLDS {
        let mut alphabet = maps(world, &[1, 3], |request| request);
        for (first, len) in ranges(world, &[1, 2]) {
            let (start, bytes) = (world.address(first), len * world.page);
            alphabet.push(Operation::Unmap(start, bytes));
            alphabet.push(Operation::Protect(start, bytes, Prot::READ));
        }
        let count = holds::<Custom<Rbtree>>(world, false, &alphabet, 3);
        assert!(count > 80_000, "{count}");
        holds::<Custom<Maple<Tiny>>>(world, false, &alphabet, 3);
    }
}

#[test]
fn every_sequence_of_three_with_limits_fails_in_the_middle_as_in_linux() {
    for world in WORLDS.map(|world| world.limits(2, 4)) {
        let mut alphabet = maps(world, &[1, 3], |request| request);
        for (first, len) in ranges(world, &[1, 3]) {
            let (start, bytes) = (world.address(first), len * world.page);
            alphabet.push(Operation::Unmap(start, bytes));
            alphabet.push(Operation::Protect(start, bytes, Prot::READ));
            alphabet.push(Operation::Advise(start, bytes, Advice::DontFork));
            let lock = [Flags::CALLER, Flags::NONE];
            alphabet.push(Operation::Update(start, bytes, lock));
        }
        holds::<Custom<Rbtree, Linux>>(world, true, &alphabet, 3);
        holds::<Custom<Maple<Tiny>>>(world, false, &alphabet, 3);
    }
}

#[test]
fn every_sequence_of_three_moves_holds() {
    for world in [World::low(8), World::high(8, 4096)] {
        let mut alphabet = maps(world, &[2, 4], |request| request.flags(Flags::SHARED));
        let pages = |first: u64| (world.address(first), world.page);
        for flags in [0, 1, 3, 5] {
            for (first, new_first) in [(0, 4), (1, 6), (2, 0), (5, 2)] {
                let (start, page) = pages(world.first + first);
                for (old_len, new_len) in [(1, 1), (1, 2), (2, 1), (0, 1)] {
                    alphabet.push(Operation::Remap(Remap {
                        start,
                        old_len: old_len * page,
                        new_len: new_len * page,
                        flags: RemapFlags::from_bits(flags),
                        new_start: world.address(world.first + new_first),
                    }));
                }
            }
        }
        holds::<Custom<Rbtree>>(world, false, &alphabet, 2);
        holds::<Custom<Maple<Tiny>, Linux>>(world, true, &alphabet, 2);
    }
}

#[test]
fn every_sequence_of_four_with_stacks_and_choices_holds() {
    for world in [World::low(8), World::high(8, 2).upwards()] {
        let page = world.page;
        let mut alphabet = maps(world, &[1], |request| request.flags(Flags::GROWS_DOWN));
        for len in [1, 2] {
            let request = Request::anonymous(len * page, RW, 0);
            alphabet.push(Operation::Map(request.clone().align(2 * page)));
            alphabet.push(Operation::Map(request));
        }
        for first in [1, 4] {
            let address = world.address(world.first + first);
            alphabet.push(Operation::Fault(address, Access::Write));
            alphabet.push(Operation::Unmap(address, page));
        }
        holds::<Custom<Rbtree>>(world, false, &alphabet, 4);
        holds::<Custom<Maple<Tiny>>>(world, false, &alphabet, 4);
    }
}
