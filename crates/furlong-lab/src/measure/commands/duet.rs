//! Duets: two commands at once, so that whatever disturbs the machine disturbs both.
//!
//! A block is two rounds, and the commands swap their cores in between. The two runs of the
//! baseline are its sample and the control's. The other command's two runs are one sample, their
//! mean. So each block compares two runs with two, and no core is preferred.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::comparison::CommandComparison;
use crate::measure::sampler::{Job, SampleError, Sampler};
use crate::model::Outcome;

/// Sampler of two commands that run at once.
pub struct Duet {
    commands: Rc<CommandComparison>,
    processors: [usize; 2],
    /// The outcomes of the last block that were not asked for yet, with their arms.
    ready: Vec<(String, Outcome)>,
    /// The block, and the reason if it has no outcomes.
    block: Option<(String, u32, Option<SampleError>)>,
}

impl Duet {
    /// A sampler of commands whose workloads have two arms each.
    pub fn new(commands: &Rc<CommandComparison>, processors: [usize; 2]) -> Self {
        Self {
            commands: Rc::clone(commands),
            processors,
            ready: vec![],
            block: None,
        }
    }

    /// Takes a block: the baseline's outcomes, and the mean of the other command's.
    fn take(&self, job: &Job<'_>) -> Result<Vec<(String, Outcome)>, SampleError> {
        let names = self.commands.pair(&job.workload.name)?;
        let [baseline, other] = names.each_ref().map(String::as_str);
        let mut processors = self.processors;
        if job.seed % 2 == 1 {
            processors.reverse();
        }
        let [a, b] = self
            .commands
            .take_both(job, [baseline, other], processors)?;
        processors.reverse();
        let [again, later] = self
            .commands
            .take_both(job, [baseline, other], processors)?;
        let b = between(b, &later);
        let [baseline, other] = names;
        Ok(vec![(baseline.clone(), a), (baseline, again), (other, b)])
    }
}

impl Sampler for Duet {
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, SampleError> {
        let workload = &job.workload.name;
        let same = |(name, number, _): &(String, u32, _)| name == workload && *number == job.block;
        if !self.block.as_ref().is_some_and(same) {
            let (ready, failure) = match self.take(job) {
                Ok(ready) => (ready, None),
                Err(failure) => (vec![], Some(failure)),
            };
            self.ready = ready;
            self.block = Some((workload.clone(), job.block, failure));
        }
        if let Some((.., Some(failure))) = &self.block {
            return Err(failure.clone());
        }
        let of_arm = self.ready.iter().position(|(arm, _)| arm == job.arm);
        let missing = || SampleError::Failed(format!("`{}` has no further run", job.arm));
        of_arm
            .map(|place| self.ready.remove(place).1)
            .ok_or_else(missing)
    }

    fn notices(&mut self) -> Vec<String> {
        self.commands.notices()
    }
}

/// The mean of two outcomes of a command: geometric, as ratios need it, where both are above zero.
fn between(mut one: Outcome, other: &Outcome) -> Outcome {
    let mean = |a: f64, b: f64| match (a == b, a > 0.0 && b > 0.0) {
        (true, _) => a,
        (false, true) => (a * b).sqrt(),
        (false, false) => f64::midpoint(a, b),
    };
    let both = one.metrics.iter().filter_map(|(name, value)| {
        let second = other.metrics.get(name)?;
        Some((name.clone(), mean(*value, *second)))
    });
    one.metrics = both.collect::<BTreeMap<_, _>>();
    one.elapsed_s = mean(one.elapsed_s, other.elapsed_s);
    one
}

#[cfg(test)]
mod tests {
    use super::between;
    use crate::model::Outcome;

    #[test]
    fn means_are_geometric_and_lose_no_equal_value() {
        let outcome = |wall: f64, faults: f64, code: f64| Outcome {
            metrics: [("wall_s", wall), ("faults", faults), ("exit_code", code)]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            operations: 1,
            elapsed_s: wall,
            digest: 0,
        };
        let mean = between(outcome(0.1, 0.0, 3.0), &outcome(0.4, 4.0, 3.0));
        let value = |name: &str| mean.metrics[name];
        assert!((value("wall_s") - 0.2).abs() < 1e-12);
        assert_eq!((value("faults"), value("exit_code")), (2.0, 3.0));
        assert!((mean.elapsed_s - 0.2).abs() < 1e-12);
    }
}
