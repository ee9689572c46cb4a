//! The probabilities of all hypotheses.

use super::drift::Drift;
use super::evidence::{Fit, Tails};
use super::search::Search;

/// Prior probabilities of no step, of one, and of two.
pub(super) const PRIOR: [f64; 3] = [0.1, 0.85, 0.05];

/// Deviations of a build effect, with their prior probabilities. The first stands for none.
pub(super) const BUILDS: [(f64, f64); 5] = [
    (1e-5, 0.35),
    (0.0015, 0.1),
    (0.005, 0.45),
    (0.01, 0.07),
    (0.02, 0.03),
];

/// Least deviation of a sample: figures that repeat exactly have none.
const NOISE_MIN: f64 = 1e-6;

/// Deviations of the noise around its estimate, in its standard errors.
pub(super) const NOISES: [f64; 3] = [-1.5, 0.0, 1.8];

/// Least deviation of a step, so that a range without a change has a scale.
pub(super) const STEP_MIN: f64 = 0.001;

/// Logarithm below the largest from which a combination of scales is left out.
const NEGLIGIBLE: f64 = -9.0;

/// Probability of a 95 % credible set. It is above 0.95, because the prior of build effects is a
/// compromise: beside a true one, a set of 95 % would hold the commit less often.
const CREDIBLE: f64 = 0.96;

/// A span of commits, with probabilities for all of them together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) last: usize,
    /// The only or first step is here.
    pub(super) one: f64,
    /// The second of two steps is here.
    pub(super) two: f64,
    /// The largest step is here.
    largest: f64,
}

impl Span {
    pub(super) fn len(&self) -> f64 {
        (self.last - self.first + 1) as f64
    }
}

/// A commit with the probability that the largest step is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Number of the commit.
    pub commit: usize,
    /// The probability if there is any step.
    pub probability: f64,
}

/// The size of a change, as a logarithm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// Posterior mean.
    pub mean: f64,
    /// Posterior deviation.
    pub deviation: f64,
}

/// Probabilities after some blocks.
#[derive(Clone, Debug)]
pub struct Belief {
    /// Probability of no step.
    pub none: f64,
    /// Probability of several steps.
    pub several: f64,
    /// The 95 % credible set of the largest step's commit, the likeliest first. Commits that cannot
    /// be told apart are all in it, or none of them.
    pub candidates: Vec<Candidate>,
    /// The size of the largest step.
    pub change: Change,
    /// The size of the only or first step.
    pub(super) first: Change,
    /// The size of the second of two steps.
    pub(super) second: Change,
    /// The last commit's difference to the first.
    pub last: Change,
    /// Deviation of a sample.
    pub noise: f64,
    /// Deviation of a block's value from its commit's level.
    pub(super) block: f64,
    /// Deviation of a build effect.
    pub build: f64,
    pub(super) spans: Vec<Span>,
}

/// A hypothesis: places of the spans with steps.
#[derive(Clone, Copy)]
enum Steps {
    None,
    One(usize),
    Two(usize, usize),
}

/// A hypothesis under one combination of scales.
struct Case {
    log: f64,
    steps: Steps,
    /// Means and variances of the steps.
    sizes: [(f64, f64); 2],
    under: Under,
}

/// Scales that a hypothesis is judged under, and levels that only depend on them.
#[derive(Clone, Copy)]
struct Under {
    /// Deviation of a sample.
    noise: f64,
    /// Deviation of a block's value from its commit's level.
    block: f64,
    /// Deviation of a build effect.
    build: f64,
    /// Mean and variance of the last commit's level.
    last: (f64, f64),
}

impl Case {
    fn new<const D: usize>(fit: &Fit<D>, log_prior: f64, steps: Steps, under: Under) -> Self {
        let mut sizes = [(0.0, 0.0); 2];
        for (level, size) in (0..D).zip(&mut sizes) {
            *size = (fit.mean[level], fit.variance[level]);
        }
        let log = fit.log + log_prior;
        Self {
            log,
            steps,
            sizes,
            under,
        }
    }
}

/// Sums for a mean and a deviation.
#[derive(Default)]
struct Mixture([f64; 3]);

