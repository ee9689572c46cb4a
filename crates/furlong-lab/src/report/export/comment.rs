//! The answer to a family of workloads as Markdown for a pull request: at most twenty lines, and
//! the rest folded.

use crate::model::result::ResultFile;
use crate::report::family::{Family, Member, instructions};
use crate::report::quantity::{Scale, counted};
use crate::report::sheet::{Grid, Sheet};
use crate::report::text::command_line;
use crate::report::wording::{signed_effect, signed_interval, word};
use crate::report::{causes, outline};

/// Most changes and most omissions outside the folded part.
const CHANGES_MAX: usize = 6;
const LEFT_OUT_MAX: usize = 2;

/// Most rows and most warnings in the folded part: a comment has at most 65,536 characters.
const ROWS_MAX: usize = 200;
const WARNINGS_MAX: usize = 30;

/// Longest warning, in characters.
const WARNING_CHARS_MAX: usize = 300;

/// Writes the comment.
pub(super) fn render(file: &ResultFile, family: &Family<'_>) -> String {
    let mut page = Sheet::new(headline(family));
    page.text(format!("{}.", family.tally()));
    let mut grid = Grid::of("benchmark||change|most of it in");
    for change in family.changes.iter().take(CHANGES_MAX) {
        let (word, amounts) = change.told();
        let cause = change.cause().unwrap_or_default();
        grid.push([&change.workload.name, word, &amounts, &cause]);
    }
    page.table(grid);
    let mut notes = vec![];
    if let Some(more) = family.changes.len().checked_sub(CHANGES_MAX + 1) {
        notes.push(format!(
            "and {} below",
            counted(more as u64 + 1, "more change")
        ));
    }
    let left_out = &family.experiment.left_out;
    notes.extend(left_out.iter().take(LEFT_OUT_MAX).cloned());
    notes.extend(family.to_decide_more());
    page.notes(notes);
    let folded = [
        every(family),
        functions(family),
        caveats(file, family),
        run(file),
    ];
    let folded: Vec<String> = folded.iter().filter_map(Sheet::folded).collect();
    page.markdown() + &folded.concat()
}

/// The answer in a few words.
fn headline(family: &Family<'_>) -> String {
    let found = match (family.regressions(), family.open() + family.failed()) {
        (0, 0) => "No regression".to_owned(),
        (0, _) => "No regression found".to_owned(),
        (many, _) => counted(many as u64, "regression"),
    };
    match family.failed() as u64 {
        0 => found,
        failed => format!("{found}, {} failed", counted(failed, "benchmark")),
    }
}

/// A row for every benchmark, the changes first.
fn every(family: &Family<'_>) -> Sheet {
    let mut page = Sheet::new("Every benchmark");
    let mut grid = Grid::of("benchmark|>base|>head|>change|95 % interval|verdict|>instructions");
    let members = || family.changes.iter().chain(&family.others);
    for member in members().take(ROWS_MAX) {
        grid.push(row(member));
    }
    page.table(grid);
    if let Some(more) = members().count().checked_sub(ROWS_MAX + 1) {
        page.text(format!("And {} more.", more + 1));
    }
    page
}

fn row(member: &Member<'_>) -> [String; 7] {
    let w = member.workload;
    let mut cells = [const { String::new() }; 7];
    cells[0].clone_from(&w.name);
    if let Some(((name, metric), one)) = member.time {
        let typical = |arm: usize| outline::typical(w.arms.get(arm)?, name);
        let scale = Scale::of(&metric.unit, [typical(0), typical(1)].into_iter().flatten());
        for arm in 0..2 {
            cells[1 + arm] = typical(arm).map_or(String::new(), |value| scale.show(value));
        }
        cells[3] = signed_effect(one);
        cells[4] = signed_interval(one).unwrap_or_default();
        word(one.verdict).clone_into(&mut cells[5]);
    } else {
        "failed".clone_into(&mut cells[5]);
    }
    cells[6] = member.counts.map_or("not counted".to_owned(), |one| {
        match one.effect_pct == 0.0 {
            true => "the same".to_owned(),
            false => instructions(one.effect_pct),
        }
    });
    cells
}

/// The functions behind the changes.
fn functions(family: &Family<'_>) -> Sheet {
    let mut page = Sheet::new("Functions behind the changes, by instructions");
    let mut grid = Grid::of("benchmark|>share|function|change");
    for change in &family.changes {
        for (_, found) in causes::of_arms(change.workload) {
            for one in found.functions {
                grid.push([
                    change.workload.name.clone(),
                    one.share,
                    one.function,
                    one.change,
                ]);
            }
        }
    }
    grid.rows.truncate(ROWS_MAX);
    page.table(grid);
    page
}

/// Omissions that are not above, and warnings.
fn caveats(file: &ResultFile, family: &Family<'_>) -> Sheet {
    let mut page = Sheet::new("Warnings");
    let left_out = family.experiment.left_out.iter().skip(LEFT_OUT_MAX);
    let run = file.run.warnings.iter();
    let workloads = family.experiment.workloads.iter();
    let own = workloads.flat_map(|w| w.warnings.iter().map(|text| format!("{}: {text}", w.name)));
    let all = left_out.chain(run).cloned().chain(own);
    let short = |text: String| text.chars().take(WARNING_CHARS_MAX).collect();
    let all: Vec<String> = all.map(short).collect();
    let shown = all.iter().take(WARNINGS_MAX).cloned();
    page.notes(shown.collect());
    if let Some(more) = all.len().checked_sub(WARNINGS_MAX + 1) {
        page.text(format!("And {} more.", more + 1));
    }
    page
}

/// The command, the revisions and the machine.
fn run(file: &ResultFile) -> Sheet {
    let run = &file.run;
    let mut page = Sheet::new("Run");
    page.code(command_line(&run.command));
    let machine = &run.machine;
    let facts = [
        Some(format!("run {}, {}", run.id, run.version)),
        run.revision.as_ref().map(|one| format!("revision {one}")),
        machine.cpu.clone(),
        Some(counted(machine.cpus.into(), "processor")),
    ];
    page.notes(facts.into_iter().flatten().collect());
    page
}
