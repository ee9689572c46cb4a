//! The code layouts of a checkout: a linker that makes them, and a view of the checkout for each.
//!
//! A view has links to everything in the checkout, except that a program which cargo linked is the
//! one of the layout. A command runs in it as in the checkout, and nothing is moved meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cmd::link::linked;
use crate::error::{Error, cause};
use crate::talk::quoted;

/// Cargo's folder.
const TARGET: &str = "target";

/// The folder of the views.
const VIEWS: &str = "layouts";

/// The folder in which cargo links programs, before it links them once more as files outside.
const DEPS: &str = "deps";

/// Levels between cargo's folder and those: a target and a profile.
const LEVELS: u32 = 2;

/// Programs by device and inode.
type Programs = BTreeMap<(u64, u64), PathBuf>;

/// Returns the folder in which a command runs in a layout. The names have one length.
pub(in crate::cmd) fn view(folder: &Path, layout: u32) -> PathBuf {
    folder.join(TARGET).join(VIEWS).join(format!("{layout:03}"))
}

/// Returns the variable and value that make cargo link a number of layouts. `script` is written.
pub(super) fn linker(script: &Path, layouts: u32) -> Result<(String, PathBuf), Error> {
    let failed = |error: io::Error| {
        let why = cause(&error);
        Error::failed(format!("a linker for code layouts cannot be made: {why}"))
    };
    let own = std::env::current_exe().map_err(failed)?;
    let own = quoted(&own.to_string_lossy());
    fs::write(
        script,
        format!("#!/bin/sh\nexec {own} link {layouts} \"$@\"\n"),
    )
    .map_err(failed)?;
    fs::set_permissions(script, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    let said = Command::new("rustc").arg("-vV").output().map_err(failed)?;
    let said = String::from_utf8_lossy(&said.stdout);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| Error::failed("rustc -vV names no host"))?;
    let host = host.to_uppercase().replace('-', "_");
    Ok((format!("CARGO_TARGET_{host}_LINKER"), script.to_owned()))
}

/// Makes the views of a checkout that was built with [`linker`].
///
/// # Errors
///
/// The build linked no program.
pub(super) fn make(folder: &Path, layouts: u32) -> Result<(), Error> {
    let target = folder.join(TARGET);
    let made = || -> io::Result<usize> {
        let mut programs = Programs::new();
        if target.is_dir() {
            collect(&target, LEVELS, &mut programs)?;
        }
        let mut all = 0;
        for layout in 0..layouts {
            all += mirror(folder, &view(folder, layout), &programs, layout)?;
        }
        Ok(all)
    };
    let all = made().map_err(|error| {
        let (folder, why) = (folder.display(), cause(&error));
        Error::failed(format!("the layouts of {folder} cannot be made: {why}"))
    })?;
    match all {
        0 => Err(Error::usage(
            "cargo linked no program in this build: --layouts needs one in target/release",
        )),
        _ => Ok(()),
    }
}

/// True if a word of the command is a program of the view.
pub(super) fn is_run_by(command: &str, view: &Path) -> bool {
    let mut words = command.split_whitespace();
    words.any(|word| {
        let file = view.join(word.trim_matches(['\'', '"']));
        word.contains('/') && file.symlink_metadata().is_ok_and(|file| file.is_file())
    })
}

fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let paths = entries.iter().map(fs::DirEntry::path);
    Ok(paths
        .filter(|path| path.is_dir() && !path.is_symlink())
        .collect())
}

/// Finds the programs that have layouts.
fn collect(folder: &Path, levels: u32, programs: &mut Programs) -> io::Result<()> {
    if folder.join(DEPS).is_dir() {
        for entry in fs::read_dir(folder.join(DEPS))? {
            let path = entry?.path();
            if linked(&path, 0).is_file() {
                let file = fs::metadata(&path)?;
                programs.insert((file.dev(), file.ino()), path);
            }
        }
    } else if levels > 0 {
        for inner in folders(folder)? {
            collect(&inner, levels - 1, programs)?;
        }
    }
    Ok(())
}

/// True if the folder is one on the way to programs.
fn leads(folder: &Path, levels: u32) -> bool {
    folder.join(DEPS).is_dir()
        || levels > 0
            && folders(folder).is_ok_and(|inner| inner.iter().any(|inner| leads(inner, levels - 1)))
}

/// Fills a view with links and returns the number of programs in it.
fn mirror(from: &Path, to: &Path, programs: &Programs, layout: u32) -> io::Result<usize> {
    fs::create_dir_all(to)?;
    let mut placed = 0;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        let (path, goal) = (from.join(&name), to.join(&name));
        let is_way = !path.is_symlink() && path.is_dir() && leads(&path, LEVELS);
        // Sources may have a folder of any name.
        let within = from.components().any(|part| part.as_os_str() == TARGET);
        if is_way && (within || name == TARGET) {
            placed += mirror(&path, &goal, programs, layout)?;
            continue;
        }
        let file = fs::metadata(&path).map(|file| (file.dev(), file.ino()));
        match file.ok().and_then(|file| programs.get(&file)) {
            Some(program) => {
                fs::hard_link(linked(program, layout), goal)?;
                placed += 1;
            }
            None if name == VIEWS => {}
            None => symlink(&path, goal)?,
        }
    }
    Ok(placed)
}
