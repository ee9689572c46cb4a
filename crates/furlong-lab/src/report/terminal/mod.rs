//! A result on a terminal: the answer, or all tables, pictures and verdicts.

mod answer;
pub mod columns;
mod family;
mod overview;
pub(in crate::report) mod paint;
mod single;
mod summary;
mod table;

use super::finite::finite;
use super::outline::{self, Named};
use super::picture::{Picture, picture};
use super::quantity::{Scale, TimeUnit, count, counted};
use super::text::{command_line, fold, plain, shorten};
use super::wording;
use crate::model::result::{ExperimentResult, Machine, ResultFile, WorkloadResult};
pub use answer::answer;
use paint::sentence;

/// Width and colours of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; 80 if there is none.
    pub width: usize,
    /// Colours: only on a terminal, and without `NO_COLOR`.
    pub colour: bool,
    /// Unit of times; the one that fits unless the user chose one.
    pub time_unit: Option<TimeUnit>,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            width: 80,
            colour: false,
            time_unit: None,
        }
    }
}

/// Smallest width of the layout: a narrower terminal folds the lines itself.
const WIDTH_MIN: usize = 40;
/// Largest width of a picture: wider ones tear related marks apart.
const PICTURE_MAX: usize = 100;
/// Verdicts from which on the details end with a summary.
const SUMMARY_FROM: usize = 4;

/// The details of a result as text. Each line is ended, and none has trailing blanks.
///
/// # Shapes
/// No line is wider than `style.width` (at least 40); the codes of colours do not count.
pub fn render(file: &ResultFile, style: &Style) -> String {
    let file = finite(file);
    let mut page = Page::new(style);
    page.head(&file);
    for experiment in &file.experiments {
        page.experiment(experiment);
    }
    for warning in &file.run.warnings {
        page.line(&format!("warning: {}", plain(warning)), 2);
    }
    page.gap();
    summary::write(&mut page, &file, SUMMARY_FROM);
    page.ended()
}

/// The text so far.
struct Page {
    style: Style,
    text: String,
}

impl Page {
    /// An empty page.
    fn new(style: &Style) -> Self {
        let style = Style {
            width: style.width.max(WIDTH_MIN),
            ..*style
        };
        Self {
            style,
            text: String::new(),
        }
    }

    /// The text, with the end of its last line.
    fn ended(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text
    }

    /// A paragraph, folded, with its further lines indented.
    fn line(&mut self, text: &str, indent: usize) {
        self.raw(&fold(text, self.style.width, indent));
    }

    /// Lines as they are, without their trailing blanks.
    fn raw(&mut self, text: &str) {
        for line in text.lines() {
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// An empty line, unless there already is one.
    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn head(&mut self, file: &ResultFile) {
        let run = &file.run;
        let tag = run.tag.as_ref().map(|t| format!(", tag {}", plain(t)));
        let tag = tag.unwrap_or_default();
        let [id, profile, started] = [&run.id, &run.profile, &run.started].map(|one| plain(one));
        let seed = run.seed;
        self.line(
            &format!("run {id}: {profile}, seed {seed}, started {started}{tag}"),
            2,
        );
        let (version, machine) = (plain(&run.version), machine(&run.machine));
        self.line(&format!("furlong {version}, {machine}"), 2);
        if !run.command.is_empty() {
            self.line(&format!("$ {}", command_line(&run.command)), 4);
        }
        if let Some(note) = &run.note {
            self.line(&format!("note: {}", plain(note)), 2);
        }
        self.gap();
    }

    fn experiment(&mut self, e: &ExperimentResult) {
        let title = shorten(&e.name, self.style.width);
        self.raw(&paint::strong(&title, self.style.colour));
        self.line(&plain(&e.question), 0);
        self.gap();
        if e.workloads.is_empty() {
            self.line("no workload was run", 2);
        }
        for workload in &e.workloads {
            self.workload(e, workload);
            self.gap();
        }
        overview::write(self, e);
        for what in &e.left_out {
            self.line(&format!("left out: {}", plain(what)), 2);
        }
        self.gap();
    }

    fn workload(&mut self, e: &ExperimentResult, w: &WorkloadResult) {
        if let Some(arm) = single::arm(w) {
            single::write(self, e, w, arm);
            for warning in &w.warnings {
                self.line(&format!("warning: {}", plain(warning)), 2);
            }
            return;
        }
        let primary = outline::primary(e, w);
        self.line(&workload_title(w, primary), 2);
        self.gap();
        let Some(primary) = primary else {
            self.line("no metric was measured", 2);
            return;
        };
        let tables = table::write(e, w, primary, &self.style);
        self.raw(&tables.text);
        self.gap();
        if let Some(picture) = picture(w, primary.0, self.style.width.min(PICTURE_MAX)) {
            self.picture(&picture);
        }
        for ((name, metric), c) in outline::worth_saying(e, w) {
            self.raw(&sentence(name, metric, c, w, &self.style));
        }
        for line in &tables.notes {
            self.line(line, 2);
        }
        for warning in &w.warnings {
            self.line(&format!("warning: {}", plain(warning)), 2);
        }
    }

    fn picture(&mut self, picture: &Picture) {
        let short = |arm| shorten(arm, columns::NAME_MAX);
        let legend = picture.legend.iter();
        let legend: Vec<String> = legend
            .map(|(sign, arm)| format!("{sign} {}", short(arm)))
            .collect();
        let mut legend = legend.join(", ");
        if picture.is_shared() {
            legend.push_str(&format!(", {} several", picture.overlap));
        }
        if picture.left_out > 0 {
            legend.push_str(&format!("; {} more arms not drawn", picture.left_out));
        }
        self.line(&legend, 2);
        if picture.text.starts_with('[') {
            self.line(&picture.text, 1);
        } else {
            self.raw(&picture.text);
        }
        self.gap();
    }
}

/// `rem: time_ns_per_op, lower is better; 10 blocks; nodes 65,536`.
fn workload_title(w: &WorkloadResult, primary: Option<Named<'_>>) -> String {
    let mut parts = vec![];
    if let Some((name, metric)) = primary {
        parts.push(wording::caption(name, metric));
    }
    parts.push(wording::blocks(w.blocks.len() as u64));
    let params = params(w);
    if !params.is_empty() {
        parts.push(params);
    }
    format!("{}: {}", plain(&w.name), parts.join("; "))
}

/// The parameters in a line: `nodes 65,536, operations 4,194,304`.
pub(super) fn params(w: &WorkloadResult) -> String {
    let show = |(name, value): (&String, &serde_json::Value)| {
        let value = match value {
            serde_json::Value::Number(n) if n.is_u64() => count(n.as_u64().unwrap_or(0)),
            serde_json::Value::String(text) => plain(text),
            other => plain(&other.to_string()),
        };
        format!("{} {value}", plain(name))
    };
    // Objects are for programs.
    let plain_ones = w.params.iter().filter(|(_, value)| !value.is_object());
    plain_ones.map(show).collect::<Vec<_>>().join(", ")
}

/// The machine in a line.
fn machine(m: &Machine) -> String {
    let mut parts = vec![plain(&m.host)];
    parts.extend(m.cpu.as_deref().map(plain));
    parts.push(counted(m.cpus.into(), "cpu"));
    if let Some(bytes) = m.memory_bytes {
        let bytes = bytes as f64;
        parts.push(Scale::of("B", [bytes]).show(bytes));
    }
    parts.push(plain(&m.kernel));
    let host = m.hypervisor.as_deref();
    parts.extend(host.map(|h| format!("under {}", plain(h))));
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}
