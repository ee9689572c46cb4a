//! Measures the cost of a fork next to a copy of the bare tree with the same areas, in nanoseconds
//! an area. Both run alternately many times, and the least time of each counts.
//!
//! `cargo run --release -p furlong-spec --example vmspace_fork`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its answer")]

use std::convert::Infallible;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Instant;

use furlong::addr::{Extent, VirtAddr};
use furlong::maple::Maple;
use furlong::vmspace::{At, Layout, Prot, Request, Space};

const COUNTS: [usize; 5] = [30, 100, 300, 1024, 16_384];
const REPEATS: usize = 20_000;
const PAGE: u64 = 4096;

/// The start of an area. Areas have two pages with a page between them.
fn start(at: usize) -> u64 {
    0x10_0000 + at as u64 * 3 * PAGE
}

fn tree(areas: usize) -> Maple<VirtAddr, NonZeroUsize> {
    let mut tree = Maple::new();
    for at in 0..areas {
        let extent = Extent::from_len(VirtAddr::new(start(at)), 2 * PAGE).expect("it is in order");
        let entry = NonZeroUsize::MIN.saturating_add(at);
        tree.insert(extent, entry).expect("there is memory");
    }
    tree
}

fn space(areas: usize) -> Space<u32> {
    let mut space = Space::new(Layout::LINUX_X86_64).expect("it is Linux's own");
    for at in 0..areas {
        let request =
            Request::anonymous(2 * PAGE, Prot::READ, u32::try_from(at).expect("few areas"));
        let place = At::Fixed(VirtAddr::new(start(at)));
        space.map(request.at(place), drop).expect("there is room");
    }
    space
}

/// The time that `make` takes, without the drop of its copy.
fn time<T>(make: impl FnOnce() -> T) -> u128 {
    let begun = Instant::now();
    let made = black_box(make());
    let took = begun.elapsed().as_nanos();
    drop(made);
    took
}

fn main() {
    println!("  areas     copy     fork  ratio");
    for areas in COUNTS {
        let (tree, space) = (tree(areas), space(areas));
        assert_eq!((tree.len(), space.len()), (areas, areas));
        let mut least = [u128::MAX; 2];
        for _ in 0..(REPEATS * 100 / areas).clamp(50, REPEATS) {
            let copy = time(|| black_box(&tree).duplicate(|_, entry| Ok::<_, Infallible>(entry)));
            let fork = time(|| black_box(&space).fork(|area| Ok::<_, Infallible>(*area.value)));
            least = [least[0].min(copy), least[1].min(fork)];
        }
        let [copy, fork] = least.map(|took| took as f64 / areas as f64);
        println!("{areas:7} {copy:8.2} {fork:8.2} {:6.2}", fork / copy);
    }
}
