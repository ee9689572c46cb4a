//! Markdown and CSV.

use std::collections::BTreeSet;

use furlong_lab::model::result::{Kind, ResultFile};
use furlong_lab::report::{csv, markdown};

use crate::odd;

/// Bars that are borders of cells in Markdown.
fn borders(line: &str) -> usize {
    line.replace("\\\\", "")
        .replace("\\|", "")
        .matches('|')
        .count()
}

#[test]
fn rows_of_a_markdown_table_have_the_cells_of_its_head() {
    for (name, file) in odd::all() {
        let text = markdown::render(&file);
        let mut fenced = false;
        let mut head = None;
        for line in text.lines() {
            fenced ^= line.starts_with("```");
            if fenced || !line.starts_with('|') {
                head = None;
                continue;
            }
            let wanted = *head.get_or_insert(borders(line));
            assert_eq!(borders(line), wanted, "{name}: {line}");
        }
        assert!(!fenced, "{name}: a fence is left open");
    }
}

#[test]
fn markdown_lets_no_name_become_markup() {
    let text = markdown::render(&odd::named("hostile"));
    let outside: String = text
        .split("```")
        .step_by(2)
        .flat_map(str::lines)
        .map(|line| line.replace("\\<", "").replace("\\*", "") + "\n")
        .collect();
    for bad in [
        "<script",
        "<img",
        "</td>",
        "\n# heading",
        "*bold*",
        "[link](",
        "\u{1b}",
    ] {
        assert!(!outside.contains(bad), "{bad:?} in\n{outside}");
    }
}

#[test]
fn markdown_tells_verdict_numbers_and_machine() {
    let text = markdown::render(&odd::named("rich"));
    for wanted in [
        "# iova-propagation\n",
        "18 comparisons: 9 keep, 2 revert, 4 equivalent, 3 inconclusive.",
        r"| plain | checked against eager | -26.2 % | \[-26.5, -26.0\] | **keep** |",
        "| augment_calls_per_op | checked | 1 | 4.66 | 4.66 | exact | -86.1 % |  | **keep** |",
        "- checked against eager: keep: 26.2 % faster",
        "| processor | AMD EPYC 9354P 32-Core Processor |",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is not in\n{text}");
    }
}

/// Samples in a result, the control's included.
fn samples(file: &ResultFile) -> usize {
    let mut n = 0;
    for e in &file.experiments {
        for w in &e.workloads {
            for name in e.metrics.keys() {
                let of_arms = w.arms.iter().filter_map(|arm| arm.samples.get(name));
                n += of_arms.map(Vec::len).sum::<usize>();
                if !w.arms.is_empty() {
                    n += w
                        .control
                        .get(name)
                        .map_or(0, |control| control.samples.len());
                }
            }
        }
    }
    n
}

#[test]
fn csv_has_one_row_a_sample() {
    for (name, file) in odd::all() {
        let text = csv::render(&file);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap(), csv::HEADER.as_slice(), "{name}");
        let rows: Vec<_> = reader.records().map(|row| row.unwrap()).collect();
        assert_eq!(rows.len(), samples(&file), "{name}");
        for row in rows {
            let value = &row[9];
            let finite = value.parse::<f64>().is_ok_and(f64::is_finite);
            assert!(value.is_empty() || finite, "{name}: {row:?}");
        }
    }
}

#[test]
fn csv_says_where_in_the_run_a_sample_stands() {
    let file = odd::named("rich");
    let text = csv::render(&file);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let mut turns = BTreeSet::new();
    let mut exact = 0;
    for row in reader.records().map(|row| row.unwrap()) {
        if &row[2] != "plain" {
            continue;
        }
        let kind = file.experiments[0].metrics[&row[7]].kind;
        if kind == Kind::Exact {
            assert_eq!((&row[3], &row[4], &row[6]), ("", "", "false"));
            exact += 1;
            continue;
        }
        let (block, position) = (row[3].parse::<u32>(), row[4].parse::<u32>());
        assert!(turns.insert((block.unwrap(), position.unwrap())), "{row:?}");
        assert_eq!(&row[5] == "eager", &row[6] == "true" || &row[5] == "eager");
    }
    let wanted: BTreeSet<_> = (0..64)
        .flat_map(|b| (1..=4).map(move |turn| (b, turn)))
        .collect();
    assert_eq!(turns, wanted);
    assert_eq!(exact, 6);
}

#[test]
fn values_survive_csv_exactly() {
    let file = odd::named("constant");
    let text = csv::render(&file);
    let largest = text
        .lines()
        .any(|line| line.ends_with(",1.7976931348623157e308"));
    assert!(largest);
}
