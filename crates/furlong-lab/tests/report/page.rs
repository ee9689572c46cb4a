//! The HTML page, as far as it can be checked without a browser.

use std::collections::BTreeSet;

use furlong_lab::report::html::render;
use serde_json::{Value, json};

use crate::odd;

/// The values of an attribute, in page order.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let opening = format!(" {name}=\"");
    page.split(opening.as_str())
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

#[test]
fn a_page_has_no_address_and_no_script_and_style_but_its_own() {
    for (name, file) in odd::all() {
        let page = render(&file);
        let (_, body) = page.split_once("</style>").unwrap();
        assert_eq!(body.matches("<script").count(), 1, "{name}");
        for bad in [
            "<style",
            "<img",
            "<link",
            "<iframe",
            "javascript:",
            " style=",
        ] {
            // A hostile name may contain them as text, but never as markup.
            let found = body.to_lowercase().contains(bad) && name != "hostile";
            assert!(!found, "{name}: {bad}");
        }
        for bad in [
            " src=\"",
            " onclick",
            " onload",
            " href=\"http",
            "url(",
            "@import",
        ] {
            assert!(!page.contains(bad), "{name}: {bad}");
        }
        for href in attributes(&page, "href") {
            assert!(href.starts_with('#'), "{name}: {href}");
        }
        assert!(
            page.contains("default-src 'none'; style-src 'sha256-")
                && page.contains("'; script-src 'sha256-"),
            "{name}"
        );
    }
}

#[test]
fn no_name_becomes_markup() {
    let page = render(&odd::named("hostile"));
    let (_, body) = page.split_once("</style>").unwrap();
    assert_eq!(body.matches("<script").count(), 1);
    for bad in "<script>alert <style <img </pre><style <b>param \u{202e} \u{1b}".split(' ') {
        assert!(!body.contains(bad), "{bad:?}");
    }
    assert!(body.contains("&lt;script&gt;"));
}

#[test]
fn every_identifier_is_unique_and_every_reference_leads_somewhere() {
    for (name, file) in odd::all() {
        let page = render(&file);
        let ids = attributes(&page, "id");
        let unique: BTreeSet<_> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len(), "{name}");
        for href in attributes(&page, "href") {
            assert!(unique.contains(&href[1..]), "{name}: {href}");
        }
        for kind in ["aria-labelledby", "aria-describedby"] {
            for id in attributes(&page, kind) {
                assert!(unique.contains(id), "{name}: {id}");
            }
        }
    }
}

#[test]
fn no_coordinate_and_no_text_is_anything_but_a_number() {
    for (name, file) in odd::all() {
        let page = render(&file);
        for bad in ["NaN", "inf ", "\"inf", "-inf", "Infinity"] {
            assert!(!page.contains(bad), "{name}: {bad}");
        }
        for kind in [
            "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "width", "height", "dx",
        ] {
            for value in attributes(&page, kind) {
                assert!(
                    value.parse::<f64>().is_ok_and(f64::is_finite),
                    "{name}: {kind} {value}"
                );
            }
        }
        for kind in ["width", "height"] {
            assert!(
                attributes(&page, kind).iter().all(|v| !v.starts_with('-')),
                "{name}: {kind}"
            );
        }
    }
}

#[test]
fn a_usual_page_shows_verdict_figures_table_and_machine() {
    let page = render(&odd::named("rich"));
    for wanted in [
        "18 comparisons: 9 keep, 2 revert, 4 equivalent, 3 inconclusive.",
        "<span class=\"v keep\">keep</span>",
        "<span class=\"v inconclusive\">inconclusive</span>",
        "faster: checked takes 26.2\u{a0}% less time than eager, 95\u{a0}% interval [26.",
        "this run cannot tell",
        "aria-label=\"Every value of time_ns_per_op, by arm.\"",
        "aria-label=\"time_ns_per_op in the order of the run: ",
        "AMD EPYC 9354P 32-Core Processor",
        "furlong run iova-propagation --profile full --html report.html",
        "<dt>seed<dd><bdi>20261003</bdi>",
        "How to read this",
    ] {
        assert!(page.contains(wanted), "{wanted:?} is missing");
    }
    assert_eq!(page.matches("<details class=\"workload\">").count(), 6);
    // Three arms and the control, 64 blocks, as dots and in run order, in six workloads.
    let drawn = page.split("<path class=\"dots").skip(1);
    let drawn = drawn.map(|rest| rest.split("/>").next().unwrap().matches('z').count());
    assert_eq!(drawn.sum::<usize>(), 6 * 4 * 64 * 2);
}

