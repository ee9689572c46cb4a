//! The sentences of a report: one place decides how a verdict is worded.

use super::quantity::{
    self, chosen_percent, count, counted, effect_decimals, fixed, percent, signed,
};
use super::text::plain;
use super::told::open;
use crate::ministat::general::trimmed;
use crate::model::result::{
    Better, ByLayout, ByNode, Comparison, Control, Kind, Metric, NodeEffect, Verdict,
    WorkloadResult,
};
use furlong_stats::comparison::{CHANCE, CROSSES, FROM_ZERO};

/// Cap of the estimate of the blocks needed.
pub(super) const BLOCKS_CAP: u32 = 10_000;

/// The word of a verdict.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Keep => "keep",
        Verdict::Revert => "revert",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// A factor with three digits: `2.1`, `134`.
pub(super) fn times(factor: f64) -> String {
    let decimals = 2 - usize::from(factor >= 10.0) - usize::from(factor >= 100.0);
    trimmed(&fixed(factor, decimals)).to_owned()
}

/// The meaning of a verdict, in a line.
pub(super) fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Keep => "better by more than the margin",
        Verdict::Revert => "worse by more than the margin",
        Verdict::Equivalent => "proven to be within the margin on either side",
        Verdict::Inconclusive => "this run cannot tell",
    }
}

/// True if the metric is a time of which less is better.
pub(super) fn is_time(metric: &Metric) -> bool {
    metric.better == Better::Lower
        && matches!(metric.unit.as_str(), "ns" | "us" | "µs" | "ms" | "s")
}

/// The word for a change upwards or downwards, and its value judgement.
fn direction(metric: &Metric, down: bool) -> (&'static str, &'static str) {
    match (is_time(metric), down, metric.better) {
        (true, true, _) => ("faster", ""),
        (true, false, _) => ("slower", ""),
        (false, true, Better::Lower) => ("lower", " (better)"),
        (false, false, Better::Lower) => ("higher", " (worse)"),
        (false, true, Better::Higher) => ("lower", " (worse)"),
        (false, false, Better::Higher) => ("higher", " (better)"),
    }
}

/// The words for less and for more of the metric, at the ends of an axis.
pub(super) fn ends(metric: &Metric) -> (&'static str, &'static str) {
    match (is_time(metric), metric.better) {
        (true, _) => ("faster", "slower"),
        (false, Better::Lower) => ("lower: better", "higher: worse"),
        (false, Better::Higher) => ("lower: worse", "higher: better"),
    }
}

/// The better direction, as a remark beside the metric's name.
pub(crate) fn better(metric: &Metric) -> &'static str {
    match metric.better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    }
}

/// From this factor on a change is also given as a factor: near -100 %, percentages hide how much
/// is still to gain. A half and the double are clear as percentages.
pub(super) const FACTOR_FROM: f64 = 2.05;

/// A large change as a ratio: `21 times as fast`. `None` if a percentage is clear enough, or if the
/// change is not relative to the baseline.
pub(super) fn factor(metric: &Metric, c: &Comparison) -> Option<String> {
    let ratio = 1.0 + c.effect_pct / 100.0;
    if c.scale.as_deref() == Some("difference") || c.reason.as_deref() == Some(FROM_ZERO) {
        return None;
    }
    let told = match (is_time(metric), ratio) {
        (true, r) if r >= FACTOR_FROM => format!("{} times as long", times(r)),
        (false, r) if r >= FACTOR_FROM => format!("{} times as much", times(r)),
        (true, r) if r > 0.0 && 1.0 / r >= FACTOR_FROM => {
            format!("{} times as fast", times(1.0 / r))
        }
        (false, r) if r > 0.0 && 1.0 / r >= FACTOR_FROM => format!("1/{} as much", times(1.0 / r)),
        _ => return None,
    };
    Some(told)
}

/// The effect with its interval, positive in the direction of its word:
/// `26.1 % faster [25.4, 26.8]`, `21 times as fast, 95.2 % faster [95.1, 95.3]`.
pub(super) fn effect(metric: &Metric, c: &Comparison) -> String {
    let decimals = effect_decimals(c.effect_pct, c.ci95_pct);
    let size = fixed(c.effect_pct.abs(), decimals);
    if !size.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        let interval = c
            .ci95_pct
            .map(|ci| format!(" {}", interval(ci, decimals, 1.0)));
        return format!("no difference{}", interval.unwrap_or_default());
    }
    let down = c.effect_pct < 0.0;
    let (word, worth) = direction(metric, down);
    let sign = if down { -1.0 } else { 1.0 };
    let interval = c
        .ci95_pct
        .map(|ci| format!(" {}", interval(ci, decimals, sign)));
    let factor = factor(metric, c).map_or(String::new(), |factor| format!("{factor}, "));
    format!(
        "{factor}{size} % {word}{worth}{}",
        interval.unwrap_or_default()
    )
}

