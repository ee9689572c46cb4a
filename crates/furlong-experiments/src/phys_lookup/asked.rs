//! Which frames are asked for, and what is right to answer.
#![forbid(unsafe_code)]

use super::layout::{Asks, Layout};
use super::shape::Shape;
use super::source::Source;
use furlong_lab::model::Failure;

/// Frames that are made beforehand: so many that no branch predictor learns them by heart.
pub(super) const FRAMES: u64 = 1 << 18;

/// Frames that are asked for.
pub(super) struct Asked<F> {
    /// In order, where they are made beforehand; else all that can be asked for.
    pub(super) frames: Vec<F>,
    /// Where addresses are made inside the loop: their bounds and the seed.
    inside: Option<(u64, u64, u64)>,
}

impl<F: Copy + Into<u64> + TryFrom<u64>> Asked<F> {
    /// For so many lookups.
    ///
    /// # Errors
    /// A frame is too high for `F`.
    pub(super) fn new(
        shape: &Shape,
        layout: &Layout,
        seed: u64,
        lookups: u64,
    ) -> Result<Self, Failure> {
        let inside = match (shape.random, layout.asks) {
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

    /// They from the first on.
    pub(super) fn source(&self) -> Source<'_, F> {
        match self.inside {
            Some((start, end, seed)) => Source::inside(start, end, seed),
            None => Source::beforehand(&self.frames),
        }
    }

    /// The frame of a key of the source.
    pub(super) fn frame(&self, key: usize) -> u64 {
        self.frames[key].into()
    }

    /// All of them, by key.
    pub(super) fn all(&self) -> impl Iterator<Item = u64> {
        self.frames.iter().map(|frame| (*frame).into())
    }
}

/// Whether the sum of `lookups` answers, from the first frame on, is the one that follows from the
/// answers by key.
///
/// # Errors
/// It is not.
pub(super) fn is_sum_of<F: Copy + Into<u64> + TryFrom<u64>>(
    sum: usize,
    (asked, answers): (&Asked<F>, &[usize]),
    lookups: u64,
) -> Result<(), Failure> {
    if sum != asked.source().expect(lookups, answers) {
        let text = "the lookups on the clock did not all answer what they had answered before";
        return Err(Failure(text.to_owned()));
    }
    Ok(())
}
