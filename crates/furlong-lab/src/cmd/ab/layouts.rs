//! The code layouts of a checkout: a view of the checkout for each.
//!
//! A view has links to everything in the checkout, except that its programs are those of the
//! layout. A command runs in it as in the checkout, and nothing is moved meanwhile. A linker for
//! cargo makes the programs of all layouts during the build, or a command of the user makes those
//! of one.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::NamedTempFile;

use super::recipe::{Recipe, make};
use crate::cmd::link::linked;
use crate::error::{Error, cause};
use crate::measure::layouts::{TARGET, VIEWS, view};
use crate::options::RESUME;
use crate::talk::{Voice, quoted};

/// The kinds of layout that vary, and the one that does not.
const VARIED: &str = "code layouts: the order of functions, the stack and the addresses of memory \
                      vary; alignment within functions does not";

/// The same where the kernel places memory as it always does.
const FIXED: &str = "code layouts: the order of functions and the stack vary; the addresses of \
                     memory do not (kernel.randomize_va_space is 0), nor does alignment within \
                     functions";

/// The kernel's switch for random addresses.
const RANDOMIZE: &str = "/proc/sys/kernel/randomize_va_space";

/// Code layouts of both revisions.
#[derive(Debug, clap::Args)]
pub struct Several {
    /// Link each revision in this many code layouts, so that the verdict holds beyond one order of
    /// the functions; a verdict needs 6. The programs are cargo's, linked by lld
    #[arg(long, value_name = "K")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=999), conflicts_with = RESUME)]
    pub layouts: Option<u32>,
    /// Link the programs of a layout by this (sh, in each checkout, after the build) instead: the
    /// number of the layout is in $FURLONG_LAYOUT
    #[arg(long, value_name = "COMMAND", requires = "layouts")]
    pub relink: Option<String>,
}

impl Several {
    /// Returns the way to build a revision. Tells which kinds of layout vary.
    pub(in crate::cmd) fn recipe<'a>(&'a self, build: Option<&'a str>, voice: Voice) -> Recipe<'a> {
        if self.layouts.is_some() {
            let setting = fs::read_to_string(RANDOMIZE).unwrap_or_default();
            voice.note(if setting.trim() == "0" { FIXED } else { VARIED });
        }
        Recipe {
            command: build,
            layouts: self.layouts.unwrap_or(0),
            relink: self.relink.as_deref(),
        }
    }
}

/// The folder in which cargo links programs, before it links them once more as files outside.
const DEPS: &str = "deps";

/// Levels between cargo's folder and those: a target and a profile.
const LEVELS: u32 = 2;

/// The variable that tells the user's command its layout.
const LAYOUT: &str = "FURLONG_LAYOUT";

/// Files that differ between layouts: their paths in the checkout, and the file in one layout.
type Files = BTreeMap<PathBuf, PathBuf>;

/// A way to put a file at a place.
type Place = fn(&Path, &Path) -> io::Result<()>;

/// The state of a file: inode, length, and the time of its last change in seconds and nanoseconds.
type State = (u64, u64, i64, i64);

/// Returns the variable and value that make cargo link a number of layouts. The linker is in the
/// folder, and the same for all checkouts: cargo compiles everything anew for another one.
pub(super) fn linker(folder: &Path, layouts: u32) -> Result<(String, PathBuf), Error> {
    let failed = |error: io::Error| {
        let why = cause(&error);
        Error::failed(format!("a linker for code layouts cannot be made: {why}"))
    };
    let own = std::env::current_exe().map_err(failed)?;
    let own = quoted(&own.to_string_lossy());
    let text = format!("#!/bin/sh\nexec {own} link {layouts} \"$@\"\n");
    // Rustc takes a file called `link` or `ld` for another kind of linker.
    let script = folder.join(format!("layouts-{layouts}"));
    // Another call may be running it, and must not be written over.
    if fs::read(&script).ok().as_deref() != Some(text.as_bytes()) {
        let mut new = NamedTempFile::new_in(folder).map_err(failed)?;
        new.write_all(text.as_bytes()).map_err(failed)?;
        let executable = fs::Permissions::from_mode(0o700);
        new.as_file().set_permissions(executable).map_err(failed)?;
        new.persist(&script).map_err(|error| failed(error.error))?;
    }
    let said = Command::new("rustc").arg("-vV").output().map_err(failed)?;
    let said = String::from_utf8_lossy(&said.stdout);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| Error::failed("rustc -vV names no host"))?;
    let host = host.to_uppercase().replace('-', "_");
    Ok((format!("CARGO_TARGET_{host}_LINKER"), script))
}

