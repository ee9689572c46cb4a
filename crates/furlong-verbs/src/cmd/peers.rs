//! `furlong peers`: builds peers that no package ships, on this machine.

use std::path::PathBuf;
use std::process::ExitCode;

use furlong_lab::error::Error;
use furlong_lab::peers;

/// Builds a peer from sources that are on this machine, for `--peers`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Peer to build.
    #[command(subcommand)]
    pub peer: Peer,
}

/// Peers that can be built.
#[derive(Debug, clap::Subcommand)]
pub enum Peer {
    /// Linux's own maple tree, red-black tree and iova allocator, from the distribution's sources
    Linux(LinuxArgs),
}

const LINUX_EXAMPLES: &str = "\
Examples:
  furlong peers linux
  furlong peers linux --from linux-6.1.tar.xz

Nothing of Linux comes with furlong. Its files are taken from the package linux-source-6.1, compiled
with headers of furlong's own, and kept as a library in the user's cache directory, which only the
processes of samples load: those of the arms linux-maple, linux-maple-mut, linux-iova,
linux-iova-tree, linux-rbtree and linux-rbtree-bare. That library is under Linux's licence, the GNU
General Public License, version 2. It is for this machine: do not hand it on.";

/// Sources of Linux.
#[derive(Debug, clap::Args)]
#[command(after_help = LINUX_EXAMPLES)]
pub struct LinuxArgs {
    /// The archive of Linux 6.1's sources [default: that of the package linux-source-6.1]
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
}

/// Runs the binary that builds the peers.
///
/// # Errors
///
/// That binary is missing, or this is one that builds no peers.
pub fn elsewhere() -> Result<ExitCode, Error> {
    peers::join()?;
    Err(Error::usage("this binary builds no peers"))
}
