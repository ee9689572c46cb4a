//! Sentences of comparisons.

use std::collections::BTreeMap;

use super::{effect, in_layouts, outlook, sentence, signed_effect};
use crate::model::result::{
    Better, ByLayout, Comparison, Control, Direction, Kind, Metric, Verdict, WorkloadResult,
};
use crate::report::told::amount;
use furlong_stats::comparison::FROM_ZERO;

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
        ci_adj_pct: Some(ci),
        level: Some(0.95),
        verdict,
        mde_pct: Some(3.2),
        n_needed: Some(45),
        ..Comparison::default()
    }
}

fn workload() -> WorkloadResult {
    let control = Control {
        floor_pct: Some(0.4),
        ..Control::default()
    };
    WorkloadResult {
        name: "rem".to_owned(),
        control: BTreeMap::from([("time".to_owned(), control)]),
        ..WorkloadResult::default()
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
    assert!(
        open.ends_with("this run could detect 3.2 % or more; about 45 blocks would give a verdict")
    );
    assert!(!same.contains("could detect") && !same.contains("give a verdict"));
}

#[test]
fn an_open_size_says_its_direction_first() {
    let (ns, throughput) = (metric("ns", Better::Lower), metric("ops/s", Better::Higher));
    let open = |effect_pct, ci, direction| {
        let mut c = compared(effect_pct, ci, Verdict::Inconclusive);
        c.reason = Some("the interval crosses the margin".to_owned());
        c.direction = Some(direction);
        c
    };
    let slower = open(2.2, [0.1, 4.4], Direction::Worse);
    assert_eq!(
        say(&ns, &slower),
        "checked against deferred: inconclusive: slower, by 0.1 to 4.4 %; whether by more than \
         the margin of 1 % is open; noise floor 0.4 %, 10 blocks; this run could detect 3.2 % \
         or more; about 45 blocks would give a verdict"
    );
    let less = open(-2.2, [-4.4, -0.012], Direction::Worse);
    let text = say(&throughput, &less);
    assert!(
        text.contains("inconclusive: lower (worse), by 0.01 to 4.40 %; whether"),
        "{text}"
    );
    let mut adjusted = slower.clone();
    adjusted.ci95_pct = Some([0.3, 4.2]);
    adjusted.level = Some(0.975);
    let text = say(&ns, &adjusted);
    assert!(
        text.contains(
            "slower, by 0.1 to 4.4 %; whether by more than the margin of 1 % is open; 2.2 % \
             slower [0.3, 4.2], adjusted [0.1, 4.4] at 97.5 %, noise floor"
        ),
        "{text}"
    );
    // Any other reason is told.
    adjusted.reason = Some("decided on its own".to_owned());
    assert!(say(&ns, &adjusted).contains("; decided on its own;"));
    // A verdict has its own words.
    let kept = Comparison {
        verdict: Verdict::Keep,
        ..less
    };
    assert!(!say(&throughput, &kept).contains("open"));
}

#[test]
fn the_cap_of_needed_blocks_is_not_reported_as_a_number_of_blocks() {
    let mut c = compared(0.9, [-4.0, 6.0], Verdict::Inconclusive);
    c.n_needed = Some(10_000);
    assert!(outlook(&c).is_some_and(|o| o.ends_with("a verdict needs more than 10,000 blocks")));
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
    c.level = Some(0.999_999);
    let text = say(&metric("ns", Better::Lower), &c);
    assert!(text.contains("at more than 99.99 %"), "{text}");
}

#[test]
fn another_metric_has_as_much_and_is_not_as_fast() {
    let amount = |effect_pct, ci| {
        let mut c = compared(effect_pct, ci, Verdict::Revert);
        let told = amount(&c);
        c.scale = Some("difference".to_owned());
        assert_eq!(amount(&c), told, "a ratio of means is a ratio, too");
        c.reason = Some(FROM_ZERO.to_owned());
        assert!(
            amount(&c).contains(" % "),
            "a baseline of zero has no ratio"
        );
        told
    };
    assert_eq!(amount(14.0, [12.0, 16.0]), "14.0 % more");
    assert_eq!(amount(-29.0, [-31.0, -27.0]), "29.0 % less");
    assert_eq!(amount(503.0, [490.0, 520.0]), "6.03 times as much");
    assert_eq!(amount(-92.5, [-93.0, -92.0]), "1/13.3 as much");
}

#[test]
fn the_part_of_the_layouts_is_a_share_only_if_it_is_told_from_none() {
    let mut c = compared(0.9, [-4.0, 6.0], Verdict::Inconclusive);
    let mut by_layout = ByLayout {
        layouts: 8,
        needed: Some(24),
        share_pct: Some(74.4),
        share95_pct: Some([40.1, 95.0]),
        p: Some(0.0002),
    };
    c.by_layout = Some(by_layout);
    let said = say(&metric("ns", Better::Lower), &c);
    assert!(
        said.contains("about 24 layouts would give a verdict"),
        "{said}"
    );
    assert!(
        said.ends_with("in 8 code layouts, which explain 74 % of the variance [40, 95]"),
        "{said}"
    );
    by_layout.p = Some(0.2);
    assert_eq!(
        in_layouts(&by_layout),
        "in 8 code layouts, whose part of the variance may be 0 (at most 95 %)"
    );
    by_layout.share95_pct = None;
    assert_eq!(in_layouts(&by_layout), "in 8 code layouts");
}
