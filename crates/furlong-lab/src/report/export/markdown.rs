//! The result as a Markdown document, for an issue, a commit or a README.

use super::comment;
use crate::model::result::{
    ArmResult, ExperimentResult, Kind, Machine, ResultFile, WorkloadResult,
};
use crate::report::causes;
use crate::report::family::Family;
use crate::report::finite::finite;
use crate::report::geomean::sentences;
use crate::report::outline::{self, Named};
use crate::report::overview::overview;
use crate::report::picture::picture;
use crate::report::quantity::{Scale, percent};
use crate::report::sheet::{Grid, Sheet};
use crate::report::text::{command_line, plain};
use crate::report::wording::{self, signed_effect, signed_interval, word};

/// Columns of the pictures.
const PICTURE_COLUMNS: usize = 74;

/// The result as GitHub-flavoured Markdown: of many benchmarks a comment, else all of it.
pub fn render(file: &ResultFile) -> String {
    let file = finite(file);
    if let Some(family) = Family::of(&file) {
        return comment::render(&file, &family);
    }
    let names: Vec<&str> = file.experiments.iter().map(|e| e.name.as_str()).collect();
    let mut page = Sheet::new(match names[..] {
        [] => "furlong".to_owned(),
        _ => names.join(", "),
    });
    verdicts(&mut page, &file);
    for experiment in &file.experiments {
        of_experiment(&mut page, experiment);
    }
    of_run(&mut page, &file);
    page.markdown()
}

fn verdicts(page: &mut Sheet, file: &ResultFile) {
    let found = outline::findings(file);
    if found.is_empty() {
        page.text("No verdict: nothing was compared.");
        return;
    }
    page.text(format!("{}.", wording::tally(&outline::tally(&found))));
    let mut grid = Grid::of("experiment|workload|comparison|>change|95 % interval|verdict");
    for f in &found {
        let (e, c) = (&file.experiments[f.experiment], f.comparison);
        grid.push([
            e.name.clone(),
            e.workloads[f.workload].name.clone(),
            format!("{} against {}", c.arm, c.baseline),
            signed_effect(c),
            signed_interval(c).unwrap_or_default(),
            word(c.verdict).to_owned(),
        ]);
    }
    page.table(grid);
}

fn of_experiment(page: &mut Sheet, e: &ExperimentResult) {
    page.heading(&e.name);
    page.text(&e.question);
    for workload in &e.workloads {
        of_workload(page, e, workload);
    }
    let overviews = overview(e);
    if !overviews.is_empty() {
        page.subheading("All workloads");
    }
    for (caption, grid) in overviews {
        page.text(format!("{caption}."));
        page.table(grid);
    }
    page.notes(sentences(e));
    let left_out = e.left_out.iter().map(|what| format!("left out: {what}"));
    page.notes(left_out.collect());
}

fn of_workload(page: &mut Sheet, e: &ExperimentResult, w: &WorkloadResult) {
    page.subheading(&w.name);
    let params = crate::report::terminal::params(w);
    let blocks = wording::blocks(w.blocks.len() as u64);
    page.text(match params.is_empty() {
        true => format!("{blocks}."),
        false => format!("{blocks}; {params}."),
    });
    let grid = metrics(e, w);
    if grid.rows.is_empty() {
        page.text("No metric was measured.");
    }
    page.table(grid);
    let Some((name, _)) = outline::primary(e, w) else {
        return;
    };
    if let Some(drawn) = picture(w, name, PICTURE_COLUMNS) {
        let legend = drawn.legend.iter();
        let legend = legend.map(|(symbol, arm)| format!("{symbol} {}", plain(arm)));
        let legend: Vec<String> = legend.collect();
        page.code(format!("{}\n{}", legend.join("   "), drawn.text));
    }
    let said = outline::worth_saying(e, w).into_iter();
    let said = said.map(|((name, metric), c)| {
        let (subject, verdict, rest) = wording::sentence(name, metric, c, w);
        format!("{subject}: {}: {rest}", word(verdict))
    });
    page.notes(said.collect());
    for (arm, found) in causes::of_arms(w) {
        page.text(format!("{arm}: {}, by function:", found.amount));
        let mut grid = Grid::of(">share|function|change");
        for one in found.functions {
            grid.push([one.share, one.function, one.change]);
        }
        page.table(grid);
    }
    let na = w.arms.iter().filter_map(|arm| {
        let reason = arm.na.as_deref()?;
        Some(format!("{}: n/a: {reason}", arm.name))
    });
    page.notes(na.collect());
    page.notes(warnings(&w.warnings));
}

fn warnings(all: &[String]) -> Vec<String> {
    all.iter().map(|text| format!("warning: {text}")).collect()
}

