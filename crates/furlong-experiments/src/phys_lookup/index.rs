//! A foreign index of segments under a workload: the lookup of another project, without the table
//! around it.
//!
//! A segment's descriptors are contiguous, and an index stores the address of the first with each
//! segment. The descriptors do not exist. The answer is the address where a frame's descriptor
//! would be, so the sample times only the lookup. The answers are compared with the plain list of
//! segments before the clock starts, and as a sum after it stops.

use std::ops::Range;
use std::time::Duration;

use super::driver::batches;
use super::figures::sampled;
use super::layout::{Layout, Memory};
use super::page::{Narrow, Page, Wide};
use super::queries::Queries;
use super::shape::{Kind, Shape};
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request, Workload};

/// Address that the first descriptor would have.
const ORIGIN: usize = 1 << 20;

/// Finds the segment of a frame: one side of a race.
pub trait SegmentIndex: Sized {
    /// Builds an index of segments that ascend and do not overlap, each with a unique number.
    ///
    /// # Errors
    /// The index cannot be made.
    fn new(segments: &[(Range<u64>, usize)]) -> Result<Self, Failure>;

    /// Returns the first frame of the segment that contains `frame`, and the segment's number.
    fn find(&self, frame: u64) -> Option<(u64, usize)>;
}

/// Runs one sample of a workload on an index.
///
/// # Errors
/// The workload is not known, or an answer is wrong.
pub fn run_index<I: SegmentIndex>(request: &Request) -> Result<Outcome, Failure> {
    let shape = Shape::of(&request.workload)?;
    match shape.kind {
        Kind::Fleet | Kind::Maps | Kind::Map(_) => run::<I, Narrow>(&shape, request),
        _ => run::<I, Wide>(&shape, request),
    }
}

/// The reason if an index alone cannot run a workload, otherwise `None`. A faulty workload is
/// reported when it runs.
#[must_use]
pub fn index_limit(workload: &Workload) -> Option<String> {
    let lack = match Shape::of(workload).ok()?.kind {
        Kind::Guard | Kind::Race(_) => "it does not support readers during writes",
        Kind::Loop(_) => "nothing is looked up",
        Kind::Find(_) | Kind::Frag(_) | Kind::Fleet | Kind::Maps | Kind::Map(_) => return None,
    };
    Some(lack.to_owned())
}

fn run<I: SegmentIndex, D: Page>(shape: &Shape, request: &Request) -> Result<Outcome, Failure> {
    let layouts = shape.layouts(request.seed)?;
    let (batches, calls_of_all) = batches(shape, &layouts, request);
    let field = |layout: &Layout| {
        let lookups = batches * shape.calls;
        let queries = Queries::new(shape, layout, request.seed, lookups)?;
        Field::<I, D>::new(layout, queries)
    };
    let fields = layouts.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let mut timed = Duration::ZERO;
    for field in &fields {
        timed += field.time(shape, batches)?;
    }
    let operations = batches * calls_of_all;
    let digest = digest(0, fields.iter().map(|field| field.digest));
    let metrics = sampled(timed, operations);
    Ok(Outcome::new(operations, timed, digest, metrics))
}

/// An index, its lookups, and the correct answers.
struct Field<I, D: Page> {
    index: I,
    queries: Queries<D::Frame>,
    answers: Vec<usize>,
    digest: u64,
}

impl<I: SegmentIndex, D: Page> Field<I, D> {
    fn new(layout: &Layout, queries: Queries<D::Frame>) -> Result<Self, Failure> {
        let segments = layout.segments();
        let mut end = ORIGIN;
        let number = |segment: &Range<u64>| {
            let first = end;
            end += (segment.end - segment.start) as usize * size_of::<D>();
            (segment.clone(), first)
        };
        let numbered: Vec<_> = segments.iter().map(number).collect();
        let index = I::new(&numbered)?;
        let memory = Memory::new(segments);
        let mut answers = Vec::with_capacity(queries.frames.len());
        let mut words = Vec::with_capacity(queries.frames.len());
        for frame in queries.all() {
            let behind = numbered.partition_point(|(segment, _)| segment.end <= frame);
            let right = memory.find(frame).map(|_| &numbered[behind]);
            let right = right.map(|(segment, number)| (segment.start, *number));
            let found = index.find(frame);
            if found != right {
                let text =
                    format!("the lookup of frame {frame:#x} returned {found:?}, not {right:?}");
                return Err(Failure(text));
            }
            answers.push(place::<D>(frame, found));
            words.push(found.map_or(0, |(first, _)| frame - first + 1));
        }
        Ok(Self {
            index,
            queries,
            answers,
            digest: digest(0, words),
        })
    }

