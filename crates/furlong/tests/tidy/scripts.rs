//! The scripts of the checks: each stops at the first error, and each called step exists.

use super::tree::{Finding, Tree};

const RUN: &str = ".ci/run";

/// Scripts that would continue after an error.
pub(crate) fn strict(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let scripts = tree.under("ci/").filter(|file| file.path.ends_with(".sh"));
    for file in scripts.chain(tree.file(RUN)) {
        if !file.text.starts_with("#!/usr/bin/env bash\n") {
            found.push(file.finding(1, "must begin with #!/usr/bin/env bash"));
        }
        let code = file
            .text
            .lines()
            .find(|line| !line.is_empty() && !line.starts_with('#'));
        if code != Some("set -euo pipefail") {
            found.push(file.finding(1, "its first command must be set -euo pipefail"));
        }
    }
    found
}

/// Steps that `.ci/run` calls without a script, and scripts that are never called.
pub(crate) fn steps(tree: &Tree) -> Vec<Finding> {
    let Some(run) = tree.file(RUN) else {
        return vec![Finding::at(RUN, "is missing")];
    };
    let list = run
        .text
        .split("${STEPS:-")
        .nth(1)
        .and_then(|rest| rest.split('}').next());
    let called: Vec<&str> = list.unwrap_or_default().split_whitespace().collect();
    let mut found = Vec::new();
    if called.is_empty() {
        found.push(run.finding(1, "names no step"));
    }
    let absent = called
        .iter()
        .filter(|step| !tree.exists(&format!("ci/{step}.sh")));
    found.extend(absent.map(|step| run.finding(1, format!("ci/{step}.sh does not exist"))));
    for file in tree.under("ci/").filter(|file| file.path.ends_with(".sh")) {
        let by_hand = file.path == "ci/full.sh";
        let step = file.path.trim_start_matches("ci/").trim_end_matches(".sh");
        let by_another = tree
            .under("ci/")
            .any(|other| other.path != file.path && other.text.contains(file.path.as_str()));
        if !by_hand && !called.contains(&step) && !by_another {
            found.push(file.finding(1, "nobody calls it"));
        }
    }
    found
}
