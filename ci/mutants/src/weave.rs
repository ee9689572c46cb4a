//! Weaves all drawn mutants of a file into one source text. Each function contains its own body and
//! a copy for each mutant. An environment variable selects one of them at run time.
//!
//! The copies are of whole bodies, not of expressions. So operands are evaluated as often as
//! before, borrows and temporaries live as long, and patterns can change like anything else.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::mutant::Mutant;

/// The variable with the number of the selected mutant; without it none is.
pub const CHOSEN: &str = "FURLONG_MUTANT";

/// The variable with the path of the file to which each function's number is written when it is
/// first entered.
pub const REACHED: &str = "FURLONG_MUTANTS_REACHED";

/// A source text with mutants in it.
#[derive(Debug, Default)]
pub struct Woven {
    pub text: String,
    /// Ranges of lines, from 1, each with the mutants that an error in it condemns.
    pub lines: Vec<(Range<usize>, Vec<usize>)>,
}

/// The mutants by function, in the order of the file.
fn by_function<'a>(mutants: &[(usize, &'a Mutant)]) -> BTreeMap<usize, Vec<(usize, &'a Mutant)>> {
    let mut functions: BTreeMap<usize, Vec<(usize, &Mutant)>> = BTreeMap::new();
    for &(number, mutant) in mutants {
        functions
            .entry(mutant.body.start)
            .or_default()
            .push((number, mutant));
    }
    functions
}

/// Weaves the numbered mutants of one file; the numbers of a function must be consecutive. A
/// function is identified by the number of its first mutant.
pub fn weave(source: &str, mutants: &[(usize, &Mutant)]) -> Woven {
    let source = &outlined(source);
    let mut woven = Woven::default();
    let mut done = 0;
    for (start, members) in by_function(mutants) {
        let body = members[0].1.body.clone();
        woven.text.push_str(&source[done..start]);
        done = body.end;
        let begun = woven.line();
        let (first, count) = (members[0].0, members.len());
        woven.text.push_str(&format!(
            "{{ match crate::furlong_mutants::at({first}, {count}) {{\n0 => {}\n",
            &source[body.clone()]
        ));
        for (at, &(number, mutant)) in members.iter().enumerate() {
            let arm = woven.line();
            let pattern = if at + 1 < count {
                (at + 1).to_string()
            } else {
                "_".into()
            };
            let (before, after) = (&source[body.start..mutant.range.start], mutant.range.end);
            let copy = [before, &mutant.new, &source[after..body.end]].concat();
            woven.text.push_str(&format!("{pattern} => {copy}\n"));
            woven.lines.push((arm..woven.line(), vec![number]));
        }
        woven.text.push_str("} }");
        // Narrow ranges first: an error outside all arms condemns all mutants.
        let all = members.iter().map(|(number, _)| *number).collect();
        woven.lines.push((begun..woven.line() + 1, all));
    }
    woven.text.push_str(&source[done..]);
    woven
}

/// Replaces forced inlining in a text, without moving any byte. Otherwise each copy of a caller
/// would contain all copies of its callees, and so on, which exhausts the memory.
fn outlined(source: &str) -> String {
    source.replace("#[inline(always)]", "#[inline(never)] ")
}

impl Woven {
    /// The number of the line that is being written.
    fn line(&self) -> usize {
        1 + self.text.matches('\n').count()
    }

    /// The mutants that an error in this line condemns.
    pub fn condemned(&self, line: usize) -> Vec<usize> {
        let hit = self.lines.iter().find(|(lines, _)| lines.contains(&line));
        hit.map(|(_, numbers)| numbers.clone()).unwrap_or_default()
    }
}

/// A text with an error in every function with mutants, to find the functions that are compiled.
pub fn probe(source: &str, mutants: &[(usize, &Mutant)]) -> Woven {
    let mut woven = Woven::default();
    let mut done = 0;
    for (start, members) in by_function(mutants) {
        woven.text.push_str(&source[done..=start]);
        done = start + 1;
        let begun = woven.line() + 1;
        woven.text.push_str("\nlet () = 1u8;\n");
        let all = members.iter().map(|(number, _)| *number).collect();
        woven.lines.push((begun..begun + 1, all));
    }
    woven.text.push_str(&source[done..]);
    woven
}

/// The root of a crate with the switch added.
///
/// The switch also works in constant functions, which needs two unstable features, and in
/// allocators: it allocates nothing, and reads the environment through the C library. It records
/// entered functions by plain system calls, so that a test that crashes leaves its trace, too.
pub fn with_switch(root: &str) -> String {
    format!("#![feature(core_intrinsics, const_eval_select)] {root}\n{SWITCH}")
}

const SWITCH: &str = r#"
#[doc(hidden)]
#[expect(unsafe_code, reason = "calls of the C library")]
pub mod furlong_mutants {
    use core::ffi::{CStr, c_char, c_int};
    use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

    unsafe extern "C" {
        fn getenv(name: *const c_char) -> *const c_char;
        fn open(path: *const c_char, flags: c_int, ...) -> c_int;
        fn write(fd: c_int, from: *const u8, len: usize) -> isize;
        fn close(fd: c_int) -> c_int;
    }

    const UNREAD: usize = usize::MAX;
    const LOOKING: usize = usize::MAX - 1;
    static CHOSEN: AtomicUsize = AtomicUsize::new(UNREAD);
    static SEEN: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];

    pub const fn at(first: usize, count: usize) -> usize {
        core::intrinsics::const_eval_select((first, count), never, now)
    }

    const fn never(_: usize, _: usize) -> usize {
        0
    }

    fn now(first: usize, count: usize) -> usize {
        let chosen = match CHOSEN.load(Relaxed) {
            UNREAD => read(),
            known => known,
        };
        if chosen == LOOKING && !SEEN[first].swap(true, Relaxed) {
            note(first);
        }
        if chosen >= first && chosen < first + count { 1 + chosen - first } else { 0 }
    }

    fn variable(name: &CStr) -> Option<&'static CStr> {
        let value = unsafe { getenv(name.as_ptr()) };
        (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
    }

    fn read() -> usize {
        let digits = variable(c"FURLONG_MUTANT").map_or(&[][..], CStr::to_bytes);
        let number = digits.iter().fold(0, |sum, digit| 10 * sum + usize::from(digit - b'0'));
        let looking = variable(c"FURLONG_MUTANTS_REACHED").is_some();
        let chosen = if looking { LOOKING } else { number };
        CHOSEN.store(chosen, Relaxed);
        chosen
    }

    fn note(first: usize) {
        let Some(path) = variable(c"FURLONG_MUTANTS_REACHED") else { return };
        let (append, create) = (0o2000, 0o100);
        unsafe {
            let fd = open(path.as_ptr(), 1 | append | create, 0o644);
            write(fd, (first as u32).to_le_bytes().as_ptr(), 4);
            close(fd);
        }
    }
}
"#;
