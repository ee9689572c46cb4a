//! `furlong serve`: the history in a browser.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use crate::error::Error;
use crate::options::{Database, Talk};

/// Default address of the pages.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7878);

const EXAMPLES: &str = "\
It answers until Ctrl-C, changes nothing in the database, and needs no script in the browser.

Examples:
  furlong serve
  furlong serve --db old.db --listen 127.0.0.1:8080
  furlong serve --listen 0.0.0.0:7878 --host lab.example";

/// Address and names of the server.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Address to listen on; a loopback address cannot be reached from other machines. Port 0 means
    /// any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = LISTEN)]
    pub listen: SocketAddr,
    /// Accept requests for this host name too, besides addresses and localhost
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
    /// Location of the record.
    #[command(flatten)]
    pub database: Database,
    /// Amount of messages.
    #[command(flatten)]
    pub talk: Talk,
}

/// Serves until a signal ends it.
///
/// # Errors
///
/// There is no database, or the address cannot be listened on.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    #[cfg(feature = "team")]
    return served::run(args);
    #[cfg(not(feature = "team"))]
    {
        let _ = args;
        Err(Error::usage(crate::error::NO_TEAM))
    }
}

#[cfg(feature = "team")]
mod served {
    use std::io::ErrorKind;
    use std::net::{SocketAddr, TcpListener};
    use std::process::ExitCode;

    use super::Args;
    use crate::archive::located;
    use crate::error::{Error, Exit, cause};
    use crate::options::Settings;
    use crate::record::store::Store;
    use crate::serve::{Hosts, Options, serve};
    use crate::talk::{self, Voice};

    pub(super) fn run(args: &Args) -> Result<ExitCode, Error> {
        let settings = Settings::of_here()?;
        let voice = args.talk.voice(&settings);
        let location = located(&args.database, &settings)?;
        // Opened once here, so that a fault is reported now and an old database is migrated.
        let store = Store::open_existing(&location)?;
        drop(store);
        let listener =
            TcpListener::bind(args.listen).map_err(|error| refused(args.listen, &error))?;
        let address = listener
            .local_addr()
            .map_err(|error| refused(args.listen, &error))?;
        let options = Options {
            location,
            hosts: Hosts::with(&args.hosts),
            voice,
        };
        serve(listener, &options, || {
            warn(address, voice);
            voice.note(&format!("serving {}; Ctrl-C ends it", options.location));
            talk::data(&format!("http://{address}/\n"))
        })?;
        Ok(Exit::Done.into())
    }

    fn warn(address: SocketAddr, voice: Voice) {
        if !address.ip().is_loopback() {
            voice.warn(&format!(
                "everyone who can reach {address} can read every run, its notes and the \
                 description of its machine: there is no password and no encryption"
            ));
        }
    }

    fn refused(address: SocketAddr, error: &std::io::Error) -> Error {
        Error::usage(match error.kind() {
            ErrorKind::AddrInUse => format!(
                "{address} is in use, perhaps by another `furlong serve`: choose another port with \
                 --listen"
            ),
            ErrorKind::AddrNotAvailable => {
                format!("{address} is not an address of this machine: choose one with --listen")
            }
            ErrorKind::PermissionDenied => format!(
                "this user may not listen on {address}: choose a port from 1024 on with --listen"
            ),
            _ => format!("cannot listen on {address} ({})", cause(error)),
        })
    }
}
