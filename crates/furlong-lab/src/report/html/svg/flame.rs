//! A differential flame graph: the call stacks of an arm, coloured by their difference from the
//! baseline.

use maud::{Markup, html};

use super::{area, label, px};
use crate::report::html::frame::minus;
use crate::report::quantity::{fixed, signed};
use crate::report::text::{plain, shorten, width};
use furlong_stats::flame::{Frame, with_callees};

/// Width of the picture: as wide as a page, since the names need it.
const WIDTH: f64 = 1150.0;
/// Height of a frame.
const ROW: f64 = 17.0;
/// Width of a column of text, which the style sets in a font of equal widths.
const COLUMN: f64 = 6.7;
/// Room at both sides of a name.
const SIDE: f64 = 3.0;
/// Columns of a name in a frame's title.
const TITLE_COLUMNS: usize = 100;
/// Columns of the shortest text in a frame.
const COLUMNS_MIN: usize = 3;
/// Shares of the greatest difference from which on a frame has the next stronger colour.
const LEVELS: [(f64, &str); 3] = [(1.0 / 2.0, "l3"), (1.0 / 8.0, "l2"), (1.0 / 64.0, "l1")];
/// Differences below this many per cent of all instructions have no colour.
const COLOUR_MIN_PCT: f64 = 0.001;

/// Call stacks with their places in the picture.
pub(in crate::report::html) struct Stacks {
    frames: Vec<Frame>,
    /// Cost with callees.
    costs: Vec<[f64; 2]>,
    /// Left edges.
    left: Vec<f64>,
    /// Frames below each.
    depth: Vec<usize>,
}

impl Stacks {
    /// Places each frame above its caller, in the order of the names. `None` if one of both runs
    /// has no instructions.
    pub(in crate::report::html) fn new(frames: Vec<Frame>) -> Option<Self> {
        let costs = with_callees(&frames);
        let is_there = costs
            .first()?
            .iter()
            .all(|cost| *cost > 0.0 && cost.is_finite());
        let mut callees = vec![vec![]; frames.len()];
        for (at, frame) in frames.iter().enumerate() {
            if let Some(caller) = frame.caller {
                callees[caller].push(at);
            }
        }
        let (mut left, mut depth) = (vec![0.0; frames.len()], vec![0; frames.len()]);
        for (caller, callees) in callees.iter_mut().enumerate() {
            callees.sort_by(|a, b| frames[*a].function.cmp(&frames[*b].function));
            let mut next = left[caller];
            for callee in callees {
                left[*callee] = next;
                next += costs[*callee][1] / costs[0][1] * WIDTH;
                depth[*callee] = depth[caller] + 1;
            }
        }
        is_there.then_some(Self {
            frames,
            costs,
            left,
            depth,
        })
    }

    /// Share of the arm's instructions in a frame, in per cent.
    fn share(&self, at: usize) -> f64 {
        100.0 * self.costs[at][1] / self.costs[0][1]
    }

    /// The difference in a function's own code, in per cent of the baseline's instructions.
    fn own(&self, at: usize) -> f64 {
        self.pct(self.frames[at].own)
    }

    /// The same with callees.
    fn all(&self, at: usize) -> f64 {
        self.pct(self.costs[at])
    }

    fn pct(&self, [base, arm]: [f64; 2]) -> f64 {
        100.0 * (arm - base) / self.costs[0][0]
    }

    /// The frames with the greatest differences in their own code, in per cent of the baseline:
    /// that difference, the one with callees, and the functions from the start.
    pub(in crate::report::html) fn greatest(&self, most: usize) -> Vec<(f64, f64, Vec<&str>)> {
        let all = (0..self.frames.len()).filter(|at| self.own(*at).abs() >= COLOUR_MIN_PCT);
        let mut all: Vec<usize> = all.collect();
        all.sort_by(|a, b| self.own(*b).abs().total_cmp(&self.own(*a).abs()));
        let of = |at: usize| (self.own(at), self.all(at), self.stack(at));
        all.into_iter().take(most).map(of).collect()
    }

    /// The functions from the first one that the start calls to a frame.
    fn stack(&self, at: usize) -> Vec<&str> {
        let mut stack = vec![];
        let mut next = Some(at);
        while let Some(at) = next {
            next = self.frames[at].caller.filter(|caller| *caller > 0);
            stack.push(name(&self.frames[at]));
        }
        stack.reverse();
        stack
    }

    /// The picture.
    pub(in crate::report::html) fn draw(&self, about: &str) -> Markup {
        let edges = |at: usize| {
            let left = self.left[at];
            [left, left + self.costs[at][1] / self.costs[0][1] * WIDTH].map(f64::round)
        };
        let is_shown = |at: &usize| edges(*at)[1] > edges(*at)[0];
        let shown: Vec<usize> = (0..self.frames.len()).filter(is_shown).collect();
        let rows = shown.iter().map(|at| self.depth[*at]).max().unwrap_or(0) + 1;
        let height = rows as f64 * ROW;
        let all = (0..self.frames.len()).map(|at| self.own(at).abs());
        let greatest = all.fold(COLOUR_MIN_PCT, f64::max);
        html! {
            svg.flame viewBox=(format!("0 0 {} {}", px(WIDTH), px(height))) role="img"
                aria-label=(about)
            {
                @for at in shown {
                    @let [left, right] = edges(at);
                    @let y = height - ROW * (self.depth[at] + 1) as f64;
                    g class=[colour(self.own(at), greatest)] {
                        title { (self.title(at)) }
                        path d=(area(left, y, right - left, ROW)) {}
                        @if let Some(text) = self.text(at, right - left) {
                            (label("", left + SIDE, y + ROW - 4.5, &text))
                        }
                    }
                }
            }
        }
    }

