//! The frames of the lookups, and the check of their answers.

use std::time::{Duration, Instant};

use super::layout::{Asks, Layout};
use super::shape::Shape;
use super::source::Source;
use furlong_lab::model::Failure;

/// Number of frames drawn beforehand: too many for a branch predictor to memorise.
pub(super) const FRAMES: u64 = 1 << 18;

/// The frames to look up.
pub(super) struct Queries<F> {
    /// In lookup order if drawn beforehand; otherwise all frames that may be drawn.
    pub(super) frames: Vec<F>,
    /// For addresses drawn inside the loop: their bounds and the seed.
    inside: Option<(u64, u64, u64)>,
}

impl<F: Copy + Into<u64> + TryFrom<u64>> Queries<F> {
    /// Makes the frames for `lookups` lookups.
    ///
    /// # Errors
    /// A frame is too high for `F`.
    pub(super) fn new(
        shape: &Shape,
        layout: &Layout,
        seed: u64,
        lookups: u64,
    ) -> Result<Self, Failure> {
        let inside = match (shape.is_random(), layout.asks) {
            (true, Asks::Remainder { start, end }) => Some((start, end, seed)),
            _ => None,
        };
        let frames = match layout.reach().filter(|_| inside.is_some()) {
            Some(reach) => (0..reach).collect(),
            None => layout.frames(lookups.min(FRAMES) as usize, seed),
        };
        let narrow = |frame: u64| {
            let wrong = || Failure(format!("frame {frame:#x} is too high for a workload"));
            F::try_from(frame).map_err(|_| wrong())
        };
        let frames = frames.into_iter().map(narrow).collect::<Result<_, _>>()?;
        Ok(Self { frames, inside })
    }

    /// The source of the frames, from the first on.
    pub(super) fn source(&self) -> Source<'_, F> {
        match self.inside {
            Some((start, end, seed)) => Source::inside(start, end, seed),
            None => Source::beforehand(&self.frames),
        }
    }

    /// The frame with this key of the source.
    pub(super) fn frame(&self, key: usize) -> u64 {
        self.frames[key].into()
    }

    /// All frames, by key.
    pub(super) fn all(&self) -> impl Iterator<Item = u64> {
        self.frames.iter().map(|frame| (*frame).into())
    }

    /// Times batches of calls after a warm-up, and compares the sum of their answers with that of
    /// the untimed ones.
    ///
    /// # Errors
    /// The sums differ.
    pub(super) fn time(
        &self,
        answers: &[usize],
        (batches, calls): (u64, u64),
        mut ask: impl FnMut(&mut Source<'_, F>, u64, u64) -> usize,
    ) -> Result<Duration, Failure> {
        let mut source = self.source();
        let warm = (batches * calls).min(FRAMES);
        let warmed = ask(&mut source, 1, warm);
        let begin = Instant::now();
        let timed = ask(&mut source, batches, calls);
        let elapsed = begin.elapsed();
        let expected = self.source().expect(warm + batches * calls, answers);
        if warmed.wrapping_add(timed) != expected {
            let text = "some timed lookups gave another answer than the untimed ones";
            return Err(Failure(text.to_owned()));
        }
        Ok(elapsed)
    }
}
