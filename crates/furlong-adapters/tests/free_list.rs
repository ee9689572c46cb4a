//! The façade of `free_list::FreeList` beside the original.
use free_list::{PAGE_SIZE, PageLayout, PageRange};
use furlong_adapters::free_list::{AllocError, FreeList};
use furlong_spec::Random;

/// The number of pages that the calls use.
const PAGES: u64 = 256;

type Theirs = free_list::FreeList<16>;

fn pages(start: u64, count: u64) -> PageRange {
    let bytes = |pages: u64| pages as usize * PAGE_SIZE;
    PageRange::from_start_len(bytes(start), bytes(count)).unwrap()
}

fn layout(random: &mut Random) -> PageLayout {
    let size = 1 + random.below(12) as usize;
    let align = PAGE_SIZE << random.below(5);
    PageLayout::from_size_align(size * PAGE_SIZE, align).unwrap()
}

/// Both lists, which get the same calls.
struct Both {
    ours: FreeList,
    theirs: Theirs,
    refused: usize,
}

impl Both {
    fn new() -> Self {
        Self {
            ours: FreeList::new(),
            theirs: Theirs::new(),
            refused: 0,
        }
    }

    fn deallocate(&mut self, range: PageRange) {
        let ours = self.ours.deallocate(range);
        // SAFETY: these are numbers, and nobody uses them as memory.
        let theirs = unsafe { self.theirs.deallocate(range) };
        self.same(ours, theirs);
    }

    fn same<T: PartialEq + std::fmt::Debug>(
        &mut self,
        ours: Result<T, AllocError>,
        theirs: Result<T, free_list::AllocError>,
    ) {
        self.refused += usize::from(ours.is_err());
        assert_eq!(ours.ok(), theirs.ok());
        assert!(self.ours.iter().eq(self.theirs.iter()));
        assert_eq!(self.ours.free_space(), self.theirs.free_space());
    }
}

#[test]
fn random_calls_are_answered_as_the_original_does() {
    let mut refused = [0; 5];
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut both = Both::new();
        for _ in 0..500 {
            let count = 1 + random.below(16);
            let range = pages(random.below(PAGES - count), count);
            let call = random.below(5) as usize;
            let before = both.refused;
            match call {
                0 => {
                    let layout = layout(&mut random);
                    let answers = (both.ours.allocate(layout), both.theirs.allocate(layout));
                    both.same(answers.0, answers.1);
                }
                1 => {
                    let answers = (both.ours.allocate_at(range), both.theirs.allocate_at(range));
                    both.same(answers.0, answers.1);
                }
                2 => {
                    let layout = layout(&mut random);
                    let ours = both.ours.allocate_outside_of(layout, range);
                    let theirs = both.theirs.allocate_outside_of(layout, range);
                    both.same(ours, theirs);
                }
                3 => {
                    let layout = layout(&mut random);
                    let high = |free: PageRange| {
                        let far = (free.start() > range.start()).then_some(free);
                        far.and_then(|free| free.fit(layout))
                    };
                    let ours = both.ours.allocate_with(high);
                    let theirs = both.theirs.allocate_with(high);
                    both.same(ours, theirs);
                }
                _ => both.deallocate(range),
            }
            refused[call] += both.refused - before;
        }
    }
    assert!(refused.iter().all(|count| *count > 100), "{refused:?}");
}

#[test]
fn the_ends_of_all_addresses_are_pages_like_others() {
    let mut both = Both::new();
    let first = pages(0, 1);
    let last = PageRange::new(usize::MAX - 3 * PAGE_SIZE + 1, usize::MAX - PAGE_SIZE + 1).unwrap();
    both.deallocate(first);
    both.deallocate(last);
    both.deallocate(last);
    assert_eq!(both.refused, 1);
    let layout = PageLayout::from_size(2 * PAGE_SIZE).unwrap();
    let answers = (both.ours.allocate(layout), both.theirs.allocate(layout));
    assert_eq!(answers.0, Ok(last));
    both.same(answers.0, answers.1);
}

#[test]
fn nothing_is_never_allocated() {
    let mut both = Both::new();
    both.deallocate(pages(1, 8));
    let layout = PageLayout::from_size(0).unwrap();
    let answers = (both.ours.allocate(layout), both.theirs.allocate(layout));
    both.same(answers.0, answers.1);
    assert_eq!(both.refused, 1);
}
