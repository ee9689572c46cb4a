//! Samples that break the rules, and samples that do not.
#![forbid(unsafe_code)]

use super::{FORBID, forbidden_but, is_parent, orderings, safety_comments};
use crate::tree::{Tree, places};

#[test]
fn a_file_that_does_not_forbid_unsafe_is_found() {
    let good = format!("//! Docs.\n#![no_std]\n{FORBID}\n\nuse a::b;\n");
    let late = format!("//! Docs.\nuse a::b;\n{FORBID}\n");
    let said = format!("//! Docs.\n// {FORBID}\n");
    let tree = Tree::of(&[("good.rs", &good), ("late.rs", &late), ("said.rs", &said)]);
    assert_eq!(
        places(&forbidden_but(&tree, &[])),
        ["late.rs:1", "said.rs:1"]
    );
}

#[test]
fn a_listed_file_must_exist_and_need_it_and_its_parents_have_none() {
    let tree = Tree::of(&[
        ("src/lib.rs", "pub mod a;\n"),
        ("src/a/mod.rs", "pub mod raw;\nunsafe { b() }\n"),
        ("src/a/raw.rs", "// SAFETY: so.\nunsafe { b() }\n"),
        ("src/a/side.rs", "pub mod c;\n"),
        ("src/tame.rs", "// no unsafe here\n"),
    ]);
    let found = forbidden_but(&tree, &["src/a/raw.rs", "src/tame.rs", "src/gone.rs"]);
    let expected = [
        "src/a/mod.rs:1",
        "src/a/side.rs:1",
        "src/tame.rs:1",
        "src/gone.rs:0",
    ];
    assert_eq!(places(&found), expected);
}

#[test]
fn parents_are_the_modules_around_a_file() {
    assert!(is_parent("a/src/lib.rs", "a/src/b/c.rs") && is_parent("a/src/b.rs", "a/src/b/c.rs"));
    assert!(is_parent("a/src/b/mod.rs", "a/src/b/c.rs"));
    assert!(!is_parent("a/src/b/c.rs", "a/src/b/c.rs") && !is_parent("a/src/d.rs", "a/src/b.rs"));
}

#[test]
fn unsafe_without_a_reason_is_found() {
    let bad = "fn f() {\n    unsafe { g() }\n}\nunsafe impl Send for A {}\n// because\nlet a =\n  \
               unsafe { b() };\n";
    let good = "// SAFETY: so.\nunsafe { g() }\n// SAFETY: so.\n#[inline]\nunsafe impl Send for \
                A {}\n// SAFETY: so.\nlet a =\n    unsafe { b() };\nunsafe fn g() {}\n\"unsafe \
                {\"\n";
    let tree = Tree::of(&[("bad.rs", bad), ("good.rs", good)]);
    assert_eq!(
        places(&safety_comments(&tree)),
        ["bad.rs:2", "bad.rs:4", "bad.rs:7"]
    );
}

#[test]
fn an_ordering_without_its_partner_is_found() {
    let bad = "use core::sync::atomic::Ordering::Relaxed;\n// quickly\na.load(Ordering::Acquire);\n\
               // pairs with b\na.load(Ordering::Acquire);\nb.store(1, Ordering::Release);\n\
               // Release: quickly\nb.store(1, Ordering::Release);\n\
               // Relaxed: elsewhere\nfn f() {\nb.load(Ordering::Relaxed);\n}\n";
    let good = "fn f() {\n// Relaxed: numbers.\na.load(Ordering::Relaxed);\n\
                b();\nc.load(Ordering::Relaxed);\n}\n\
                use core::sync::atomic::Ordering;\na.load(Ordering::SeqCst);\n// pairs with b\n\
                a.compare_exchange(\n    1,\n    2,\n    Ordering::AcqRel,\n    \
                Ordering::Relaxed,\n);\nOp::Release;\nb.load(Ordering::Acquire); // pairs with a\n";
    let tree = Tree::of(&[("bad.rs", bad), ("good.rs", good)]);
    assert_eq!(
        places(&orderings(&tree)),
        ["bad.rs:1", "bad.rs:3", "bad.rs:6", "bad.rs:8", "bad.rs:11"]
    );
}
