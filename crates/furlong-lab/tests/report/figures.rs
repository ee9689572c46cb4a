//! A minimum of statistics for consistent invented results; the lab's own are tested elsewhere.
#![forbid(unsafe_code)]

use furlong_lab::model::result::{
    Better, Comparison, MannWhitney, Student, Summary, TTest, VarianceTest, Verdict,
};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Random numbers from a seed.
pub(crate) struct Noise(u64);

impl Noise {
    /// Starts a sequence.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Puts the items in random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = (self.uniform() * (i + 1) as f64) as usize;
            items.swap(i, j);
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn stddev(values: &[f64]) -> f64 {
    let m = mean(values);
    let squares: f64 = values.iter().map(|v| (v - m).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// A summary of the existing values.
pub(crate) fn summary(samples: &[Option<f64>]) -> Option<Summary> {
    let mut values: Vec<f64> = samples.iter().flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let (min, max) = (*values.first()?, *values.last()?);
    let spread = (n > 1).then(|| stddev(&values));
    let m = mean(&values);
    Some(Summary {
        n,
        min,
        max,
        median: (values[(n - 1) / 2] + values[n / 2]) / 2.0,
        mean: m,
        stddev: spread,
        cv_pct: spread.map(|s| 100.0 * s / m.abs()),
    })
}

/// The subject of a comparison.
pub(crate) struct Question<'a> {
    pub(crate) baseline: &'a str,
    pub(crate) arm: &'a str,
    pub(crate) name: &'a str,
    pub(crate) better: Better,
    pub(crate) margin_pct: f64,
    pub(crate) control: &'a [Option<f64>],
}

/// Differences of logarithms in the blocks that have both values.
fn differences(a: &[Option<f64>], b: &[Option<f64>], control: &[Option<f64>]) -> Vec<f64> {
    let pairs = a.iter().zip(b).enumerate();
    pairs
        .filter_map(|(i, (a, b))| {
            let (a, b) = ((*a)?, (*b)?);
            let again = control.get(i).copied().flatten().unwrap_or(a);
            Some(b.ln() - (a.ln() + again.ln()) / 2.0)
        })
        .filter(|d| d.is_finite())
        .collect()
}

fn quantile(p: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df)
        .expect("positive degrees")
        .inverse_cdf(p)
}

/// The noise floor, in per cent.
pub(crate) fn floor(a: &[Option<f64>], control: &[Option<f64>]) -> Option<f64> {
    let d = differences(a, control, &[]);
    let k = d.len();
    if k < 2 {
        return None;
    }
    let half = quantile(0.975, (k - 1) as f64) * stddev(&d) / (k as f64).sqrt();
    Some(100.0 * (mean(&d).abs().max(half).exp() - 1.0))
}

/// One comparison of a sampled metric; `None` if no block has both values.
pub(crate) fn compare(
    q: &Question<'_>,
    a: &[Option<f64>],
    b: &[Option<f64>],
) -> Option<Comparison> {
    let d = differences(a, b, q.control);
    let k = d.len();
    let effect = d.first().map(|_| mean(&d))?;
    let pct = |x: f64| 100.0 * (x.exp() - 1.0);
    let mut found = exact(q.baseline, q.arm, q.name, q.better, 1.0, effect.exp());
    found.n = k;
    found.effect_pct = pct(effect);
    found.margin_pct = q.margin_pct;
    found.verdict = Verdict::Inconclusive;
    if k < 2 {
        found.reason = Some("at least 6 blocks are needed".to_owned());
        return Some(found);
    }
    let df = (k - 1) as f64;
    let error = (stddev(&d) / (k as f64).sqrt()).max(1e-12);
    let half = quantile(0.975, df) * error;
    let wide = quantile(0.9875, df) * error;
    let margin = (1.0 + q.margin_pct / 100.0).ln();
    found.ci95_pct = Some([pct(effect - half), pct(effect + half)]);
    found.ci_adj_pct = Some([pct(effect - wide), pct(effect + wide)]);
    found.level = Some(0.975);
    let t = TTest {
        t: effect / error,
        df,
        p: 0.0123,
    };
    found.paired = Some(t);
    found.welch = Some(TTest { df: 1.9 * df, ..t });
    found.sign_flip_p = Some(0.0117);
    found.variance = Some(VarianceTest {
        ratio: 1.08,
        p: 0.71,
    });
    found.student = Some(Student {
        difference: effect,
        plus_minus: half,
        difference_pct: pct(effect),
        plus_minus_pct: pct(half),
        pooled_s: stddev(&d),
    });
    found.mann_whitney = Some(MannWhitney { u: 17.5, p: 0.0241 });
    found.mde_pct = Some(pct(margin + 2.0 * half));
    let distance = (effect.abs() - margin).abs().max(1e-9);
    let needed = (2.9 * stddev(&d) / distance).powi(2).ceil().min(10_000.0);
    found.n_needed = Some(needed as u32);
    if k < 6 {
        found.reason = Some("at least 6 blocks are needed".to_owned());
    } else {
        let adjusted = [effect - wide, effect + wide];
        found.verdict = verdict(q.better, adjusted, margin);
        found.direction = q.better.direction(adjusted);
    }
    Some(found)
}

/// The verdict for an interval: beyond the margin, within it, or neither.
fn verdict(better: Better, [low, high]: [f64; 2], margin: f64) -> Verdict {
    let (less, more) = match better {
        Better::Lower => (Verdict::Keep, Verdict::Revert),
        Better::Higher => (Verdict::Revert, Verdict::Keep),
    };
    if high < -margin {
        less
    } else if low > margin {
        more
    } else if low > -margin && high < margin {
        Verdict::Equivalent
    } else {
        Verdict::Inconclusive
    }
}

/// One comparison of an exact metric.
pub(crate) fn exact(
    baseline: &str,
    arm: &str,
    name: &str,
    better: Better,
    base: f64,
    value: f64,
) -> Comparison {
    let effect_pct = 100.0 * (value / base - 1.0);
    let good = (effect_pct < 0.0) == (better == Better::Lower);
    Comparison {
        baseline: baseline.to_owned(),
        arm: arm.to_owned(),
        metric: name.to_owned(),
        n: 1,
        effect_pct,
        margin_pct: 0.1,
        verdict: match (effect_pct.abs() < 0.1, good) {
            (true, _) => Verdict::Equivalent,
            (false, true) => Verdict::Keep,
            (false, false) => Verdict::Revert,
        },
        direction: better.direction([effect_pct; 2]),
        ..Comparison::default()
    }
}
