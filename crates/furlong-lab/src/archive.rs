//! The store for the verbs: its location, the search of a run, and the conditions for resuming one.
#![forbid(unsafe_code)]

use std::fs;

use crate::error::Error;
use crate::model::Schedule;
use crate::model::result::ResultFile;
use crate::options::{Database, Options, Settings, default_database};
use crate::peers;
use crate::record::build;
use crate::record::machine::Files;
use crate::record::store::{Brief, Location, Saved, Status, Store};

/// Opens the store and begins the run in it. Returns the store, or none if it cannot be used, and
/// the warnings.
pub(crate) fn begin(
    options: &Options<'_>,
    result: &ResultFile,
    schedule: &Schedule,
) -> (Option<Store>, Vec<String>) {
    if options.database.none(options.settings) {
        return (None, vec![]);
    }
    let Some(location) = options.database.location(options.settings) else {
        let text = "this run is not stored: set --db, XDG_DATA_HOME or HOME to choose a location";
        return (None, vec![text.to_owned()]);
    };
    make_home(&location);
    if let Some(note) = open_to_others(&location) {
        options.voice.note(&note);
    }
    let begun = Store::open(&location).and_then(|mut store| {
        let others = store.others_at_work()?;
        store.begin(result, schedule, &build::binary())?;
        Ok((store, others))
    });
    match begun {
        Ok((store, others)) => {
            let warnings = others.iter().map(|pid| {
                format!(
                    "process {pid} is measuring at the same time: both runs get noisier; run them \
                     one after the other"
                )
            });
            (Some(store), warnings.collect())
        }
        Err(fault) => (None, vec![format!("this run is not stored: {fault}")]),
    }
}

/// Opens the database of the options, which must exist.
///
/// # Errors
///
/// Those of [`open_database`].
pub fn open(options: &Options<'_>) -> Result<Store, Error> {
    open_database(options.database, options.settings)
}

/// Opens the database, which must exist.
///
/// # Errors
///
/// It does not exist, cannot be read, or was given as `none`.
pub fn open_database(database: &Database, settings: &Settings) -> Result<Store, Error> {
    let location = located(database, settings)?;
    Ok(Store::open_existing(&location)?)
}

/// Returns the location of a database that must exist.
///
/// # Errors
///
/// No location is given, or it was given as `none`.
pub(crate) fn located(database: &Database, settings: &Settings) -> Result<Location, Error> {
    if database.none(settings) {
        return Err(Error::usage("--db none stores no runs: name a database"));
    }
    database.location(settings).ok_or_else(|| {
        Error::usage("the location of the stored runs is unknown: set --db, XDG_DATA_HOME or HOME")
    })
}

/// Opens the database and creates it if it is missing.
///
/// # Errors
///
/// It cannot be created or written, or was given as `none`.
pub fn make_database(database: &Database, settings: &Settings) -> Result<Store, Error> {
    if database.none(settings) {
        return Err(Error::usage("--db none stores nothing: name a database"));
    }
    let location = database.location(settings).ok_or_else(|| {
        Error::usage("the location of the stored runs is unknown: set --db, XDG_DATA_HOME or HOME")
    })?;
    make_home(&location);
    Ok(Store::open(&location)?)
}

/// Creates the directory of the default database.
fn make_home(location: &Location) {
    if Some(location) == default_database().as_ref()
        && let Location::File(path) = location
        && let Some(dir) = path.parent()
    {
        // If this fails, opening fails and reports it.
        let _ = place::private_dir(dir);
        for ending in ["", "-wal", "-shm"] {
            let mut file = path.clone().into_os_string();
            file.push(ending);
            place::narrow_file(file.as_ref());
        }
    }
}

/// Returns a note about a database that the user named and that others may use. Its permissions
/// stay: the user may share it.
fn open_to_others(location: &Location) -> Option<String> {
    let Location::File(path) = location else {
        return None;
    };
    let mode = place::open_to_others(path)?;
    let path = quoted(&path.display().to_string());
    Some(format!(
        "other users may use the database {path} (mode {mode:o}), which holds command lines: \
         `chmod 600 {path}` makes it private"
    ))
}

/// Name of the latest run of this machine.
const LATEST: &str = "latest";

/// Name of this machine's reference run.
const PINNED: &str = "pinned";

/// Prefix of a tag; the name means the latest run with that tag.
const TAG: &str = "tag:";

