//! The oracle: the state of every page in each version.
//!
//! The writer records the next state before it changes the space. [`Versions`] gives the versions
//! that were current during a look.

use super::page::{PAGES, Word};
pub(super) use crate::race::Gone;
use crate::race::Versions;

/// The first and the last page that a change touches.
pub(super) type Touched = (usize, usize);

/// The maximum number of ranges that a change touches: its source and its destination.
pub(super) const TOUCHED: usize = 2;

/// The bit of a range that is there; its first and its last page are below.
const THERE: u64 = 1 << 63;

/// The recent states of all pages: the ranges that a change touches, then the pages after it.
pub(super) struct History(pub(super) Versions<{ TOUCHED + PAGES }>);

impl History {
    /// Version 1 is an empty space.
    pub(super) fn new() -> Self {
        Self(Versions::new())
    }

    /// Records the state after the next change and the pages that it touches. Called before the
    /// change.
    pub(super) fn begin(&self, words: &[Word; PAGES], touched: &[Option<Touched>; TOUCHED]) {
        let version = self.0.span.settled() + 1;
        let range = |(first, last): Touched| THERE | (first as u64) << 32 | last as u64;
        let ranges = touched.iter().map(|touched| touched.map_or(0, range));
        let pages = words.iter().map(|word| word.0);
        self.0.record(version, ranges.chain(pages));
        self.0.span.begin(version);
    }

    /// The state of a page in a version.
    pub(super) fn at(&self, version: u64, page: usize) -> Result<Word, Gone> {
        self.0.read(version, |word| Word(word(TOUCHED + page)))
    }

    /// True if the change that led to a version touched a page.
    pub(super) fn touches(&self, version: u64, page: usize) -> Result<bool, Gone> {
        let page = page as u64;
        let has = |range: u64| {
            let (first, last) = ((range & !THERE) >> 32, range & u64::from(u32::MAX));
            range & THERE != 0 && first <= page && page <= last
        };
        self.0
            .read(version, |word| (0..TOUCHED).any(|at| has(word(at))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::{PAGES, Word};
    use super::{Gone, History};
    use crate::race::KEPT;

    #[test]
    fn a_look_spans_what_was_settled_before_and_what_has_begun_by_its_end() {
        let history = History::new();
        let before = history.0.span.before();
        assert_eq!(history.0.span.after(before), 1..=1);
        let mut words = [Word::NONE; PAGES];
        words[3] = Word(7);
        history.begin(&words, &[Some((2, 4)), None]);
        assert_eq!(
            (history.0.span.before(), history.0.span.after(before)),
            (1, 1..=2)
        );
        history.0.span.settle();
        assert_eq!(history.0.span.before(), 2);
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
            history.0.span.settle();
        }
        assert_eq!(history.at(1, 0), Err(Gone));
        assert_eq!(history.touches(1, 0), Err(Gone));
        assert_eq!(history.at(KEPT, 0), Ok(Word::NONE));
    }
}
