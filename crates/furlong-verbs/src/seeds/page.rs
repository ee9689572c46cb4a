//! The documents' figures, their tests and the measurements, side by side.

use std::collections::BTreeMap;

use super::document::{Claim, Document, Evidence};
use super::judgement::{Judgement, MARGIN_PCT, Tested, judge, together};
use super::measured::{Figure, Measured, Records};
use furlong_lab::report::quantity::{Scale, change, chosen_percent};
use furlong_lab::report::sheet::{Effect, Grid, Pair, Sheet};
use furlong_lab::report::wording::word;
use furlong_lab::talk::spans;

/// All documents on one page.
#[must_use]
pub fn page(documents: &[Document], records: &Records) -> Sheet {
    let mut sheet = Sheet::new("Five documents, their figures and this machine's");
    sheet.text(format!(
        "Each of the five systems comes from a document that reports the effect of a change. The \
         tables show its figures as published, with their lines. Beside each figure are the result \
         of a correct test on the document's data (difference and 95 % interval by Welch, and a \
         verdict at a margin of {} if there are at least six runs) and the effect of the same \
         change as measured with furlong. The records are named under each table.",
        chosen_percent(MARGIN_PCT)
    ));
    for document in documents {
        self::document(&mut sheet, document, records);
    }
    sheet
}

fn document(sheet: &mut Sheet, document: &Document, records: &Records) {
    sheet.heading(format!("{}: {}", document.system, document.title));
    sheet.text(format!("From: {}.", document.source));
    let mut grid = Grid::new(&["figure", "lines", "published", "a correct test", "measured"]);
    let mut sources = vec![];
    let mut pairs = vec![];
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for claim in &document.claims {
        let judgement = judge(claim);
        let like = claim.measured.as_ref();
        let found = like.and_then(|like| records.find(like));
        let measured = match (like, &found) {
            (None, _) => String::new(),
            (Some(like), None) => {
                let workloads = missing.entry(&like.experiment).or_default();
                if !workloads.contains(&like.workload.as_str()) {
                    workloads.push(&like.workload);
                }
                "not yet".to_owned()
            }
            (Some(_), Some(found)) => {
                let source = source(found);
                let number = sources.iter().position(|one| *one == source);
                let number = number.unwrap_or_else(|| {
                    sources.push(source);
                    sources.len() - 1
                });
                format!("{} [{}]", figure(&found.figure), number + 1)
            }
        };
        pairs.extend(pair(claim, &judgement, found.as_ref()));
        grid.push([
            claim.name.clone(),
            lines(&claim.lines),
            published(claim),
            told(&judgement),
            measured,
        ]);
    }
    sheet.table(grid);
    sheet.pairs(pairs);
    let mut notes = together(document);
    notes.extend(document.notes.iter().cloned());
    let numbered = |(at, source)| format!("[{}] {source}", at + 1);
    notes.extend(sources.iter().enumerate().map(numbered));
    notes.extend(missing.iter().map(|(experiment, workloads)| {
        let workloads = workloads.join(",");
        format!("Not measured yet: furlong run {experiment} --workloads {workloads}")
    }));
    sheet.notes(notes);
}

/// A claim of a change, for the chart.
fn pair(claim: &Claim, judgement: &Judgement, found: Option<&Measured>) -> Option<Pair> {
    let said = match judgement {
        Judgement::Tested(tested) => Effect {
            pct: tested.effect_pct,
            ci95_pct: Some(tested.ci95_pct),
        },
        Judgement::Exact(pct) | Judgement::Untestable(pct) => Effect {
            pct: *pct,
            ci95_pct: None,
        },
        Judgement::Once(_) => return None,
    };
    let found = found.and_then(|found| match found.figure {
        Figure::Change {
            effect_pct,
            ci95_pct,
            verdict,
            ..
        } => {
            let pct = effect_pct;
            Some((Effect { pct, ci95_pct }, verdict))
        }
        Figure::Level { .. } => None,
    });
    Some(Pair {
        name: claim.name.clone(),
        said,
        found,
    })
}

/// Formats lines as "33-34, 37".
fn lines(lines: &[u32]) -> String {
    spans(lines.iter().copied()).join(", ")
}

/// The document's claim; if it only lists its runs, the list.
fn published(claim: &Claim) -> String {
    let listed = |values: &[f64]| {
        let values = values.iter().map(ToString::to_string);
        values.collect::<Vec<_>>().join(", ")
    };
    let said = &claim.published;
    match &claim.evidence {
        Evidence::Values { base, arm } => {
            let runs = format!("{}; {}", listed(base), listed(arm));
            match said.is_empty() {
                true => runs,
                false => format!("\"{said}\": {runs}"),
            }
        }
        _ => said.clone(),
    }
}

fn told(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Tested(tested) => told_test(tested),
        Judgement::Exact(pct) => format!("{}, exact", change(*pct, None)),
        Judgement::Untestable(pct) => {
            format!("{}, no spread given: untestable", change(*pct, None))
        }
        Judgement::Once(ns) => {
            let scale = Scale::of("ns", [*ns]);
            format!("{} each, one run: nothing to test", scale.show(*ns))
        }
    }
}

fn told_test(tested: &Tested) -> String {
    let mut text = format!(
        "{}, p {}",
        change(tested.effect_pct, Some(tested.ci95_pct)),
        probability(tested.welch_p)
    );
    // Adds the other tests if their conclusion differs.
    if (tested.student_p < 0.05) != (tested.welch_p < 0.05) {
        text.push_str(&format!(" (Student {})", probability(tested.student_p)));
    }
    if let Some((p, least)) = tested.rank_p.filter(|(_, least)| *least > 0.05) {
        text.push_str(&format!(
            " (ranks {}, never under {})",
            probability(p),
            probability(least)
        ));
    }
    match tested.verdict {
        Some(verdict) => format!("{text}: {}", word(verdict)),
        None => format!("{text}: {} runs, no verdict", tested.n),
    }
}

fn figure(figure: &Figure) -> String {
    match figure {
        Figure::Change {
            effect_pct,
            ci95_pct: None,
            ..
        } => format!("{}, exact", change(*effect_pct, None)),
        Figure::Change {
            effect_pct,
            ci95_pct,
            verdict,
            blocks,
        } => {
            let change = change(*effect_pct, *ci95_pct);
            format!("{change}: {}, {blocks} blocks", word(*verdict))
        }
        Figure::Level {
            median,
            unit,
            blocks,
        } => {
            let scale = Scale::of(unit, [*median]);
            format!("{} each, median of {blocks} blocks", scale.show(*median))
        }
    }
}

fn probability(p: f64) -> String {
    match p {
        p if p >= 0.001 => format!("{p:.3}"),
        p => format!("{p:.0e}"),
    }
}

fn source(found: &Measured) -> String {
    format!(
        "run {} of {} on {}{}, furlong {}: {}",
        found.run,
        found.started.get(..10).unwrap_or(&found.started),
        found.host,
        if found.is_here {
            ""
        } else {
            " (another machine than this one)"
        },
        found.version,
        found.place
    )
}
