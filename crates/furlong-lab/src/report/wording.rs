//! The sentences of a report: one place decides how a verdict is worded.
#![forbid(unsafe_code)]

use super::quantity::{chosen_percent, count, effect_decimals, fixed, percent, signed, trimmed};
use super::text::plain;
use crate::model::result::{
    Better, ByNode, Comparison, Control, Kind, Metric, NodeEffect, Verdict, WorkloadResult,
};
use furlong_stats::comparison::FROM_ZERO;

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
const FACTOR_FROM: f64 = 2.05;

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
    format!("{} %", change(c))
}

/// The signed effect for a column under `%`.
pub(super) fn change(c: &Comparison) -> String {
    signed(c.effect_pct, effect_decimals(c.effect_pct, c.ci95_pct))
}

/// The signed interval of a table's cell; `None` if there is none.
pub(super) fn signed_interval(c: &Comparison) -> Option<String> {
    let decimals = effect_decimals(c.effect_pct, c.ci95_pct);
    let [low, high] = c.ci95_pct?;
    Some(format!(
        "[{}, {}]",
        signed(low, decimals),
        signed(high, decimals)
    ))
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

fn sampled(metric: &Metric, c: &Comparison, control: Option<&Control>) -> String {
    let mut parts = vec![];
    let found = effect(metric, c);
    parts.push(match c.verdict {
        Verdict::Equivalent => format!("within ±{} of each other: {found}", margin(c)),
        Verdict::Inconclusive => format!("this run cannot tell: {found}"),
        Verdict::Keep | Verdict::Revert => found,
    });
    if let Some(adjusted) = adjusted(c) {
        parts.push(adjusted);
    }
    parts.push(format!("margin {}", margin(c)));
    if let Some(floor) = control.and_then(|control| control.floor_pct) {
        parts.push(format!("noise floor {}", percent(floor)));
    }
    parts.push(blocks(c.n as u64));
    let mut text = parts.join(", ");
    if c.scale.as_deref() == Some("difference") {
        text.push_str("; differences over the baseline's mean, since not all values are positive");
    }
    if let Some(reason) = &c.reason {
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
    text
}

/// Each node's effect: `n1 -2.1 % [-2.5, -1.7] of 4 blocks, .. ; alike but for chance (p = 0.43)`.
fn on_nodes(by_node: &ByNode) -> String {
    let one = |node: &NodeEffect| {
        let decimals = effect_decimals(node.effect_pct, node.ci95_pct);
        let interval = node
            .ci95_pct
            .map(|[low, high]| format!(" [{}, {}]", signed(low, decimals), signed(high, decimals)));
        format!(
            "{} {} %{} in {}",
            plain(&node.node),
            signed(node.effect_pct, decimals),
            interval.unwrap_or_default(),
            blocks(node.n as u64)
        )
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
    let level = chosen_percent((level * 1e4).round() / 1e2);
    Some(format!("adjusted {wider} at {level}"))
}

pub(super) fn margin(c: &Comparison) -> String {
    chosen_percent(c.margin_pct)
}

/// `1 block`, `10 blocks`.
pub(super) fn blocks(n: u64) -> String {
    format!("{} {}", count(n), if n == 1 { "block" } else { "blocks" })
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
        n => format!("about {} would give a verdict", blocks(u64::from(n))),
    });
    match (seen, needed) {
        (Some(seen), Some(needed)) => Some(format!("{seen}; {needed}")),
        (seen, needed) => seen.or(needed),
    }
}

/// `12 comparisons: 9 keep, 3 inconclusive`.
pub(super) fn tally(counted: &[(Verdict, usize)]) -> String {
    let total: usize = counted.iter().map(|(_, n)| n).sum();
    let noun = if total == 1 {
        "comparison"
    } else {
        "comparisons"
    };
    let said: Vec<String> = counted
        .iter()
        .map(|(v, n)| format!("{} {}", count(*n as u64), word(*v)))
        .collect();
    format!("{} {noun}: {}", count(total as u64), said.join(", "))
}

/// A metric's caption: `time_ns_per_op, lower is better`.
pub(super) fn caption(name: &str, metric: &Metric) -> String {
    format!("{}, {}", plain(name), better(metric))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{effect, outlook, sentence, signed_effect};
    use crate::model::result::{
        Better, Comparison, Control, Kind, Metric, Verdict, WorkloadResult,
    };

    fn metric(unit: &str, better: Better) -> Metric {
        Metric {
            unit: unit.to_owned(),
            better,
            kind: Kind::Sampled,
            primary: true,
            margin_pct: None,
            about: String::new(),
        }
    }

    fn compared(effect_pct: f64, ci: [f64; 2], verdict: Verdict) -> Comparison {
        Comparison {
            baseline: "deferred".to_owned(),
            arm: "checked".to_owned(),
            metric: "time".to_owned(),
            n: 10,
            effect_pct,
            ci95_pct: Some(ci),
            margin_pct: 1.0,
            paired: None,
            sign_flip_p: None,
            ci_adj_pct: Some(ci),
            level: Some(0.95),
            variance: None,
            welch: None,
            student: None,
            mann_whitney: None,
            verdict,
            mde_pct: Some(3.2),
            n_needed: Some(45),
            scale: None,
            reason: None,
            by_node: None,
        }
    }

    fn workload() -> WorkloadResult {
        let control = Control {
            samples: vec![],
            floor_pct: Some(0.4),
            failed: false,
        };
        WorkloadResult {
            name: "rem".to_owned(),
            params: BTreeMap::new(),
            blocks: vec![],
            order: vec![],
            arms: vec![],
            control: BTreeMap::from([("time".to_owned(), control)]),
            comparisons: vec![],
            warnings: vec![],
        }
    }

    fn say(metric: &Metric, c: &Comparison) -> String {
        let (subject, _, rest) = sentence("time", metric, c, &workload());
        format!("{subject}: {}: {rest}", super::word(c.verdict))
    }

    #[test]
    fn a_keep_says_effect_interval_margin_floor_and_blocks() {
        let c = compared(-26.1, [-26.8, -25.4], Verdict::Keep);
        assert_eq!(
            say(&metric("ns", Better::Lower), &c),
            "checked against deferred: keep: 26.1 % faster [25.4, 26.8], margin 1 %, \
             noise floor 0.4 %, 10 blocks"
        );
        assert_eq!(signed_effect(&c), "-26.1 %");
    }

    #[test]
    fn only_times_are_faster_and_direction_follows_the_metric() {
        let up = compared(10.6, [9.9, 11.3], Verdict::Keep);
        let text = effect(&metric("ops/s", Better::Higher), &up);
        assert_eq!(text, "10.6 % higher (better) [9.9, 11.3]");
        let text = effect(&metric("KiB", Better::Lower), &up);
        assert_eq!(text, "10.6 % higher (worse) [9.9, 11.3]");
        assert_eq!(
            effect(&metric("s", Better::Lower), &up),
            "10.6 % slower [9.9, 11.3]"
        );
        assert_eq!(
            effect(&metric("s", Better::Higher), &up),
            "10.6 % higher (better) [9.9, 11.3]"
        );
    }

    #[test]
    fn a_large_change_is_told_as_a_ratio_too() {
        let (time, count) = (metric("ns", Better::Lower), metric("1", Better::Lower));
        let faster = compared(-99.09, [-99.14, -99.03], Verdict::Keep);
        assert_eq!(
            effect(&time, &faster),
            "110 times as fast, 99.09 % faster [99.03, 99.14]"
        );
        let slower = compared(1755.0, [1728.0, 1783.0], Verdict::Revert);
        assert_eq!(
            effect(&time, &slower),
            "18.6 times as long, 1755 % slower [1728, 1783]"
        );
        let exactly = |pct| Comparison {
            ci95_pct: None,
            ..compared(pct, [0.0; 2], Verdict::Keep)
        };
        let told = |pct| effect(&count, &exactly(pct));
        assert_eq!(told(-99.0), "1/100 as much, 99.00 % lower (better)");
        assert_eq!(told(-99.99), "1/10,000 as much, 99.990 % lower (better)");
        assert_eq!(told(205.0), "3.05 times as much, 205.0 % higher (worse)");
        assert_eq!(told(101.0), "101.0 % higher (worse)");
        assert_eq!(told(-49.0), "49.0 % lower (better)");
        assert_eq!(told(-100.0), "100.0 % lower (better)");
        let mut shares = faster;
        shares.scale = Some("difference".to_owned());
        assert!(effect(&time, &shares).starts_with("99.09 %"));
    }

    #[test]
    fn equivalent_and_inconclusive_never_read_alike() {
        let ci = [-0.2, 0.6];
        let same = say(
            &metric("ns", Better::Lower),
            &compared(0.2, ci, Verdict::Equivalent),
        );
        let open = say(
            &metric("ns", Better::Lower),
            &compared(0.2, ci, Verdict::Inconclusive),
        );
        assert!(
            same.contains("equivalent: within ±1 % of each other"),
            "{same}"
        );
        assert!(
            open.contains("inconclusive: this run cannot tell"),
            "{open}"
        );
        assert!(open.ends_with(
            "this run could detect 3.2 % or more; about 45 blocks would give a verdict"
        ));
        assert!(!same.contains("could detect") && !same.contains("give a verdict"));
    }

    #[test]
    fn the_cap_of_needed_blocks_is_not_reported_as_a_number_of_blocks() {
        let mut c = compared(0.9, [-4.0, 6.0], Verdict::Inconclusive);
        c.n_needed = Some(10_000);
        assert!(
            outlook(&c).is_some_and(|o| o.ends_with("a verdict needs more than 10,000 blocks"))
        );
        c.n_needed = None;
        c.mde_pct = None;
        assert_eq!(outlook(&c), None);
    }

    #[test]
    fn an_interval_over_no_difference_keeps_both_its_signs() {
        let c = compared(-0.52, [-1.24, 0.21], Verdict::Inconclusive);
        assert_eq!(
            effect(&metric("ns", Better::Lower), &c),
            "0.5 % faster [-0.2, 1.2]"
        );
        let none = compared(0.0, [-0.1, 0.1], Verdict::Equivalent);
        assert_eq!(
            effect(&metric("ns", Better::Lower), &none),
            "no difference [-0.1, 0.1]"
        );
    }

    #[test]
    fn a_wider_interval_for_several_claims_is_named_with_its_level() {
        let mut c = compared(-26.1, [-26.8, -25.4], Verdict::Keep);
        c.ci_adj_pct = Some([-27.0, -25.2]);
        c.level = Some(0.975);
        let text = say(&metric("ns", Better::Lower), &c);
        assert!(text.contains("adjusted [25.2, 27.0] at 97.5 %"), "{text}");
    }
}
