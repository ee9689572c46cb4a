//! The programs to compare: scripts that only count.

use std::fs;
use std::io;
use std::path::PathBuf;

use tempfile::TempDir;

/// Interpreter of the scripts.
pub(super) const SHELL: &str = "/bin/sh";

/// A program that does nothing.
pub(super) const NOTHING: &str = "/bin/true";

/// Two scripts in a directory of their own.
pub(super) struct Programs {
    dir: TempDir,
}

impl Programs {
    /// Writes both; the second counts `slower_permille` thousandths further.
    pub(super) fn write(loops: u64, slower_permille: u64) -> io::Result<Self> {
        let dir = tempfile::tempdir()?;
        let second = loops + loops * slower_permille / 1000;
        for (name, loops) in [("a.sh", loops), ("b.sh", second)] {
            // Both have as many digits, so that both scripts are equally long.
            let text = format!("i=0\nwhile [ $i -lt {loops:09} ]; do i=$((i + 1)); done\n");
            fs::write(dir.path().join(name), text)?;
        }
        Ok(Self { dir })
    }

    /// Path of a file beside the scripts.
    fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Paths of the scripts, in order.
    pub(super) fn scripts(&self) -> [String; 2] {
        ["a.sh", "b.sh"].map(|name| self.beside(name).display().to_string())
    }

    /// Commands that run the scripts.
    pub(super) fn commands(&self) -> [String; 2] {
        self.scripts().map(|script| format!("{SHELL} {script}"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Programs;

    #[test]
    fn the_scripts_are_equal_or_differ_in_the_count_alone() {
        let texts = |permille| {
            let programs = Programs::write(8000, permille).unwrap();
            programs
                .scripts()
                .map(|path| fs::read_to_string(path).unwrap())
        };
        let [a, b] = texts(0);
        assert_eq!(a, b);
        let [a, b] = texts(20);
        assert_eq!(a.len(), b.len());
        assert_eq!(a.replace("000008000", "000008160"), b);
    }
}
