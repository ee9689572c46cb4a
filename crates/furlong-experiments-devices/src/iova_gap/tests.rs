//! Both arms compared with a list of pages, in small spaces at either end of the 64-bit range; and
//! whole samples.

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{Counts, Custom, Runs, Standard};
use furlong::rbtree::Off;
use furlong_spec::Random;

use furlong_lab::agreement::{arms_agree, counts_repeat};

use super::{AddressAllocator, Ask, PAGE, Place, Scan, Summary, experiment, run};
use furlong_lab::model::Failure;

const PAGES: u64 = 48;

/// True for each reserved page of a space.
struct List {
    first: u64,
    taken: Vec<bool>,
}

impl List {
    /// Every suitable place, in ascending order.
    fn places(&self, ask: &Ask) -> Vec<u64> {
        let len = (ask.size / PAGE) as usize;
        let starts = 0..=self.taken.len().saturating_sub(len);
        let suits = |at: &usize| {
            let start = self.first + *at as u64 * PAGE;
            let last = start.checked_add(ask.size - 1);
            self.taken[*at..].len() >= len
                && !self.taken[*at..*at + len].contains(&true)
                && start.is_multiple_of(ask.align)
                && start >= ask.low
                && last.is_some_and(|last| last <= ask.high)
        };
        let starts = starts.filter(suits);
        starts.map(|at| self.first + at as u64 * PAGE).collect()
    }

    fn mark(&mut self, start: u64, size: u64, taken: bool) {
        let at = ((start - self.first) / PAGE) as usize;
        for page in &mut self.taken[at..at + (size / PAGE) as usize] {
            assert_ne!(*page, taken, "{start:#x}");
            *page = taken;
        }
    }
}

fn any_ask(first: u64, random: &mut Random) -> Ask {
    let page = |random: &mut Random| first + random.below(PAGES) * PAGE;
    let (one, other) = (page(random), page(random));
    let is_bounded = random.below(2) == 0;
    Ask {
        size: (1 + random.below(6)) * PAGE,
        align: PAGE << random.below(4),
        low: if is_bounded { one.min(other) } else { 0 },
        high: if is_bounded {
            one.max(other) + (PAGE - 1)
        } else {
            u64::MAX
        },
        place: match random.below(3) {
            0 => Place::Lowest,
            1 => Place::Highest,
            _ => Place::Random(random.next()),
        },
    }
}

/// Reserves and releases in a space of [`PAGES`] pages at `first`, and checks each answer.
fn agrees_with_a_list<A: AddressAllocator>(first: u64, seed: u64) {
    let random = &mut Random::new(seed);
    let space = Extent::from_len(Iova::new(first), PAGES * PAGE).unwrap();
    let mut subject = A::new(space, PAGE).unwrap();
    let mut list = List {
        first,
        taken: vec![false; PAGES as usize],
    };
    let mut live = Vec::new();
    for step in 0..3000 {
        let context = format!("seed {seed}, step {step}, space at {first:#x}");
        if !live.is_empty() && random.below(5) < 2 {
            let (start, size, grant) = live.swap_remove(random.index(live.len()));
            subject.release(grant);
            list.mark(start, size, false);
            continue;
        }
        let ask = any_ask(first, random);
        let places = list.places(&ask);
        let answer = subject.reserve(&ask);
        let start = answer.as_ref().map(|(start, _)| *start);
        match ask.place {
            Place::Lowest => assert_eq!(start, places.first().copied(), "{context}: {ask:?}"),
            Place::Highest => assert_eq!(start, places.last().copied(), "{context}: {ask:?}"),
            Place::Random(_) => assert!(
                start.map_or(places.is_empty(), |start| places.contains(&start)),
                "{context}: {ask:?} gave {start:?} of {places:?}"
            ),
        }
        if let Some((start, grant)) = answer {
            list.mark(start, ask.size, true);
            live.push((start, ask.size, grant));
        }
    }
    let mut expected: Vec<_> = live
        .iter()
        .map(|(start, size, _)| (*start, *size))
        .collect();
    expected.sort_unstable();
    let reserved = subject.reserved().unwrap();
    let found = reserved.iter().map(|e| (e.start().raw(), e.len().unwrap()));
    assert!(found.eq(expected), "seed {seed}, space at {first:#x}");
}

