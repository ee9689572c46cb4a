//! Rules about the permitted places of `unsafe`, and the comments required beside it and beside
//! each memory ordering.
#![forbid(unsafe_code)]

use super::lexer::{Line, has_word, words};
use super::tree::{File, Finding, Tree};
use super::unsafe_adapters::UNSAFE_IN_ADAPTERS;
use super::unsafe_c::UNSAFE_IN_C;
use super::unsafe_hostile::UNSAFE_IN_HOSTILE;
use super::unsafe_kernel::UNSAFE_IN_KERNEL;
use super::unsafe_malloc::UNSAFE_IN_MALLOC;
use super::unsafe_peers::UNSAFE_IN_PEERS;
use super::unsafe_spec::UNSAFE_IN_SPEC;

mod samples;

/// Every file that may have `unsafe`, with its reason. All others forbid it.
const UNSAFE_FILES: &[(&str, &str)] = &[
    (
        "crates/furlong/src/maple/memory/block.rs",
        "puts nodes into memory and gives it back",
    ),
    (
        "crates/furlong/src/maple/node/entry.rs",
        "the contract of entries, and words that stand for them",
    ),
    (
        "crates/furlong/src/maple/node/heap.rs",
        "gives boxes and counted references away as words",
    ),
    (
        "crates/furlong/src/maple/node/link.rs",
        "nodes by their pointers",
    ),
    (
        "crates/furlong/src/maple/memory/pool.rs",
        "obtains nodes, links them and gives them back",
    ),
    (
        "crates/furlong/src/maple/memory/source.rs",
        "the contract of memory for nodes",
    ),
    (
        "crates/furlong/src/maple/node/typed.rs",
        "makes entries of a tree's words again",
    ),
    (
        "crates/furlong/src/phys/storage/by_address.rs",
        "links in pieces",
    ),
    (
        "crates/furlong/src/phys/index/direct/cell.rs",
        "follows a word",
    ),
    (
        "crates/furlong/src/phys/index/direct/leaf.rs",
        "leaves: a header and blocks in one allocation",
    ),
    (
        "crates/furlong/src/phys/index/direct/root.rs",
        "arrays of words that readers follow",
    ),
    (
        "crates/furlong/src/phys/index/direct/runs.rs",
        "a tagged word, and what it points to",
    ),
    (
        "crates/furlong/src/phys/index/direct/update.rs",
        "hands unlinked leaves and runs to the limbo",
    ),
    (
        "crates/furlong/src/phys/index/direct/wide.rs",
        "follows words",
    ),
    (
        "crates/furlong/src/phys/table/entry.rs",
        "chunks of entries that never move",
    ),
    (
        "crates/furlong/src/phys/storage/deferred.rs",
        "gives memory back when no reader has it",
    ),
    (
        "crates/furlong/src/phys/storage/construct.rs",
        "makes descriptors in place, and drops them if that panics",
    ),
    (
        "crates/furlong/src/phys/storage/memory.rs",
        "takes memory over, and describes a host inside itself",
    ),
    (
        "crates/furlong/src/phys/storage/pages.rs",
        "addresses of descriptors, and parts of a slab",
    ),
    (
        "crates/furlong/src/phys/storage/pool.rs",
        "carves pieces from ranges that it is given",
    ),
    (
        "crates/furlong/src/phys/storage/slab.rs",
        "arrays of descriptors, made and dropped by hand",
    ),
    (
        "crates/furlong/src/phys/storage/raw_array.rs",
        "arrays in the table's memory, which readers may follow",
    ),
    (
        "crates/furlong/src/phys/change/unplug.rs",
        "drops descriptors after a grace period",
    ),
    (
        "crates/furlong/src/phys/table/view.rs",
        "from a descriptor's address to a reference",
    ),
    (
        "crates/furlong/src/bounce/pool/block.rs",
        "from a slot's number to its memory",
    ),
    (
        "crates/furlong/src/bounce/pool/claim.rs",
        "trusts a kernel with what its predecessor mapped",
    ),
    (
        "crates/furlong/src/bounce/memory/copy.rs",
        "copies to and from memory that a host changes",
    ),
    (
        "crates/furlong/src/bounce/memory/heap.rs",
        "blocks of the global allocator",
    ),
    (
        "crates/furlong/src/bounce/memory/source.rs",
        "the contract of whoever brings memory",
    ),
    (
        "crates/furlong/src/bounce/mapping/pointer.rs",
        "trusts pointers",
    ),
    ("crates/furlong/src/bounce/memory/region.rs", "lends memory"),
    (
        "crates/furlong/src/bounce/memory/store.rs",
        "rows of values",
    ),
    (
        "crates/furlong/src/bounce/mapping/raw.rs",
        "trusts a kernel with physical addresses",
    ),
    (
        "crates/furlong/src/bounce/mapping/spot.rs",
        "lends the memory of a run to its owner",
    ),
    (
        "crates/furlong/src/bounce/memory/table.rs",
        "gives boxes away and lends what is in them",
    ),
    (
        "crates/furlong/src/rbtree/storage/intrusive.rs",
        "structs of the caller's, reached by their address",
    ),
    (
        "crates/furlong/src/rcu/retire/batch.rs",
        "links heads inside objects to each other",
    ),
    (
        "crates/furlong/src/rcu/boxed.rs",
        "gives a box away and makes it again",
    ),
    (
        "crates/furlong/src/rcu/cell.rs",
        "lends what a pointer in a cell points to, under a guard",
    ),
    (
        "crates/furlong/src/rcu/retire/chain.rs",
        "follows and writes links inside retired objects",
    ),
    (
        "crates/furlong/src/rcu/contract.rs",
        "the contract of retiring, which unsafe code relies on",
    ),
    (
        "crates/furlong/src/rcu/cpu.rs",
        "trusts a kernel to say on which CPU it runs",
    ),
    (
        "crates/furlong/src/rcu/domain.rs",
        "carries the contract out",
    ),
    (
        "crates/furlong/src/rcu/retire/head.rs",
        "from a head to the object around it",
    ),
    (
        "crates/furlong/src/rcu/retire/inbox.rs",
        "a stack of chains that many push and one takes",
    ),
    (
        "crates/furlong/src/rcu/retire/reclaim_batch.rs",
        "calls the drop functions of retired objects",
    ),
    (
        "crates/furlong/src/rcu/tests/contract.rs",
        "implements the contract, and takes objects out of a batch",
    ),
    ("crates/furlong/src/rcu/tests/cpu.rs", "acts as a kernel"),
    ("crates/furlong/src/rcu/tests/kernel.rs", "acts as a kernel"),
    ("crates/furlong/src/rcu/tests/mod.rs", "retires by hand"),
    (
        "crates/furlong/src/sync/lock.rs",
        "the contract of a caller's lock, and the value under it",
    ),
    (
        "crates/furlong/src/sync/lock_api.rs",
        "gives other crates' locks a contract of ours",
    ),
    (
        "crates/furlong/src/sync/spin.rs",
        "carries that contract out",
    ),
    (
        "crates/furlong/src/sync/try_lock.rs",
        "hands out the value under a flag",
    ),
    (
        "crates/furlong/src/sync/under.rs",
        "hands out a value under another structure's lock",
    ),
    (
        "crates/furlong/src/vmspace/space/shared.rs",
        "takes its state under the tree's lock",
    ),
    ("crates/furlong/tests/loom.rs", "retires by hand, in models"),
    (
        "crates/furlong/tests/loom_maple.rs",
        "objects in models, whose end loom sees",
    ),
    (
        "crates/furlong/tests/loom_phys.rs",
        "descriptors whose drop loom sees",
    ),
    (
        "crates/furlong/tests/loom_phys_table.rs",
        "descriptors whose every access loom sees",
    ),
    (
        "crates/furlong/tests/loom_vmspace.rs",
        "objects in models, whose end loom sees",
    ),
    (
        "crates/furlong/tests/phys_boot.rs",
        "maps a terabyte, and counts what is asked of the heap",
    ),
    (
        "crates/furlong/tests/loom_bounce.rs",
        "brings memory that loom watches, in models",
    ),
    (
        "crates/furlong-experiments/src/bounce/pools/test_memory.rs",
        "memory of pools, and devices that find it",
    ),
    (
        "crates/furlong-experiments/src/bounce/io/originals.rs",
        "buffers as a kernel has them",
    ),
    (
        "crates/furlong-experiments/src/bounce/io/plain.rs",
        "calls that read and write by address",
    ),
    (
        "crates/furlong-experiments/src/bounce/io/ring.rs",
        "hands addresses to the kernel",
    ),
    (
        "crates/furlong-experiments/src/bounce/io/route.rs",
        "maps buffers by address",
    ),
    (
        "crates/furlong-experiments/src/bounce/pools/lock.rs",
        "a lock that yields",
    ),
    (
        "crates/furlong-experiments/src/bounce/pools/slots.rs",
        "maps nothing but slots, by address",
    ),
    (
        "crates/furlong-lab/launcher/main.rs",
        "a program without a runtime starts and waits",
    ),
    (
        "crates/furlong-lab/launcher/sys.rs",
        "system calls without a C library",
    ),
    (
        "crates/furlong-experiments/malloc-record/lib.rs",
        "a library without a runtime ends the process",
    ),
    (
        "crates/furlong-experiments/malloc-record/log.rs",
        "a mapping that processes share",
    ),
    (
        "crates/furlong-experiments/malloc-record/symbols.rs",
        "takes the names of the C library's functions over",
    ),
];

