//! Threads that look pages up without the lock, and judge every result.

use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

use furlong::rcu::{Domain, Rcu};
use furlong::vmspace::{Access, Area, SharedConfig};

use super::Raced;
use super::history::{Gone, History};
use super::page::{PAGES, Word, address};
use crate::Random;
use crate::counts::counts;
use crate::race::Twin;

/// The maximum number of looks in one read section.
const BATCH: u64 = 48;

counts! {
    /// The counts of the readers' looks.
    pub struct Looks {
        /// Looks judged right.
        right: "looks right",
        /// Those that found an area.
        found: "of them found an area",
        /// Those during which the space changed.
        raced: "raced with a change",
        /// Areas found that had changed by the time of the check.
        outdated: "were out of date when asked",
        /// Faults that took the lock.
        locked: "took the lock",
        /// Looks, not among these, that overlapped more changes than the oracle keeps.
        unjudged: "more could not be judged",
    }
}

/// A thread that looks pages up.
pub(super) struct Looker<'a, C: SharedConfig> {
    pub(super) space: &'a Raced<C>,
    pub(super) domain: &'a Arc<Domain>,
    pub(super) history: &'a History,
    pub(super) random: Random,
    pub(super) tamper: fn(u64) -> u64,
}

/// A completed look.
struct Look {
    page: usize,
    found: Word,
    /// The versions current during the look.
    during: RangeInclusive<u64>,
    /// The result of checking whether the area is still current.
    current: Option<Current>,
}

/// The result of checking that an area is still as it was found.
#[derive(Clone, Debug)]
struct Current {
    is_current: bool,
    /// The versions current during the check, and those since before the look.
    asked: RangeInclusive<u64>,
    since: RangeInclusive<u64>,
}

impl<C: SharedConfig> Looker<'_, C> {
    /// Looks pages up until `wanted` looks have been judged right, or `stop` is set.
    ///
    /// # Errors
    /// The first wrong look.
    pub(super) fn run(mut self, wanted: u64, stop: &AtomicBool) -> Result<Looks, String> {
        let reader = self.domain.register().expect("there is a slot");
        let mut done = Looks::default();
        let mut looks = Vec::new();
        while done.right < wanted && !stop.load(Ordering::SeqCst) {
            let guard = reader.enter();
            self.look(&guard, &mut looks)?;
            drop(guard);
            if self.random.below(16) == 0 {
                // Lets the writer run if it needs this core.
                thread::yield_now();
            }
            for look in looks.drain(..) {
                done += look.judged(self.history)?;
            }
            if self.random.below(8) == 0 {
                done += self.fault()?;
            }
        }
        Ok(done)
    }

    /// Makes a batch of looks. Reads each area found once more before the guard is dropped.
    fn look(
        &mut self,
        guard: &<Arc<Domain> as Rcu>::Guard<'_>,
        looks: &mut Vec<Look>,
    ) -> Result<(), String> {
        let mut held = Vec::new();
        for _ in 0..=self.random.below(BATCH) {
            let page = self.random.index(PAGES);
            let before = self.history.0.span.before();
            let glimpse = self.space.look(guard, address(page));
            let during = self.history.0.span.after(before);
            let mut look = Look {
                page,
                found: Word::NONE,
                during,
                current: None,
            };
            if let Some(glimpse) = glimpse {
                look.found = self.word(&glimpse.area())?;
                let asked = self.history.0.span.before();
                let is_current = glimpse.is_current();
                look.current = Some(Current {
                    is_current,
                    asked: self.history.0.span.after(asked),
                    since: self.history.0.span.after(before),
                });
                held.push((glimpse, look.found));
            }
            looks.push(look);
        }
        if self.random.below(64) == 0 {
            thread::yield_now();
        }
        for (glimpse, found) in held {
            let again = self.word(&glimpse.area())?;
            if again != found {
                return Err(format!("inside a guard, {found:?} has become {again:?}"));
            }
        }
        Ok(())
    }

    fn word(&self, area: &Area<'_, Twin>) -> Result<Word, String> {
        let number = area.value.number();
        let number = number.ok_or_else(|| format!("{area:?} has a value that is not whole"))?;
        Ok(Word((self.tamper)(Word::of(area, number).0)))
    }

    /// Handles a fault under the lock, where no intermediate state is visible.
    fn fault(&mut self) -> Result<Looks, String> {
        let page = self.random.index(PAGES);
        let before = self.history.0.span.before();
        let space = self.space.lock();
        let area = space.find(address(page));
        let found = match &area {
            Some(area) => self.word(area)?,
            None => Word::NONE,
        };
        let allows = area.is_some_and(|area| area.prot.allows(Access::Read));
        drop(space);
        let mut during = self.history.0.span.after(before);
        let mut one = Looks {
            locked: 1,
            ..Looks::default()
        };
        let is_true = during.try_fold(false, |is_true, version| {
            Ok(is_true || self.history.at(version, page)? == found)
        });
        match is_true {
            Ok(true) => one.right = 1,
            Ok(false) => {
                return Err(format!(
                    "under the lock page {page} is {found:?}, which it was not"
                ));
            }
            Err(Gone) => one.unjudged = 1,
        }
        one.found = u64::from(allows && one.right > 0);
        Ok(one)
    }
}

