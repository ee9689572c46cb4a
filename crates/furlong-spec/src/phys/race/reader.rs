//! Threads that look up frames and judge every result.

use core::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use furlong::addr::{Pfn, PhysAddr};
use furlong::phys::View;

use super::history::{Gone, History, number};
use super::look::{Found, Look};
use super::page::Page;
use super::{Config, Stretch, Table};
use crate::Random;
use crate::counts::counts;

/// The maximum number of lookups in one read section.
const BATCH: u64 = 48;

counts! {
    /// The counts of the readers' lookups.
    pub struct Lookups {
        /// Lookups judged right.
        right: "lookups right",
        /// Those that found a segment or a descriptor.
        found: "of them found something",
        /// Those during which the frame's stretch changed.
        raced: "of them raced with a change",
        /// Lookups, not among these, that overlapped more changes than the oracle keeps.
        unjudged: "more could not be judged",
    }
}

/// A thread that looks up frames.
pub(super) struct Looker<'a> {
    pub(super) table: &'a Table,
    pub(super) stretches: &'a [Stretch],
    pub(super) histories: &'a [History],
    pub(super) random: Random,
    pub(super) tamper: fn(Found) -> Found,
}

/// A descriptor found, and its contents at that time.
type Held<'g> = (&'g Page, (u64, u64));

impl Looker<'_> {
    /// Looks up frames until `wanted` lookups have been judged, or `stop` is set.
    ///
    /// # Errors
    /// The first wrong lookup.
    pub(super) fn run(mut self, wanted: u64, stop: &AtomicBool) -> Result<Lookups, String> {
        let reader = self.table.rcu().register().expect("there is a slot");
        let mut done = Lookups::default();
        let mut looks = Vec::new();
        while done.right < wanted && !stop.load(Ordering::SeqCst) {
            let guard = reader.enter();
            let view = self.table.read(&guard);
            let held = self.look(view, &mut looks);
            if self.random.below(64) == 0 {
                thread::yield_now();
            }
            for (page, said) in held {
                let says = page.read();
                if says != said {
                    return Err(format!("inside a guard, {said:x?} has become {says:x?}"));
                }
            }
            drop(guard);
            if self.random.below(16) == 0 {
                // Lets the writer run if it needs this core.
                thread::yield_now();
            }
            // Judged outside the read section, because the judge may have to wait for the writer.
            for (at, look) in looks.drain(..) {
                done += self.judged(at, &look)?;
            }
        }
        Ok(done)
    }

    /// Makes a batch of lookups, each with the index of its stretch.
    fn look<'g>(
        &mut self,
        view: View<'g, Page, Config>,
        looks: &mut Vec<(usize, Look)>,
    ) -> Vec<Held<'g>> {
        let mut held = Vec::new();
        for _ in 0..=self.random.below(BATCH) {
            let at = self.random.index(self.stretches.len());
            let frame = self.stretches[at].frame(&mut self.random);
            let history = &self.histories[at];
            let is_find = self.random.below(2) == 0;
            let before = history.0.span.before();
            let (found, during) = if is_find {
                let found = view.find(Pfn::new(frame));
                let during = history.0.span.after(before);
                let found = found.map(|(id, offset)| (number(id), offset));
                (Found::Segment(found), during)
            } else {
                let page = view.page(PhysAddr::new(frame << 12));
                let during = history.0.span.after(before);
                let said = page.map(|page| (page, page.read()));
                held.extend(said);
                (Found::Page(said.map(|(_, said)| said)), during)
            };
            let look = Look {
                frame,
                found: (self.tamper)(found),
                during,
            };
            looks.push((at, look));
        }
        held
    }

    fn judged(&self, at: usize, look: &Look) -> Result<Lookups, String> {
        let history = &self.histories[at];
        let mut one = Lookups::default();
        match look.is_right(history) {
            Ok(true) => {
                let is_found = !matches!(look.found, Found::Segment(None) | Found::Page(None));
                one.right = 1;
                one.found = u64::from(is_found);
                one.raced = u64::from(look.during.start() < look.during.end());
            }
            Err(Gone) => one.unjudged = 1,
            Ok(false) => return Err(look.explain(history)),
        }
        Ok(one)
    }
}
