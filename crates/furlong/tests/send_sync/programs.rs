//! For each `unsafe impl` of `Send` and `Sync`: a program that would be unsound without the impl's
//! bound, and does not compile. If there is no such program, the reason.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use crate::compiler::{Compiler, said};
use crate::sources;

/// Justification of an impl.
enum Shown {
    /// It has no bound, since it contains no value of a caller.
    NoBound(&'static str),
    /// This program compiles with the first type in place of `T`, but not with the second.
    Program(&'static str, &'static str, &'static str),
}

use Shown::{NoBound, Program};

const OWN_MEMORY: &str = "it owns memory in which there is nothing of a caller's";

/// The counters of a pool, which its blocks store in rows and tables.
const COUNTERS: &str = "
    #[derive(Default)]
    struct Mine(T);
    impl furlong::bounce::Counters for Mine {
        const ON: bool = true;
        fn count(&self, _: furlong::bounce::Event, _: u64) {}
        fn absorb(&mut self, _: &Self) {}
    }";

const SENT_TABLE: &str = "
    fn send(table: furlong::phys::SegmentTable<T>) {
        std::thread::spawn(move || drop(table));
    }";

const SEEN_TABLE: &str = "
    fn see(table: &'static furlong::phys::SegmentTable<T>) {
        std::thread::spawn(move || drop(table));
    }";

const SENT_MAP: &str = "
    type Map = furlong::maple::Maple<furlong::addr::VirtAddr, Box<T>>;
    fn send(map: Map) {
        std::thread::spawn(move || drop(map));
    }";

const SEEN_MAP: &str = "
    type Map = furlong::maple::Maple<furlong::addr::VirtAddr, Box<T>>;
    fn see(map: &'static Map) {
        std::thread::spawn(move || drop(map));
    }";

const SENT_BOX: &str = "
    fn send(value: furlong::rcu::RcuBox<T>) {
        std::thread::spawn(move || drop(value));
    }";

const SEEN_BOX: &str = "
    fn see(value: &'static furlong::rcu::RcuBox<T>) {
        std::thread::spawn(move || drop(value));
    }";

const SENT_CELL: &str = "
    fn send(cell: furlong::rcu::RcuCell<T, furlong::rcu::Domain>) {
        std::thread::spawn(move || drop(cell));
    }";

const SEEN_CELL: &str = "
    fn see(cell: &'static furlong::rcu::RcuCell<T, furlong::rcu::Domain>) {
        std::thread::spawn(move || drop(cell));
    }";

const TRY_LOCK: &str = "
    fn see(lock: &'static furlong::sync::TryLock<T>) {
        std::thread::spawn(move || drop(lock));
    }";

const SEEN_LOCK: &str = "
    fn see(lock: &'static furlong::sync::Lock<furlong::sync::SpinLock, T>) {
        std::thread::spawn(move || drop(lock));
    }";

const SENT_LOCK: &str = "
    fn send(lock: furlong::sync::Lock<furlong::sync::SpinLock, T>) {
        std::thread::spawn(move || drop(lock));
    }";

const BOTH: &str = "u64";
/// Usable by one thread at a time; by all at once; only by its own.
const SENT: &str = "std::cell::Cell<u64>";
const SEEN: &str = "std::sync::MutexGuard<'static, u64>";
const NONE: &str = "std::rc::Rc<u64>";

/// Each impl, by its file.
const IMPLS: &[(&str, &str, Shown)] = &[
    (
        "bounce/memory/source.rs",
        "Send for Backing",
        NoBound(OWN_MEMORY),
    ),
    (
        "bounce/memory/source.rs",
        "Sync for Backing",
        NoBound(OWN_MEMORY),
    ),
    (
        "bounce/memory/region.rs",
        "Send for RegionMemory",
        NoBound(OWN_MEMORY),
    ),
    (
        "bounce/memory/region.rs",
        "Sync for RegionMemory",
        NoBound(OWN_MEMORY),
    ),
    (
        "bounce/memory/store.rs",
        "Send for Given",
        NoBound(OWN_MEMORY),
    ),
    (
        "bounce/memory/store.rs",
        "Sync for Given",
        NoBound(OWN_MEMORY),
    ),
    (
        "bounce/memory/store.rs",
        "Send for Row",
        Program(COUNTERS, BOTH, NONE),
    ),
    (
        "bounce/memory/store.rs",
        "Sync for Row",
        Program(COUNTERS, BOTH, SENT),
    ),
    (
        "bounce/memory/table.rs",
        "Send for Table",
        Program(COUNTERS, BOTH, NONE),
    ),
    (
        "bounce/memory/table.rs",
        "Sync for Table",
        Program(COUNTERS, BOTH, SENT),
    ),
    (
        "malloc/field.rs",
        "Sync for Fixed",
        NoBound("its values are numbers of the allocator's"),
    ),
    (
        "maple/memory/pool.rs",
        "Send for Pool",
        Program(SENT_MAP, BOTH, NONE),
    ),
    (
        "maple/memory/pool.rs",
        "Sync for Pool",
        Program(SEEN_MAP, BOTH, NONE),
    ),
    (
        "phys/index/direct/root.rs",
        "Send for Private",
        Program(SENT_TABLE, BOTH, NONE),
    ),
    (
        "phys/index/direct/runs.rs",
        "Send for Spares",
        NoBound(OWN_MEMORY),
    ),
    (
        "phys/storage/deferred.rs",
        "Send for Deferred",
        NoBound("what waits there is dropped as its table says"),
    ),
    (
        "phys/storage/memory.rs",
        "Send for Memory",
        NoBound(OWN_MEMORY),
    ),
    (
        "phys/storage/pages.rs",
        "Send for Pages",
        Program(SEEN_TABLE, BOTH, SENT),
    ),
    (
        "phys/storage/pages.rs",
        "Sync for Pages",
        Program(SEEN_TABLE, BOTH, NONE),
    ),
    ("phys/storage/pool.rs", "Send for Pool", NoBound(OWN_MEMORY)),
    (
        "phys/storage/pool.rs",
        "Send for Released",
        NoBound(OWN_MEMORY),
    ),
    (
        "phys/storage/slab.rs",
        "Send for Slabs",
        Program(SENT_TABLE, BOTH, SEEN),
    ),
    (
        "phys/storage/raw_array.rs",
        "Send for RawArray",
        Program(SENT_TABLE, BOTH, NONE),
    ),
    (
        "phys/storage/raw_array.rs",
        "Sync for RawArray",
        Program(SEEN_TABLE, BOTH, SENT),
    ),
    (
        "rcu/boxed.rs",
        "Send for RcuBox",
        Program(SENT_BOX, SENT, NONE),
    ),
    (
        "rcu/boxed.rs",
        "Sync for RcuBox",
        Program(SEEN_BOX, SEEN, SENT),
    ),
    (
        "rcu/cell.rs",
        "Send for RcuCell",
        Program(SENT_CELL, SENT, SEEN),
    ),
    (
        "rcu/cell.rs",
        "Sync for RcuCell",
        Program(SEEN_CELL, BOTH, SENT),
    ),
    (
        "rcu/retire/chain.rs",
        "Send for Chain",
        NoBound("retired values are Send, or their retiring was unsafe"),
    ),
    (
        "rcu/retire/head.rs",
        "Send for RcuHead",
        NoBound("the same"),
    ),
    (
        "rcu/retire/head.rs",
        "Sync for RcuHead",
        NoBound("the same"),
    ),
    (
        "sync/lock.rs",
        "Send for Lock",
        Program(SENT_LOCK, SENT, SEEN),
    ),
    (
        "sync/lock.rs",
        "Sync for Lock",
        Program(SEEN_LOCK, SENT, SEEN),
    ),
    (
        "sync/try_lock.rs",
        "Sync for TryLock",
        Program(TRY_LOCK, SENT, SEEN),
    ),
    (
        "sync/under.rs",
        "Sync for Under",
        NoBound("what is under a lock there is Send by its type"),
    ),
];

#[test]
fn every_unsafe_impl_has_its_entry() {
    let entries: BTreeSet<_> = IMPLS
        .iter()
        .map(|(file, which, _)| ((*file).to_owned(), (*which).to_owned()))
        .collect();
    assert_eq!(sources::unsafe_impls(), entries);
    let why = |shown: &Shown| matches!(shown, NoBound(why) if why.is_empty());
    assert!(!IMPLS.iter().any(|(_, _, shown)| why(shown)));
}

/// A crate of all programs, each in a module; its preamble is on a line of its own.
fn crate_of(pick: fn(&'static str, &'static str) -> &'static str) -> String {
    let programs = IMPLS
        .iter()
        .enumerate()
        .filter_map(|(at, (_, _, shown))| match shown {
            Program(text, good, bad) => {
                let of = pick(good, bad);
                let text = text.replace('\n', " ");
                Some(format!("mod at_{at} {{ type T = {of}; {text} }}\n"))
            }
            NoBound(_) => None,
        });
    programs.collect()
}

/// All at once, because the compiler spends most of its time on reading the library.
#[test]
fn programs_that_would_be_unsound_do_not_compile() {
    let compiler = Compiler::new("send_sync", &["--emit=metadata"]);
    let good = compiler.compile("lib", "good", &crate_of(|good, _| good));
    assert!(good.status.success(), "{}", said(&good));
    let bad_text = crate_of(|_, bad| bad);
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