/// One table with every metric of every arm.
fn metrics(e: &ExperimentResult, w: &WorkloadResult) -> Grid {
    let mut grid = Grid::of("metric|arm|>n|>median|>mean|>CV|>change|95 % interval|verdict");
    for (name, metric) in e.named() {
        let typical = w.arms.iter().filter_map(|arm| outline::typical(arm, name));
        let scale = Scale::of(&metric.unit, typical);
        let there = |a: &&ArmResult| a.na.is_some() || a.samples.contains_key(name);
        for arm in w.arms.iter().filter(there) {
            grid.push(row(w, (name, metric), arm, &scale));
        }
        let control = w.control.get(name);
        if let Some(control) = control.filter(|control| !control.samples.is_empty()) {
            let median = outline::median(&outline::control_values(w, name));
            let floor = control.floor_pct;
            let mut cells = [const { String::new() }; 9];
            cells[0] = name.to_owned();
            cells[1] = "control".to_owned();
            cells[3] = median.map_or(String::new(), |v| scale.show(v));
            cells[8] = match control.failed {
                true => "control failed".to_owned(),
                false => floor.map_or(String::new(), |f| format!("noise floor {}", percent(f))),
            };
            grid.push(cells);
        }
    }
    grid
}

fn of_run(page: &mut Sheet, file: &ResultFile) {
    let run = &file.run;
    page.heading("Run");
    page.notes(warnings(&run.warnings));
    page.code(command_line(&run.command));
    let mut facts = vec![
        ("run", run.id.clone()),
        ("started", run.started.clone()),
        ("profile", run.profile.clone()),
        ("seed", run.seed.to_string()),
        ("furlong", run.version.clone()),
    ];
    facts.extend(run.tag.clone().map(|tag| ("tag", tag)));
    facts.extend(run.note.clone().map(|note| ("note", note)));
    facts.extend(machine(&run.machine));
    facts.retain(|(_, value)| !value.is_empty());
    let mut grid = Grid::new(&["", ""]);
    for (name, value) in facts {
        grid.push([name.to_owned(), value]);
    }
    page.table(grid);
}

fn row(w: &WorkloadResult, (name, metric): Named<'_>, arm: &ArmResult, s: &Scale) -> [String; 9] {
    let c = outline::comparison(w, &arm.name, name);
    let summary = arm.summary.get(name);
    let n = summary.map_or_else(|| outline::values(arm, name).len(), |s| s.n);
    let cv = summary.and_then(|s| s.cv_pct);
    [
        name.to_owned(),
        arm.name.clone(),
        n.to_string(),
        outline::typical(arm, name).map_or(String::new(), |v| s.show(v)),
        summary.map_or(String::new(), |summary| s.show(summary.mean)),
        match metric.kind {
            Kind::Exact => "exact".to_owned(),
            Kind::Sampled => cv.map_or(String::new(), percent),
        },
        c.map_or(String::new(), signed_effect),
        c.and_then(signed_interval).unwrap_or_default(),
        match (&arm.na, c) {
            (Some(reason), _) => format!("n/a: {reason}"),
            (None, Some(c)) => word(c.verdict).to_owned(),
            (None, None) => String::new(),
        },
    ]
}

/// The machine's facts, by name.
pub(in crate::report) fn machine(m: &Machine) -> Vec<(&'static str, String)> {
    let bytes = |n: u64| Scale::of("B", [n as f64]).show(n as f64);
    let yes = |on: bool| if on { "on" } else { "off" }.to_owned();
    let caches = m.caches.iter();
    let caches: Vec<String> = caches
        .map(|(level, size)| format!("{level} {}", bytes(*size)))
        .collect();
    let aslr = m.aslr.map(|level| level.to_string());
    let load = m.load_1m.map(|load| format!("{load:.2}"));
    let facts = [
        ("host", Some(m.host.clone())),
        ("machine", Some(m.id.clone())),
        ("class", m.class.clone()),
        ("kernel", Some(m.kernel.clone())),
        ("processor", m.cpu.clone()),
        ("processors", Some(m.cpus.to_string())),
        ("memory", m.memory_bytes.map(bytes)),
        ("caches", Some(caches.join(", "))),
        ("hypervisor", m.hypervisor.clone()),
        ("governor", m.governor.clone()),
        ("turbo", m.turbo.map(yes)),
        ("multithreading", m.smt.map(yes)),
        ("address randomisation", aslr),
        ("huge pages", m.thp.clone()),
        ("load at the start", load),
        ("time stolen", m.steal_pct.map(percent)),
        ("compiler", Some(m.rustc.clone())),
        ("build", Some(m.build.clone())),
    ];
    let known = facts.into_iter();
    let known = known.filter_map(|(name, value)| Some((name, value?)));
    known.filter(|(_, value)| !value.is_empty()).collect()
}
