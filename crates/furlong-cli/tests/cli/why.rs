//! The functions behind a difference: planted changes of a program of two hundred functions.
//! Without valgrind nothing is tested here.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use furlong_lab::measure::launch::callgrind::Callgrind;
use furlong_lab::record::functions::{behind, frames};
use furlong_stats::attribution::Attribution;
use furlong_stats::flame::with_callees;

use crate::lab::{Home, read, says};

/// Functions of the program.
const FUNCTIONS: usize = 200;

/// A change of one function.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// The loop does more work in each round.
    SlowerLoop,
    /// The loop has more rounds.
    Constant,
    /// A vector is allocated.
    Allocation,
    /// A part is no longer inlined.
    LostInlining,
    /// The next function is called twice as often.
    MoreCalls,
}

const PLANTED: [(Change, usize); 10] = [
    (Change::SlowerLoop, 17),
    (Change::SlowerLoop, 155),
    (Change::Constant, 52),
    (Change::Constant, 188),
    (Change::Allocation, 63),
    (Change::Allocation, 170),
    (Change::LostInlining, 104),
    (Change::LostInlining, 24),
    (Change::MoreCalls, 39),
    (Change::MoreCalls, 119),
];

/// The program with one change. Every function has constants of its own, so that the compiler
/// merges none.
fn source(changed: Option<(Change, usize)>) -> String {
    let mut text = "use std::hint::black_box;\n".to_owned();
    for at in 0..FUNCTIONS {
        let has = |change| changed == Some((change, at));
        let times = 3 + 2 * at;
        let mut work = format!("s = (s ^ (s >> 7)).wrapping_mul({times}).wrapping_add(k);");
        let mut before = String::new();
        if has(Change::SlowerLoop) {
            work.push_str(" s = s.rotate_left((s % 61) as u32);");
        }
        if has(Change::Allocation) {
            before.push_str("let x = black_box(vec![x; 8])[(x % 8) as usize];\n");
        }
        if at % 20 == 4 {
            let inline = if has(Change::LostInlining) {
                "never"
            } else {
                "always"
            };
            writeln!(text, "#[inline({inline})] fn part{at}(x: u64) -> u64 {{").unwrap();
            writeln!(text, "black_box(x).wrapping_mul({times}) ^ (x >> 3) }}").unwrap();
            writeln!(
                before,
                "let mut x = x; for _ in 0..6 {{ x = part{at}(x); }}"
            )
            .unwrap();
        }
        let mut rounds = if has(Change::Constant) { 29 } else { 20 } + at % 7;
        if at % 10 == 9 && at + 1 < FUNCTIONS {
            rounds = if has(Change::MoreCalls) { 4 } else { 2 };
            let next = at + 1;
            work = format!("s = s.wrapping_add(f{next}(s ^ k)).wrapping_mul({times});");
        }
        writeln!(text, "#[inline(never)] fn f{at}(x: u64) -> u64 {{ {before}").unwrap();
        writeln!(
            text,
            "let mut s = x; for k in 0..{rounds}u64 {{ {work} }} s }}"
        )
        .unwrap();
    }
    text.push_str("fn main() { let mut t = 0u64; for r in 0..100u64 {\n");
    for at in 0..FUNCTIONS {
        writeln!(text, "t = t.wrapping_add(f{at}(t ^ r));").unwrap();
    }
    text + "} println!(\"{t}\"); }\n"
}

/// Builds the program with one change.
fn build(folder: &Path, changed: Option<(Change, usize)>) -> PathBuf {
    let name = changed.map_or("base".to_owned(), |(_, at)| format!("with{at}"));
    let [file, path] = [format!("{name}.rs"), name].map(|name| folder.join(name));
    fs::write(&file, source(changed)).unwrap();
    let mut rustc = Command::new("rustc");
    rustc.args(["-O", "--crate-name", "program", "-o"]);
    let built = rustc.arg(&path).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    path
}

