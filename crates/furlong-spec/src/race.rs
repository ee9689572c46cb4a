//! Readers beside one writer, and the versions of the state that it changes.
//!
//! The writer records the new state before it changes anything, and marks it settled after the
//! change. A reader takes the *span* of versions around a look: from the version settled before it
//! to the last version begun after it. The look must agree with a state of that span.
#![forbid(unsafe_code)]

use core::ops::{AddAssign, RangeInclusive};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::thread::{self, ScopedJoinHandle};

use furlong::vmspace::Value;

/// Runs `readers` beside `writer`, each in a thread. The flag tells a reader to stop because
/// another thread has failed, and the writer because all readers have ended. Returns the readers'
/// sum and the writer's result.
///
/// # Errors
/// The writer's error, or the first of the readers'.
pub(crate) fn race<F, R, W>(
    readers: impl IntoIterator<Item = F>,
    writer: impl FnOnce(&AtomicBool) -> Result<W, String> + Send,
) -> Result<(R, W), String>
where
    F: FnOnce(&AtomicBool) -> Result<R, String> + Send,
    R: AddAssign + Default + Send,
    W: Send,
{
    let (failed, over) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let (failed, over) = (&failed, &over);
        let start = |reader: F| {
            scope.spawn(move || {
                let done = reader(failed);
                failed.fetch_or(done.is_err(), Ordering::SeqCst);
                done
            })
        };
        let reading: Vec<_> = readers.into_iter().map(start).collect();
        let writing = scope.spawn(move || {
            let done = writer(over);
            failed.fetch_or(done.is_err(), Ordering::SeqCst);
            done
        });
        let done: Vec<_> = reading.into_iter().map(ScopedJoinHandle::join).collect();
        over.store(true, Ordering::SeqCst);
        let written = writing.join().expect("the writer panics about itself")?;
        let mut sum = R::default();
        for one in done {
            sum += one.expect("a reader panics about itself")?;
        }
        Ok((sum, written))
    })
}

/// The settled version in the low 32 bits, the last version begun in the high 32 bits.
pub(crate) struct Span(AtomicU64);

impl Span {
    /// Version 1, settled.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(1 << 32 | 1))
    }

    pub(crate) fn settled(&self) -> u64 {
        self.0.load(Ordering::SeqCst) & u64::from(u32::MAX)
    }

    /// The last version begun.
    pub(crate) fn begun(&self) -> u64 {
        self.0.load(Ordering::SeqCst) >> 32
    }

    /// Lets readers see versions up to `version` from now on. Called after those are recorded and
    /// before the change.
    pub(crate) fn begin(&self, version: u64) {
        let span = version << 32 | self.settled();
        self.0.store(span, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Marks the last version begun as settled.
    pub(crate) fn settle(&self) {
        fence(Ordering::SeqCst);
        let begun = self.begun();
        self.0.store(begun << 32 | begun, Ordering::SeqCst);
    }

    /// Called before a look. Returns the settled version.
    pub(crate) fn before(&self) -> u64 {
        let before = self.settled();
        fence(Ordering::SeqCst);
        before
    }

    /// Called after a look, with the result of [`Span::before`]. Returns the versions that it may
    /// have seen.
    pub(crate) fn after(&self, before: u64) -> RangeInclusive<u64> {
        fence(Ordering::SeqCst);
        before..=self.begun()
    }
}

/// A number in a box of its own and inverted next to it, so that a reader detects a value that is
/// torn or dropped.
#[derive(Clone, Debug)]
pub(crate) struct Twin(Box<u64>, u64);

impl Twin {
    /// A value with both copies intact.
    pub(crate) fn new(number: u64) -> Self {
        Self(Box::new(number), !number)
    }

    /// The number, if both copies agree.
    pub(crate) fn number(&self) -> Option<u64> {
        let number = *core::hint::black_box(&*self.0);
        (number == !self.1).then_some(number)
    }
}

impl Value for Twin {
    fn merges(&self, next: &Self) -> bool {
        self.1 == next.1
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        // Visible to a reader that still uses the dropped value.
        *self.0 = 0;
        self.1 = 0;
    }
}

/// The number of versions kept.
pub(crate) const KEPT: u64 = 512;

/// The error that a version is not kept any more, because a look overlapped too many changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// The recent versions of a state of `WORDS` words.
pub(crate) struct Versions<const WORDS: usize> {
    pub(crate) span: Span,
    slots: Vec<Slot<WORDS>>,
}

/// The words of a version, and the number of the version; 0 while it is being written.
struct Slot<const WORDS: usize> {
    version: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Versions<WORDS> {
    /// Version 1, whose words are 0.
    pub(crate) fn new() -> Self {
        let slot = |version| Slot {
            version: AtomicU64::new(version),
            words: [const { AtomicU64::new(0) }; WORDS],
        };
        Self {
            span: Span::new(),
            slots: (0..KEPT).map(slot).collect(),
        }
    }

    fn slot(&self, version: u64) -> &Slot<WORDS> {
        &self.slots[(version % KEPT) as usize]
    }

    /// Records a version. Called before [`Span::begin`].
    pub(crate) fn record(&self, version: u64, words: impl IntoIterator<Item = u64>) {
        let slot = self.slot(version);
        slot.version.store(0, Ordering::SeqCst);
        for (place, word) in slot.words.iter().zip(words) {
            place.store(word, Ordering::SeqCst);
        }
        slot.version.store(version, Ordering::SeqCst);
    }

    /// Changes a word of a version that is recorded already.
    pub(crate) fn amend(&self, version: u64, at: usize, word: u64) {
        self.slot(version).words[at].store(word, Ordering::SeqCst);
    }

    /// Reads a version. `look` gets the word of each index.
    pub(crate) fn read<T>(
        &self,
        version: u64,
        look: impl FnOnce(&dyn Fn(usize) -> u64) -> T,
    ) -> Result<T, Gone> {
        let slot = self.slot(version);
        let is_it = || slot.version.load(Ordering::SeqCst) == version;
        if !is_it() {
            return Err(Gone);
        }
        let found = look(&|at| slot.words[at].load(Ordering::SeqCst));
        if is_it() { Ok(found) } else { Err(Gone) }
    }
}