const FORBID: &str = "#![forbid(unsafe_code)]";

/// Files without the attribute that keeps `unsafe` out, and list entries that are out of date.
pub(crate) fn forbidden(tree: &Tree) -> Vec<Finding> {
    let all = [
        UNSAFE_FILES,
        UNSAFE_IN_ADAPTERS,
        UNSAFE_IN_C,
        UNSAFE_IN_HOSTILE,
        UNSAFE_IN_KERNEL,
        UNSAFE_IN_MALLOC,
        UNSAFE_IN_PEERS,
        UNSAFE_IN_SPEC,
    ]
    .concat();
    let listed: Vec<&str> = all.iter().map(|(path, _)| *path).collect();
    forbidden_but(tree, &listed)
}

fn forbidden_but(tree: &Tree, listed: &[&str]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        let uses = file
            .lines()
            .iter()
            .any(|line| has_word(&line.code, "unsafe"));
        if listed.contains(&file.path.as_str()) {
            if !uses {
                found.push(file.finding(1, "has no unsafe: take it off the list, forbid it here"));
            }
            continue;
        }
        // A module's attribute applies to its children, so no module around a listed file can
        // forbid.
        let included = included(file);
        let parent = listed.iter().any(|path| {
            let is_included = included.iter().any(|file| is_parent(file, path));
            is_included || is_parent(&file.path, path)
        });
        if parent && uses {
            found.push(file.finding(1, "unsafe outside the listed files"));
        } else if !parent && !begins_with_forbid(file) {
            found.push(file.finding(1, format!("must begin with {FORBID}, or be on the list")));
        }
    }
    let gone = listed.iter().filter(|path| tree.file(path).is_none());
    found.extend(gone.map(|path| Finding::at(*path, "is on the list and does not exist")));
    found
}