impl Look {
    fn judged(&self, history: &History) -> Result<Looks, String> {
        let mut one = Looks::default();
        match self.is_right(history) {
            Ok(true) => {
                one.right = 1;
                one.found = u64::from(self.found != Word::NONE);
                one.raced = u64::from(self.during.start() != self.during.end());
                let is_outdated = |current: &Current| !current.is_current;
                one.outdated = u64::from(self.current.as_ref().is_some_and(is_outdated));
            }
            Ok(false) => return Err(self.explain(history)),
            Err(Gone) => one.unjudged = 1,
        }
        Ok(one)
    }

    fn is_right(&self, history: &History) -> Result<bool, Gone> {
        Ok(self.is_true(history, &self.during)? && self.is_current_right(history)?)
    }

    /// True if the look's result was true in a version during it. While a change touches the page's
    /// area, the page may also appear unmapped. An area may then also have an extent that it has
    /// only between two steps of the change, if every page in it was like the area in some version.
    fn is_true(&self, history: &History, during: &RangeInclusive<u64>) -> Result<bool, Gone> {
        for version in during.clone() {
            if history.at(version, self.page)? == self.found {
                return Ok(true);
            }
        }
        if !self.is_touched(history, during)? {
            return Ok(false);
        }
        let Some((first, last)) = self.found.extent() else {
            return Ok(true);
        };
        if !(first..=last).contains(&self.page) {
            return Ok(false);
        }
        for page in first..=last {
            let mut was_like = false;
            for version in during.clone() {
                was_like |= history.at(version, page)?.is_like(self.found);
            }
            if !was_like {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if the check was right. An area reported as current must have been true during the
    /// check. An area reported as outdated must have been touched since the look.
    fn is_current_right(&self, history: &History) -> Result<bool, Gone> {
        let Some(current) = &self.current else {
            return Ok(true);
        };
        if current.is_current {
            return self.is_true(history, &current.asked);
        }
        self.is_touched(history, &current.since)
    }

    /// True if a change that began during the span touches the page.
    fn is_touched(&self, history: &History, during: &RangeInclusive<u64>) -> Result<bool, Gone> {
        for version in *during.start() + 1..=*during.end() {
            if history.touches(version, self.page)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Describes the result and the states during the look.
    fn explain(&self, history: &History) -> String {
        let states = self.during.clone().take(8);
        let states = states.map(|version| {
            let (was, touched) = (
                history.at(version, self.page),
                history.touches(version, self.page),
            );
            format!("version {version} has {was:?}, touched {touched:?}")
        });
        let states: Vec<String> = states.collect();
        let (page, found, current) = (self.page, self.found, &self.current);
        format!(
            "page {page} was {found:?}, current {current:?}: {}",
            states.join(", ")
        )
    }
}
