//! The probabilities again: every hypothesis by the normal density of all samples together.

use crate::bisect::belief::{BUILDS, NOISES, PRIOR, STEP_MIN};
use crate::bisect::search::SPEEDS;
use crate::bisect::spikes::variances;
use crate::bisect::{Belief, Change, Search};
use crate::random::Random;

/// Variance of a figure of which nothing is known.
const UNKNOWN: f64 = 1e4;

/// Tolerance: improbable combinations of scales are left out of the real ones.
const LEFT_OUT: f64 = 0.01;

/// A sample of commit `commit`, where 0 is the first one.
#[derive(Clone, Copy)]
struct Sample {
    block: usize,
    commit: usize,
    value: f64,
    /// Variance of its noise, in units of a usual sample's.
    variance: f64,
}

/// A covariance of samples as the lower triangle of its root.
struct Density {
    lower: Vec<Vec<f64>>,
    /// The values, divided by the root.
    own: Vec<f64>,
    log: f64,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Factors of the samples: 1 for those of commits that `holds` chooses.
fn ones(samples: &[Sample], holds: impl Fn(usize) -> bool) -> Vec<f64> {
    let one = |sample: &Sample| f64::from(u8::from(holds(sample.commit)));
    samples.iter().map(one).collect()
}

impl Density {
    /// `known` is the covariance of two samples without noise; each of `vectors` has a factor with
    /// this variance.
    fn of(
        samples: &[Sample],
        noise: f64,
        known: impl Fn(Sample, Sample) -> f64,
        vectors: &[(f64, Vec<f64>)],
    ) -> Self {
        let n = samples.len();
        let mut lower = vec![vec![0.0; n]; n];
        for row in 0..n {
            for column in 0..=row {
                let vectors = vectors
                    .iter()
                    .map(|(variance, of)| variance * of[row] * of[column]);
                let noise = match row == column {
                    true => noise * noise * samples[row].variance,
                    false => 0.0,
                };
                let own = noise + known(samples[row], samples[column]) + vectors.sum::<f64>();
                let rest = own - dot(&lower[row][..column], &lower[column][..column]);
                lower[row][column] = match row == column {
                    true => rest.sqrt(),
                    false => rest / lower[column][column],
                };
            }
        }
        let mut density = Self {
            lower,
            own: vec![],
            log: 0.0,
        };
        density.own = density.divided(&samples.iter().map(|one| one.value).collect::<Vec<_>>());
        let logs = (0..n).map(|at| density.lower[at][at].ln());
        density.log = -density.square() / 2.0 - logs.sum::<f64>();
        density
    }

    fn divided(&self, values: &[f64]) -> Vec<f64> {
        let mut divided: Vec<f64> = vec![];
        for (row, value) in self.lower.iter().zip(values) {
            let at = divided.len();
            divided.push((value - dot(&row[..at], &divided)) / row[at]);
        }
        divided
    }

    /// The values' square beside their covariance.
    fn square(&self) -> f64 {
        dot(&self.own, &self.own)
    }