/// Files of another folder of the crate that a program includes.
fn included(file: &File) -> Vec<String> {
    let Some((crate_folder, _)) = file.path.rsplit_once("/examples/") else {
        return Vec::new();
    };
    let lines = file.text.lines();
    let paths = lines.filter_map(|line| line.trim().strip_prefix("#[path = \"../"));
    let paths = paths.map(|path| path.trim_end_matches("\"]"));
    paths.map(|path| format!("{crate_folder}/{path}")).collect()
}

/// True if the module in `file` encloses the module in `path`.
fn is_parent(file: &str, path: &str) -> bool {
    let folder = ["mod.rs", "lib.rs", "main.rs"]
        .iter()
        .find_map(|name| file.strip_suffix(name))
        .map_or_else(
            || file.trim_end_matches(".rs").to_string() + "/",
            String::from,
        );
    folder.ends_with('/') && path != file && path.starts_with(&folder)
}

/// True if the attribute is among those at the head of the file.
fn begins_with_forbid(file: &File) -> bool {
    let code = file
        .lines()
        .iter()
        .map(|line| line.code.trim())
        .filter(|code| !code.is_empty());
    code.take_while(|code| code.starts_with("#!["))
        .any(|code| code == FORBID)
}

/// `unsafe` blocks and implementations without a `SAFETY` comment.
pub(crate) fn safety_comments(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        for (at, _) in lines_with(file, |line| claims(&line.code)) {
            if !said_above(file.lines(), at).contains("SAFETY:") {
                found.push(file.finding(at + 1, "unsafe without a SAFETY comment above it"));
            }
        }
    }
    found
}

