//! The oracle: the state of every page in each version.
//!
//! The writer records the next state before it changes the space. [`Span`] gives the versions that
//! were current during a look.
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering, fence};

use super::page::{PAGES, Word};
use crate::span::Span;

/// The number of versions kept.
const KEPT: u64 = 512;

/// The first and the last page that a change touches.
pub(super) type Touched = (usize, usize);

/// The maximum number of ranges that a change touches: its source and its destination.
pub(super) const TOUCHED: usize = 2;

/// The pages of a version, and the number of the version; 0 while it is being written.
struct Slot {
    version: AtomicU64,
    touched: [AtomicU64; TOUCHED],
    words: [AtomicU64; PAGES],
}

/// The recent states of all pages.
pub(super) struct History {
    pub(super) span: Span,
    slots: Vec<Slot>,
}

/// The error that a version is not kept any more, because a look overlapped too many changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

impl History {
    pub(super) fn new() -> Self {
        let slot = |version| Slot {
            version: AtomicU64::new(version),
            touched: [const { AtomicU64::new(u64::MAX) }; TOUCHED],
            words: [const { AtomicU64::new(0) }; PAGES],
        };
        Self {
            span: Span::new(),
            // Version 1, an empty space, is in slot 1.
            slots: (0..KEPT).map(slot).collect(),
        }
    }

    fn slot(&self, version: u64) -> &Slot {
        &self.slots[(version % KEPT) as usize]
    }

    /// Records the state after the next change and the pages that it touches. Called before the
    /// change.
    pub(super) fn begin(&self, words: &[Word; PAGES], touched: &[Option<Touched>; TOUCHED]) {
        let version = self.span.settled() + 1;
        let slot = self.slot(version);
        slot.version.store(0, Ordering::SeqCst);
        for (place, word) in slot.words.iter().zip(words) {
            place.store(word.0, Ordering::SeqCst);
        }
        for (place, touched) in slot.touched.iter().zip(touched) {
            let pages = touched.map_or(u64::MAX, |(first, last)| (first << 32 | last) as u64);
            place.store(pages, Ordering::SeqCst);
        }
        slot.version.store(version, Ordering::SeqCst);
        self.span.begin(version);
    }

    /// The state of a page in a version.
    pub(super) fn at(&self, version: u64, page: usize) -> Result<Word, Gone> {
        let slot = self.slot(version);
        let word = Word(slot.words[page].load(Ordering::SeqCst));
        slot.is(version).then_some(word).ok_or(Gone)
    }

    /// True if the change that led to a version touched a page.
    pub(super) fn touches(&self, version: u64, page: usize) -> Result<bool, Gone> {
        let slot = self.slot(version);
        let ranges = slot
            .touched
            .iter()
            .map(|range| range.load(Ordering::SeqCst));
        let mut ranges = ranges.map(|range| (range >> 32, range & u64::from(u32::MAX)));
        let page = page as u64;
        let touches = ranges.any(|(first, last)| first <= page && page <= last);
        slot.is(version).then_some(touches).ok_or(Gone)
    }
}

impl Slot {
    /// True if the slot still holds this version. Called after its contents were read.
    fn is(&self, version: u64) -> bool {
        fence(Ordering::SeqCst);
        self.version.load(Ordering::SeqCst) == version
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::{PAGES, Word};
    use super::{Gone, History, KEPT};

    #[test]
    fn a_look_spans_what_was_settled_before_and_what_has_begun_by_its_end() {
        let history = History::new();
        let before = history.span.before();
        assert_eq!(history.span.after(before), 1..=1);
        let mut words = [Word::NONE; PAGES];
        words[3] = Word(7);
        history.begin(&words, &[Some((2, 4)), None]);
        assert_eq!(
            (history.span.before(), history.span.after(before)),
            (1, 1..=2)
        );
        history.span.settle();
        assert_eq!(history.span.before(), 2);
        assert_eq!(
            (history.at(1, 3), history.at(2, 3)),
            (Ok(Word::NONE), Ok(Word(7)))
        );
        let touched = [1, 2, 4, 5].map(|page| history.touches(2, page));
        assert_eq!(touched, [Ok(false), Ok(true), Ok(true), Ok(false)]);
    }

    #[test]
    fn a_version_that_is_kept_no_more_is_gone() {
        let history = History::new();
        for _ in 0..KEPT {
            history.begin(&[Word::NONE; PAGES], &[None, None]);
            history.span.settle();
        }
        assert_eq!(history.at(1, 0), Err(Gone));
        assert_eq!(history.touches(1, 0), Err(Gone));
        assert_eq!(history.at(KEPT, 0), Ok(Word::NONE));
    }
}