    fn title(&self, at: usize) -> String {
        let [share, all, own] = [self.share(at), self.all(at), self.own(at)];
        minus(&format!(
            "{}: {} % of the instructions; change {} %, in its own code {} %",
            shorten(name(&self.frames[at]), TITLE_COLUMNS),
            fixed(share, 1),
            signed(all, 2),
            signed(own, 2),
        ))
    }

    /// A name as far as there is room for it: whole, or without the path before it.
    fn text(&self, at: usize, room: f64) -> Option<String> {
        let columns = ((room - 2.0 * SIDE) / COLUMN).max(0.0) as usize;
        let name = plain(name(&self.frames[at]));
        let last = name.rsplit_once("::").map(|(_, last)| last);
        let last = last.filter(|last| !last.contains('>')).unwrap_or(&name);
        let fitting = if width(&name) <= columns { &name } else { last };
        (columns >= COLUMNS_MIN).then(|| shorten(fitting, columns))
    }
}

fn name(frame: &Frame) -> &str {
    match frame.function.as_str() {
        "" => "all",
        name => name,
    }
}

/// The class of a frame: its colour, that of the third arm for more instructions and of the second
/// for fewer, and its strength.
fn colour(own: f64, greatest: f64) -> Option<String> {
    let level = LEVELS
        .iter()
        .find(|(share, _)| own.abs() >= share * greatest)?;
    let hue = if own > 0.0 { "c2" } else { "c1" };
    (own.abs() >= COLOUR_MIN_PCT).then(|| format!("{hue} {}", level.1))
}

#[cfg(test)]
mod tests {
    use super::{Stacks, colour};
    use furlong_stats::flame::Frame;

    fn frame(function: &str, caller: Option<usize>, own: [f64; 2]) -> Frame {
        Frame {
            function: function.to_owned(),
            caller,
            own,
        }
    }

    fn stacks() -> Stacks {
        let frames = vec![
            frame("", None, [0.0; 2]),
            frame("my::main", Some(0), [10.0, 10.0]),
            frame("my::step", Some(1), [50.0, 90.0]),
            frame("my::a_part", Some(1), [20.0, 0.0]),
            frame("my::leaf", Some(2), [20.0, 100.0]),
        ];
        Stacks::new(frames).expect("both have instructions")
    }

    #[test]
    fn a_frame_is_as_wide_as_its_part_of_the_arm_and_stands_on_its_caller() {
        let drawn = stacks().draw("About.").into_string();
        for wanted in [
            // 200 instructions are 1150 wide, in four rows of 17.
            "viewBox=\"0 0 1150 68\"",
            "<path d=\"M0,51h1150v17h-1150z\">",
            "<g class=\"c2 l3\"><title>my::step: 95.0\u{a0}% of the instructions; \
             change +120.00\u{a0}%, in its own code +40.00\u{a0}%</title>\
             <path d=\"M0,17h1093v17h-1093z\">",
            "<path d=\"M0,0h575v17h-575z\"></path><text x=\"3\" y=\"13\">my::leaf</text>",
            "aria-label=\"About.\"",
        ] {
            assert!(drawn.contains(wanted), "{wanted} in {drawn}");
        }
        assert!(!drawn.contains("a_part"), "{drawn}");
    }

    #[test]
    fn the_greatest_differences_have_their_stacks_also_those_without_width() {
        let stacks = stacks();
        let found = stacks.greatest(2);
        let leaf = vec!["my::main", "my::step", "my::leaf"];
        let step = vec!["my::main", "my::step"];
        assert_eq!(found, [(80.0, 80.0, leaf), (40.0, 120.0, step)]);
        let last = stacks.greatest(9).pop().expect("three differ");
        assert_eq!(last, (-20.0, -20.0, vec!["my::main", "my::a_part"]));
    }

    #[test]
    fn a_name_without_room_loses_its_path_and_then_its_end() {
        let stacks = stacks();
        let text = |room| stacks.text(2, room);
        assert_eq!(text(60.0).as_deref(), Some("my::step"));
        assert_eq!(text(40.0).as_deref(), Some("step"));
        assert_eq!(text(30.0).as_deref(), Some("st…"));
        assert_eq!(text(20.0), None);
        assert_eq!(text(0.0), None);
    }

    #[test]
    fn a_colour_is_stronger_for_a_greater_difference() {
        let of = |own| colour(own, 8.0);
        assert_eq!(of(8.0).as_deref(), Some("c2 l3"));
        assert_eq!(of(-1.0).as_deref(), Some("c1 l2"));
        assert_eq!(of(0.2).as_deref(), Some("c2 l1"));
        assert_eq!(of(0.1), None);
        assert_eq!(colour(0.0, 0.001), None);
    }

    #[test]
    fn runs_without_instructions_have_no_picture() {
        assert!(Stacks::new(vec![]).is_none());
        assert!(Stacks::new(vec![frame("", None, [0.0, 5.0])]).is_none());
    }
}