pub(super) fn interval([low, high]: [f64; 2], decimals: usize, sign: f64) -> String {
    let (low, high) = if sign < 0.0 {
        (-high, -low)
    } else {
        (low, high)
    };
    format!("[{}, {}]", fixed(low, decimals), fixed(high, decimals))
}

/// The signed effect of a table's cell: `-26.1 %`.
pub(super) fn signed_effect(c: &Comparison) -> String {
    quantity::signed_effect(c.effect_pct, c.ci95_pct)
}

/// The signed effect for a column under `%`.
pub(super) fn change(c: &Comparison) -> String {
    signed(c.effect_pct, effect_decimals(c.effect_pct, c.ci95_pct))
}

/// The signed interval of a table's cell; `None` if there is none.
pub(super) fn signed_interval(c: &Comparison) -> Option<String> {
    quantity::signed_interval(c.effect_pct, c.ci95_pct)
}

/// The whole sentence of a comparison, without the period.
pub(super) fn sentence(
    name: &str,
    metric: &Metric,
    c: &Comparison,
    w: &WorkloadResult,
) -> (String, Verdict, String) {
    let subject = match metric.primary {
        true => format!("{} against {}", plain(&c.arm), plain(&c.baseline)),
        false => format!(
            "{}, {} against {}",
            plain(name),
            plain(&c.arm),
            plain(&c.baseline)
        ),
    };
    let rest = match metric.kind {
        Kind::Exact => format!(
            "{}, an exact count, margin {}",
            effect(metric, c),
            margin(c)
        ),
        Kind::Sampled => sampled(metric, c, w.control.get(name)),
    };
    (subject, c.verdict, rest)
}

/// A certain direction whose size is open: `slower, by 0.1 to 4.4 %; whether by more than the
/// margin of 1 % is open`. `None` if there is a verdict, or no direction.
pub(super) fn open_size(metric: &Metric, c: &Comparison) -> Option<String> {
    c.direction.filter(|_| c.verdict == Verdict::Inconclusive)?;
    let [low, high] = c.ci_adj_pct.or(c.ci95_pct)?;
    let (word, worth) = direction(metric, c.effect_pct < 0.0);
    let (near, far) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    // An end that is not zero does not read as zero.
    let decimals = effect_decimals(c.effect_pct, c.ci95_pct);
    let enough = |decimals: &usize| signed(near, *decimals).starts_with('+');
    let decimals = (decimals..4).find(enough).unwrap_or(4);
    Some(format!(
        "{word}{worth}, by {} to {} %; {}",
        fixed(near, decimals),
        fixed(far, decimals),
        open(c)
    ))
}

fn sampled(metric: &Metric, c: &Comparison, control: Option<&Control>) -> String {
    let mut parts = vec![];
    let found = effect(metric, c);
    let (open, adjusted) = (open_size(metric, c), adjusted(c));
    let is_told = |reason: &&String| [CROSSES, CHANCE].contains(&reason.as_str());
    match c.verdict {
        Verdict::Equivalent => parts.push(format!("within ±{} of each other: {found}", margin(c))),
        // The sentence contains the interval, unless there are two.
        Verdict::Inconclusive if open.is_some() => {
            parts.extend(adjusted.is_some().then_some(found));
        }
        Verdict::Inconclusive => parts.push(format!("this run cannot tell: {found}")),
        Verdict::Keep | Verdict::Revert => parts.push(found),
    }
    parts.extend(adjusted);
    if open.is_none() {
        parts.push(format!("margin {}", margin(c)));
    }
    if let Some(floor) = control.and_then(|control| control.floor_pct) {
        parts.push(format!("noise floor {}", percent(floor)));
    }
    parts.push(blocks(c.n as u64));
    let mut text = parts.join(", ");
    if let Some(open) = &open {
        text = format!("{open}; {text}");
    }
    if c.scale.as_deref() == Some("difference") {
        text.push_str("; differences over the baseline's mean, since not all values are positive");
    }
    let reason = c.reason.as_ref();
    if let Some(reason) = reason.filter(|reason| open.is_none() || !is_told(reason)) {
        text.push_str("; ");
        text.push_str(plain(reason).trim_end_matches('.'));
    }
    if c.verdict == Verdict::Inconclusive
        && !control.is_some_and(|control| control.failed)
        && let Some(outlook) = outlook(c)
    {
        text.push_str("; ");
        text.push_str(&outlook);
    }
    if let Some(by_node) = c.by_node.as_ref().filter(|_| metric.primary) {
        text.push_str("; ");
        text.push_str(&on_nodes(by_node));
    }
    if let Some(by_layout) = c.by_layout.as_ref().filter(|_| metric.primary) {
        text.push_str("; ");
        text.push_str(&in_layouts(by_layout));
    }
    text
}

