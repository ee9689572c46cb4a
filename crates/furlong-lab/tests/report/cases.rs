//! Arms and workloads as test cases: JUnit XML.

use furlong_lab::model::result::ResultFile;
use furlong_lab::report::junit;
use roxmltree::{Document, Node};
use serde_json::json;

use crate::odd;

fn cases<'a>(document: &'a Document<'a>) -> Vec<Node<'a, 'a>> {
    let children = document.root_element().children();
    children
        .filter(|node| node.has_tag_name("testcase"))
        .collect()
}

fn child<'a>(case: &Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    case.children().find(|node| node.has_tag_name(name))
}

#[test]
fn every_result_is_well_formed_and_counts_its_cases() {
    for (name, file) in odd::all() {
        let text = junit::render(&file);
        let document = Document::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        let suite = document.root_element();
        assert_eq!(suite.tag_name().name(), "testsuite");
        let arms: usize = file.workloads().map(|w| w.arms.len()).sum();
        let cases = cases(&document);
        assert_eq!(cases.len(), arms, "{name}");
        let counted = |what| suite.attribute(what).unwrap().parse::<usize>().unwrap();
        let having = |what| {
            cases
                .iter()
                .filter(|case| child(case, what).is_some())
                .count()
        };
        assert_eq!(counted("tests"), arms, "{name}");
        assert_eq!(counted("failures"), having("failure"), "{name}");
        assert_eq!(counted("skipped"), having("skipped"), "{name}");
        for case in &cases {
            let seconds = case.attribute("time").map(str::parse::<f64>);
            assert!(seconds.is_none_or(|s| s.unwrap() >= 0.0), "{name}");
        }
    }
}

#[test]
fn a_hostile_name_is_read_back_as_the_text_that_it_is() {
    let text = junit::render(&odd::named("hostile"));
    let document = Document::parse(&text).unwrap();
    let classes: Vec<&str> = cases(&document)
        .iter()
        .filter_map(|case| case.attribute("classname"))
        .collect();
    let script = "<script>alert('x')</script>";
    assert_eq!(classes[0], format!("{script} # heading.{script}"));
    assert!(classes[1].ends_with(r".\u{202e}evil \u{1b}[31mred\u{7}"));
    assert!(classes[2].ends_with("🚀 رقم عربي & 漢字 | `code`"));
}

#[test]
fn what_xml_has_no_place_for_is_replaced() {
    let mut file = odd::named("rich");
    file.run.note = Some("a\u{fffe}b\u{ffff}c\u{0}d".to_owned());
    let text = junit::render(&file);
    let document = Document::parse(&text).unwrap();
    let note = document
        .descendants()
        .find(|node| node.attribute("name") == Some("note"));
    let value = note.and_then(|node| node.attribute("value"));
    assert_eq!(value, Some("a\u{fffd}b\u{fffd}c\\u{0}d"));
}

#[test]
fn an_arm_that_cannot_run_is_skipped_and_one_without_samples_has_failed() {
    let skipped = junit::render(&odd::named("not-applicable"));
    let document = Document::parse(&skipped).unwrap();
    let told: Vec<Option<&str>> = cases(&document)
        .iter()
        .map(|case| child(case, "skipped")?.attribute("message"))
        .collect();
    assert_eq!(told, [None, Some("at most 32 segments"), None]);
    let failed = junit::render(&odd::named("all-null"));
    let document = Document::parse(&failed).unwrap();
    for case in cases(&document) {
        let failure = child(&case, "failure").unwrap().attribute("message");
        let expected = "time_ns_per_op: 10 of 10 samples are missing";
        assert!(failure.unwrap().contains(expected), "{failure:?}");
        assert_eq!(case.attribute("time"), None);
        let said = child(&case, "system-err").unwrap().text().unwrap();
        assert!(said.contains("Every sample failed"));
    }
}

#[test]
fn a_case_takes_as_long_as_its_sample_or_as_the_documents_calls() {
    let mut file = odd::named("rich");
    let of = |file: &ResultFile| {
        let text = junit::render(file);
        let document = Document::parse(&text).unwrap();
        let times = cases(&document).into_iter();
        let times = times.map(|case| case.attribute("time").unwrap().parse::<f64>().unwrap());
        times.collect::<Vec<f64>>()
    };
    let w = &file.experiments[0].workloads[0];
    let ns = w.arms[0].summary["time_ns_per_op"].median;
    assert!((of(&file)[0] - ns * 4_194_304.0 * 1e-9).abs() < 1e-6);
    let params = &mut file.experiments[0].workloads[0].params;
    params.insert("calls".to_owned(), json!(10_000_000));
    assert!((of(&file)[0] - ns * 1e-2).abs() < 1e-6);
    // Operations per second are converted to a time; an unknown unit gives none.
    let metric = file.experiments[0]
        .metrics
        .get_mut("time_ns_per_op")
        .unwrap();
    metric.unit = "ops/s".to_owned();
    assert!((of(&file)[0] - 1e7 / ns).abs() < 1e-3);
    let metric = file.experiments[0]
        .metrics
        .get_mut("time_ns_per_op")
        .unwrap();
    metric.unit = "MiB/s".to_owned();
    let text = junit::render(&file);
    assert!(!text.contains("<testcase time") && !text.contains("\" time=\"0.6"));
}
