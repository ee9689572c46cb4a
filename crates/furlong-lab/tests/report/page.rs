//! The HTML page, as far as it can be checked without a browser.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use furlong_lab::report::html::render;

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
fn a_page_has_no_script_no_address_and_no_style_but_its_own() {
    for (name, file) in odd::all() {
        let page = render(&file);
        let (_, body) = page.split_once("</style>").expect("one style");
        for bad in [
            "<script",
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
            page.contains("default-src 'none'; style-src 'sha256-"),
            "{name}"
        );
    }
}

#[test]
fn no_name_becomes_markup() {
    let page = render(&odd::named("hostile"));
    let (_, body) = page.split_once("</style>").expect("one style");
    for bad in [
        "<script",
        "<style",
        "<img",
        "</pre><style",
        "<b>param",
        "\u{202e}",
        "\u{1b}",
    ] {
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
        "26.3\u{a0}% faster [26.1,\u{a0}26.5]",
        "this run cannot tell",
        "<title id=\"e0w0s-t\">Distributions of time_ns_per_op</title>",
        "<title id=\"e0w0o-t\">time_ns_per_op in the order of the run</title>",
        "<title id=\"e0w0f-t\">Effects against the margin</title>",
        "|_A_|",
        "AMD EPYC 9354P 32-Core Processor",
        "furlong run iova-propagation --profile full --html report.html",
        "<dt>seed</dt><dd><bdi>20261003</bdi></dd>",
        "How to read this",
    ] {
        assert!(page.contains(wanted), "{wanted:?} is missing");
    }
    assert_eq!(page.matches("<section class=\"workload\">").count(), 6);
    // Three arms and the control, 64 blocks, as dots and in run order, in six workloads.
    assert_eq!(page.matches("<title>block ").count(), 6 * 4 * 64 * 2);
}

#[test]
fn an_interval_far_from_the_others_is_an_arrow_and_flattens_nothing() {
    let page = render(&odd::named("many-arms"));
    // One in the table of verdicts and one in the figure.
    assert_eq!(page.matches("<path class=\"point\"").count(), 2);
}

#[test]
fn rendering_twice_gives_the_same_bytes() {
    for (name, file) in odd::all() {
        assert_eq!(render(&file), render(&file.clone()), "{name}");
    }
}
