//! Several metrics, arms, machines or workloads at once.

pub mod geomean;
pub mod holm;
pub mod layouts;
pub mod nodes;

/// Judges a workload whose one metric is its time, for tests.
#[cfg(test)]
fn judge_time(workload: &mut crate::value::WorkloadResult, margin: f64) {
    let metric = crate::value::Metric {
        unit: "ns".to_owned(),
        better: crate::value::Better::Lower,
        kind: crate::value::Kind::Sampled,
        primary: true,
        margin_pct: None,
        about: String::new(),
    };
    let metrics = [("time".to_owned(), metric)].into();
    crate::judge(workload, &metrics, &["time".to_owned()], Some(margin));
}