/// True if this line makes a claim of soundness: an unsafe block or implementation.
fn claims(code: &str) -> bool {
    words(code)
        .filter(|(_, word)| *word == "unsafe")
        .any(|(at, word)| {
            let next = code[at + word.len()..].trim_start();
            next.is_empty() || next.starts_with('{') || next.starts_with("impl")
        })
}

/// Atomic orderings weaker than `SeqCst` whose comments do not name a partner. For `Relaxed`, a
/// comment that names it and explains the lack of a partner suffices.
pub(crate) fn orderings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        for (at, line) in lines_with(file, |line| !weak(&line.code).is_empty()) {
            if line.code.trim_start().starts_with("use ") {
                found.push(file.finding(at + 1, "import Ordering, not its variants"));
                continue;
            }
            let said = said_above(file.lines(), at);
            let pairs = said.to_lowercase().contains("pair");
            let excused = said_in_function(file.lines(), at).contains("Relaxed");
            let silent = |name: &&str| !pairs && (*name != "Relaxed" || !excused);
            for name in weak(&line.code).into_iter().filter(silent) {
                found.push(file.finding(at + 1, format!("{name} without what it pairs with")));
            }
        }
    }
    found
}

/// The orderings in this line of code that need a partner.
fn weak(code: &str) -> Vec<&str> {
    let imports = code.trim_start().starts_with("use ") && has_word(code, "Ordering");
    let names = words(code).filter(|(at, word)| {
        ["Relaxed", "Acquire", "Release", "AcqRel"].contains(word)
            && (imports || code[..*at].ends_with("Ordering::"))
    });
    names.map(|(_, word)| word).collect()
}

fn lines_with(file: &File, wanted: impl Fn(&Line) -> bool) -> Vec<(usize, &Line)> {
    file.lines()
        .iter()
        .enumerate()
        .filter(|(_, line)| wanted(line))
        .collect()
}

/// The comments on a line and right above the statement that it belongs to.
fn said_above(lines: &[Line], at: usize) -> String {
    let mut said = lines[at].comment.clone();
    let mut heard = false;
    for line in lines[..at].iter().rev() {
        let code = line.code.trim();
        if line.is_comment() {
            said.push_str(&line.comment);
            heard = true;
        } else if heard || code.is_empty() || code.ends_with([';', '{', '}']) {
            break;
        } else {
            said.push_str(&line.comment);
        }
    }
    said
}

/// The comments from the head of the line's function down to the line: `Relaxed` may be explained
/// once for all of a function's own words.
fn said_in_function(lines: &[Line], at: usize) -> String {
    let head = lines[..at]
        .iter()
        .rposition(|line| has_word(&line.code, "fn"))
        .unwrap_or(0);
    lines[head..=at]
        .iter()
        .map(|line| line.comment.as_str())
        .collect()
}
