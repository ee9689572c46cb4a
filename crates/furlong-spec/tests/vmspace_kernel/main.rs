//! A few thousand random calls, made to the running kernel and to the specification of address
//! spaces.
//!
//! `examples/vmspace_kernel.rs` makes more.
#![cfg(target_os = "linux")]
#![deny(unsafe_code)]

mod kernel;

#[test]
fn the_running_kernel_answers_as_the_specification_does() {
    if let Some(reason) = kernel::unable() {
        eprintln!("SKIPPED: {reason}");
        return;
    }
    let tally = kernel::compare(6000, 1).unwrap_or_else(|wrong| panic!("{wrong}"));
    eprintln!("{tally}");
    assert_eq!(tally.lacks(), None, "{tally}");
}
