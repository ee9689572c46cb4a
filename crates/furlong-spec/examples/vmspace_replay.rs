//! Replays traces on the library's space, and reports every result that differs from the kernel's.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use furlong::vmspace::Space;
use furlong_spec::vmspace::trace::{Script, Unwatched, read, replay};

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn main() -> ExitCode {
    let mut is_whole = true;
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let trace = read(&path);
        let script = Script::new(&trace.events);
        let report = replay::<Space<u32>>(&script, &mut Unwatched);
        println!(
            "{}: {} events, {} of them no execs",
            path.display(),
            script.events,
            script.no_execs.len()
        );
        print!("{report}");
        if let Some(error) = trace.error {
            eprintln!("{error}");
            is_whole = false;
        }
    }
    if is_whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
