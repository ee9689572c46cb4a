//! Compiles the programs that run inside what is measured.
#![forbid(unsafe_code)]

mod embedded;
#[path = "malloc-record/build.rs"]
mod malloc_record;
#[path = "malloc-work/build.rs"]
mod malloc_work;

fn main() {
    println!("cargo::rerun-if-changed=embedded.rs");
    malloc_record::build();
    malloc_work::build();
}