    /// Mean and variance of a vector's factor.
    fn factor(&self, (variance, of): &(f64, Vec<f64>)) -> Change {
        let of = self.divided(of);
        let left = variance - variance * dot(&of, &of) * variance;
        Change {
            mean: variance * dot(&of, &self.own),
            deviation: left.sqrt(),
        }
    }
}

/// Sums over hypotheses.
struct Sums {
    none: f64,
    several: f64,
    /// The largest step is at each commit.
    largest: Vec<f64>,
    build: f64,
    noise: f64,
    /// Mean and mean square of the largest step, and of the last commit's level.
    change: [f64; 2],
    last: [f64; 2],
}

fn moments(sum: &mut [f64; 2], weight: f64, size: Change) {
    sum[0] += weight * size.mean;
    sum[1] += weight * (size.mean.powi(2) + size.deviation.powi(2));
}

fn change([mean, square]: [f64; 2], weight: f64) -> Change {
    let mean = mean / weight;
    Change {
        mean,
        deviation: (square / weight - mean * mean).sqrt(),
    }
}

/// A hypothesis under some scales, and its density.
struct Case {
    log: f64,
    steps: usize,
    /// The largest step and its commit.
    largest: Option<(Change, usize)>,
    build: f64,
    noise: f64,
    last: Change,
}

/// All hypotheses under all scales.
fn cases(samples: &[Sample], commits: usize) -> Vec<Case> {
    let mut measured: Vec<usize> = samples.iter().map(|one| one.commit).collect();
    measured.sort_unstable();
    measured.dedup();
    let machine = (UNKNOWN, vec![1.0; samples.len()]);
    let unknown = |commit: &usize| (UNKNOWN, ones(samples, |one| one == *commit));
    let levels: Vec<(f64, Vec<f64>)> = measured[1..].iter().map(unknown).collect();
    let vectors = [&levels[..], std::slice::from_ref(&machine)].concat();
    let free = (samples.len() - measured.len()) as f64;
    let mut cases = vec![];
    for speed in SPEEDS {
        let walk = |a: Sample, b: Sample| speed * a.block.min(b.block) as f64;
        let likeliest = (Density::of(samples, 1.0, walk, &vectors).square() / free).sqrt();
        for errors in NOISES {
            let noise = likeliest * (errors / (2.0 * free).sqrt()).exp();
            let walk = |a, b| noise * noise * walk(a, b);
            let open = Density::of(samples, noise, walk, &vectors);
            let sizes: Vec<Change> = levels.iter().map(|level| open.factor(level)).collect();
            let largest = sizes.iter().map(|level| level.mean.abs());
            let step = largest.fold(STEP_MIN, f64::max).powi(2);
            for (build, prior) in BUILDS {
                let known = |a: Sample, b: Sample| {
                    let same = f64::from(u8::from(a.commit == b.commit));
                    walk(a, b) + build * build * same
                };
                for (steps, of_steps) in hypotheses(commits) {
                    let of = |at: &usize| (step, ones(samples, |commit| commit >= *at));
                    let of: Vec<(f64, Vec<f64>)> = steps.iter().map(of).collect();
                    let vectors = [&of[..], std::slice::from_ref(&machine)].concat();
                    let density = Density::of(samples, noise, known, &vectors);
                    let found = of.iter().map(|of| density.factor(of));
                    cases.push(Case {
                        log: density.log + (prior * of_steps).ln(),
                        steps: steps.len(),
                        largest: found.zip(steps).reduce(larger),
                        build,
                        noise,
                        last: sizes[sizes.len() - 1],
                    });
                }
            }
        }
    }
    cases
}

fn larger(a: (Change, usize), b: (Change, usize)) -> (Change, usize) {
    if a.0.mean.abs() >= b.0.mean.abs() {
        a
    } else {
        b
    }
}

/// The steps of each hypothesis, with its prior probability. Two steps come in both orders: nothing
/// tells which is larger if no measured commit is between them, and then the first one counts.
fn hypotheses(commits: usize) -> Vec<(Vec<usize>, f64)> {
    let [none, one, two] = PRIOR;
    let pairs = (commits * commits.saturating_sub(1) / 2) as f64;
    let mut all = vec![(vec![], none)];
    for at in 1..=commits {
        all.push((vec![at], one / commits as f64));
        let others = (1..=commits).filter(|other| *other != at);
        all.extend(others.map(|other| (vec![at, other], two / pairs / 2.0)));
    }
    all
}

/// The sums over all hypotheses and scales.
fn sums(samples: &[Sample], commits: usize) -> Sums {
    let cases = cases(samples, commits);
    let most = cases.iter().map(|case| case.log).fold(f64::MIN, f64::max);
    let all: f64 = cases.iter().map(|case| (case.log - most).exp()).sum();
    let mut sums = Sums {
        none: 0.0,
        several: 0.0,
        largest: vec![0.0; commits + 1],
        build: 0.0,
        noise: 0.0,
        change: [0.0; 2],
        last: [0.0; 2],
    };
    for case in cases {
        let weight = (case.log - most).exp() / all;
        match case.steps {
            0 => sums.none += weight,
            1 => {}
            _ => sums.several += weight,
        }
        if let Some((size, at)) = case.largest {
            sums.largest[at] += weight;
            moments(&mut sums.change, weight, size);
        }
        sums.build += weight * case.build;
        sums.noise += weight * case.noise;
        moments(&mut sums.last, weight, case.last);
    }
    sums
}

fn is_near(what: &str, real: f64, wanted: f64, tolerance: f64) {
    assert!(
        (real - wanted).abs() <= tolerance,
        "{what}: {real} instead of {wanted}"
    );
}

fn is_near_change(what: &str, real: Change, wanted: Change) {
    is_near(what, real.mean, wanted.mean, 0.02 * wanted.deviation);
    is_near(
        what,
        real.deviation,
        wanted.deviation,
        0.02 * wanted.deviation,
    );
}

/// Samples of these blocks' commits, one of which is far off, and a search that has them.
fn sampled(
    commits: usize,
    blocks: &[usize],
    level: impl Fn(usize) -> f64,
    seed: u64,
) -> (Search, Vec<Sample>) {
    let mut random = Random::new(seed);
    let mut search = Search::new(commits, 0.01);
    let mut samples = vec![];
    for (block, commit) in blocks.iter().copied().enumerate() {
        let spike = if block == 1 { 0.3 } else { 0.0 };
        let value = |commit: usize| level(commit) + 0.02 * random.normal();
        let [first, one, other] = [0, commit, commit].map(value);
        let values = [first, one + spike, other];
        search.add(commit, first, [values[1], values[2]]);
        for (commit, value) in [0, commit, commit].into_iter().zip(values) {
            samples.push(Sample {
                block,
                commit,
                value,
                variance: 1.0,
            });
        }
    }
    let variances = variances(&search.blocks);
    for (sample, variance) in samples.iter_mut().zip(variances.into_iter().flatten()) {
        sample.variance = variance;
    }
    (search, samples)
}

/// Compares the real probabilities after these blocks of commits of a range.
fn compare(commits: usize, blocks: &[usize], level: impl Fn(usize) -> f64, seed: u64) {
    let (search, samples) = sampled(commits, blocks, level, seed);
    let (real, wanted) = (Belief::of(&search), sums(&samples, commits));
    let of = |what: &str| format!("{what}, {blocks:?}, seed {seed}");
    is_near(&of("none"), real.none, wanted.none, LEFT_OUT);
    is_near(&of("several"), real.several, wanted.several, LEFT_OUT);
    is_near(&of("build"), real.build, wanted.build, 0.02 * wanted.build);
    is_near(&of("noise"), real.noise, wanted.noise, 0.01 * wanted.noise);
    is_near_change(&of("last"), real.last, change(wanted.last, 1.0));
    let some = 1.0 - wanted.none;
    is_near_change(&of("change"), real.change, change(wanted.change, some));
    // The smallest set: it holds enough, the rest is not in it, and the order is by probability.
    let mut left = wanted.largest;
    for one in &real.candidates {
        let share = std::mem::take(&mut left[one.commit]) / some;
        is_near(&of("a commit"), one.probability, share, LEFT_OUT);
    }
    assert!(left.iter().sum::<f64>() <= 0.05 * some, "{}", of("set"));
    let order = real.candidates.iter().map(|one| one.probability);
    assert!(order.is_sorted_by(|a, b| a >= b), "{}", of("order"));
    let least = real.candidates.last().expect("a candidate").probability;
    assert!(
        left.iter().all(|one| *one / some <= least + LEFT_OUT),
        "{}",
        of("rest")
    );
}

#[test]
fn beliefs_are_those_of_the_density_of_all_samples() {
    let step = |commit| if commit >= 3 { 0.03 } else { 0.0 };
    let steps = |commit| [0.0, 0.01, 0.0, 0.05, 0.06, 0.02][commit];
    for seed in 1..=3 {
        compare(1, &[1, 1, 1, 1], |_| 0.0, seed);
        compare(5, &[5, 5, 5, 5, 5, 5], |_| 0.0, seed);
        compare(5, &[5, 5, 5, 5, 2, 2, 5], step, seed);
        compare(5, &[5, 5, 3, 5, 3, 5, 1, 2, 1, 2], steps, seed);
    }
}
