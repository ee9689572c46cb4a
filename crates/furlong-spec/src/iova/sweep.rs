//! Every request in every small space, and every short sequence of operations.

use furlong::addr::{Address, Iova};
use furlong::iova::{Guard, Request, Split};

use super::{Geometry, Model, Operation, Outcome, Place, Promise};
use crate::{Judge, Subject, judge};

/// The number of requests or operations compared, or the error found.
pub type Swept = Result<u64, String>;

/// The requests and policies of a sweep, and its windows.
#[derive(Clone, Debug)]
pub struct Questions {
    geometry: Geometry,
    requests: Vec<Request>,
    windows: Vec<Request>,
    places: Vec<Place>,
}

impl Questions {
    /// Every size, and every alignment and boundary up to the space, cut or not, with and without a
    /// guard on each side. Each runs in every window of whole granules, under every policy.
    #[must_use]
    pub fn windows(geometry: Geometry) -> Self {
        let mut requests = Vec::new();
        for size in sizes(geometry) {
            for align in powers(geometry) {
                for bounded in bounded(geometry, Request::new(size).align(align)) {
                    let guarded = [(0, 0), (0, 1), (1, 0), (1, 1)]
                        .map(|(before, after)| bounded.guard(Guard { before, after }));
                    requests.extend(guarded);
                }
            }
        }
        let window = |(first, end)| {
            let extent = geometry.granules(first, end - first);
            let extent = extent.expect("it is in the space");
            Request::new(1).window(extent.start(), extent.last())
        };
        Self {
            geometry,
            requests,
            windows: pairs(geometry).map(window).collect(),
            places: places(geometry),
        }
    }

    /// Every size, aligned or not, under every policy. The ends of the exclusion are every pair of
    /// addresses at or beside the edge of a granule.
    #[must_use]
    pub fn exclusions(geometry: Geometry) -> Self {
        let edges = (0..=geometry.granules).flat_map(|granule| {
            let byte = geometry.byte(granule);
            [byte.checked_sub(1), Some(byte)].into_iter().flatten()
        });
        let edges: Vec<Iova> = edges
            .filter_map(|edge| u64::try_from(edge).ok())
            .map(Iova::new)
            .collect();
        let pairs = edges
            .iter()
            .flat_map(|low| edges.iter().map(|high| (*low, *high)));
        let aligned = [1, 2 * geometry.granule.min(1 << 62)];
        let requests = sizes(geometry)
            .into_iter()
            .flat_map(|size| aligned.map(|align| Request::new(size).align(align)));
        Self {
            geometry,
            requests: requests.collect(),
            windows: pairs
                .map(|(low, high)| Request::new(1).exclude(low, high))
                .collect(),
            places: places(geometry),
        }
    }

    /// Tries all of them for every set of reserved granules, reserved as extents of one granule
    /// each and as extents of maximal length. Every grant is released again.
    ///
    /// # Errors
    /// A description that is enough to repeat the first outcome that is not allowed.
    pub fn sweep<S>(&self, build: impl Fn(Geometry) -> S, promise: Promise) -> Swept
    where
        S: Subject<Operation = Operation, Outcome = Outcome>,
    {
        let mut asked = 0;
        for reserved in 0..1 << self.geometry.granules {
            for is_cut in [true, false] {
                let mut model = Model::new(self.geometry, promise);
                let mut subject = build(self.geometry);
                let extents = extents(self.geometry, reserved, is_cut);
                judge(&mut model, &mut subject, extents).map_err(|error| error.to_string())?;
                asked += self.ask(&mut model, &mut subject)?;
            }
        }
        Ok(asked)
    }

    fn ask<S>(&self, model: &mut Model, subject: &mut S) -> Swept
    where
        S: Subject<Operation = Operation, Outcome = Outcome>,
    {
        let mut asked = 0;
        let live = model.grants();
        for window in &self.windows {
            for request in &self.requests {
                let request = Request {
                    low: window.low,
                    high: window.high,
                    exclusion: window.exclusion,
                    ..*request
                };
                for place in &self.places {
                    let reserve = Operation::Reserve(request, *place);
                    step(model, subject, &reserve)?;
                    if model.grants() > live {
                        step(model, subject, &Operation::Release(live))?;
                    }
                    asked += 1;
                }
            }
        }
        step(model, subject, &Operation::Reserved)?;
        subject.check()?;
        Ok(asked)
    }
}

