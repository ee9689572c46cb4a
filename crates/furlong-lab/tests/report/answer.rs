//! The short form of a result on a terminal.

use furlong_lab::model::README;
use furlong_lab::model::result::{Better, ResultFile, Verdict};
use furlong_lab::report::markdown;
use furlong_lab::report::terminal::{Style, answer};
use furlong_stats::comparison::EARLY;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::odd;
use crate::screen::bare;

fn at(file: &ResultFile, width: usize) -> String {
    let colour = false;
    let style = Style {
        width,
        colour,
        ..Style::default()
    };
    answer(file, &style)
}

/// A comparison of two commands with this change of the second one's time.
fn changed(effect_pct: f64, ci: [f64; 2], verdict: Verdict) -> ResultFile {
    let mut file = odd::named("compare");
    let w = &mut file.experiments[0].workloads[0];
    for c in w.comparisons.iter_mut().take(1) {
        (c.effect_pct, c.ci95_pct, c.verdict) = (effect_pct, Some(ci), verdict);
        (c.ci_adj_pct, c.n_needed) = (None, Some(46));
        c.direction = Better::Lower.direction(ci);
    }
    file
}

/// The sentence of an answer, on one line.
fn sentence(file: &ResultFile) -> String {
    let text = at(file, 200);
    let mut lines = text.lines();
    let line = lines.rfind(|line| line.contains("allocator-new") && line.contains(": "));
    line.unwrap().to_owned()
}

#[test]
fn no_line_is_too_wide_and_no_name_sends_codes() {
    for (name, file) in odd::all() {
        for width in [40, 60, 80, 200] {
            let text = at(&file, width);
            let bad = text.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(bad, None, "{name}");
            for line in text.lines() {
                assert!(line.width() <= width, "{name} at {width}: {line:?}");
                assert_eq!(line, line.trim_end(), "{name} at {width}");
            }
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name}");
        }
        let colour = true;
        let style = Style {
            colour,
            ..Style::default()
        };
        let coloured = answer(&file, &style);
        assert_eq!(bare(&coloured), at(&file, 80), "{name}");
    }
}

#[test]
fn two_commands_take_at_most_ten_lines_and_end_with_the_answer() {
    // Two more lines are of the run: its limit and its name.
    for width in [60, 80] {
        for (ci, verdict) in [
            ([2.9, 3.1], Verdict::Revert),
            ([-3.1, -2.9], Verdict::Keep),
            ([-0.2, 0.4], Verdict::Equivalent),
            ([0.1, 4.4], Verdict::Inconclusive),
            ([-4.4, 3.1], Verdict::Inconclusive),
        ] {
            let mean = f64::midpoint(ci[0], ci[1]);
            let text = at(&changed(mean, ci, verdict), width);
            let lines = text.lines().count();
            assert!(lines <= 10, "{lines} lines at {width}:\n{text}");
            let rows = text.lines().take_while(|line| !line.is_empty());
            assert!(rows.clone().all(|row| row.width() <= width), "{text}");
            assert!(text.contains('█') && text.contains(" ± "), "{text}");
        }
    }
}

#[test]
fn the_means_have_the_ratio_of_the_sentence() {
    // Arithmetic means differ in the first case. In the second a value has no logarithm.
    for (second, equal) in [([2.0, 2.0], true), ([0.0, 5.0], true), ([0.0, 4.0], false)] {
        let mut file = changed(0.0, [-0.1, 0.1], Verdict::Equivalent);
        let w = &mut file.experiments[0].workloads[0];
        let some = |values: &[f64]| values.iter().copied().map(Some).collect();
        let primary = w.comparisons[0].metric.clone();
        w.control.get_mut(&primary).unwrap().samples = some(&[4.0, 1.0]);
        for (arm, values) in w.arms.iter_mut().zip([[1.0, 4.0], second]) {
            arm.samples.insert(primary.clone(), some(&values));
        }
        let text = at(&file, 80);
        let means = text.lines().take(2).map(|row| {
            let (name_and_mean, _) = row.split_once('±').unwrap();
            name_and_mean.split_whitespace().last().unwrap()
        });
        let means: Vec<&str> = means.collect();
        assert_eq!(means[0] == means[1], equal, "{text}");
    }
}

