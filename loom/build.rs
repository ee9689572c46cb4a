//! Sets `cfg(loom)` for the library and its models, but not for the packages below them.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rustc-check-cfg=cfg(loom)");
    println!("cargo::rustc-cfg=loom");
    println!("cargo::rerun-if-changed=build.rs");
}
