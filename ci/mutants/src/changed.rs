//! The files that the last commits changed.

use std::collections::BTreeSet;
use std::io;

use crate::scratch::Scratch;

/// The number of commits if there is no branch to compare with, as in a clone of the main one.
const COMMITS: usize = 10;

/// Files changed since the common ancestor with the main branch, or by the last commits, including
/// uncommitted changes.
pub fn files(scratch: &Scratch) -> io::Result<BTreeSet<String>> {
    let head = scratch.git(&["rev-parse", "HEAD"])?;
    let fork = ["origin/main", "main"]
        .iter()
        .filter_map(|main| scratch.git(&["merge-base", "HEAD", main]).ok())
        .find(|base| *base != head);
    let since = match fork {
        Some(base) => base.trim().to_string(),
        None => {
            let last = COMMITS.to_string();
            let listed =
                scratch.git(&["rev-list", "--first-parent", "--max-count", &last, "HEAD"])?;
            listed.lines().last().unwrap_or("HEAD").to_string()
        }
    };
    let named = scratch.git(&["diff", "--name-only", "--no-renames", &since])?;
    Ok(named.lines().map(String::from).collect())
}
