//! Build data of this binary.
#![forbid(unsafe_code)]

/// Returns the compiler's version.
pub fn rustc() -> &'static str {
    env!("FURLONG_RUSTC")
}

/// Returns cargo's profile, the optimisation level and the target.
pub fn profile() -> String {
    let parts = [
        env!("FURLONG_PROFILE"),
        env!("FURLONG_OPT_LEVEL"),
        env!("FURLONG_TARGET"),
    ];
    format!("{}, opt-level {}, {}", parts[0], parts[1], parts[2])
}

/// True if the compiler optimised as for a release.
pub fn is_release() -> bool {
    env!("FURLONG_PROFILE") == "release"
}