impl Mixture {
    fn add(&mut self, weight: f64, (mean, variance): (f64, f64)) {
        let terms = [1.0, mean, mean * mean + variance];
        for (sum, term) in self.0.iter_mut().zip(terms) {
            *sum += weight * term;
        }
    }

    fn change(&self) -> Change {
        let [weight, mean, square] = self.0;
        if weight <= 0.0 {
            return Change::default();
        }
        let mean = mean / weight;
        let deviation = (square / weight - mean * mean).max(0.0).sqrt();
        Change { mean, deviation }
    }
}

impl Belief {
    /// The probabilities after all blocks of a search. Before the last commit has any, there are
    /// none.
    pub(super) fn of(search: &Search) -> Self {
        let mut spans = spans(search);
        let cases = match search.blocks_of(search.commits()) {
            0 => vec![],
            _ => cases(search, &spans),
        };
        let most = cases.iter().map(|case| case.log).fold(f64::MIN, f64::max);
        let (mut none, mut several, mut all) = (0.0, 0.0, 0.0);
        let [mut change, mut first, mut second, mut last] = [const { Mixture([0.0; 3]) }; 4];
        let [mut noise, mut block, mut build] = [const { Mixture([0.0; 3]) }; 3];
        for case in &cases {
            let weight = (case.log - most).exp();
            all += weight;
            let under = &case.under;
            last.add(weight, under.last);
            for (sum, value) in [
                (&mut noise, under.noise),
                (&mut block, under.block),
                (&mut build, under.build),
            ] {
                sum.add(weight, (value, 0.0));
            }
            match case.steps {
                Steps::None => none += weight,
                Steps::One(at) => {
                    spans[at].one += weight;
                    spans[at].largest += weight;
                    change.add(weight, case.sizes[0]);
                    first.add(weight, case.sizes[0]);
                }
                Steps::Two(from, to) => {
                    several += weight;
                    spans[from].one += weight;
                    spans[to].two += weight;
                    let [one, two] = case.sizes;
                    let (at, size) = match one.0.abs() >= two.0.abs() {
                        true => (from, one),
                        false => (to, two),
                    };
                    spans[at].largest += weight;
                    change.add(weight, size);
                    first.add(weight, one);
                    second.add(weight, two);
                }
            }
        }
        if all > 0.0 {
            none /= all;
            several /= all;
            for span in &mut spans {
                for share in [&mut span.one, &mut span.two, &mut span.largest] {
                    *share /= all;
                }
            }
        }
        Self {
            none,
            several,
            candidates: credible(&spans),
            change: change.change(),
            first: first.change(),
            second: second.change(),
            last: last.change(),
            noise: noise.change().mean,
            block: block.change().mean,
            build: build.change().mean,
            spans,
        }
    }
}

/// The spans between measured commits.
fn spans(search: &Search) -> Vec<Span> {
    let mut first = 1;
    let mut spans = vec![];
    for last in search.measured() {
        spans.push(Span {
            first,
            last,
            ..Span::default()
        });
        first = last + 1;
    }
    spans
}

/// Levels under one combination of scales, with the hypotheses of at most one step.
struct Few {
    tails: Tails,
    under: Under,
    log_prior: f64,
    cases: Vec<Case>,
}

/// All hypotheses under all combinations of scales that matter.
fn cases(search: &Search, spans: &[Span]) -> Vec<Case> {
    let drifts = search.drifts();
    let mut all = vec![];
    for drift in &drifts {
        let likeliest = drift.noise().max(NOISE_MIN);
        for errors in NOISES {
            let noise = likeliest * (errors / (2.0 * drift.free.max(1.0)).sqrt()).exp();
            all.push((drift, noise, drift.log(noise)));
        }
    }
    let most = all.iter().map(|(.., log)| *log).fold(f64::MIN, f64::max);
    let mut few = vec![];
    for (drift, noise, log) in all {
        if log > most + NEGLIGIBLE {
            for (build, prior) in BUILDS {
                let of = Few::of(search, spans, drift, (noise, build), log + prior.ln());
                few.push((of.most(spans), of));
            }
        }
    }
    let most = few.iter().map(|(log, _)| *log).fold(f64::MIN, f64::max);
    few.retain(|(log, _)| *log > most + NEGLIGIBLE);
    let mut cases = vec![];
    for (_, mut few) in few {
        cases.append(&mut few.cases);
        for last in 0..spans.len() {
            cases.extend((0..=last).filter_map(|first| few.two(spans, first, last)));
        }
    }
    cases
}

