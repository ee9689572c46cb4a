//! The result as a Markdown document, for an issue, a commit or a README.
#![forbid(unsafe_code)]

use std::fmt::Write as _;

use crate::model::result::{
    ArmResult, ExperimentResult, Kind, Machine, ResultFile, WorkloadResult,
};
use crate::report::finite::finite;
use crate::report::geomean::sentences;
use crate::report::outline::{self, Named};
use crate::report::overview::overview;
use crate::report::picture::picture;
use crate::report::quantity::{Scale, percent};
use crate::report::text::{command_line, plain};
use crate::report::wording::{self, signed_effect, signed_interval, word};

/// Columns of the pictures.
const PICTURE_COLUMNS: usize = 74;

/// The whole result as GitHub-flavoured Markdown.
#[must_use]
pub fn render(file: &ResultFile) -> String {
    let file = finite(file);
    let mut out = Document(String::new());
    let names: Vec<String> = file.experiments.iter().map(|e| escape(&e.name)).collect();
    out.block(&format!(
        "# {}",
        if names.is_empty() {
            "furlong".into()
        } else {
            names.join(", ")
        }
    ));
    out.verdicts(&file);
    for experiment in &file.experiments {
        out.experiment(experiment);
    }
    out.run(&file);
    out.0
}

struct Document(String);

impl Document {
    /// A block, with the empty line after it.
    fn block(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(text.trim_end());
        self.0.push('\n');
    }

    fn items(&mut self, items: impl IntoIterator<Item = String>) {
        let items: Vec<String> = items.into_iter().map(|item| format!("- {item}")).collect();
        if !items.is_empty() {
            self.block(&items.join("\n"));
        }
    }

    fn table(&mut self, head: &[&str], numbers: &[usize], rows: &[Vec<String>]) {
        let mut text = format!("| {} |\n|", head.join(" | "));
        for i in 0..head.len() {
            text.push_str(if numbers.contains(&i) {
                " ---: |"
            } else {
                " --- |"
            });
        }
        for row in rows {
            let _ = write!(text, "\n| {} |", row.join(" | "));
        }
        self.block(&text);
    }

    fn verdicts(&mut self, file: &ResultFile) {
        let found = outline::findings(file);
        if found.is_empty() {
            self.block("No verdict: nothing was compared.");
            return;
        }
        let rows: Vec<Vec<String>> = found
            .iter()
            .map(|f| {
                let (e, c) = (&file.experiments[f.experiment], f.comparison);
                vec![
                    escape(&e.name),
                    escape(&e.workloads[f.workload].name),
                    format!("{} against {}", escape(&c.arm), escape(&c.baseline)),
                    signed_effect(c),
                    signed_interval(c).unwrap_or_default(),
                    format!("**{}**", word(c.verdict)),
                ]
            })
            .collect();
        self.block(&format!("{}.", wording::tally(&outline::tally(&found))));
        let head = [
            "experiment",
            "workload",
            "comparison",
            "change",
            "95 % interval",
            "verdict",
        ];
        self.table(&head, &[3], &rows);
    }

    fn experiment(&mut self, e: &ExperimentResult) {
        self.block(&format!("## {}", escape(&e.name)));
        self.block(&escape(&e.question));
        for workload in &e.workloads {
            self.workload(e, workload);
        }
        self.overview(e);
        self.items(
            e.left_out
                .iter()
                .map(|what| format!("left out: {}", escape(what))),
        );
    }

    fn overview(&mut self, e: &ExperimentResult) {
        let overviews = overview(e);
        if !overviews.is_empty() {
            self.block("### All workloads");
        }
        for overview in overviews {
            self.block(&format!("{}.", escape(&overview.caption)));
            let arms: Vec<String> = overview.arms.iter().map(|arm| escape(arm)).collect();
            let mut head = vec!["workload"];
            head.extend(arms.iter().map(String::as_str));
            let rows = overview.rows.into_iter().map(|(workload, values)| {
                let mut row = vec![escape(workload)];
                row.extend(values);
                row
            });
            let numbers: Vec<usize> = (1..head.len()).collect();
            self.table(&head, &numbers, &rows.collect::<Vec<_>>());
        }
        self.items(sentences(e).iter().map(|sentence| escape(sentence)));
    }

