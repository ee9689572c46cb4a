//! A short guide to the page.

use maud::{Markup, html};

use super::frame::verdict;
use crate::model::result::Verdict;
use crate::report::wording;

/// The guide.
pub(super) fn section() -> Markup {
    html! {
        details {
            summary { h2 { "How to read this" } }
            dl.reading {
                @for one in Verdict::ALL {
                    dt { (verdict(one)) }
                    dd { (super::capital(wording::meaning(one))) "." }
                }
                dt { "block" }
                dd { "Every arm once, in a random order, each in its own process. Arms are \
                      compared within a block, so drift of the machine cancels." }
                dt { "control" }
                dd { "The baseline once more in every block. Its difference from the baseline is \
                      noise. The noise floor is the amount of noise in this run; it decides \
                      nothing, because the interval contains the same noise. If the baseline \
                      differs from itself by more than chance and more than half the margin, the \
                      control has failed, and every verdict is inconclusive." }
                dt { "change" }
                dd { "The change of the metric against the baseline: −26 % is about a quarter \
                      less. For times, “26 % faster” means 26 % less time." }
                dt { "interval" }
                dd { "The range of the true change, with 95 % confidence. For a verdict, the whole \
                      interval must lie beyond the margin or within it. If it excludes no change, \
                      the direction is certain even where the size is open. It is widened if \
                      several claims are made at once. In a run that may end early, a change \
                      needs 99.5 % confidence against no change too." }
                dt { "margin" }
                dd { "The smallest change that matters, chosen before the run." }
                dt { "picture" }
                dd { "The band is the margin, the line no change. Thick: the 95 % interval; thin: \
                      adjusted for several claims. Full point: keep or revert." }
                dt { "every value" }
                dd { "One dot is one process. Shaded: the middle half; line and number: the \
                      median." }
                dt { "order of the run" }
                dd { "The distance of each value from the arm's own median. The line is the \
                      running median. Drawn from twelve blocks on. A slope is drift; a step or \
                      a burst is a disturbance." }
                dt { "exact" }
                dd { "A count that is the same in every process. It is compared as a number, \
                      without a test." }
            }
        }
    }
}