#[test]
fn the_sentence_says_direction_size_interval_and_what_is_open() {
    for (effect, ci, verdict, wanted) in [
        (
            3.0,
            [2.9, 3.1],
            Verdict::Revert,
            "slower: allocator-new takes 3.0 % more time than allocator-old, 95 % interval \
             [2.9, 3.1]; 10 blocks",
        ),
        (
            -60.0,
            [-61.0, -59.0],
            Verdict::Keep,
            "faster: allocator-new is 2.5 times as fast as allocator-old, 95 % interval \
             [2.44, 2.56]; 10 blocks",
        ),
        (
            0.1,
            [-0.2, 0.4],
            Verdict::Equivalent,
            "same: allocator-new takes 0.1 % more time than allocator-old, 95 % interval \
             [-0.2, 0.4]; all of it within the margin of 1 %; 10 blocks",
        ),
        (
            2.2,
            [0.1, 4.4],
            Verdict::Inconclusive,
            "slower: allocator-new takes 2.2 % more time than allocator-old, 95 % interval \
             [0.1, 4.4]; whether by more than the margin of 1 % is open; 10 blocks",
        ),
        (
            -0.6,
            [-4.4, 3.1],
            Verdict::Inconclusive,
            "cannot tell: allocator-new takes 0.6 % less time than allocator-old, 95 % interval \
             [-3.1, 4.4]; margin 1 %; 10 blocks",
        ),
    ] {
        assert_eq!(sentence(&changed(effect, ci, verdict)), wanted);
    }
}

#[test]
fn a_failed_control_has_no_direction() {
    let mut file = changed(2.2, [0.1, 4.4], Verdict::Inconclusive);
    file.experiments[0].workloads[0].comparisons[0].direction = None;
    let text = sentence(&file);
    assert!(text.starts_with("cannot tell: "), "{text}");
}

#[test]
fn an_open_question_names_the_ways_to_decide_it() {
    let open = at(&changed(2.2, [0.1, 4.4], Verdict::Inconclusive), 100);
    let last = open.lines().last().unwrap();
    assert!(
        last.starts_with("to decide: about 46 blocks (--blocks 46)"),
        "{open}"
    );
    let sure = at(&changed(3.0, [2.9, 3.1], Verdict::Revert), 100);
    assert!(!sure.contains("to decide"), "{sure}");
}

#[test]
fn a_verdict_that_only_early_looks_prevent_says_so() {
    let mut file = changed(3.0, [2.9, 3.1], Verdict::Inconclusive);
    let c = &mut file.experiments[0].workloads[0].comparisons[0];
    (c.direction, c.reason) = (None, Some(EARLY.to_owned()));
    let text = at(&file, 100);
    assert!(text.contains(EARLY), "{text}");
}

#[test]
fn long_names_that_differ_at_their_ends_only_are_told_apart() {
    let mut file = changed(3.0, [2.9, 3.1], Verdict::Revert);
    let w = &mut file.experiments[0].workloads[0];
    let long = |end| format!("{}{end}", "a-rather-long-name-of-a-command ".repeat(3));
    for (arm, end) in w.arms.iter_mut().zip(["one", "two"]) {
        arm.name = long(end);
    }
    for c in &mut w.comparisons {
        (c.baseline, c.arm) = (long("one"), long("two"));
    }
    let text = at(&file, 80);
    assert!(
        text.contains("… of a command one") || text.contains("command one"),
        "{text}"
    );
    assert!(text.contains("command two"), "{text}");
}

#[test]
fn an_experiment_has_a_line_per_comparison() {
    let text = at(&odd::named("rich"), 80);
    let verdicts = ["keep", "revert", "equivalent", "inconclusive"];
    let is_row = |line: &&str| verdicts.iter().any(|verdict| line.ends_with(verdict));
    let rows = text.lines().filter(is_row).count();
    let tally = text.lines().find(|line| line.contains(" comparisons: "));
    let many = tally.and_then(|line| line.split(' ').next()).unwrap();
    assert!(
        rows.to_string() == many || rows == many.parse::<usize>().unwrap() + 1,
        "{text}"
    );
    assert!(!text.contains("also measured"), "{text}");
}

#[test]
fn the_tour_has_the_readmes_figure_beside_ours() {
    let mut file = odd::named("rich");
    file.run.profile = "tour".to_owned();
    for w in file.experiments.iter_mut().flat_map(|e| &mut e.workloads) {
        w.params
            .insert(README.to_owned(), "1.9 times as fast".into());
        // Their geometric mean is 200, their median is not.
        let samples = [100.0, 100.0, 800.0].map(Some).to_vec();
        let of_arms = w.arms.iter_mut().flat_map(|arm| arm.samples.values_mut());
        let of_controls = w.control.values_mut().map(|control| &mut control.samples);
        of_arms
            .chain(of_controls)
            .for_each(|all| all.clone_from(&samples));
    }
    let text = at(&file, 100);
    assert!(text.contains(&file.experiments[0].question), "{text}");
    assert!(text.contains("eager (200.0 ns)"), "{text}");
    assert!(
        text.replace("\n  ", " ")
            .contains("; README: 1.9 times as fast"),
        "{text}"
    );
    assert!(
        text.contains("Each baseline ran twice in every block."),
        "{text}"
    );
    let last: String = text.lines().rev().take(2).collect();
    assert!(last.contains("furlong compare"), "{text}");
}