/// Compares one operation, without a check of the whole structure.
fn step<S>(model: &mut Model, subject: &mut S, operation: &Operation) -> Result<(), String>
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    let found = subject.apply(operation);
    let judged = model.judge(operation, &found);
    judged.map_err(|expected| {
        let reserved = model.apply(&Operation::Reserved);
        format!("{operation:?} gave {found:?}, the model says {expected:?}; {reserved:?}")
    })
}

fn sizes(geometry: Geometry) -> Vec<u64> {
    let last = geometry.extent().last().raw() - geometry.start;
    let granules = 1..=geometry.granules as u64;
    let whole = granules.filter_map(|size| size.checked_mul(geometry.granule));
    // One byte past the end of the space, if it is a 64-bit address.
    whole.chain(last.checked_add(2)).collect()
}

/// The powers of two from one granule to the size of the space.
fn powers(geometry: Geometry) -> impl Iterator<Item = u64> {
    let orders = 0..=geometry.granules.ilog2();
    orders.filter_map(move |order| geometry.granule.checked_mul(1 << order))
}

/// The request without a boundary, and with each boundary, cut there or not.
fn bounded(geometry: Geometry, request: Request) -> Vec<Request> {
    let cut = |boundary| {
        let bounded = request.boundary(boundary);
        [bounded, bounded.split(Split::AtBoundary)]
    };
    let with = powers(geometry).flat_map(cut);
    [request].into_iter().chain(with).collect()
}

/// First granule and end of every non-empty range of granules.
fn pairs(geometry: Geometry) -> impl Iterator<Item = (usize, usize)> {
    let ends = move |first| (first + 1..=geometry.granules).map(move |end| (first, end));
    (0..geometry.granules).flat_map(ends)
}

fn places(geometry: Geometry) -> Vec<Place> {
    let hint = |granule| Place::Near(Iova::new(geometry.byte(granule) as u64));
    let near = (0..geometry.granules).map(hint);
    let others = [Place::Lowest, Place::Highest, Place::Best, Place::Random(1)];
    others.into_iter().chain(near).collect()
}

/// Reservations of the granules whose bits are set in `reserved`.
fn extents(geometry: Geometry, reserved: u64, is_cut: bool) -> Vec<Operation> {
    let is_set = |granule: usize| reserved >> granule & 1 == 1;
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for granule in (0..geometry.granules).filter(|granule| is_set(*granule)) {
        match runs.last_mut() {
            Some((first, len)) if !is_cut && *first + *len == granule => *len += 1,
            _ => runs.push((granule, 1)),
        }
    }
    let extent = |(first, len)| geometry.granules(first, len).expect("it is in the space");
    runs.into_iter()
        .map(|run| Operation::ReserveAt(extent(run)))
        .collect()
}

/// Every sequence of `length` operations, each of which is one of `alphabet` or the release of a
/// grant that exists at that point. Compares everything after each operation.
///
/// # Errors
/// The first sequence with an outcome that is not allowed.
pub fn sequences<S>(
    build: impl Fn() -> S,
    model: &Model,
    alphabet: &[Operation],
    length: usize,
) -> Swept
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    let mut done = 0;
    let mut ways = vec![(Vec::new(), model.clone())];
    while let Some((way, before)) = ways.pop() {
        let releases = (0..before.grants()).map(Operation::Release);
        for operation in alphabet.iter().cloned().chain(releases) {
            let way: Vec<Operation> = way.iter().cloned().chain([operation]).collect();
            let mut subject = build();
            let (last, first) = way.split_last().expect("there is one operation");
            for operation in first {
                subject.apply(operation);
            }
            let mut model = before.clone();
            let last = [last.clone(), Operation::Reserved, Operation::Free];
            let judged = judge(&mut model, &mut subject, last);
            judged.map_err(|error| format!("{way:?}: {}", error.what))?;
            done += 1;
            if way.len() < length {
                ways.push((way, model));
            }
        }
    }
    Ok(done)
}