const FIRSTS: [u64; 3] = [0, 1 << 32, u64::MAX - (PAGES * PAGE - 1)];

#[test]
fn the_scan_agrees_with_a_list_of_pages() {
    for (seed, first) in (0..9).zip(FIRSTS.into_iter().cycle()) {
        agrees_with_a_list::<Scan<Off>>(first, seed);
    }
}

#[test]
fn the_space_agrees_with_a_list_of_pages() {
    for (seed, first) in (0..9).zip(FIRSTS.into_iter().cycle()) {
        agrees_with_a_list::<Summary<Standard>>(first, seed);
        agrees_with_a_list::<Summary<Custom<Runs<5>>>>(first, seed);
        agrees_with_a_list::<Summary<Custom<Counts<5>>>>(first, seed);
    }
}

#[test]
fn the_scan_draws_every_place_about_as_often() {
    let space = Extent::from_len(Iova::new(0), 16 * PAGE).unwrap();
    let mut scan = Scan::<Off>::new(space, PAGE).unwrap();
    let extent = |first, len| Extent::from_len(Iova::new(first * PAGE), len * PAGE).unwrap();
    scan.fill(&[extent(9, 1), extent(3, 2)]).unwrap();
    // Two pages fit at 0, 1; 5, 6, 7; 10 to 14.
    let mut drawn = [0; 16];
    for seed in 0..10_000 {
        let ask = Ask {
            size: 2 * PAGE,
            align: PAGE,
            low: 0,
            high: u64::MAX,
            place: Place::Random(seed),
        };
        let (start, grant) = scan.reserve(&ask).unwrap();
        drawn[(start / PAGE) as usize] += 1;
        scan.release(grant);
    }
    let fits = [0, 1, 5, 6, 7, 10, 11, 12, 13, 14];
    let rest: Vec<usize> = (0..16).filter(|at| drawn[*at] == 0).collect();
    assert!(rest.iter().all(|at| !fits.contains(at)), "{drawn:?}");
    // 1,000 each with a standard deviation of 30.
    assert!(
        fits.iter().all(|at| (850..1150).contains(&drawn[*at])),
        "{drawn:?}"
    );
}

#[test]
fn the_arms_give_the_same_answers() {
    for (load, outcomes) in arms_agree(&experiment(), 700) {
        assert!(outcomes.iter().all(|one| one.operations == 700), "{load}");
    }
}

#[test]
fn exact_counts_are_the_same_every_time() {
    for (load, outcomes) in counts_repeat(&experiment(), |_| true, 700) {
        let visits = |arm: usize| outcomes[arm].metrics["nodes_visited_per_op"];
        assert!(visits(0) > 1.0 && visits(1) > 0.0, "{load}");
        if load == "checkerboard-10k" {
            assert_eq!(visits(0), 100.0);
        }
    }
}

/// An allocator with a defect: it grants the page below the right one.
struct Wrong(Scan<Off>);

impl AddressAllocator for Wrong {
    type Grant = u64;

    fn new(space: Extent<Iova>, granule: u64) -> Result<Self, Failure> {
        Scan::new(space, granule).map(Self)
    }

    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<u64>, Failure> {
        self.0.fill(extents)
    }

    fn reserve(&mut self, ask: &Ask) -> Option<(u64, u64)> {
        let (start, grant) = self.0.reserve(ask)?;
        Some((start - PAGE, grant))
    }

    fn release(&mut self, grant: u64) {
        self.0.release(grant);
    }

    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        self.0.reserved()
    }
}

#[test]
fn a_wrong_answer_is_a_failure() {
    let wrong = |load| {
        run::<Wrong>(&experiment().request(load, 10, false))
            .unwrap_err()
            .0
    };
    assert!(wrong("checkerboard-10k").contains("is reserved"));
    assert!(wrong("aligned").contains("returned the wrong address"));
    assert!(wrong("churn-top-down").contains("granted"));
}
