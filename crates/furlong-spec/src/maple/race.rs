//! Look-ups concurrent with a writer that never pauses, judged by the writer's announcements.
//!
//! The writer announces the next number of an index before it changes the tree, and marks the
//! change as ended afterwards. A reader reads the announcement before its look-up and again after
//! it. The number found must be one that the index had, or was to get, between the two readings.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use furlong::addr::VirtAddr;
use furlong::check::Check;
use furlong::maple::{Custom, Fan, Heap, RcuMaple, Session, View};
use furlong::rcu::{Domain, Rcu, RcuBox};
use furlong::sync::SpinLock;

use super::tree::{ends, extent};
use crate::Random;
use crate::counts::counts;
use crate::race::{Twin, race};

type Nodes<const LEAF: usize, const INNER: usize> = Custom<Fan<LEAF, INNER, 32>, Heap>;
type Map<'r, C> = RcuMaple<VirtAddr, RcuBox<Twin>, &'r Domain, SpinLock, C>;

/// The writer's announcement for an index. `turn` is twice the number of ended changes, plus one
/// during a change. `numbers` are the index's numbers (0 for none) after an even and after an odd
/// count of changes.
#[derive(Default)]
struct Said {
    turn: AtomicU64,
    numbers: [AtomicU64; 2],
}

/// A consistent reading of an announcement.
#[derive(Clone, Copy)]
struct Heard {
    turn: u64,
    numbers: [u64; 2],
}

impl Said {
    fn announce(&self, number: u64) {
        let turn = self.turn.load(Ordering::SeqCst);
        self.numbers[(turn / 2 + 1) as usize % 2].store(number, Ordering::SeqCst);
        self.turn.store(turn + 1, Ordering::SeqCst);
    }

    fn end(&self) {
        self.turn.fetch_add(1, Ordering::SeqCst);
    }

    fn hear(&self) -> Heard {
        loop {
            let turn = self.turn.load(Ordering::SeqCst);
            let numbers = self.numbers.each_ref().map(|n| n.load(Ordering::SeqCst));
            if self.turn.load(Ordering::SeqCst) == turn {
                return Heard { turn, numbers };
            }
        }
    }
}

impl Heard {
    /// The counts of changes for which the reading knows the number.
    fn counts(self) -> std::ops::RangeInclusive<u64> {
        self.turn / 2..=self.turn.div_ceil(2)
    }

    /// True if the index had this number or was about to get it.
    fn has(self, number: u64) -> bool {
        self.counts()
            .any(|count| self.numbers[count as usize % 2] == number)
    }
}

/// The parameters of a race.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    /// The number of look-ups of all readers together.
    pub looks: u64,
    /// The number of readers.
    pub readers: usize,
    /// The seed for all threads.
    pub seed: u64,
}

counts! {
    /// The counts of a race without an error.
    pub struct Finish {
        /// Look-ups that were judged correct.
        judged: "look-ups right",
        /// Those during which the index looked up was changed.
        beside: "of them beside a change of what they looked for",
        /// Look-ups during which the index changed too often to be judged; their entries were
        /// intact.
        unjudged: "more during several",
        /// Changes made by the writer.
        changes: "changes",
    }
}

impl Race {
    /// Runs the race on a tree with nodes of this size and `indices` indices.
    ///
    /// # Errors
    /// The first wrong look-up.
    pub fn run<const LEAF: usize, const INNER: usize>(
        &self,
        indices: usize,
    ) -> Result<Finish, String> {
        let rcu = Domain::new();
        let map = Map::<Nodes<LEAF, INNER>>::with_config(&rcu, SpinLock::new());
        let said: Vec<Said> = (0..indices).map(|_| Said::default()).collect();
        let hot = AtomicU64::new(0);
        let share = self.looks.div_ceil(self.readers as u64);
        let (map, said, hot) = (&map, said.as_slice(), &hot);
        let readers = (0..self.readers as u64).map(|reader| {
            let random = Random::new(self.seed + 1 + reader);
            move |_: &AtomicBool| read(map, said, hot, share, random)
        });
        let random = Random::new(self.seed);
        let write = |stop: &AtomicBool| Ok(write(map, said, hot, random, stop));
        let (mut finish, changes): (Finish, _) = race(readers, write)?;
        finish.changes = changes;
        map.check().map_err(|broken| broken.to_string())?;
        let mut session = map.lock();
        for (index, said) in said.iter().enumerate() {
            judge(session.view(), index, said, &mut finish)?;
        }
        drop(session.erase_range(extent(0, u64::MAX)));
        Ok(finish)
    }
}

fn read<C: furlong::maple::Config>(
    map: &Map<'_, C>,
    said: &[Said],
    hot: &AtomicU64,
    looks: u64,
    mut random: Random,
) -> Result<Finish, String> {
    let reader = map.rcu().register().map_err(|full| full.to_string())?;
    let mut finish = Finish::default();
    let mut done = 0;
    while done < looks {
        let guard = reader.enter();
        let view = map.read(&guard);
        for _ in 0..64 {
            // Half of the look-ups are near the change in progress.
            let index = match random.below(2) {
                0 => random.index(said.len()),
                _ => {
                    // Relaxed: it pairs with nothing, because a stale hint is good enough.
                    let near = hot.load(Ordering::Relaxed) + random.below(4);
                    (near as usize).min(said.len() - 1)
                }
            };
            judge(view, index, &said[index], &mut finish)?;
            done += 1;
        }
    }
    Ok(finish)
}