/// Benchmarks of two revisions, with these changes and verdicts.
fn benchmarks(changes: &[(f64, Verdict)]) -> ResultFile {
    let mut file = changed(0.0, [0.0, 0.0], Verdict::Equivalent);
    let e = &mut file.experiments[0];
    e.workloads[0]
        .params
        .insert("family".to_owned(), changes.len().into());
    let one = e.workloads[0].clone();
    e.workloads = changes
        .iter()
        .enumerate()
        .map(|(at, (effect, verdict))| {
            let mut w = one.clone();
            w.name = format!("program/a group with a long name/benchmark {at}");
            let c = &mut w.comparisons[0];
            c.effect_pct = *effect;
            c.ci95_pct = Some([effect - 0.5, effect + 0.5]);
            c.verdict = *verdict;
            w
        })
        .collect();
    e.left_out = ["one", "two", "three"]
        .map(|side| format!("only in {side}: {}", "x, ".repeat(90)))
        .to_vec();
    file
}

#[test]
fn a_family_takes_ten_lines_with_the_worst_change_first() {
    let mut changes = vec![
        (-40.0, Verdict::Keep),
        (2.0, Verdict::Revert),
        (9.0, Verdict::Revert),
    ];
    changes.extend([(0.1, Verdict::Equivalent); 30]);
    changes.extend([(-3.0, Verdict::Keep); 8]);
    changes.extend([(1.0, Verdict::Inconclusive); 2]);
    let file = benchmarks(&changes);
    for width in [40, 80, 200] {
        let text = at(&file, width);
        // A narrower terminal folds lines.
        assert!(text.lines().count() <= 10 || width < 80, "{text}");
        assert!(text.lines().all(|line| line.width() <= width), "{text}");
    }
    let text = at(&file, 100);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("43 benchmarks: 11 changed, 30 the same, 2 cannot be told"),
        "{text}"
    );
    for (line, place) in lines[1..]
        .iter()
        .zip(["benchmark 2,", "benchmark 1,", "benchmark 0,"])
    {
        assert!(line.contains(place), "{text}");
    }
    assert!(
        lines[1].starts_with("slower: ") && lines[3].starts_with("faster: "),
        "{text}"
    );
    assert!(
        text.contains("and 7 more changes") && text.contains("only in two"),
        "{text}"
    );
    assert!(
        !text.contains("only in three") && text.contains("--max-time"),
        "{text}"
    );
}

/// The functions behind a change of 9 %.
fn functions(arm: &str) -> Value {
    let cause = |function: &str, difference: f64| {
        json!({ "function": function, "difference": difference, "calls": [2.0, 2.0],
            "own": [100.0, 104.0], "circle": false, "callee": null })
    };
    let causes = [cause("sort::merge", 8.0), cause("sort::split", 1.0)];
    json!({ arm: { "totals": [100.0, 109.0], "causes": causes } })
}

#[test]
fn functions_behind_a_change_are_named_in_every_report() {
    let mut file = benchmarks(&[(9.0, Verdict::Revert), (0.1, Verdict::Equivalent)]);
    let arm = file.experiments[0].workloads[0].arms[1].name.clone();
    let params = &mut file.experiments[0].workloads[0].params;
    params.insert("functions".to_owned(), functions(&arm));
    let text = at(&file, 120);
    assert!(text.contains(", most in sort::merge"), "{text}");
    let comment = markdown::render(&file);
    assert!(comment.contains("| sort::merge |"), "{comment}");
    let folded = "89 % | sort::merge | 104 instructions a call instead of 100 |";
    assert!(comment.contains(folded), "{comment}");
    let w = &mut file.experiments[0].workloads[0];
    w.params.remove("family");
    file.experiments[0].workloads.truncate(1);
    let markdown = markdown::render(&file);
    assert!(
        markdown.contains("9.000 % more instructions, by function:"),
        "{markdown}"
    );
    assert!(markdown.contains("11 % | sort::split |"), "{markdown}");
}

#[test]
fn many_benchmarks_are_a_comment_of_twenty_lines_and_the_rest_is_folded() {
    let mut changes = vec![(9.0, Verdict::Revert); 9];
    changes.extend([(0.1, Verdict::Equivalent); 500]);
    changes.push((1.0, Verdict::Inconclusive));
    let mut file = benchmarks(&changes);
    let budget = [
        ("budget_s", 300.0),
        ("block_s", 0.5),
        ("blocks_needed", 250.0),
    ];
    for w in &mut file.experiments[0].workloads {
        let budget = budget.map(|(name, value)| (name.to_owned(), value.into()));
        w.params.extend(budget);
        w.warnings = vec!["a warning ".repeat(90)];
    }
    let comment = markdown::render(&file);
    let (open, folded) = comment.split_once("<details>").unwrap();
    assert!(open.lines().count() <= 20, "{open}");
    assert!(open.starts_with("# 9 regressions\n"), "{open}");
    assert!(open.contains("and 3 more changes below"), "{open}");
    assert!(open.contains("to decide more: about --budget "), "{open}");
    assert!(folded.contains("And 310 more."), "{folded}");
    assert_eq!(comment.matches("<details>").count(), 3);
    assert!(comment.len() < 65_536, "{}", comment.len());
}
