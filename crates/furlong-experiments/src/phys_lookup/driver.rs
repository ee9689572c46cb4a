//! A lookup under a workload: checked, then timed or counted.

use std::hint::black_box;
use std::time::Duration;

use furlong::addr::{Pfn, PhysAddr};
use furlong::rcu::Reader;

use super::figures::{Index, exact, sampled};
use super::layout::{Layout, Memory, PAGE_BITS};
use super::lookup_arm::{LookupArm, Table};
use super::page::{Page, address, answer, check, table};
use super::queries::Queries;
use super::shape::{Kind, Shape};
use super::source::Source;
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request};

/// Runs one sample of a workload on one thread.
///
/// # Errors
/// The workload cannot be set up, or an answer is wrong.
pub(super) fn run<L: LookupArm, D: Page>(
    shape: &Shape,
    request: &Request,
) -> Result<Outcome, Failure> {
    let layouts = shape.layouts(request.seed)?;
    let (batches, calls_of_all) = batches(shape, &layouts, request);
    let lookups = match request.exact {
        true => request.operations.div_ceil(layouts.len() as u64).max(1),
        false => batches * shape.calls,
    };
    let field = |layout: &Layout| Field::<L, D>::new(shape, layout, request.seed, lookups);
    let fields = layouts.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let digest = digest(0, fields.iter().map(|field| field.digest));
    if request.exact {
        let probes: u64 = fields.iter().map(|field| field.count(shape, lookups)).sum();
        let operations = lookups * fields.len() as u64;
        let tables = fields.iter().map(|field| Index::of(&field.table));
        let metrics = exact(tables, probes, operations);
        return Ok(Outcome::new(operations, Duration::ZERO, digest, metrics));
    }
    let mut timed = Duration::ZERO;
    for field in &fields {
        timed += field.time(shape, batches)?;
    }
    let operations = batches * calls_of_all;
    let metrics = sampled(timed, operations);
    Ok(Outcome::new(operations, timed, digest, metrics))
}

/// Batches in a sample, and calls per batch over all layouts.
pub(super) fn batches(shape: &Shape, layouts: &[Layout], request: &Request) -> (u64, u64) {
    let calls = shape.calls * layouts.len() as u64;
    (request.operations.div_ceil(calls).max(1), calls)
}

/// A table, its lookups, and the correct answers.
struct Field<L: LookupArm, D: Page> {
    table: Table<D, L>,
    queries: Queries<D::Frame>,
    /// Correct address for each of the frames.
    answers: Vec<usize>,
    digest: u64,
}

impl<L: LookupArm, D: Page> Field<L, D> {
    /// Sets up `lookups` lookups. Compares the answer for each frame with the plain list.
    fn new(shape: &Shape, layout: &Layout, seed: u64, lookups: u64) -> Result<Self, Failure> {
        let table = table::<L, D>(layout)?;
        check(&table)?;
        let memory = Memory::new(layout.segments());
        let queries = Queries::new(shape, layout, seed, lookups)?;
        let reader = table.rcu().register().map_err(Failure::of)?;
        let mut answers = Vec::with_capacity(queries.frames.len());
        let mut words = Vec::with_capacity(queries.frames.len());
        L::look(&table, &reader, |view| {
            for frame in queries.all() {
                let (place, word) = answer::<L, D>(view, frame, memory.find(frame))?;
                let is_lookup = !matches!(shape.kind, Kind::Loop(_));
                answers.push(if is_lookup { place } else { frame as usize });
                words.push(word);
            }
            Ok(())
        })?;
        drop(reader);
        Ok(Self {
            table,
            queries,
            answers,
            digest: digest(0, words),
        })
    }

    /// Runs `batches` timed batches after an untimed warm-up.
    fn time(&self, shape: &Shape, batches: u64) -> Result<Duration, Failure> {
        let reader = self.table.rcu().register().map_err(Failure::of)?;
        let batch = (batches, shape.calls);
        self.queries
            .time(&self.answers, batch, |source, batches, calls| {
                self.ask(shape.kind, &reader, source, batches, calls)
            })
    }

    fn ask(
        &self,
        kind: Kind,
        reader: &Reader<'_>,
        source: &mut Source<'_, D::Frame>,
        batches: u64,
        calls: u64,
    ) -> usize {
        match kind {
            Kind::Loop(_) => source.ask(batches, calls, |frame| black_box(frame) as usize),
            Kind::Guard => source.ask(batches, calls, |frame| {
                L::look(&self.table, reader, |view| {
                    address(view.page_of(Pfn::new(frame)))
                })
            }),
            _ => L::look(&self.table, reader, |view| {
                source.ask(batches, calls, move |frame| {
                    address(view.page_of(Pfn::new(frame)))
                })
            }),
        }
    }

    /// Cells of the index that `calls` lookups visit.
    fn count(&self, shape: &Shape, calls: u64) -> u64 {
        if matches!(shape.kind, Kind::Loop(_)) {
            return 0;
        }
        let mut source = self.queries.source();
        let segments = self.table.lock();
        let view = segments.view();
        let keys = (0..calls).map(|_| source.next_key());
        keys.map(|key| {
            let frame = self.queries.frame(key);
            view.probes_of_page(PhysAddr::new(frame << PAGE_BITS))
        })
        .sum()
    }
}

#[cfg(test)]
mod tests {
    use furlong::phys::{Direct, Tree};

    use super::{Field, LookupArm, Memory, Page, Shape, answer, table};
    use crate::phys_lookup::experiment;
    use crate::phys_lookup::page::Wide;

    fn field(random: bool) -> (Shape, Field<Direct, Wide>) {
        let name = if random { "frag-1m-rand" } else { "frag-1m" };
        let shape = Shape::of(&experiment().request(name, 1, false).workload).unwrap();
        let layout = &shape.layouts(1).unwrap()[0];
        let field = Field::new(&shape, layout, 1, 1000).unwrap();
        (shape, field)
    }

    #[test]
    fn an_answer_that_changes_on_the_clock_is_a_failure() {
        for random in [false, true] {
            let (shape, mut field) = field(random);
            field.time(&shape, 20).unwrap();
            let key = field.queries.source().next_key();
            field.answers[key] += size_of::<Wide>();
            let failure = field.time(&shape, 20).unwrap_err().0;
            assert!(
                failure.contains("another answer than the untimed ones"),
                "{failure}"
            );
        }
    }

    fn refuses_a_wrong_list<L: LookupArm, D: Page>() {
        let shape = field(false).0;
        let mut layout = shape.layouts(1).unwrap().remove(0);
        let table = table::<L, D>(&layout).unwrap();
        let hole = layout.holes[3].clone();
        layout.holes[3].end -= 1;
        let memory = Memory::new(layout.segments());
        let segments = table.lock();
        let look = |frame| answer::<L, D>(segments.view(), frame, memory.find(frame));
        look(hole.start - 1).unwrap();
        let failure = look(hole.end - 1).unwrap_err().0;
        assert!(failure.contains("expected Some(0)"), "{failure}");
        // The segment after it begins elsewhere in the list.
        assert!(look(hole.end).is_err());
    }

    #[test]
    fn an_answer_that_is_not_the_lists_is_a_failure() {
        refuses_a_wrong_list::<Direct, Wide>();
        refuses_a_wrong_list::<Tree, Wide>();
    }
}
