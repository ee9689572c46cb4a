//! Blocks that their holders leave uninitialised, all or in part, as safe code may: nothing in the
//! allocator depends on their contents.
//!
//! Valgrind's memcheck runs the first test in `ci/memcheck.sh`. The second one uses the compiler's
//! own sanitizer, which tracks bytes that a program never wrote even if the machine has a value
//! there.
#![forbid(unsafe_code)]

mod allocators;
mod compiler;

use std::mem::MaybeUninit;

use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use furlong::malloc::{
    Batched, Checked, Config, Global, Inlined, Malloc, NoHardening, ObjectCache, Outlined, PerCall,
    Secure, Zone,
};

allocators::allocators! {
    Plain, PlainThread, PLAIN: NoHardening, Inlined, Batched;
    Looked, LookedThread, LOOKED: Checked, Outlined, PerCall;
    Sealed, SealedThread, SEALED: Secure, Inlined, Batched;
}

/// Frees blocks in which nothing was written.
fn leave<const LEN: usize, C: Config>(malloc: &'static Malloc<C>) {
    let global = Global::new(malloc);
    let zone = Zone::new(malloc).expect("there is memory");
    let cache = ObjectCache::new(malloc).expect("there is memory");
    for _ in 0..200 {
        let of_global = Box::<MaybeUninit<[u8; LEN]>, _>::new_uninit_in(global);
        let of_zone = Box::<MaybeUninit<[u8; LEN]>, _>::new_uninit_in(&zone);
        let object = cache.make(MaybeUninit::<[u8; LEN]>::uninit()).ok();
        let mut grown = Vec::<u8, _>::with_capacity_in(LEN, global);
        grown.reserve(4 * LEN);
        grown.shrink_to(LEN / 2);
        drop((of_global, of_zone, object, grown));
    }
    drop((zone, cache));
    assert_eq!(malloc.statistics().used_blocks, 0);
}

fn leave_all_sizes<C: Config>(malloc: &'static Malloc<C>) {
    leave::<1, C>(malloc);
    leave::<8, C>(malloc);
    leave::<24, C>(malloc);
    leave::<1000, C>(malloc);
    leave::<5000, C>(malloc);
    leave::<40_000, C>(malloc);
    leave::<200_000, C>(malloc);
}

#[test]
fn blocks_that_nobody_wrote_to_are_freed() {
    leave_all_sizes(&PLAIN);
    leave_all_sizes(&LOOKED);
}

/// Separate from the others because of two false positives of memcheck. It treats a load of the
/// bytes before a seal as a decision, although the content bits are shifted out. It also does not
/// know that purged memory is zero.
#[test]
fn sealed_blocks_that_nobody_wrote_to_are_freed() {
    leave_all_sizes(&SEALED);
}

/// Only for targets with such a sanitizer.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[test]
fn no_decision_of_the_allocator_rests_on_what_a_holder_left() {
    use compiler::{Compiler, said};
    use std::{env, process::Command};

    const PROGRAM: &str = include_str!("compiler/left_blocks.rs");
    // The standard library is not instrumented; the program uses no part of it that writes to
    // memory.
    let arguments = [
        "--emit=link",
        "-Copt-level=1",
        "-Cpanic=abort",
        "-Zsanitizer=memory",
    ];
    let arguments = [&arguments[..], &["-Cunsafe-allow-abi-mismatch=sanitizer"]].concat();
    let compiler = Compiler::new("malloc_uninitialised", &arguments);
    let built = compiler.compile("bin", "left_blocks", PROGRAM);
    assert!(built.status.success(), "{}", said(&built));
    let program =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("malloc_uninitialised/left_blocks");
    let run = |arguments: &[&str]| {
        let ran = Command::new(&program).args(arguments).output();
        ran.expect("what was just linked runs")
    };
    let asked = run(&["read"]);
    let seen = said(&asked).contains("use-of-uninitialized-value");
    assert!(
        seen && !asked.status.success(),
        "a planted read was missed: {}",
        said(&asked)
    );
    let freed = run(&[]);
    assert!(freed.status.success(), "{}", said(&freed));
}

