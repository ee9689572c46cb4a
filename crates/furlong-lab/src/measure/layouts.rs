//! The place of a checkout's code layouts.

use std::path::{Path, PathBuf};

/// Cargo's folder.
pub const TARGET: &str = "target";

/// The folder of the views, in it.
pub const VIEWS: &str = "layouts";

/// Returns the folder with a checkout's files in a layout. The names have one length.
pub fn view(checkout: &Path, layout: u32) -> PathBuf {
    checkout
        .join(TARGET)
        .join(VIEWS)
        .join(format!("{layout:03}"))
}
