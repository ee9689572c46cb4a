//! The terminal's report.

use furlong_lab::report::terminal::{Style, render};
use unicode_width::UnicodeWidthStr;

use crate::odd;

/// The text without the codes of colours.
pub(crate) fn bare(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    out + rest
}

#[test]
fn no_line_is_too_wide_or_ends_in_blanks() {
    for (name, file) in odd::all() {
        for width in [40, 60, 80, 200] {
            let text = render(
                &file,
                &Style {
                    width,
                    ..Style::default()
                },
            );
            for line in text.lines() {
                assert!(
                    line.width() <= width,
                    "{name} at {width}: {} {line:?}",
                    line.width()
                );
                assert_eq!(line, line.trim_end(), "{name} at {width}");
            }
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name}");
        }
    }
}

#[test]
fn a_name_cannot_send_codes_to_the_terminal() {
    for (name, file) in odd::all() {
        let text = render(&file, &Style::default());
        let bad = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(bad, None, "{name}");
        assert!(!text.contains('\u{202e}'), "{name}");
    }
}

#[test]
fn colours_only_repeat_what_the_words_say() {
    for (name, file) in odd::all() {
        let plain = render(&file, &Style::default());
        let coloured = render(
            &file,
            &Style {
                colour: true,
                ..Style::default()
            },
        );
        assert_eq!(bare(&coloured), plain, "{name}");
    }
    let rich = odd::named("rich");
    assert!(
        render(
            &rich,
            &Style {
                colour: true,
                ..Style::default()
            }
        )
        .contains("\u{1b}[1;32m")
    );
}

#[test]
fn a_usual_result_reads_as_it_should() {
    let text = render(&odd::named("rich"), &Style::default());
    for wanted in [
        "plain: time_ns_per_op, lower is better; 64 blocks",
        "arm       median    CV  augment  rotations  change  95 %            verdict",
        "checked against eager: keep: 26.2 % faster [26.0, 26.5]",
        "deferred against eager: equivalent: within ±1 % of each other: 0.1 % slower [-0.1, 0.3]",
        "checked against deferred: revert: 2.3 % slower [2.1, 2.6]",
        "inconclusive: this run cannot tell: 0.5 % faster [-0.4, 1.3]",
        "about 383 blocks",
        "augment_calls_per_op (exact): deferred 15.24, 1/2.21 as much, 54.7 % lower",
        "x eager, + deferred, * checked",
        "left out: gas-1k, gas-64k, gas-1m",
        "warning: No hardware counters on this machine",
        "18 comparisons: 9 keep, 2 revert, 4 equivalent, 3 inconclusive",
    ] {
        let folded = wanted.replace("  ", " ");
        let found = text.contains(wanted) || text.replace("\n  ", " ").contains(&folded);
        assert!(found, "{wanted:?} is not in\n{text}");
    }
}

#[test]
fn a_narrow_screen_spares_columns_before_it_breaks_words() {
    let width = 40;
    let text = render(
        &odd::named("rich"),
        &Style {
            width,
            ..Style::default()
        },
    );
    let heading = "arm       median  change  verdict";
    assert!(text.lines().any(|line| line == heading), "{text}");
    let row = "checked    109.3   -26.2  keep";
    assert!(text.lines().any(|line| line == row), "{text}");
}

#[test]
fn no_word_is_broken_at_the_usual_width() {
    let mut file = odd::named("rich");
    let names = [
        "mimalloc-2.3-secure-build",
        "tcmalloc-with-huge-pages",
        "jemalloc-with-profiles",
    ];
    for w in &mut file.experiments[0].workloads {
        let old: Vec<String> = w.arms.iter().map(|arm| arm.name.clone()).collect();
        let new = |name: &mut String| {
            let place = old.iter().position(|known| known == name).unwrap();
            names[place].clone_into(name);
        };
        w.arms.iter_mut().for_each(|arm| new(&mut arm.name));
        w.comparisons.iter_mut().for_each(|c| {
            new(&mut c.arm);
            new(&mut c.baseline);
        });
    }
    let whole: Vec<&str> = [
        &names[..],
        &["keep", "revert", "equivalent", "inconclusive"],
    ]
    .concat();
    for width in [60, 80, 100] {
        let style = Style {
            width,
            ..Style::default()
        };
        let text = render(&file, &style);
        let words = text
            .split_whitespace()
            .map(|word| word.trim_matches([',', ':', ';', '.']));
        for word in words.filter(|word| word.len() > 5) {
            let part = whole.iter().find(|one| one.starts_with(word));
            assert!(
                part.is_none_or(|one| *one == word),
                "{width}: {word} in\n{text}"
            );
        }
        // The overview continues in a second table.
        let overview = text.split(", medians in").nth(1).unwrap();
        assert!(
            names.iter().all(|name| overview.contains(name)),
            "{width}:\n{text}"
        );
    }
}

#[test]
fn many_verdicts_are_summed_up_at_the_end_and_few_are_not() {
    let last = |name| {
        let text = render(&odd::named(name), &Style::default());
        text.lines().last().map(str::to_owned)
    };
    let heading = "against";
    assert!(render(&odd::named("rich"), &Style::default()).contains(heading));
    assert_eq!(last("compare").as_deref(), Some("1 comparison: 1 keep"));
    assert_eq!(
        last("empty").as_deref(),
        Some("no verdict: nothing was compared")
    );
}

#[test]
fn an_arm_that_cannot_run_says_why_in_its_row() {
    let row = |width| {
        let style = Style {
            width,
            ..Style::default()
        };
        let text = render(&odd::named("not-applicable"), &style);
        let row = text.lines().find(|line| line.starts_with("deferred "));
        row.unwrap().to_owned()
    };
    assert!(row(80).ends_with("n/a: at most 32"), "{}", row(80));
    assert!(
        row(100).ends_with("n/a: at most 32 segments"),
        "{}",
        row(100)
    );
    let mut long = odd::named("not-applicable");
    long.experiments[0].workloads[0].arms[1].na = Some("because ".repeat(20));
    let text = render(&long, &Style::default());
    assert!(text.contains("\ndeferred: n/a: because because"), "{text}");
}

#[test]
fn a_failed_control_promises_nothing() {
    let text = render(&odd::named("control-failed"), &Style::default());
    assert!(text.contains("FAILED"), "{text}");
    assert!(text.contains("the control failed"), "{text}");
    assert!(
        !text.contains("give a verdict") && !text.contains("could detect"),
        "{text}"
    );
}

#[test]
fn rendering_twice_gives_the_same_bytes() {
    for (name, file) in odd::all() {
        let again = render(&file.clone(), &Style::default());
        assert_eq!(render(&file, &Style::default()), again, "{name}");
    }
}