    /// Runs `batches` timed batches after an untimed warm-up.
    fn time(&self, shape: &Shape, batches: u64) -> Result<Duration, Failure> {
        let index = &self.index;
        let batch = (batches, shape.calls);
        self.queries
            .time(&self.answers, batch, |source, batches, calls| {
                source.ask(batches, calls, move |frame| {
                    place::<D>(frame, index.find(frame))
                })
            })
    }
}

/// Address where a frame's descriptor would be, or 0 if it has none.
#[inline(always)]
fn place<D>(frame: u64, found: Option<(u64, usize)>) -> usize {
    found.map_or(0, |(first, number)| {
        number + (frame - first) as usize * size_of::<D>()
    })
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::{Field, SegmentIndex, index_limit, run_index};
    use crate::phys_lookup::experiment;
    use crate::phys_lookup::page::Wide;
    use crate::phys_lookup::queries::Queries;
    use crate::phys_lookup::shape::Shape;
    use furlong_lab::model::{Failure, Request};

    /// A list of all segments; its defect, if selected, is to drop the last one.
    struct List<const FORGETS: bool>(Vec<(Range<u64>, usize)>);

    impl<const FORGETS: bool> SegmentIndex for List<FORGETS> {
        fn new(segments: &[(Range<u64>, usize)]) -> Result<Self, Failure> {
            let kept = segments.len() - usize::from(FORGETS);
            Ok(Self(segments[..kept].to_vec()))
        }

        fn find(&self, frame: u64) -> Option<(u64, usize)> {
            let mut all = self.0.iter();
            let (segment, number) = all.find(|(segment, _)| segment.contains(&frame))?;
            Some((segment.start, *number))
        }
    }

    fn request(name: &str) -> Request {
        experiment().request(name, 500, false)
    }

    #[test]
    fn an_index_answers_as_the_tables_do() {
        for load in experiment().plan.workloads {
            let request = request(&load.name);
            if index_limit(&request.workload).is_some() {
                continue;
            }
            let ours = (experiment().arms[2].run)(&request).expect(&load.name);
            let theirs = run_index::<List<false>>(&request).expect(&load.name);
            let both = [&ours, &theirs].map(|outcome| (outcome.digest, outcome.operations));
            assert_eq!(both[0], both[1], "{}", load.name);
        }
    }

    #[test]
    fn a_segment_that_is_forgotten_is_missed() {
        let Failure(why) = run_index::<List<true>>(&request("find-1k")).unwrap_err();
        assert!(why.contains("returned None"), "{why}");
    }

    #[test]
    fn an_answer_that_changes_on_the_clock_is_a_failure() {
        let request = request("frag-1m-rand");
        let shape = Shape::of(&request.workload).expect("it is one");
        let layout = &shape.layouts(1).expect("it has one")[0];
        let queries = Queries::new(&shape, layout, 1, 1000).expect("frames are low");
        let mut field = Field::<List<false>, Wide>::new(layout, queries).expect("it is right");
        field.time(&shape, 3).expect("it is right");
        let key = field.queries.source().next_key();
        field.answers[key] += 1;
        let Failure(why) = field.time(&shape, 3).unwrap_err();
        assert!(
            why.contains("another answer than the untimed ones"),
            "{why}"
        );
    }

    #[test]
    fn what_is_more_than_a_lookup_has_a_reason() {
        let why = |name: &str| index_limit(&request(name).workload);
        let beside = Some("it does not support readers during writes");
        assert_eq!(why("plug-race").as_deref(), beside);
        assert_eq!(why("guard").as_deref(), beside);
        assert_eq!(why("loop").as_deref(), Some("nothing is looked up"));
        assert_eq!(why("frag-256m"), None);
    }
}
