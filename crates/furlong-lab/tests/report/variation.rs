//! Bandwidths in the measured document's own format.
#![forbid(unsafe_code)]

use furlong_lab::report::Form;
use furlong_lab::report::terminal::{Style, render};

use crate::odd;

#[test]
fn workloads_with_a_device_have_a_table_of_spreads_and_differences() {
    let file = odd::named("devices");
    let text = render(&file, &Style::default());
    let heads = text
        .lines()
        .position(|line| line.trim() == "pool-first  area-first");
    let table: Vec<&str> = text.lines().skip(heads.unwrap() + 1).take(4).collect();
    assert_eq!(
        table[0].split_whitespace().collect::<Vec<_>>(),
        ["var", "var", "diff"]
    );
    for (line, w) in table[1..].iter().zip(&file.experiments[0].workloads) {
        let [base, patched] = [0, 1].map(|arm| w.arms[arm].summary["bandwidth_mib_s"]);
        let wanted = [
            w.name.clone(),
            format!("{:.2}%", base.cv_pct.unwrap()),
            format!("{:.2}%", patched.cv_pct.unwrap()),
            format!("{:+.1}%", 100.0 * (patched.mean / base.mean - 1.0)),
        ];
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), wanted);
    }
    assert!(!table.concat().contains("empty"), "{text}");
    let form = Form::Fio.render(&file).unwrap();
    assert!(form.contains(table[1].trim()), "one form: {form}");
}

#[test]
fn without_a_device_there_is_no_such_table() {
    let mut file = odd::named("devices");
    file.experiments[0].workloads.drain(..3);
    assert!(!render(&file, &Style::default()).contains("var  "));
}
