//! Closed interfaces, each with a program that would compile if it were open: sealed traits, whose
//! implementations unsafe code or an algorithm relies on, and a tree's own functions.

use std::collections::BTreeSet;

use crate::compiler::{Compiler, said};
use crate::sources;

/// Each sealed trait, with the private trait that it requires.
const SEALED: &[(&str, &str)] = &[
    ("addr::Address", "Sealed"),
    ("bounce::Area", "Slots"),
    ("bounce::Buffer", "Sealed"),
    ("bounce::Order", "Sealed"),
    ("bounce::Zeroing", "Sealed"),
    ("iova::Policy", "Choose"),
    ("iova::Sided", "Choose"),
    ("malloc::Gate", "Sealed"),
    ("malloc::Hardening", "Sealed"),
    ("malloc::Tier", "Sealed"),
    ("maple::Counters", "Sealed"),
    ("maple::Edit", "Sealed"),
    ("maple::Geometry", "Sealed"),
    ("maple::Row", "Sealed"),
    ("phys::Concurrent", "Beside"),
    ("phys::Lookup", "Arm"),
    ("phys::Strategy", "Order"),
    ("rbtree::Nodes", "Sealed"),
    ("rbtree::Propagation", "Sealed"),
    ("rbtree::Slots", "Sealed"),
    ("rcu::SlotStore", "Sealed"),
    ("vmspace::Hold", "Sealed"),
    ("vmspace::Mode", "Sealed"),
];

/// An empty implementation of a trait: its items are missing, and so is its seal.
fn implementation(of: &str) -> String {
    let (parameters, arguments) = match of {
        "maple::Edit" => (
            "<A: furlong::addr::Address, E: furlong::maple::Entry>",
            "<A, E>",
        ),
        "maple::Row" => ("<T>", "<T>"),
        "rbtree::Slots" => ("<A: furlong::rbtree::Augment>", "<A>"),
        _ => ("", ""),
    };
    format!("pub struct Mine; impl{parameters} furlong::{of}{arguments} for Mine {{}}")
}

/// Programs that use a tree's own functions, with a part of the compiler's message for each.
const OWN: &[(&str, &str)] = &[
    ("nodes.view();", "takes 1 argument but 0"),
    ("nodes.item(at);", "takes 2 arguments but 1"),
    (
        "nodes.set_child(at, furlong::rbtree::Side::Left, None);",
        "takes 4 arguments but 3",
    ),
    (
        "nodes.set_ranks(at, nodes.ranks(at));",
        "takes 3 arguments but 2",
    ),
    (
        "nodes.set_place(at, nodes.place(at));",
        "takes 3 arguments but 2",
    ),
    ("nodes.set_unlinked(at);", "takes 2 arguments but 1"),
    (
        "let side = furlong::rbtree::Side::Left; nodes.set_half(at, side, nodes.half(at, side));",
        "takes 4 arguments but 3",
    ),
    // The required permission can be made neither by a default nor by a conversion.
    (
        "fn call<N, R, T: Default>(set: fn(&mut N, R, T), nodes: &mut N, at: R) {
            set(nodes, at, T::default());
        }
        call(N::set_unlinked, nodes, at);",
        "`rbtree::storage::nodes::Internal: Default` is not satisfied",
    ),
    (
        "fn call<N, R, T: From<()>>(set: fn(&mut N, R, T), nodes: &mut N, at: R) {
            set(nodes, at, T::from(()));
        }
        call(N::set_unlinked, nodes, at);",
        "`rbtree::storage::nodes::Internal: From<()>` is not satisfied",
    ),
];

/// Programs that use a name that is not there for them.
const NAMES: &[(&str, &str)] = &[
    ("use furlong::rbtree::Internal;", "no `Internal` in"),
    (
        "use furlong::rbtree::INTERNAL;",
        "constant `INTERNAL` is private",
    ),
    (
        "use furlong::rbtree::storage::nodes::Internal;",
        "is private",
    ),
];

/// A reference to a struct in a tree, kept while the tree releases the struct.
const KEPT: &str = "
    use furlong::rbtree::{Intrusive, Linked, Pinned, RbTree};
    pub fn take<A: Linked>(tree: &mut RbTree<Intrusive<A>>, at: Pinned<A::Item>) -> &A::Item {
        let item = tree.item(at);
        let _ = tree.remove(at);
        item
    }";

/// Compiles programs, each in a module and on a line of its own, and checks the compiler's message
/// for each.
fn each_is_refused(compiler: &Compiler, name: &str, programs: &[(String, String)]) {
    let text: String = programs
        .iter()
        .enumerate()
        .map(|(at, (text, _))| format!("pub mod at_{at} {{ {} }}\n", text.replace('\n', " ")))
        .collect();
    let said = said(&compiler.compile("lib", name, &text));
    for (line, (program, wanted)) in programs.iter().enumerate() {
        let place = format!("{name}.rs:{}:", line + 1);
        let mut errors = said.lines().filter(|said| said.contains(&place));
        assert!(
            errors.any(|error| error.contains("error[") && error.contains(wanted.as_str())),
            "this is not refused by `{wanted}`: {program}\n{said}"
        );
    }
}

#[test]
fn every_sealed_trait_has_its_row() {
    let rows: BTreeSet<_> = SEALED.iter().map(|(of, _)| String::from(*of)).collect();
    assert_eq!(sources::sealed_traits(), rows);
}

#[test]
fn what_is_sealed_is_implemented_by_nobody_else() {
    let compiler = Compiler::new("sealed", &["--emit=metadata"]);
    let programs = SEALED.iter().map(|(of, seal)| {
        // The path of the private trait, up to the type that lacks it.
        (implementation(of), format!("::{seal}"))
    });
    let programs: Vec<_> = programs.collect();
    each_is_refused(&compiler, "sealed", &programs);
}

#[test]
fn only_a_tree_changes_links_and_lends_items() {
    let compiler = Compiler::new("closed", &["--emit=metadata"]);
    let own = OWN.iter().map(|(program, wanted)| {
        let program = format!(
            "pub fn own<N: furlong::rbtree::Nodes>(nodes: &mut N, at: N::Ref) {{ {program} }}"
        );
        (program, String::from(*wanted))
    });
    each_is_refused(&compiler, "own", &own.collect::<Vec<_>>());
    let names = NAMES
        .iter()
        .map(|(text, wanted)| (String::from(*text), String::from(*wanted)));
    each_is_refused(&compiler, "names", &names.collect::<Vec<_>>());
    let kept = (String::from(KEPT), String::from("E0502"));
    each_is_refused(&compiler, "kept", &[kept]);
}
