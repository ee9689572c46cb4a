//! Compiles Linux's files and ours to a library.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io};

use furlong_lab::error::{Error, cause};

use super::archive::COMPILED;
use super::place::OURS;

/// The headers that Linux's files include and that do not come with them, separated by spaces. All
/// are replaced by ours.
pub(super) const HEADERS: &str = "\
    asm/barrier.h linux/bitops.h linux/compiler.h linux/container_of.h linux/cpu.h \
    linux/dma-mapping.h linux/export.h linux/kernel.h linux/module.h linux/rcupdate.h \
    linux/slab.h linux/smp.h linux/spinlock.h linux/stddef.h linux/types.h \
    linux/xarray.h trace/events/maple_tree.h";

/// The flags of Linux's own build, as far as they make sense in a process: no debugging, and
/// Linux's assumptions about its compiler. Only our functions are exported, so internal calls are
/// direct, as in a kernel.
pub(super) const FLAGS: &str = "\
    -shared -fPIC -O2 -std=gnu11 -fgnu89-inline -fno-strict-aliasing -fno-common \
    -fno-delete-null-pointer-checks -fno-strict-overflow -fno-stack-protector -fno-plt \
    -fvisibility=hidden -ftls-model=initial-exec -pthread -w -Wl,-z,now -Wl,-z,defs";

/// Compiles Linux's files in the folder `linux` into a library; `work` is a folder for ours.
///
/// # Errors
/// If there is no compiler, or with the compiler's first error.
pub(super) fn compile(linux: &Path, work: &Path, library: &Path) -> Result<(), Error> {
    lay(work).map_err(|error| {
        let (work, why) = (work.display(), cause(&error));
        Error::failed(format!("cannot write to {work}: {why}"))
    })?;
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.args(FLAGS.split(' '));
    command.arg("-I").arg(work.join("include"));
    command.arg("-I").arg(linux.join("include"));
    let ours = OURS.iter().map(|(name, _)| *name);
    command.args(
        ours.filter(|name| name.ends_with(".c"))
            .map(|name| work.join(name)),
    );
    command.args(COMPILED.map(|file| linux.join(file)));
    command.arg("-o").arg(library);
    let output = command.stdin(Stdio::null()).output().map_err(|error| {
        let why = cause(&error);
        Error::usage(format!(
            "cannot run the C compiler `{compiler}` ({why}): install one (`apt-get install gcc`), \
             or name it in CC"
        ))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::failed(format!(
        "`{compiler}` does not compile Linux's files: {}",
        first(&said, work)
    )))
}

/// Writes our files, and headers that include ours.
fn lay(work: &Path) -> io::Result<()> {
    let include = work.join("include");
    fs::create_dir_all(&include)?;
    for (name, text) in OURS {
        let folder = if name.ends_with(".h") { &include } else { work };
        fs::write(folder.join(name), text)?;
    }
    for header in HEADERS.split(' ') {
        let path = include.join(header);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, "#include <kernel.h>\n")?;
    }
    Ok(())
}

/// The first error, with the path of the work folder removed.
fn first(said: &str, work: &Path) -> String {
    let is_error = |line: &&str| line.contains("error:") || line.contains("undefined reference");
    let line = said.lines().find(is_error).or_else(|| said.lines().next());
    let line = line.unwrap_or("it printed nothing").trim();
    line.replace(&format!("{}/", work.display()), "")
}