#[test]
fn a_page_begins_with_a_sentence_and_a_picture_for_each_comparison() {
    for (name, lines) in [
        ("rich", 18),
        ("compare", 1),
        ("everything", 81),
        ("single", 0),
    ] {
        let page = render(&odd::named(name));
        let lists: Vec<&str> = page.split("<ol class=\"lines\">").skip(1).collect();
        let lists = lists.iter().map(|list| list.split("</ol>").next().unwrap());
        let of = |what: &str| {
            lists
                .clone()
                .map(|list| list.matches(what).count())
                .sum::<usize>()
        };
        let told = [
            "<li data-pct=",
            "95\u{a0}% interval [",
            " blocks</bdi>",
            "<svg class=",
            "<circle ",
        ];
        assert_eq!(told.map(of), [lines; 5], "{name}");
        let first = page.find("<li data-pct=").unwrap_or(0);
        let workload = page.find("<details class=\"workload\"").unwrap();
        assert!(first < workload, "{name}");
    }
}

#[test]
fn many_verdicts_are_folded_by_experiment_and_few_are_not() {
    let folds = |file| {
        render(&file)
            .matches("<details class=\"experiment\">")
            .count()
    };
    let open = |file| {
        render(&file)
            .matches("<details class=\"experiment\" open>")
            .count()
    };
    let mut file = odd::named("everything");
    assert_eq!((folds(file.clone()), open(file.clone())), (9, 0));
    file.experiments.truncate(2);
    file.experiments
        .iter_mut()
        .for_each(|e| e.workloads.truncate(2));
    assert_eq!((folds(file.clone()), open(file.clone())), (0, 2));
    file.experiments.truncate(1);
    assert_eq!((folds(file.clone()), open(file)), (0, 0));
}

#[test]
fn the_page_of_a_quick_run_of_everything_takes_less_than_300_kilobytes() {
    let page = render(&odd::named("everything"));
    assert!(page.len() < 290_000, "{}", page.len());
    assert!(!page.contains("</td>") && !page.contains("</li>"));
}

#[test]
fn the_page_of_a_larger_run_leaves_parts_out_and_says_so() {
    let mut file = odd::named("everything");
    let lines = |page: &str| page.matches("<li data-pct=").count();
    let small = render(&file);
    assert!(!small.contains("this page leaves out"));
    for e in &mut file.experiments {
        e.workloads.extend(e.workloads.clone());
    }
    let large = render(&file);
    assert!(large.contains("this page leaves out"));
    assert!(large.len() < 300_000, "{}", large.len());
    assert_eq!(lines(&large), 2 * lines(&small));
}

#[test]
fn a_page_has_the_call_stacks_of_a_difference_as_far_as_there_is_room() {
    let mut file = odd::named("functions");
    let page = render(&file);
    for wanted in [
        "% more instructions, by function:",
        "<summary>Flame graph</summary>",
        "aria-label=\"Flame graph of allocator-new. A table after it",
        "<title>allocator::size_class::refill::17: ",
        "→ allocator::size_class::refill::17</bdi>",
    ] {
        assert!(page.contains(wanted), "{wanted:?} is missing");
    }
    assert_eq!(page.matches("<svg class=\"flame\"").count(), 1);
    let workloads = &mut file.experiments[0].workloads;
    let one = workloads[0].clone();
    workloads.resize(12, one);
    let page = render(&file);
    assert!(page.len() < 300_000, "{}", page.len());
    assert!(!page.contains("Flame graph"));
    assert!(page.contains("this page leaves out flame graphs. All are in"));
    assert!(page.contains("Values, in the order of the run"));
}

#[test]
fn broken_call_stacks_are_not_drawn() {
    let broken = |change: fn(&mut Value)| {
        let mut file = odd::named("functions");
        let params = &mut file.experiments[0].workloads[0].params;
        let functions = params.get_mut("functions").unwrap();
        change(&mut functions["allocator-new"]["frames"]);
        !render(&file).contains("Flame graph")
    };
    assert!(!broken(|_| {}));
    assert!(broken(|frames| *frames = Value::Null));
    assert!(broken(|frames| *frames = json!([])));
    assert!(broken(|frames| frames[3]["caller"] = json!(3)));
    assert!(broken(|frames| frames[3]["caller"] = Value::Null));
    assert!(broken(|frames| {
        frames[0]["own"] = json!([1e308, 1e308]);
        frames[1]["own"] = json!([1e308, 1e308]);
    }));
    assert!(broken(|frames| frames[3]["own"] = json!([1.0, -1.0])));
    assert!(broken(|frames| {
        let frame = frames[3].clone();
        frames.as_array_mut().unwrap().resize(201, frame);
    }));
}

#[test]
fn an_interval_far_from_the_others_is_an_arrow_and_flattens_nothing() {
    let page = render(&odd::named("many-arms"));
    // One beside the sentence and one in the table.
    assert_eq!(page.matches("<path class=\"point\"").count(), 2);
}

#[test]
fn rendering_twice_gives_the_same_bytes() {
    for (name, file) in odd::all() {
        assert_eq!(render(&file), render(&file.clone()), "{name}");
    }
}