/// Makes the views of a checkout that was built with [`linker`].
///
/// # Errors
///
/// The build linked no program, or all layouts are alike.
pub(super) fn of_cargo(folder: &Path, layouts: u32) -> Result<(), Error> {
    let laid = |layout| -> io::Result<Files> {
        let mut programs = BTreeMap::new();
        let mut folders = vec![];
        if folder.join(TARGET).is_dir() {
            profiles(&folder.join(TARGET), LEVELS, &mut folders)?;
        }
        // A program and the link outside are one file.
        for file in files_in(folders.iter().map(|one| one.join(DEPS)))? {
            if linked(&file, layout).is_file() {
                let of = fs::metadata(&file)?;
                programs.insert((of.dev(), of.ino()), linked(&file, layout));
            }
        }
        let inside = folders.iter().flat_map(|one| [one.clone(), one.join(DEPS)]);
        let mut laid = Files::new();
        for file in files_in(inside)? {
            let of = fs::metadata(&file)?;
            if let Some(program) = programs.get(&(of.dev(), of.ino())) {
                laid.insert(relative(&file, folder), program.clone());
            }
        }
        Ok(laid)
    };
    for layout in 0..layouts {
        let laid = laid(layout).map_err(|error| cannot(folder, &error))?;
        if laid.is_empty() {
            return Err(Error::usage(
                "cargo linked no program in this build: --layouts needs one in target/release",
            ));
        }
        mirror(
            folder,
            Path::new(""),
            &view(folder, layout),
            &laid,
            |from, to| fs::hard_link(from, to),
        )
        .map_err(|error| cannot(folder, &error))?;
        check(folder, layout, &laid)?;
    }
    Ok(())
}

/// Makes the views of a checkout by a command that links its programs in one layout.
///
/// # Errors
///
/// The command fails or changes no file, or all layouts are alike.
pub(super) fn by_command(
    (folder, log): (&Path, &Path),
    layouts: u32,
    command: &str,
    name: &str,
) -> Result<(), Error> {
    let states = || {
        let mut states = BTreeMap::new();
        let found = states_below(folder, Path::new(""), &mut states);
        found
            .map(|()| states)
            .map_err(|error| cannot(folder, &error))
    };
    let before = states()?;
    for layout in 0..layouts {
        let variable = (LAYOUT.to_owned(), layout.to_string().into());
        make(folder, command, Some(variable), log, name)?;
        let changed = states()?
            .into_iter()
            .filter(|(path, state)| before.get(path) != Some(state));
        let laid: Files = changed
            .map(|(path, _)| (path.clone(), folder.join(path)))
            .collect();
        if laid.is_empty() {
            return Err(Error::usage(format!(
                "`{command}` changed no file in {name}: it has to link the programs anew, in the \
                 layout ${LAYOUT}"
            )));
        }
        mirror(
            folder,
            Path::new(""),
            &view(folder, layout),
            &laid,
            |from, to| fs::copy(from, to).map(|_| ()),
        )
        .map_err(|error| cannot(folder, &error))?;
        check(folder, layout, &laid)?;
    }
    Ok(())
}

/// True if a word of the command is a program of the view.
pub(super) fn is_run_by(command: &str, view: &Path) -> bool {
    let mut words = command.split_whitespace();
    words.any(|word| {
        let file = view.join(word.trim_matches(['\'', '"']));
        word.contains('/') && file.symlink_metadata().is_ok_and(|file| file.is_file())
    })
}

fn cannot(folder: &Path, error: &io::Error) -> Error {
    let (folder, why) = (folder.display(), cause(error));
    Error::failed(format!("the layouts of {folder} cannot be made: {why}"))
}

/// Refuses a linker that makes the same files in the first two layouts.
fn check(folder: &Path, layout: u32, laid: &Files) -> Result<(), Error> {
    let same = |path: &PathBuf| {
        let files = [0, 1].map(|layout| fs::read(view(folder, layout).join(path)).ok());
        files[0].is_some() && files[0] == files[1]
    };
    if layout == 1 && laid.keys().all(same) {
        return Err(Error::usage(
            "two layouts are the same file: the linker does not shuffle the functions",
        ));
    }
    Ok(())
}

/// The path of a file in the folder.
fn relative(file: &Path, folder: &Path) -> PathBuf {
    file.strip_prefix(folder).unwrap_or(file).to_owned()
}

fn files_in(folders: impl Iterator<Item = PathBuf>) -> io::Result<Vec<PathBuf>> {
    let mut files = vec![];
    for folder in folders {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// Finds the folders into which cargo links.
fn profiles(folder: &Path, levels: u32, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if folder.join(DEPS).is_dir() {
        found.push(folder.to_owned());
    } else if levels > 0 {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() && !path.ends_with(VIEWS) {
                profiles(&path, levels - 1, found)?;
            }
        }
    }
    Ok(())
}

/// True for the folder of the views in a checkout.
fn is_of_views(path: &Path) -> bool {
    path == Path::new(TARGET).join(VIEWS)
}

/// Finds the states of all files of a checkout.
fn states_below(
    folder: &Path,
    below: &Path,
    states: &mut BTreeMap<PathBuf, State>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() && !is_of_views(&path) {
            states_below(folder, &path, states)?;
        } else if kind.is_file() {
            let of = entry.metadata()?;
            let state = (of.ino(), of.len(), of.mtime(), of.mtime_nsec());
            states.insert(path, state);
        }
    }
    Ok(())
}

/// Fills the view of a folder below a checkout with links, and with the files of the layout.
fn mirror(checkout: &Path, below: &Path, to: &Path, laid: &Files, place: Place) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(checkout.join(below))? {
        let name = entry?.file_name();
        let (path, goal) = (below.join(&name), to.join(&name));
        let mut next = laid.range(path.clone()..);
        let is_above = next.next().is_some_and(|(file, _)| file.starts_with(&path));
        match laid.get(&path) {
            Some(file) => place(file, &goal)?,
            None if is_above => mirror(checkout, &path, &goal, laid, place)?,
            None if is_of_views(&path) => {}
            None => symlink(checkout.join(&path), &goal)?,
        }
    }
    Ok(())
}
