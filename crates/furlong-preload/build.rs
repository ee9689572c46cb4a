//! Link arguments of the preloaded libraries.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // All symbols are bound before the first call, and the library is never unmapped, since ending
    // threads call it.
    for argument in ["-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,--as-needed"] {
        println!("cargo::rustc-link-arg={argument}");
    }
}
