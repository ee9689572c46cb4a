//! For each `unsafe impl` of `Send` and `Sync`: a program that would be unsound without the impl's
//! bound, and does not compile. If there is no such program, the reason.

use std::collections::BTreeSet;

use crate::compiler::{Compiler, said};
use crate::sources;

/// The impls, one a line: its file, its trait and type, and the reason that it has no bound. Or
/// instead of the reason a program that compiles with the first of two types in place of `T`, but
/// not with the second: it sends a value to a thread, lets a thread see one, or counts.
const IMPLS: &str = include_str!("impls.txt");

/// The imports of each program.
const IMPORTS: &str = "use furlong::{addr, maple, phys, rcu, sync};
    use std::{cell::Cell, rc::Rc, sync::MutexGuard, thread::spawn};";

/// The counters of a pool, which its blocks store in rows and tables.
const COUNTERS: &str = "
    #[derive(Default)]
    struct Mine(T);
    impl furlong::bounce::Counters for Mine {
        const ON: bool = true;
        fn count(&self, _: furlong::bounce::Event, _: u64) {}
        fn absorb(&mut self, _: &Self) {}
    }";

/// The fields of each line.
fn impls() -> impl Iterator<Item = Vec<&'static str>> {
    IMPLS.lines().map(|line| line.split(" | ").collect())
}

#[test]
fn every_unsafe_impl_has_its_entry() {
    let entries = impls().map(|fields| match fields[..] {
        [file, which, reason] if !reason.is_empty() => (file.to_owned(), which.to_owned()),
        [file, which, _, _, _] => (file.to_owned(), which.to_owned()),
        _ => panic!("neither a reason nor a program with two types: {fields:?}"),
    });
    assert_eq!(sources::unsafe_impls(), entries.collect::<BTreeSet<_>>());
}

/// A crate of all programs with the types of a field, each in a module and on a line of its own.
fn crate_of(field: usize) -> String {
    let mut programs = String::new();
    for (at, fields) in impls().enumerate() {
        let Some(of) = fields.get(field) else {
            continue;
        };
        let (verb, value) = fields[2].split_once(' ').unwrap_or((fields[2], ""));
        let program = match verb {
            "send" => format!("fn send(it: {value}) {{ spawn(move || drop(it)); }}"),
            "see" => format!("fn see(it: &'static {value}) {{ spawn(move || drop(it)); }}"),
            "count" => COUNTERS.to_owned(),
            _ => panic!("no such program: {verb}"),
        };
        let program = format!("{IMPORTS} type T = {of}; {program}").replace('\n', " ");
        programs += &format!("mod at_{at} {{ {program} }}\n");
    }
    programs
}

/// All at once, because the compiler spends most of its time on reading the library.
#[test]
fn programs_that_would_be_unsound_do_not_compile() {
    let compiler = Compiler::new("send_sync", &["--emit=metadata"]);
    let good = compiler.compile("lib", "good", &crate_of(3));
    assert!(good.status.success(), "{}", said(&good));
    let bad_text = crate_of(4);
    let bad = compiler.compile("lib", "bad", &bad_text);
    let said = said(&bad);
    for (line, text) in bad_text.lines().enumerate() {
        let place = format!("bad.rs:{}:", line + 1);
        let errors = said.lines().filter(|said| said.contains(&place));
        let refused = errors.filter(|said| said.contains("error[E0277]")).count();
        assert!(refused >= 1, "this compiles: {text}\n{said}");
    }
    let other = said.matches("error[").count() - said.matches("error[E0277]").count();
    assert_eq!(other, 0, "{said}");
}