    fn workload(&mut self, e: &ExperimentResult, w: &WorkloadResult) {
        self.block(&format!("### {}", escape(&w.name)));
        let params = crate::report::terminal::params(w);
        let blocks = wording::blocks(w.blocks.len() as u64);
        let about = if params.is_empty() {
            blocks
        } else {
            format!("{blocks}; {params}")
        };
        self.block(&format!("{}.", escape(&about)));
        self.metrics(e, w);
        let Some((name, _)) = outline::primary(e, w) else {
            return;
        };
        if let Some(drawn) = picture(w, name, PICTURE_COLUMNS) {
            let legend: Vec<String> = drawn
                .legend
                .iter()
                .map(|(symbol, arm)| format!("{symbol} {}", plain(arm)))
                .collect();
            self.block(&fenced(&format!("{}\n{}", legend.join("   "), drawn.text)));
        }
        let said = outline::worth_saying(e, w);
        self.items(said.into_iter().map(|((name, metric), c)| {
            let (subject, verdict, rest) = wording::sentence(name, metric, c, w);
            format!(
                "{}: **{}**: {}",
                escape(&subject),
                word(verdict),
                escape(&rest)
            )
        }));
        let na = |arm: &ArmResult| {
            let reason = arm.na.as_deref()?;
            Some(format!("{}: n/a: {}", escape(&arm.name), escape(reason)))
        };
        self.items(w.arms.iter().filter_map(na));
        self.items(
            w.warnings
                .iter()
                .map(|text| format!("**warning**: {}", escape(text))),
        );
    }

    /// One table with every metric of every arm.
    fn metrics(&mut self, e: &ExperimentResult, w: &WorkloadResult) {
        let mut rows = vec![];
        for (name, metric) in outline::metrics(e) {
            let typical = w.arms.iter().filter_map(|arm| outline::typical(arm, name));
            let scale = Scale::of(&metric.unit, typical);
            for arm in w
                .arms
                .iter()
                .filter(|a| a.na.is_some() || a.samples.contains_key(name))
            {
                rows.push(row(w, (name, metric), arm, &scale));
            }
            let control = w.control.get(name);
            if let Some(control) = control.filter(|control| !control.samples.is_empty()) {
                let median = outline::median(&outline::control_values(w, name));
                let floor = control
                    .floor_pct
                    .map_or(String::new(), |f| format!("noise floor {}", percent(f)));
                let state = if control.failed {
                    "**control failed**".to_owned()
                } else {
                    floor
                };
                let mut cells = vec![String::new(); 9];
                cells[0] = code(name);
                cells[1] = "control".to_owned();
                cells[3] = median.map_or(String::new(), |v| escape(&scale.show(v)));
                cells[8] = state;
                rows.push(cells);
            }
        }
        if rows.is_empty() {
            self.block("No metric was measured.");
            return;
        }
        let head = [
            "metric",
            "arm",
            "n",
            "median",
            "mean",
            "CV",
            "change",
            "95 % interval",
            "verdict",
        ];
        self.table(&head, &[2, 3, 4, 5, 6], &rows);
    }

    fn run(&mut self, file: &ResultFile) {
        let run = &file.run;
        self.block("## Run");
        self.items(
            run.warnings
                .iter()
                .map(|text| format!("**warning**: {}", escape(text))),
        );
        self.block(&fenced(&command_line(&run.command)));
        let mut facts = vec![
            ("run", run.id.clone()),
            ("started", run.started.clone()),
            ("profile", run.profile.clone()),
            ("seed", run.seed.to_string()),
            ("furlong", run.version.clone()),
        ];
        facts.extend(run.tag.clone().map(|tag| ("tag", tag)));
        facts.extend(run.note.clone().map(|note| ("note", note)));
        facts.extend(machine(&run.machine));
        facts.retain(|(_, value)| !value.is_empty());
        let rows: Vec<Vec<String>> = facts
            .iter()
            .map(|(name, value)| vec![(*name).to_owned(), escape(value)])
            .collect();
        self.table(&["", ""], &[], &rows);
    }
}

