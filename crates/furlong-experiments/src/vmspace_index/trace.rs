//! The recordings: a kernel build, and two runtimes that move their mappings.

use std::path::{Path, PathBuf};

use furlong_spec::vmspace::trace::{Script, Trace, parse, read};

use super::shape::{Kind, Shape};
use furlong_lab::model::{Failure, Workload};

/// Beginning of the build, which is compiled in.
const CUT: &[u8] = include_bytes!("../../traces/vmspace/kernbench-cut.vmtrace.zst");

/// The whole build, which is too large for that.
const WHOLE: &str = "traces/vmspace/kernbench-lib.vmtrace.zst";

/// Python and Node, which move and grow mappings. The build does not.
const RUNTIMES: &[u8] = include_bytes!("../../traces/vmspace/runtimes.vmtrace.zst");

/// Finds the whole build in the repository that contains the current directory, or the one that the
/// command was built in.
fn whole() -> Option<PathBuf> {
    let here = std::env::current_dir().ok();
    let here = here.iter().flat_map(|here| here.ancestors());
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let places = here.chain(built).map(|place| place.join(WHOLE));
    places.into_iter().find(|place| place.is_file())
}

fn is_whole(load: &Workload) -> bool {
    let is_replayed = matches!(
        Shape::of(load).map(|shape| shape.kind),
        Ok(Kind::Build | Kind::Calls(_) | Kind::Faults)
    );
    is_replayed && load.params.get("whole") == Some(&1)
}

/// The reason if a workload cannot run because its recording is missing, otherwise `None`.
pub(super) fn missing(load: &Workload) -> Option<String> {
    let is_missing = is_whole(load) && whole().is_none();
    is_missing.then(|| format!("there is no {WHOLE}: run it in the repository"))
}

/// The steps of a workload's recording.
pub(super) fn script(load: &Workload) -> Result<Script, Failure> {
    let trace = if is_whole(load) {
        let path = whole().ok_or_else(|| Failure(format!("there is no {WHOLE}")))?;
        read(&path)
    } else if load.params.get("runtimes") == Some(&1) {
        parse("the runtimes", RUNTIMES)
    } else {
        parse("the cut", CUT)
    };
    let Trace { events, error } = trace;
    match error {
        Some(error) => Err(Failure(error.to_string())),
        None => Ok(Script::new(&events)),
    }
}
