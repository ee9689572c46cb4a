//! Slots: handlers that interrupt at every point, and sequences that wrap around.
#![forbid(unsafe_code)]

use std::cell::Cell;

use crate::rcu::ReaderSlot;
use crate::rcu::slot::Step;

/// A slot, and whether a fence has been executed since its sequence last became odd.
struct Watched {
    slot: ReaderSlot,
    last: Cell<usize>,
    fenced: Cell<bool>,
}

impl Watched {
    fn new() -> Self {
        let slot = ReaderSlot::new();
        Self {
            slot,
            last: Cell::new(0),
            fenced: Cell::new(false),
        }
    }

    fn see(&self, step: Step) {
        let now = self.slot.sequence();
        if self.last.replace(now) != now {
            self.fenced.set(false);
        }
        if step == Step::Fence {
            self.fenced.set(now % 2 == 1);
        }
    }

    /// Enters and leaves. Handlers that do the same interrupt it in one gap, and are interrupted in
    /// one gap themselves.
    ///
    /// `path` holds the handlers' gap for each level; gaps are counted over enter and exit
    /// together. Returns the number of gaps of the outermost call.
    fn interrupted(&self, path: &[usize]) -> usize {
        let mut gaps = 0;
        let mut gap = |step| {
            self.see(step);
            if let Some((&here, deeper)) = path.split_first()
                && here == gaps
            {
                // Two handlers in a row, so that the second one begins where the first one ended.
                self.interrupted(deeper);
                self.interrupted(deeper);
            }
            gaps += 1;
        };
        self.slot.enter_with(&mut gap);
        let inside = self.slot.sequence();
        assert_eq!(
            inside % 2,
            1,
            "inside, so the sequence is odd (I1): {path:?}"
        );
        assert!(self.fenced.get(), "inside, so there was a fence: {path:?}");
        gap(Step::Other);
        assert_eq!(
            self.slot.sequence(),
            inside,
            "one section, one number: {path:?}"
        );
        self.slot.exit_with(&mut gap);
        self.see(Step::Other);
        gaps
    }
}

#[test]
fn handlers_may_come_in_at_every_point_of_enter_and_exit() {
    let gaps = Watched::new().interrupted(&[]);
    assert_eq!(gaps, 11, "all the gaps of enter, the section and exit");
    for one in 0..gaps {
        for two in 0..gaps {
            for three in 0..gaps {
                let watched = Watched::new();
                for path in [[one, two, three], [three, two, one]] {
                    watched.interrupted(&path);
                    let slot = &watched.slot;
                    assert_eq!(
                        (slot.depth(), slot.sequence() % 2),
                        (0, 0),
                        "left: {path:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_noted_section_is_a_straggler_until_it_ends_across_the_wrap() {
    let slot = ReaderSlot::starting_at(usize::MAX - 1);
    slot.enter();
    slot.note();
    assert_eq!(slot.sequence(), usize::MAX);
    assert!(slot.is_straggler());
    slot.exit();
    assert_eq!(slot.sequence(), 0);
    slot.enter();
    assert!(!slot.is_straggler());
    slot.note();
    assert!(slot.is_straggler());
}

#[test]
fn a_sequence_that_came_round_to_the_noted_number_only_delays() {
    let noted = ReaderSlot::starting_at(4);
    noted.enter();
    noted.note();
    noted.exit();
    // The state 2^64 sections later: another section with the same number.
    noted.set_sequence(4);
    noted.enter();
    assert!(noted.is_straggler());
    noted.exit();
    assert!(!noted.is_straggler());
}

#[test]
fn a_claimed_slot_is_not_claimed_again_until_it_is_released() {
    let slot = ReaderSlot::default();
    assert!(slot.claim());
    assert!(!slot.claim());
    slot.enter();
    slot.release();
    assert_eq!((slot.depth(), slot.sequence() % 2), (0, 0));
    assert!(slot.claim());
}

#[test]
fn a_slot_fills_its_lines() {
    assert_eq!(size_of::<[ReaderSlot; 2]>(), 256);
    assert_eq!(align_of::<ReaderSlot>(), 128);
}