/// The parts of other files that `system.rs` needs. The files need half of the allocator.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
const SOURCE: &str = "
    pub mod malloc {
        pub enum Misuse {}
    }

    pub mod sync {
        pub use core::sync::atomic;
    }

    pub mod source {
        use core::ptr::NonNull;

        use crate::malloc::Misuse;

        pub trait PageSource {
            fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>>;
            unsafe fn unmap(&self, start: NonNull<u8>, len: usize);
            unsafe fn purge(&self, start: NonNull<u8>, len: usize) -> bool;
            unsafe fn resize(&self, start: NonNull<u8>, old: usize, new: usize) -> bool;
            unsafe fn relocate(
                &self,
                from: NonNull<u8>,
                len: usize,
                to: NonNull<u8>,
                room: usize,
            ) -> bool;
            unsafe fn populate(&self, start: NonNull<u8>, len: usize);
            unsafe fn prefer_huge_pages(&self, start: NonNull<u8>, len: usize) -> bool;
            unsafe fn split_huge_pages(&self, start: NonNull<u8>, len: usize);
            unsafe fn guard(&self, start: NonNull<u8>, len: usize) -> bool;
            unsafe fn unguard(&self, start: NonNull<u8>, len: usize) -> bool;
            unsafe fn guard_page(&self, page: NonNull<u8>) -> bool;
            unsafe fn unguard_page(&self, page: NonNull<u8>) -> bool;
            fn stop(&self, misuse: Misuse, address: usize) -> !;
        }
    }";

/// The sanitizer follows each bit. So it accepts a load of a word whose unwritten bits are shifted
/// out, such as those before a seal. The language does not.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[test]
fn the_first_word_of_a_block_is_read_by_no_load_of_the_compilers() {
    use std::{env, fs, path::Path, process::Command};

    const BLOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/malloc/os/block.rs");
    const SYSTEM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/malloc/os/system.rs");
    let text = format!(
        r#"#![no_std]
        #[path = {BLOCK:?}]
        mod block;
        #[path = {SYSTEM:?}]
        mod system;
        {SOURCE}

        #[unsafe(no_mangle)]
        pub unsafe fn first_word(address: usize) -> usize {{
            unsafe {{ block::first_word(address) }}
        }}
        #[unsafe(no_mangle)]
        pub unsafe fn begins_with(address: usize, word: usize) -> bool {{
            unsafe {{ block::begins_with(address, word) }}
        }}
        #[unsafe(no_mangle)]
        pub fn word_at(address: usize) -> usize {{
            system::word_at(address)
        }}
        #[unsafe(no_mangle)]
        pub unsafe fn planted(address: usize) -> usize {{
            unsafe {{ block::pointer(address).cast::<usize>().read() }}
        }}"#
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join("loads.rs");
    fs::write(&source, text).expect("the folder for tests can be written to");
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2024", "--crate-type=lib", "--cap-lints=allow"]);
    rustc.args(["--emit=llvm-ir", "-Copt-level=1", "-Ccodegen-units=1"]);
    let built = rustc.arg("--out-dir").arg(folder).arg(source).output();
    let built = built.expect("rustc runs where cargo does");
    assert!(built.status.success(), "{}", compiler::said(&built));
    let code = fs::read_to_string(folder.join("loads.ll")).expect("it was just written");
    // Finds a function's body; returns whether it has a load and an instruction of the allocator's
    // own.
    let reads = |name: &str| {
        let begins = format!("@{name}(");
        let mut functions = code.split("\ndefine ").skip(1);
        let own = functions.find(|body| {
            let head = body.lines().next().unwrap_or_default();
            head.contains(&begins)
        });
        let body = own.and_then(|body| body.split("\n}").next());
        let body = body.unwrap_or_else(|| panic!("there is no {name}:\n{code}"));
        (body.contains("= load "), body.contains(" asm "))
    };
    assert_eq!(reads("planted"), (true, false), "a load is not seen");
    assert_eq!(reads("first_word"), (false, true));
    assert_eq!(reads("begins_with"), (false, true));
    assert_eq!(reads("word_at"), (false, true));
}