/// Looks up one index, and compares the result with the readings before and after it.
fn judge<C: furlong::maple::Config>(
    view: View<'_, VirtAddr, RcuBox<Twin>, C>,
    index: usize,
    said: &Said,
    finish: &mut Finish,
) -> Result<(), String> {
    let index = VirtAddr::new(index as u64);
    let before = said.hear();
    let found = view.get(index);
    let number = found.map_or(Some(0), |(at, twin)| {
        twin.number().filter(|_| at.contains(index))
    });
    let number = number.ok_or_else(|| format!("{index:?}: {found:?} is torn or was freed"))?;
    // Orders the look-up before the second reading.
    fence(Ordering::SeqCst);
    let after = said.hear();
    if *after.counts().start() > *before.counts().end() + 1 {
        finish.unjudged += 1;
        return Ok(());
    }
    if !before.has(number) && !after.has(number) {
        let (one, other) = (before.turn, after.turn);
        return Err(format!(
            "{index:?}: {number} was found between turns {one} and {other}"
        ));
    }
    finish.judged += 1;
    finish.beside += u64::from(before.turn != after.turn || !before.turn.is_multiple_of(2));
    Ok(())
}

/// Changes the tree until it is told to stop.
fn write<C: furlong::maple::Config>(
    map: &Map<'_, C>,
    said: &[Said],
    hot: &AtomicU64,
    mut random: Random,
    stop: &AtomicBool,
) -> u64 {
    let mut changes = 0;
    while !stop.load(Ordering::SeqCst) {
        let start = random.below(said.len() as u64);
        // Relaxed: it pairs with nothing, because a stale hint is good enough.
        hot.store(start, Ordering::Relaxed);
        change(&mut map.lock(), said, start, &mut random);
        changes += 1;
        if changes % 4 == 0 {
            map.rcu().poll(usize::MAX);
        }
    }
    changes
}

type Writer<'s, 'm, 'r, C> = &'s mut Session<'m, VirtAddr, RcuBox<Twin>, &'r Domain, SpinLock, C>;

/// Makes one announced change at an index: a store, an erasure or a resize.
fn change<C: furlong::maple::Config>(
    session: Writer<'_, '_, '_, C>,
    said: &[Said],
    start: u64,
    random: &mut Random,
) {
    let longest = if random.below(64) == 0 { 200 } else { 6 };
    let last = (start + random.below(longest)).min(said.len() as u64 - 1);
    let number = 1 + random.below(1 << 30);
    let index = VirtAddr::new(start);
    let there = session.view().get(index).map(|(at, _)| ends(at));
    match (random.below(8), there) {
        (0..4, _) => {
            let area = RcuBox::new(Twin::new(number));
            let store = || drop(session.store(extent(start, last), area).expect(MEMORY));
            announced(said, (start, last), |_| number, store);
        }
        (4, _) => {
            let erase = || drop(session.erase_range(extent(start, last)).expect(MEMORY));
            announced(said, (start, last), |_| 0, erase);
        }
        (5 | 6, Some(at)) => {
            let erase = || drop(session.erase(index).expect(MEMORY));
            announced(said, at, |_| 0, erase);
        }
        (_, Some(_)) => resize(session, said, start, random),
        (_, None) => {}
    }
}

const MEMORY: &str = "there is memory";

/// Resizes the entry at an index: it shrinks on one side, and shrinks or grows on the other.
fn resize<C: furlong::maple::Config>(
    session: Writer<'_, '_, '_, C>,
    said: &[Said],
    index: u64,
    random: &mut Random,
) {
    let view = session.view();
    let Some((at, twin)) = view.get(VirtAddr::new(index)) else {
        return;
    };
    let number = twin.number().expect("nobody else changes it");
    let (start, last) = ends(at);
    let next = view.find(VirtAddr::new(last + 1));
    let free = next.map_or(said.len() as u64, |(next, _)| ends(next).0) - 1;
    let to = (
        start + random.below(index - start + 1),
        (index + random.below(6)).min(free.max(last)),
    );
    let kept = |index: u64| {
        let keeps = to.0 <= index && index <= to.1;
        if keeps { number } else { 0 }
    };
    announced(said, (start, last.max(to.1)), kept, || {
        let resized = session.resize(VirtAddr::new(index), extent(to.0, to.1));
        resized.expect("there is memory and room");
    });
}

/// Announces the numbers of the indices from `start` to `last`, runs `change`, and marks its end.
fn announced(
    said: &[Said],
    (start, last): (u64, u64),
    number: impl Fn(u64) -> u64,
    change: impl FnOnce(),
) {
    let said = &said[start as usize..=last as usize];
    for (index, said) in (start..).zip(said) {
        said.announce(number(index));
    }
    // A reader that sees any part of the change also sees its announcement.
    fence(Ordering::SeqCst);
    change();
    said.iter().for_each(Said::end);
}
