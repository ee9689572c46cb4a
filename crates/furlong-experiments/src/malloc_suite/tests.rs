use super::real::Real;
use super::{GLIBC, Kind, PLAN, SUBJECTS, inputs, public, run};
use furlong_lab::model::{Experiment, Outcome, Plan, Profile, Workload};

/// The experiment as for somebody who has not fetched what others wrote.
fn experiment() -> Experiment {
    let whole = super::experiment();
    Experiment {
        plan: public::alone(Plan::compiled_in(PLAN)),
        ..whole
    }
}

/// The program of a workload, if it runs a real one.
fn real(workload: &Workload) -> Option<Real> {
    match workload.read() {
        Ok(Kind::Real(real)) => Some(real),
        _ => None,
    }
}

fn outcome(experiment: &Experiment, workload: &str) -> Outcome {
    let request = experiment.request(workload, 1000, false);
    run(&GLIBC, &request).unwrap_or_else(|failure| panic!("{workload}: {}", failure.0))
}

/// Names of the workloads that can run here: those of real programs, or the others.
fn able(experiment: &Experiment, is_real: bool) -> Vec<String> {
    let loads = experiment.plan.workloads.iter();
    let able = loads.filter(|load| match real(load) {
        Some(program) => is_real && program.missing().is_none(),
        None => !is_real,
    });
    able.map(|load| load.name.clone()).collect()
}

/// Checks that all arms give the same answers. Prints a note if no workload can run, and fails
/// instead where the checks have installed all programs.
fn answers_alike(is_real: bool) {
    let experiment = experiment();
    let names = able(&experiment, is_real);
    if names.is_empty() {
        eprintln!("skipped: none of the programs is installed");
    }
    let all = experiment.plan.workloads.iter();
    let all = all.filter(|load| real(load).is_some() == is_real).count();
    let must_run = !is_real || std::env::var_os("FURLONG_PROGRAMS_ARE_THERE").is_some();
    assert!(!must_run || names.len() == all, "only {names:?} can run");
    for name in names {
        let (one, other) = (outcome(&experiment, &name), outcome(&experiment, &name));
        assert_eq!(one.digest, other.digest, "{name}");
        let load = experiment.plan.workload(&name).unwrap();
        for metric in &experiment.plan.metrics {
            let has = one
                .metrics
                .get(&metric.name)
                .is_some_and(|value| *value > 0.0);
            assert_eq!(has, load.has(&metric.name), "{name}: {}", metric.name);
        }
    }
}

#[test]
fn every_classic_workload_has_its_metrics_and_answers_alike() {
    answers_alike(false);
}

#[test]
fn every_real_program_that_is_installed_has_its_metrics_and_answers_alike() {
    answers_alike(true);
}

#[test]
fn an_allocator_that_does_nothing_is_an_arm_of_scaling_alone() {
    let experiment = experiment();
    let nothing = experiment.arm("nothing").unwrap();
    for load in &experiment.plan.workloads {
        let why = (nothing.na)(&load.under(Profile::Smoke));
        assert_eq!(why.is_none(), load.name == "scaling", "{}", load.name);
    }
    let request = experiment.request("scaling", 1000, false);
    let (done, served) = (
        (nothing.run)(&request).unwrap(),
        outcome(&experiment, "scaling"),
    );
    assert_eq!(done.digest, served.digest);
}

#[test]
fn the_subjects_are_the_arms_that_keep_what_is_written() {
    let experiment = experiment();
    let arms: Vec<&str> = experiment.arms.iter().map(|arm| arm.name).collect();
    let (last, subjects) = arms.split_last().unwrap();
    assert_eq!(*last, "nothing");
    assert_eq!(subjects, SUBJECTS.map(|subject| subject.name));
    assert_eq!(arms, experiment.plan.arms);
}

#[test]
fn inputs_are_as_large_as_they_are_asked_for() {
    assert_eq!(inputs::c(7).matches("int work_").count(), 7);
    assert!(inputs::sql(123).contains("i < 123"));
}

#[test]
fn programs_that_others_wrote_are_workloads_for_whoever_has_them() {
    let alone = experiment().plan;
    let whole = Plan::compiled_in(PLAN);
    let is_public = |load: &&Workload| matches!(load.read(), Ok(Kind::Public(_)));
    assert_eq!(whole.workloads.iter().filter(is_public).count(), 15);
    assert_eq!(alone.workloads.iter().filter(is_public).count(), 0);
    assert_eq!(alone.workloads.len() + 15, whole.workloads.len());
    let timed = |plan: &Plan| plan.metrics.iter().any(|one| one.name == "program_s");
    assert!(timed(&whole) && !timed(&alone));
}
