//! Linux's sources from a package: their version, and the needed files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use furlong_lab::error::{Error, cause};

/// The version for which the functions around its files are written.
const VERSION: &str = "6.1";

/// Debian's package of that version.
const PACKAGE: &str = "linux-source-6.1";

/// The folder in which packages of Linux's sources put their archives.
const FOLDER: &str = "/usr/src";

/// Linux's file with its version, and the files that are compiled or included.
const MAKEFILE: &str = "Makefile";
pub(super) const COMPILED: [&str; 3] = ["lib/maple_tree.c", "lib/rbtree.c", "drivers/iommu/iova.c"];
const INCLUDED: [&str; 5] = [
    "include/linux/maple_tree.h",
    "include/linux/rbtree.h",
    "include/linux/rbtree_types.h",
    "include/linux/rbtree_augmented.h",
    "include/linux/iova.h",
];

/// An archive that exists.
pub(super) struct Archive {
    path: PathBuf,
    /// The package that installed it, with its version.
    package: Option<String>,
}

/// The contents of a folder after an archive was unpacked there.
pub(super) struct Unpacked {
    /// Linux's version number, such as 6.1.192.
    pub(super) version: String,
    /// The origin, as text for the user.
    pub(super) from: String,
}

impl Archive {
    /// The archive that the user names, or the package's.
    ///
    /// # Errors
    /// If there is none; the message names the package to install.
    pub(super) fn find(named: Option<&Path>) -> Result<Self, Error> {
        match named {
            Some(path) if path.is_file() => Ok(Self {
                path: path.to_owned(),
                package: None,
            }),
            Some(path) => Err(Error::usage(format!("there is no file {}", path.display()))),
            None => Self::of_package(Path::new(FOLDER)),
        }
    }

    fn of_package(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(format!("{PACKAGE}.tar.xz"));
        if path.is_file() {
            let package = Some(package());
            return Ok(Self { path, package });
        }
        let others = others(folder);
        if others.is_empty() {
            return Err(Error::usage(format!(
                "the sources of Linux are not installed: on Debian 12 `apt-get install \
                 linux-source` installs them (140 MB); or give an archive of Linux {VERSION} with \
                 --from"
            )));
        }
        Err(Error::usage(format!(
            "the installed sources of Linux are {}, and this builds {VERSION}: on Debian 12 \
             `apt-get install {PACKAGE}` installs them; or give an archive with --from",
            others.join(", ")
        )))
    }

    /// Unpacks the needed files into an existing, empty folder.
    ///
    /// # Errors
    /// If it is not an archive of Linux, or is of another version.
    pub(super) fn unpack(&self, folder: &Path) -> Result<Unpacked, Error> {
        let path = self.path.display();
        let wanted = [MAKEFILE].into_iter().chain(COMPILED).chain(INCLUDED);
        let mut tar = Command::new("tar");
        tar.arg("--extract").arg("--file").arg(&self.path);
        tar.arg("--directory").arg(folder);
        // It has one folder of any name. `tar` stops reading once all files are found.
        tar.args(["--strip-components=1", "--occurrence=1", "--wildcards"]);
        tar.arg("--no-wildcards-match-slash");
        tar.args(wanted.clone().map(|file| format!("*/{file}")));
        let output = tar.stdin(Stdio::null()).output().map_err(|error| {
            Error::usage(format!("cannot run `tar`, install it: {}", cause(&error)))
        })?;
        // A wrong version is a better reason than a missing file, so it is checked first.
        let version = version(folder);
        if let Some(version) = version.as_ref().filter(|found| !is_right(found)) {
            return Err(Error::usage(format!(
                "{path} is of Linux {version}, and this builds {VERSION}: on Debian 12 `apt-get \
                 install {PACKAGE}` installs it"
            )));
        }
        let lacks = |file: &&str| !folder.join(file).is_file();
        match (wanted.clone().find(lacks), version) {
            (None, Some(version)) => Ok(Unpacked {
                from: match &self.package {
                    Some(package) => format!("{package} ({path})"),
                    None => path.to_string(),
                },
                version,
            }),
            (lacking, _) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let said = said.lines().next().unwrap_or_default().trim();
                let lacking = lacking.unwrap_or(MAKEFILE);
                Err(Error::usage(format!(
                    "{path} is not a complete archive of Linux's sources: {lacking} is missing \
                     ({said})"
                )))
            }
        }
    }
}

/// The package's name and version, such as "linux-source-6.1 6.1.192-2", from the package database.
fn package() -> String {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=${Version}", PACKAGE]);
    let output = query.stdin(Stdio::null()).output();
    let version = output.ok().filter(|output| output.status.success());
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    format!("{PACKAGE} {}", version.unwrap_or_default())
        .trim()
        .to_owned()
}

/// Names of archives of other versions.
fn others(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with("linux-source-") && name.contains(".tar"))
        .collect();
    names.sort_unstable();
    names
}

/// The version in Linux's Makefile, such as 6.1.192.
fn version(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join(MAKEFILE)).ok()?;
    let number = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        let (_, number) = lines.find(|(key, _)| key.trim() == name)?;
        number.trim().parse::<u32>().ok()
    };
    let (version, patch) = (number("VERSION")?, number("PATCHLEVEL")?);
    let sub = number("SUBLEVEL").unwrap_or(0);
    Some(format!("{version}.{patch}.{sub}"))
}

fn is_right(version: &str) -> bool {
    version
        .strip_prefix(VERSION)
        .is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Archive, is_right, version};

    fn said(folder: &Path) -> String {
        let refused = Archive::of_package(folder).err().expect("it is refused");
        assert_eq!(refused.exit.code(), 2);
        refused.message
    }

    #[test]
    fn without_the_package_it_is_said_what_to_install() {
        let folder = tempfile::tempdir().expect("there is a place for files");
        let text = said(folder.path());
        assert!(text.contains("`apt-get install linux-source`"), "{text}");
    }

    #[test]
    fn another_version_s_package_is_named() {
        let folder = tempfile::tempdir().expect("there is a place for files");
        fs::write(folder.path().join("linux-source-6.12.tar.xz"), "").expect("it is written");
        let text = said(folder.path());
        assert!(text.contains("linux-source-6.12.tar.xz"), "{text}");
        assert!(
            text.contains("`apt-get install linux-source-6.1`"),
            "{text}"
        );
    }

    #[test]
    fn the_version_is_read_from_linux_s_makefile() {
        let folder = tempfile::tempdir().expect("there is a place for files");
        assert_eq!(version(folder.path()), None);
        let text = "# SPDX\nVERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 192\nEXTRAVERSION =\n";
        fs::write(folder.path().join("Makefile"), text).expect("it is written");
        assert_eq!(version(folder.path()).as_deref(), Some("6.1.192"));
        assert!(is_right("6.1.0") && !is_right("6.12.3") && !is_right("6"));
    }
}
