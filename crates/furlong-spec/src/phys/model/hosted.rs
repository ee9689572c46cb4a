//! Ranges that host their own bookkeeping, and descriptors that are made on demand.

use core::ops::Range;

use super::super::operation::{Outcome, Refusal};
use super::frame::{len, meet};
use super::{Answer, Model};

/// Frames in a section, the unit in which descriptors are made.
const SECTION: u64 = 4096;

/// Bytes in a page.
const PAGE: u64 = 4096;

/// Upper bound of the bookkeeping of `frames` in bytes: descriptors, 0.01 % of the range, 160 KiB,
/// and words for the path to them if they are the highest frames.
fn bytes_max(frames: &Range<u64>) -> u64 {
    let descriptors = len(frames) * size_of::<super::super::Page>() as u64;
    let sections = frames.end.min(1 << 28) / SECTION;
    let middles = frames.end / SECTION / SECTION;
    let words = 8 * 2 * (sections + middles);
    descriptors + len(frames) * PAGE / 10_000 + (160 << 10) + words
}

impl Model {
    /// Plugs a hosted range. `pages` is the number of hosting pages that the table reported.
    pub(super) fn plug_hosted(
        &mut self,
        frames: &Range<u64>,
        spare: Option<u64>,
        pages: Option<u64>,
    ) -> Answer {
        if !self.started {
            return Err(Refusal::NotStarted);
        }
        self.may_plug(frames)?;
        // Few frames cannot hold all of their bookkeeping.
        let most = (bytes_max(frames) / PAGE + 1).min(len(frames));
        let (Some(spare), Some(pages)) = (spare, pages) else {
            let enough = spare.is_some_and(|spare| most + spare < len(frames));
            let pages = Outcome::Number(Some(most));
            return if enough {
                Ok(pages)
            } else {
                Err(Refusal::TooSmall)
            };
        };
        if pages > most + spare || pages > len(frames) || pages <= spare {
            return Ok(Outcome::Number(Some(most)));
        }
        let hosting = frames.start..frames.start + pages;
        self.add(frames, hosting.end..frames.end.max(hosting.end), 0, 0);
        let host = self.hosts.len();
        self.each(frames, |frame| {
            frame.made = false;
            frame.host = Some(host);
        });
        self.hosts.push(hosting);
        Ok(Outcome::Number(Some(pages)))
    }

    pub(super) fn make(&mut self, frame: u64) -> Answer {
        let found = self.frame(frame);
        if found.owner.is_none() || !self.started {
            return Err(Refusal::Unknown(frame));
        }
        if !found.made {
            let start = frame / SECTION * SECTION;
            let all = self.base..self.base + self.frames.len() as u64;
            self.each(&meet(&(start..start + SECTION), &all), |frame| {
                frame.made |= frame.owner.is_some() && frame.host == found.host;
            });
        }
        Ok(Outcome::Number(Some(u64::from(!found.made))))
    }

    /// True if the frame holds bookkeeping.
    pub(super) fn hosts_something(&self, frame: u64) -> bool {
        let host = self.frame(frame).host.map(|host| &self.hosts[host]);
        host.is_some_and(|hosting| hosting.contains(&frame))
    }

    /// The hosting frames that prevent the removal of `frames`; `None` if `frames` are all that is
    /// left of their hosted range.
    pub(super) fn hosting_in(&self, frames: &Range<u64>) -> Option<Range<u64>> {
        let host = self.frame(frames.start).host?;
        let hosting = &self.hosts[host];
        let goes = self.is_left(host, frames) || meet(frames, hosting).is_empty();
        (!goes).then(|| hosting.clone())
    }

    /// The hosting frames of a range of which only `frames` are left. The table may still keep
    /// them.
    pub(super) fn goes_with(&self, frames: &Range<u64>) -> Option<Range<u64>> {
        let host = self.frame(frames.start).host?;
        let hosting = &self.hosts[host];
        self.is_left(host, frames).then(|| hosting.clone())
    }

    /// True if `frames` are all that is left of a hosted range.
    fn is_left(&self, host: usize, frames: &Range<u64>) -> bool {
        let all = (self.base..).zip(&self.frames);
        let mut its = all.filter(|(_, frame)| frame.host == Some(host));
        its.all(|(at, _)| frames.contains(&at))
    }
}
