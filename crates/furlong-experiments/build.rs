//! Compiles the program that measures allocators.
#![forbid(unsafe_code)]

mod embedded;
#[path = "malloc-work/build.rs"]
mod malloc_work;

fn main() {
    println!("cargo::rerun-if-changed=embedded.rs");
    malloc_work::build();
}
