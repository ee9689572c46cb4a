//! The work that allocators are measured with. The program is as small as possible, so that its
//! memory and its instructions are mostly the allocator's.
//!
//! `build.rs` compiles it; furlong embeds it and runs it with an allocator preloaded. Only furlong
//! starts it. The arguments are the name of a work and its parameters as `name=number`. Standard
//! output ends with a line of `name=value` pairs: the operations, their duration, a digest of the
//! answers, and the file that provides the allocator. Each work is written from the published
//! description of the benchmark that it is named after; its file cites the source.

mod alloc_test;
mod batches;
mod block;
mod cache;
mod cfrac;
mod clock;
mod espresso;
mod gauge;
mod larson;
mod mixed;
mod mstress;
mod options;
mod phases;
mod random;
mod replay;
mod returns;
mod said;
mod sh;
mod threads;

use std::process::ExitCode;

use block::{Nothing, Process};
use options::Options;
use said::Said;

/// Runs one work.
type Run = fn(&Options) -> Said;

/// All works, by name.
const WORKS: [(&str, Run); 13] = [
    ("alloc-test", alloc_test::run),
    ("batches", batches::run),
    ("cache", cache::run),
    ("cfrac", cfrac::run),
    ("espresso", espresso::run),
    ("larson", larson::run),
    ("mixed", mixed::run::<Process>),
    ("mixed-nothing", mixed::run::<Nothing>),
    ("mstress", mstress::run),
    ("phases", phases::run),
    ("replay", replay::run),
    ("returns", returns::run),
    ("sh", sh::run),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some((_, work)) = WORKS.iter().find(|(known, _)| *known == name) else {
        said::die(&format!(
            "there is no work `{name}`: this program is started by furlong"
        ));
    };
    let said = work(&Options::read(arguments));
    for line in &said.lines {
        println!("{line}");
    }
    println!("{said} malloc={}", block::origin());
    ExitCode::SUCCESS
}