fn row(w: &WorkloadResult, (name, metric): Named<'_>, arm: &ArmResult, s: &Scale) -> Vec<String> {
    let c = outline::comparison(w, &arm.name, name);
    let summary = arm.summary.get(name);
    let n = summary.map_or_else(|| outline::values(arm, name).len(), |s| s.n);
    let cv = summary
        .and_then(|s| s.cv_pct)
        .map_or(String::new(), percent);
    let verdict = match (&arm.na, c) {
        (Some(reason), _) => format!("n/a: {}", escape(reason)),
        (None, Some(c)) => format!("**{}**", word(c.verdict)),
        (None, None) => String::new(),
    };
    vec![
        code(name),
        escape(&arm.name),
        n.to_string(),
        outline::typical(arm, name).map_or(String::new(), |v| escape(&s.show(v))),
        summary.map_or(String::new(), |summary| escape(&s.show(summary.mean))),
        if metric.kind == Kind::Exact {
            "exact".to_owned()
        } else {
            cv
        },
        c.map_or(String::new(), signed_effect),
        c.and_then(signed_interval).unwrap_or_default(),
        verdict,
    ]
}

/// The machine's facts, by name.
pub(in crate::report) fn machine(m: &Machine) -> Vec<(&'static str, String)> {
    #[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
    let bytes = |n: u64| Scale::of("B", [n as f64]).show(n as f64);
    let yes = |on: bool| if on { "on" } else { "off" }.to_owned();
    let caches: Vec<String> = m
        .caches
        .iter()
        .map(|(level, size)| format!("{level} {}", bytes(*size)))
        .collect();
    let facts = [
        ("host", Some(m.host.clone())),
        ("machine", Some(m.id.clone())),
        ("kernel", Some(m.kernel.clone())),
        ("processor", m.cpu.clone()),
        ("processors", Some(m.cpus.to_string())),
        ("memory", m.memory_bytes.map(bytes)),
        ("caches", Some(caches.join(", "))),
        ("hypervisor", m.hypervisor.clone()),
        ("governor", m.governor.clone()),
        ("turbo", m.turbo.map(yes)),
        ("multithreading", m.smt.map(yes)),
        (
            "address randomisation",
            m.aslr.map(|level| level.to_string()),
        ),
        ("huge pages", m.thp.clone()),
        (
            "load at the start",
            m.load_1m.map(|load| format!("{load:.2}")),
        ),
        ("time stolen", m.steal_pct.map(percent)),
        ("compiler", Some(m.rustc.clone())),
        ("build", Some(m.build.clone())),
    ];
    let known = facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known.filter(|(_, value)| !value.is_empty()).collect()
}

/// Text that Markdown takes literally.
pub(in crate::report) fn escape(text: &str) -> String {
    let text: Vec<char> = plain(text).chars().collect();
    let mut out = String::with_capacity(text.len());
    for (i, &c) in text.iter().enumerate() {
        let inside = |at: Option<usize>| {
            at.and_then(|at| text.get(at))
                .is_some_and(|c| c.is_alphanumeric())
        };
        let special = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' | '#' | '&' => true,
            '_' => !(inside(i.checked_sub(1)) && inside(Some(i + 1))),
            _ => false,
        };
        if special {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A name as code, or escaped if it has a character that would end the code.
fn code(name: &str) -> String {
    let name = plain(name);
    if name.is_empty() || name.contains(['`', '|']) {
        escape(&name)
    } else {
        format!("`{name}`")
    }
}

/// A fenced block. Its fence is longer than any run of backticks inside.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{fence}text\n{}\n{fence}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{code, escape, fenced};

    #[test]
    fn what_markdown_would_read_is_escaped_and_names_stay_readable() {
        assert_eq!(escape("time_ns_per_op"), "time_ns_per_op");
        assert_eq!(escape("<b>|_x_"), r"\<b\>\|\_x\_");
        assert_eq!(escape("two\nlines"), "two lines");
        assert_eq!(code("a|b"), r"a\|b");
    }

    #[test]
    fn a_fence_outlasts_the_backticks_inside() {
        assert!(fenced("a ```` b").starts_with("`````text\n"));
    }
}
