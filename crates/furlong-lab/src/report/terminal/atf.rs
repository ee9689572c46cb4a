//! The measured document's own format: the output of atf-run and atf-report for a test program.
//! There is one per arm, and its cases are the workloads that represent the document's.
#![forbid(unsafe_code)]

use super::Page;
use crate::model::result::ExperimentResult;
use crate::report::export::cases::{Case, Status, document_programs, total};
use crate::report::text::plain;

/// Writes the section if the experiment has such workloads.
pub(super) fn write(page: &mut Page, e: &ExperimentResult) {
    let programs = document_programs(e);
    if programs.is_empty() {
        return;
    }
    let all = programs.len();
    for (number, program) in (1..).zip(&programs) {
        let name = format!("{}/{}", plain(&e.name), plain(program.arm));
        let cases = counted(program.cases.len(), "test case");
        page.line(&format!("{name} ({number}/{all}): {cases}"), 2);
        program.cases.iter().for_each(|case| write_case(page, case));
        page.line(&format!("[{:.6}s]", total(&program.cases)), 2);
        page.gap();
    }
    page.line(&format!("Summary for {}:", counted(all, "test program")), 2);
    let cases = || programs.iter().flat_map(|program| &program.cases);
    let count = |is: fn(&Status) -> bool| cases().filter(|case| is(&case.status)).count();
    for (count, how) in [
        (count(|s| *s == Status::Passed), "passed"),
        (count(|s| matches!(s, Status::Failed(_))), "failed"),
        // A lookup that is expected to fail is a valid answer, and is checked as one.
        (0, "expected failed"),
        (count(|s| matches!(s, Status::Skipped(_))), "skipped"),
    ] {
        page.indented(&format!("{}.", counted(count, &format!("{how} test case"))));
    }
    page.gap();
}

fn write_case(page: &mut Page, case: &Case<'_>) {
    let seconds = match case.seconds {
        Some(seconds) => format!(" [{seconds:.6}s]"),
        None => String::new(),
    };
    let status = match &case.status {
        Status::Passed => "Passed.".to_owned(),
        Status::Failed(why) => format!("Failed: {}.", plain(why)),
        Status::Skipped(why) => format!("Skipped: {}.", plain(why)),
    };
    page.indented(&format!(
        "{}:{seconds} {status}",
        plain(&case.workload.name)
    ));
}

/// `1 test case`, `11 test cases`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
