//! Queries of an experiment's result.

use super::{ExperimentResult, Metric, WorkloadResult};

impl ExperimentResult {
    /// Returns the name under which a history files it. Every comparison has a name of its own.
    pub fn filed_as(&self) -> String {
        match &self.comparison {
            Some(comparison) => format!("{} {comparison}", self.name),
            None => self.name.clone(),
        }
    }

    /// Returns the metrics with their names, in their order; those missing from it come last.
    pub fn named(&self) -> Vec<(&str, &Metric)> {
        let order = &self.metric_order;
        let forgotten = self.metrics.keys().filter(|name| !order.contains(name));
        let mut named: Vec<(&str, &Metric)> = vec![];
        for name in order.iter().chain(forgotten) {
            if let Some(metric) = self.metrics.get(name)
                && named.iter().all(|(known, _)| known != name)
            {
                named.push((name, metric));
            }
        }
        named
    }

    /// Returns the metric of this name; without one, the metric that decides on the workload.
    pub fn wanted(&self, name: Option<&str>, of: &WorkloadResult) -> Option<(&str, &Metric)> {
        let named = self.named();
        match name {
            Some(name) => named.into_iter().find(|(known, _)| *known == name),
            None => of.primary(&named),
        }
    }
}
