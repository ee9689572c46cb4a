//! A short guide to the page.
#![forbid(unsafe_code)]

use maud::{Markup, html};

use super::frame::verdict;
use crate::model::result::Verdict;
use crate::report::wording;

/// The guide.
pub(super) fn section() -> Markup {
    let verdicts = [
        Verdict::Keep,
        Verdict::Revert,
        Verdict::Equivalent,
        Verdict::Inconclusive,
    ];
    html! {
        section aria-labelledby="reading" {
            h2 id="reading" { "How to read this" }
            dl.reading {
                @for one in verdicts {
                    dt { (verdict(one)) }
                    dd { (super::capital(wording::meaning(one))) "." }
                }
                dt { "block" }
                dd { "Every arm once, in a random order, each in a process of its own. What is \
                    compared is compared within a block, so that drift of the machine cancels." }
                dt { "control" }
                dd { "The baseline once more in every block. What it differs from the baseline is \
                    noise; the noise floor is how much of it this run had. If the control itself \
                    fails, no verdict is better than inconclusive." }
                dt { "change" }
                dd { "Of the metric against the baseline: −26 % is a quarter less. For times, \
                    “26 % faster” means that it takes 26 % less time." }
                dt { "interval" }
                dd { "Where the true change lies, with 95 % confidence. A verdict needs the whole \
                    interval, widened where several claims are made at once, beyond the margin \
                    or within it." }
                dt { "margin" }
                dd { "The least change that matters, chosen before the run." }
                dt { "exact" }
                dd { "A count that is the same in every process: compared as a number, without \
                    a test." }
            }
        }
    }
}