/// Finds the one run whose name has this prefix or that a special name refers to.
///
/// # Errors
///
/// There is none, or there are several.
pub fn find(store: &Store, name: &str) -> Result<Brief, Error> {
    let here = || Files::default().machine();
    let id = match name.strip_prefix(TAG) {
        Some(tag) => {
            let found = store.tagged(tag, 1)?.into_iter().next();
            let missing = || format!("no run has the tag `{tag}`: `furlong history` lists them");
            Some(found.ok_or_else(|| Error::usage(missing()))?.id)
        }
        None if name == LATEST => {
            let host = here();
            let found = store.listed(Some(&host.id), 1)?;
            let missing = || {
                let (path, host) = (store.location(), &host.host);
                format!("{path} has no run of {host} yet: `furlong run` makes one")
            };
            let found = found.into_iter().next();
            Some(found.ok_or_else(|| Error::usage(missing()))?.id)
        }
        None if name == PINNED => {
            let host = here();
            let found = store.pinned(&host.id)?;
            let missing = || {
                let host = &host.host;
                format!("no run of {host} is pinned: `furlong mark RUN --pin` pins one")
            };
            Some(found.ok_or_else(|| Error::usage(missing()))?)
        }
        None => None,
    };
    beginning(store, id.as_deref().unwrap_or(name))
}

/// Finds the one run whose name has this prefix.
fn beginning(store: &Store, prefix: &str) -> Result<Brief, Error> {
    let mut found = store.runs(prefix)?;
    let listed = |runs: &[Brief]| {
        let lines = runs
            .iter()
            .take(5)
            .map(|run| format!("{} of {}", run.id, run.started));
        lines.collect::<Vec<_>>().join(", ")
    };
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let all = store.runs("")?;
            let there = if all.is_empty() {
                "none yet".to_owned()
            } else {
                listed(&all)
            };
            let path = store.location();
            Err(Error::usage(format!(
                "no run begins with `{prefix}` in {path}; the latest are: {there}"
            )))
        }
        _ => {
            let exact = found.iter().position(|run| run.id == prefix);
            exact.map(|place| found.swap_remove(place)).ok_or_else(|| {
                Error::usage(format!(
                    "several runs begin with `{prefix}`: {}; type more of the name",
                    listed(&found)
                ))
            })
        }
    }
}

/// Refuses to resume a run on another machine or with another executable.
pub(crate) fn same_conditions(saved: &Saved) -> Result<(), Error> {
    let run = &saved.result.run;
    let refuse = |why: String| {
        Err(Error::usage(format!(
            "run {} cannot be resumed: {why}: begin a new one",
            run.id
        )))
    };
    if saved.status == Status::Finished {
        let id = &run.id;
        return Err(Error::usage(format!(
            "run {id} is already finished: `furlong show {id}` shows it"
        )));
    }
    if let Some(fleet) = &run.machine.fleet {
        return Err(Error::usage(format!(
            "run {} belongs to a fleet: `furlong collect {} --resubmit` continues it",
            run.id, fleet.dir
        )));
    }
    if peers::are_in(&run.command) != peers::are_here() {
        let (id, option) = (&run.id, peers::OPTION);
        let how = if peers::are_here() { "without" } else { "with" };
        return Err(Error::usage(format!(
            "run {id} was started {how} {option}: resume it {how} {option}"
        )));
    }
    if run.version != build::version() {
        return refuse(format!(
            "it was started by furlong {}, and this is {}",
            run.version,
            build::version()
        ));
    }
    if saved.binary != build::binary() {
        return refuse("it was started by another build of furlong".to_owned());
    }
    let here = Files::default().machine();
    if run.machine.id != here.id {
        let (there, kernel) = (&run.machine.host, &run.machine.kernel);
        return refuse(format!(
            "it was started on {there} with {kernel}, and this is {} with {}",
            here.host, here.kernel
        ));
    }
    Ok(())
}

/// Claims a stored run for this process and returns it with the store. `None` if the run or the
/// store does not exist; the caller then begins the run, which reports a fault of the store.
///
/// # Errors
///
/// Another process is measuring it.
pub(crate) fn take_up(
    options: &Options<'_>,
    id: &str,
) -> Result<Option<(ResultFile, Store)>, Error> {
    let Ok(mut store) = open(options) else {
        return Ok(None);
    };
    let Ok(saved) = store.load(id) else {
        return Ok(None);
    };
    match store.claim(id) {
        Ok(()) => Ok(Some((saved.result, store))),
        Err(fault) => Err(fault.into()),
    }
}
