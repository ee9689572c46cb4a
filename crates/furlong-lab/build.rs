//! Compiles the launcher, which furlong carries within itself.
#![forbid(unsafe_code)]

#[path = "launcher/build.rs"]
mod launcher;

fn main() {
    launcher::build();
}
