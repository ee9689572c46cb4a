//! Compiles the library that is loaded into recorded programs.
#![forbid(unsafe_code)]

mod embedded;
#[path = "malloc-record/build.rs"]
mod malloc_record;

fn main() {
    println!("cargo::rerun-if-changed=embedded.rs");
    malloc_record::build();
}
