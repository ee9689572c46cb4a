//! A result as `JUnit` XML, laid out like the output of `kyua report-junit`: one suite. Facts about
//! the run are its properties, and an arm is the class of its cases.
//!
//! A missing sample is a failure. A verdict is not: an arm may well be slower than another
//! (`--fail-on` makes that fail).
#![forbid(unsafe_code)]

use std::fmt::Write as _;

use super::cases::{Case, Status, programs, total};
use crate::model::result::{ExperimentResult, ResultFile};
use crate::report::finite::finite;
use crate::report::outline;
use crate::report::quantity::Scale;
use crate::report::text::{command_line, plain};

/// The whole result as one suite.
///
/// # Shapes
/// `classname` is `EXPERIMENT.ARM`, `name` the workload. `time` is in seconds: of the calls that
/// the measured document made, if there is one, otherwise of a sample.
#[must_use]
pub fn render(file: &ResultFile) -> String {
    let file = finite(file);
    let cases: Vec<(&ExperimentResult, Vec<_>)> = file
        .experiments
        .iter()
        .map(|e| {
            (
                e,
                programs(e)
                    .into_iter()
                    .flat_map(|program| program.cases)
                    .collect(),
            )
        })
        .collect();
    let all = || cases.iter().flat_map(|(_, cases)| cases);
    let count = |is: fn(&Status) -> bool| all().filter(|case| is(&case.status)).count();
    let mut xml = Xml(String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
    xml.open(
        "testsuite",
        &[
            ("name", "furlong"),
            ("tests", &all().count().to_string()),
            (
                "failures",
                &count(|s| matches!(s, Status::Failed(_))).to_string(),
            ),
            ("errors", "0"),
            (
                "skipped",
                &count(|s| matches!(s, Status::Skipped(_))).to_string(),
            ),
            ("time", &time(total(all()))),
            ("timestamp", &file.run.started),
        ],
    );
    xml.properties(&file);
    for (experiment, cases) in &cases {
        cases.iter().for_each(|case| xml.case(experiment, case));
    }
    xml.0.push_str("</testsuite>\n");
    xml.0
}

/// Seconds with the digits of a microsecond.
fn time(seconds: f64) -> String {
    format!("{seconds:.6}")
}

/// The markup so far.
struct Xml(String);

impl Xml {
    /// A start tag with its attributes, on a line of its own.
    fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, ">\n");
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &str)], end: &str) {
        let _ = write!(self.0, "<{name}");
        for (name, value) in attributes {
            let _ = write!(self.0, " {name}=\"{}\"", escape(&plain(value)));
        }
        self.0.push_str(end);
    }

    fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, "/>\n");
    }

    /// An element with text; every line of the text is kept.
    fn text(&mut self, name: &str, text: &str) {
        let lines: Vec<String> = text.lines().map(|line| escape(&plain(line))).collect();
        let _ = writeln!(self.0, "<{name}>{}\n</{name}>", lines.join("\n"));
    }

    fn properties(&mut self, file: &ResultFile) {
        let run = &file.run;
        let seed = run.seed.to_string();
        let command = command_line(&run.command);
        self.open("properties", &[]);
        for (name, value) in [
            ("run", Some(run.id.as_str())),
            ("command", Some(command.as_str())),
            ("profile", Some(run.profile.as_str())),
            ("seed", Some(seed.as_str())),
            ("version", Some(run.version.as_str())),
            ("tag", run.tag.as_deref()),
            ("note", run.note.as_deref()),
            ("host", Some(run.machine.host.as_str())),
            ("cpu", run.machine.cpu.as_deref()),
            ("kernel", Some(run.machine.kernel.as_str())),
        ] {
            if let Some(value) = value {
                self.empty("property", &[("name", name), ("value", value)]);
            }
        }
        self.0.push_str("</properties>\n");
    }

    fn case(&mut self, e: &ExperimentResult, case: &Case<'_>) {
        let class = format!("{}.{}", e.name, case.arm.name);
        let seconds = case.seconds.map(time);
        let mut attributes = vec![
            ("classname", class.as_str()),
            ("name", case.workload.name.as_str()),
        ];
        attributes.extend(seconds.as_deref().map(|seconds| ("time", seconds)));
        self.open("testcase", &attributes);
        match &case.status {
            Status::Passed => {}
            Status::Failed(why) => self.empty("failure", &[("message", why)]),
            Status::Skipped(why) => self.empty("skipped", &[("message", why)]),
        }
        let figures = figures(e, case);
        if !figures.is_empty() {
            self.text("system-out", &figures);
        }
        if !case.workload.warnings.is_empty() {
            self.text("system-err", &case.workload.warnings.join("\n"));
        }
        self.0.push_str("</testcase>\n");
    }
}

/// One line per metric: its typical value, and the number of samples behind that median.
fn figures(e: &ExperimentResult, case: &Case<'_>) -> String {
    let mut lines = vec![];
    for (name, metric) in outline::metrics(e) {
        let Some(value) = outline::typical(case.arm, name) else {
            continue;
        };
        let value = Scale::of(&metric.unit, [value]).show(value);
        let n = outline::values(case.arm, name).len();
        lines.push(match metric.kind {
            crate::model::result::Kind::Exact => format!("{name}: {value}, exact"),
            crate::model::result::Kind::Sampled => format!("{name}: {value}, median of {n}"),
        });
    }
    lines.join("\n")
}

/// Text without markup and without the characters that XML 1.0 cannot hold, even escaped.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
