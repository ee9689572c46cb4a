//! One workload, folded: verdicts in full, figures, tables.

use maud::{Markup, html};

use super::frame::{Name, minus, verdict, warnings};
use super::svg::{order, strip};
use super::{Room, tables};
use crate::model::result::{Comparison, ExperimentResult, Verdict, WorkloadResult};
use crate::report::outline::{self, Named};
use crate::report::text::{called, plain, shorten};
use crate::report::{terminal, wording};
use furlong_stats::verdict::BLOCKS_MIN;

/// Columns of a name in a heading.
const NAME_COLUMNS: usize = 120;

/// The workload's part of the page. A link to `id` leads to its content, which unfolds it.
pub(super) fn section(id: &str, e: &ExperimentResult, w: &WorkloadResult, look: Look) -> Markup {
    let params = terminal::params(w);
    let name = html! { bdi { (shorten(&called(&w.name), NAME_COLUMNS)) } };
    html! {
        details.workload open[look.open] {
            summary { @if look.nested { h4 { (name) } } @else { h3 { (name) } } }
            p.meta id=(id) {
                (wording::blocks(w.blocks.len() as u64))
                @if !params.is_empty() { "; " bdi { (params) } }
            }
            @if let Some(primary) = outline::primary(e, w) {
                (sentences(w, primary))
                (tables::functions(w, look.room))
                (warnings(&w.warnings, "warnings"))
                (content(e, w, primary, look.room))
            } @else {
                p { "No metric was measured." }
                (warnings(&w.warnings, "warnings"))
            }
        }
    }
}

/// The form of a workload's part.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// Unfolded from the start.
    pub(super) open: bool,
    /// Under the heading of its experiment.
    pub(super) nested: bool,
    pub(super) room: Room,
}

/// Sentences for the verdicts of the primary metric that need more than their line at the top, and
/// the arms that could not run.
fn sentences(w: &WorkloadResult, (primary, metric): Named<'_>) -> Markup {
    let open = |c: &Comparison| c.verdict == Verdict::Inconclusive || c.by_node.is_some();
    html! {
        ul.plain {
            @for c in outline::comparisons(w, primary).into_iter().filter(|c| open(c)) {
                @let (_, _, rest) = wording::sentence(primary, metric, c, w);
                li {
                    (verdict(c.verdict)) " " (Name(&c.arm)) " against " (Name(&c.baseline)) ": "
                    bdi { (minus(&rest)) } "."
                }
            }
            @for arm in &w.arms {
                @if let Some(reason) = &arm.na {
                    li { "n/a: " (Name(&arm.name)) ": " bdi { (plain(reason)) } "." }
                }
            }
        }
    }
}

/// Figures and tables. Too few blocks for a verdict are too few for a figure or a test: the table
/// has all their values.
fn content(e: &ExperimentResult, w: &WorkloadResult, primary: Named<'_>, room: Room) -> Markup {
    let enough = w.blocks.len() >= BLOCKS_MIN;
    html! {
        @if enough && room <= Room::Figures {
            div.figures {
                (figure(strip::draw(w, primary), "Every value."))
                (figure(order::draw(w, primary), "In the order of the run."))
            }
        }
        (tables::measured(e, w, primary, room))
        @if enough && room < Room::Figures { (tables::tests(w)) }
    }
}

fn figure(drawn: Option<Markup>, title: &str) -> Markup {
    html! { @if let Some(drawn) = drawn { figure { figcaption { b { (title) } } (drawn) } } }
}