/// The part of the layouts: `in 8 code layouts, which explain 74 % of the variance [40, 95]`.
pub(super) fn in_layouts(by_layout: &ByLayout) -> String {
    let layouts = counted(by_layout.layouts as u64, "code layout");
    let part = match (by_layout.share_pct, by_layout.share95_pct, by_layout.p) {
        (Some(share), Some([low, high]), Some(p)) if p < SHARE_P => {
            format!(", which explain {share:.0} % of the variance [{low:.0}, {high:.0}]")
        }
        (_, Some([_, high]), _) => {
            format!(", whose part of the variance may be 0 (at most {high:.0} %)")
        }
        _ => String::new(),
    };
    format!("in {layouts}{part}")
}

/// Below this chance, the part of the layouts is reported.
const SHARE_P: f64 = 0.05;

/// Each node's effect: `n1 -2.1 % [-2.5, -1.7] of 4 blocks, .. ; alike but for chance (p = 0.43)`.
fn on_nodes(by_node: &ByNode) -> String {
    let one = |node: &NodeEffect| {
        let change = quantity::change(node.effect_pct, node.ci95_pct);
        let blocks = blocks(node.n as u64);
        format!("{} {change} in {blocks}", plain(&node.node))
    };
    let all: Vec<String> = by_node.effects.iter().map(one).collect();
    let alike = match by_node.differ {
        None => String::new(),
        Some(test) if test.p < DIFFER_P => {
            format!(
                ": the effect depends on the node (F test, p = {:.4})",
                test.p
            )
        }
        Some(test) => format!(
            ": no difference between nodes detected (F test, p = {:.2})",
            test.p
        ),
    };
    format!("on {}{alike}", all.join(", "))
}

/// Below this chance, a difference between nodes is reported.
const DIFFER_P: f64 = 0.01;

/// The interval at its own level, if several claims made it visibly wider than the 95 % one.
pub(super) fn adjusted(c: &Comparison) -> Option<String> {
    let (ci, level) = (c.ci_adj_pct?, c.level?);
    let sign = if c.effect_pct < 0.0 { -1.0 } else { 1.0 };
    let decimals = effect_decimals(c.effect_pct, c.ci95_pct);
    let wider = interval(ci, decimals, sign);
    if c.ci95_pct
        .is_some_and(|plain| interval(plain, decimals, sign) == wider)
    {
        return None;
    }
    Some(format!("adjusted {wider} at {}", confidence(level)))
}

/// The confidence of an interval: `97.5 %`. None is certain.
pub(super) fn confidence(level: f64) -> String {
    let pct = (level * 1e4).round() / 1e2;
    match pct < 100.0 {
        true => chosen_percent(pct),
        false => "more than 99.99 %".to_owned(),
    }
}

pub(super) fn margin(c: &Comparison) -> String {
    chosen_percent(c.margin_pct)
}

/// `1 block`, `10 blocks`.
pub(super) fn blocks(n: u64) -> String {
    counted(n, "block")
}

/// The blocks that would suffice, or the layouts if there are several.
pub(super) fn enough(c: &Comparison, blocks_needed: u32) -> String {
    match c.by_layout.and_then(|by_layout| by_layout.needed) {
        Some(layouts) => counted(layouts.into(), "layout"),
        None => blocks(blocks_needed.into()),
    }
}

/// The effect that an inconclusive run could have seen, and the blocks that would suffice.
pub(super) fn outlook(c: &Comparison) -> Option<String> {
    // A larger effect without a verdict lacks something else, which `reason` names.
    let seen = c.mde_pct.filter(|mde| *mde > c.effect_pct.abs());
    let seen = seen.map(|mde| format!("this run could detect {} or more", percent(mde)));
    // With enough blocks, something else is missing, which `reason` names.
    let needed = c.n_needed.filter(|n| (*n as usize) > c.n).map(|n| match n {
        BLOCKS_CAP.. => format!(
            "a verdict needs more than {} blocks",
            count(BLOCKS_CAP.into())
        ),
        n => format!("about {} would give a verdict", enough(c, n)),
    });
    match (seen, needed) {
        (Some(seen), Some(needed)) => Some(format!("{seen}; {needed}")),
        (seen, needed) => seen.or(needed),
    }
}

/// `12 comparisons: 9 keep, 3 inconclusive`.
pub(super) fn tally(all: &[(Verdict, usize)]) -> String {
    let total: usize = all.iter().map(|(_, n)| n).sum();
    let said = all.iter();
    let said: Vec<String> = said
        .map(|(v, n)| format!("{} {}", count(*n as u64), word(*v)))
        .collect();
    format!(
        "{}: {}",
        counted(total as u64, "comparison"),
        said.join(", ")
    )
}

/// A metric's caption: `time_ns_per_op, lower is better`.
pub(super) fn caption(name: &str, metric: &Metric) -> String {
    format!("{}, {}", plain(name), better(metric))
}

#[cfg(test)]
mod tests;
