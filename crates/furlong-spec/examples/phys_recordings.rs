//! Prints one of the synthetic recordings in `traces/phys`: `virtio-mem` or `hotplug-chunks`.
#![forbid(unsafe_code)]

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use furlong_spec::phys_map::{hotplug_chunks, virtio_mem};

fn main() -> ExitCode {
    let recording = match env::args().nth(1).as_deref() {
        Some("virtio-mem") => virtio_mem(),
        Some("hotplug-chunks") => hotplug_chunks(),
        _ => {
            eprintln!("name one of: virtio-mem, hotplug-chunks");
            return ExitCode::from(2);
        }
    };
    match write!(io::stdout(), "{recording}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}
