//! A lookup and its result, to be compared with the history.

use core::fmt;
use core::ops::RangeInclusive;

use super::history::{Gone, History};

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Of `find`: a segment's handle as a number, and the offset in it.
    Segment(Option<(u64, u64)>),
    /// Of `page`: the frame and the plug that the descriptor records.
    Page(Option<(u64, u64)>),
}

/// A completed lookup.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) frame: u64,
    pub(super) found: Found,
    /// The versions current during the lookup.
    pub(super) during: RangeInclusive<u64>,
}

/// The number of versions that the description of a wrong lookup lists.
const EXPLAINED: usize = 8;

impl Look {
    /// True if the result was true in a version of the lookup. An offset may count from the start
    /// that the segment had in a later version of the lookup. [`Gone`] if the lookup overlapped
    /// more changes than are kept.
    pub(super) fn is_right(&self, history: &History) -> Result<bool, Gone> {
        for version in self.during.clone() {
            let known = history.at(version, self.frame)?;
            let is_it = match (self.found, known) {
                (Found::Segment(None) | Found::Page(None), known) => known.is_none(),
                (_, None) => false,
                (Found::Page(Some(page)), Some(known)) => page == (self.frame, known.epoch),
                (Found::Segment(Some((id, offset))), Some(known)) => {
                    id == known.id && self.begins(history, version, id, offset)?
                }
            };
            if is_it {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if the segment began `offset` frames below the frame, in version `from` or later.
    fn begins(&self, history: &History, from: u64, id: u64, offset: u64) -> Result<bool, Gone> {
        let Some(start) = self.frame.checked_sub(offset) else {
            return Ok(false);
        };
        for version in from..=*self.during.end() {
            if history.began(version, id, start)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Describes the result and the state in the first versions.
    pub(super) fn explain(&self, history: &History) -> String {
        let states = self.during.clone().take(EXPLAINED).map(|version| {
            let known = history.at(version, self.frame);
            format!("version {version} has {known:?}")
        });
        let states: Vec<String> = states.collect();
        format!("{self}: {}", states.join(", "))
    }
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame {:#x} gave {:x?}", self.frame, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{Gone, History, Known, Layout};
    use super::{Found, Look};

    fn layout(start: u64, id: u64) -> Layout {
        let segments = vec![Known {
            start,
            end: 20,
            id,
            epoch: 7,
        }];
        Layout {
            segments,
            hidden: vec![],
        }
    }

    fn judged(history: &History, before: u64, found: Found) -> Result<bool, Gone> {
        let during = history.0.span.after(before);
        let frame = 15;
        let look = Look {
            frame,
            found,
            during,
        };
        look.is_right(history)
    }

    #[test]
    fn an_answer_is_right_while_it_is_true_and_wrong_afterwards() {
        let history = History::new();
        let before = history.0.span.before();
        let nothing = [Found::Segment(None), Found::Page(None)];
        let there = [Found::Segment(Some((3, 5))), Found::Page(Some((15, 7)))];
        for (nothing, there) in nothing.into_iter().zip(there) {
            assert_eq!(judged(&history, before, nothing), Ok(true));
            assert_eq!(judged(&history, before, there), Ok(false));
        }
        history.begin(&[&layout(10, 3)]);
        for found in nothing.into_iter().chain(there) {
            assert_eq!(judged(&history, before, found), Ok(true), "{found:?}");
        }
        history.0.span.settle();
        let after = history.0.span.before();
        for (nothing, there) in nothing.into_iter().zip(there) {
            assert_eq!(judged(&history, before, nothing), Ok(true));
            assert_eq!(judged(&history, after, nothing), Ok(false));
            assert_eq!(judged(&history, after, there), Ok(true));
        }
    }

    #[test]
    fn another_segment_offset_frame_or_plug_is_wrong() {
        let history = History::new();
        history.begin(&[&layout(10, 3)]);
        history.0.span.settle();
        let before = history.0.span.before();
        for found in [
            Found::Segment(Some((4, 5))),
            Found::Segment(Some((3, 6))),
            Found::Segment(Some((3, 16))),
            Found::Page(Some((14, 7))),
            Found::Page(Some((15, 8))),
            Found::Page(Some((u64::MAX, u64::MAX))),
        ] {
            assert_eq!(judged(&history, before, found), Ok(false), "{found:?}");
        }
    }

    #[test]
    fn an_offset_may_count_from_a_later_start_but_not_from_an_earlier_one() {
        let history = History::new();
        history.begin(&[&layout(10, 3)]);
        history.0.span.settle();
        let before = history.0.span.before();
        history.begin(&[&layout(12, 3)]);
        history.0.span.settle();
        let later = Found::Segment(Some((3, 3)));
        assert_eq!(judged(&history, before, later), Ok(true));
        let earlier = Found::Segment(Some((3, 5)));
        assert_eq!(
            judged(&history, history.0.span.before(), earlier),
            Ok(false)
        );
    }

    #[test]
    fn isolated_frames_are_not_there_and_old_versions_are_not_judged() {
        let history = History::new();
        let mut isolated = layout(10, 3);
        isolated.hidden.push(15..16);
        history.begin(&[&isolated]);
        history.0.span.settle();
        let before = history.0.span.before();
        assert_eq!(judged(&history, before, Found::Page(None)), Ok(true));
        for _ in 0..600 {
            history.begin(&[&isolated]);
            history.0.span.settle();
        }
        assert_eq!(judged(&history, before, Found::Page(None)), Err(Gone));
    }
}