/// Compares programs with the first, `base`. Returns the answer, and for each other one, which is
/// called `head` and its index, the functions behind the difference.
fn compare(home: &Home, programs: &[PathBuf]) -> (String, Vec<Attribution>) {
    let heads: Vec<String> = (1..programs.len()).map(|at| format!("head{at}")).collect();
    let names = format!("base,{}", heads.join(","));
    let mut words = vec!["compare"];
    words.extend(programs.iter().map(|path| path.to_str().unwrap()));
    words.extend([
        "--names", &names, "--why", "--blocks", "1", "--json", "r.json",
    ]);
    let (answer, _) = home.ends(0, &words);
    let result = read(&home.path("r.json"));
    let workload = &result.experiments[0].workloads[0];
    let found = heads.iter().map(|head| behind(workload, head));
    (
        answer,
        found.map(|found| found.expect("they differ")).collect(),
    )
}

#[test]
fn the_changed_function_is_named_first() {
    if Callgrind::new().is_err() {
        return;
    }
    let home = Home::new();
    let planted = PLANTED.map(Some);
    let programs = [None].into_iter().chain(planted);
    let programs: Vec<_> = programs
        .map(|changed| build(&home.path(""), changed))
        .collect();
    let (answer, found) = compare(&home, &programs);
    for ((change, at), found) in PLANTED.into_iter().zip(found) {
        let first = &found.causes[0];
        assert_eq!(
            first.function,
            format!("program::f{at}"),
            "{change:?}: {answer}"
        );
        let more = found.totals[1] - found.totals[0];
        assert!(first.difference > 0.9 * more, "{change:?}: {answer}");
        let callee = first.callee.as_ref();
        let callee = callee.map(|callee| (callee.function.clone(), callee.occurs));
        let wanted = match change {
            Change::LostInlining => Some((format!("program::part{at}"), [false, true])),
            Change::MoreCalls => Some((format!("program::f{}", at + 1), [true; 2])),
            _ => None,
        };
        assert_eq!(callee, wanted, "{change:?}: {answer}");
    }
}

/// The flame graph of a page; `None` if there is none.
fn flame_graph(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("<svg class=\"flame\"")?;
    rest.split_once("</svg>").map(|(graph, _)| graph)
}

#[test]
fn the_page_has_a_flame_graph_in_which_the_changed_function_is_marked() {
    if Callgrind::new().is_err() {
        return;
    }
    let home = Home::new();
    let programs = [None, Some((Change::SlowerLoop, 17))];
    let programs = programs.map(|changed| build(&home.path(""), changed));
    let (answer, found) = compare(&home, &programs);
    let found = &found[0];
    says(
        &answer,
        &["more instructions, by function:\n", "%  program::f17: "],
    );

    let kept = frames(
        &read(&home.path("r.json")).experiments[0].workloads[0],
        "head1",
    )
    .unwrap();
    for (sum, total) in with_callees(&kept)[0].into_iter().zip(found.totals) {
        assert!((sum / total - 1.0).abs() < 1e-12, "{sum} of {total}");
    }
    let mut changed = kept.iter().filter(|frame| frame.function == "program::f17");
    let frame = changed.next().expect("it is the greatest function of all");
    let [before, after] = frame.own;
    assert!(after - before > 0.9 * (found.totals[1] - found.totals[0]));
    assert_eq!(kept[frame.caller.unwrap()].function, "program::main");

    // The store has it too.
    home.ends(0, &["show", "--html", "r.html"]);
    let page = fs::read_to_string(home.path("r.html")).unwrap();
    let graph = flame_graph(&page).expect("they differ");
    let marked = "<g class=\"c2 l3\"><title>program::f17: ";
    assert_eq!(graph.matches(marked).count(), 1, "{graph}");
    assert_eq!(graph.matches("<g class=\"c2 l3\">").count(), 1, "{graph}");
    assert!(
        page.contains("→ program::main → program::f17</bdi>"),
        "{page}"
    );
}

#[test]
fn nothing_is_named_where_nothing_differs() {
    if Callgrind::new().is_err() {
        return;
    }
    let home = Home::new();
    let options = ["--why", "--blocks", "1", "--html", "r.html"];
    let (answer, _) = home.ends(0, &[&["compare", "true", "true"][..], &options].concat());
    assert!(!answer.contains("by function"), "{answer}");
    let page = fs::read_to_string(home.path("r.html")).unwrap();
    assert_eq!(flame_graph(&page), None);
}