impl Few {
    fn of(
        search: &Search,
        spans: &[Span],
        drift: &Drift,
        (noise, build): (f64, f64),
        log_prior: f64,
    ) -> Self {
        let places = search.places();
        let levels: Vec<f64> = places.iter().map(|place| drift.level(*place)).collect();
        let largest = levels.iter().map(|level| level.abs());
        let step = largest.fold(STEP_MIN, f64::max);
        let last = places[places.len() - 1];
        let most = search.most_blocks();
        let block = drift.covariance(most.place, most.place) * f64::from(most.blocks);
        let under = Under {
            noise,
            block: noise * block.sqrt(),
            build,
            last: (
                drift.level(last),
                noise * noise * drift.covariance(last, last),
            ),
        };
        let covariance = places.iter().map(|row| {
            let cell = |column: &usize| {
                // The first commit's own effect is in all levels.
                let effects = if row == column { 2.0 } else { 1.0 };
                noise * noise * drift.covariance(*row, *column) + effects * build * build
            };
            places.iter().map(cell).collect()
        });
        let tails = Tails::of(&levels, covariance.collect(), step);
        let none = Case::new(
            &tails.fit([]),
            log_prior + PRIOR[0].ln(),
            Steps::None,
            under,
        );
        let one = spans.iter().enumerate().map(|(at, span)| {
            let prior = PRIOR[1] * span.len() / search.commits() as f64;
            Case::new(
                &tails.fit([at]),
                log_prior + prior.ln(),
                Steps::One(at),
                under,
            )
        });
        let cases = std::iter::once(none).chain(one).collect();
        Self {
            tails,
            under,
            log_prior,
            cases,
        }
    }

    /// The hypothesis of steps in two spans, unless both would be one commit.
    fn two(&self, spans: &[Span], first: usize, last: usize) -> Option<Case> {
        let commits: f64 = spans.iter().map(Span::len).sum();
        let ways = match first == last {
            true => spans[first].len() * (spans[first].len() - 1.0) / 2.0,
            false => spans[first].len() * spans[last].len(),
        };
        (ways > 0.0).then(|| {
            let prior = PRIOR[2] * ways / (commits * (commits - 1.0) / 2.0);
            let (fit, steps) = (self.tails.fit([first, last]), Steps::Two(first, last));
            Case::new(&fit, self.log_prior + prior.ln(), steps, self.under)
        })
    }

    /// Logarithm of the likeliest hypothesis, of those with two steps where one of them is the
    /// likeliest single one.
    fn most(&self, spans: &[Span]) -> f64 {
        let (_, single) = self.cases.split_at(1);
        let likeliest = (0..single.len()).max_by(|a, b| single[*a].log.total_cmp(&single[*b].log));
        let at = likeliest.unwrap_or_default();
        let two =
            (0..spans.len()).filter_map(|other| self.two(spans, at.min(other), at.max(other)));
        let logs = two
            .map(|case| case.log)
            .chain(self.cases.iter().map(|case| case.log));
        logs.fold(f64::MIN, f64::max)
    }
}

/// The smallest set of whole spans with enough probability, the likeliest commits first.
fn credible(spans: &[Span]) -> Vec<Candidate> {
    let all: f64 = spans.iter().map(|span| span.largest).sum();
    if all <= 0.0 {
        return vec![];
    }
    let mut spans: Vec<&Span> = spans.iter().collect();
    let density = |span: &Span| span.largest / span.len();
    spans.sort_by(|a, b| density(b).total_cmp(&density(a)));
    let mut candidates = vec![];
    let mut sum = 0.0;
    for span in spans {
        if sum >= CREDIBLE * all {
            break;
        }
        sum += span.largest;
        let probability = density(span) / all;
        candidates.extend((span.first..=span.last).map(|commit| Candidate {
            commit,
            probability,
        }));
    }
    candidates
}
