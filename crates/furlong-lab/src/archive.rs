//! The store as the verbs use it: which file, which run, and whether it can be gone on with.
#![forbid(unsafe_code)]

use std::fs;

use crate::error::Error;
use crate::model::Agenda;
use crate::model::result::ResultFile;
use crate::options::{Database, Options, Settings, default_database};
use crate::peers;
use crate::record::build;
use crate::record::machine::Files;
use crate::record::store::{Brief, Fault, Location, Saved, Status, Store};

/// The store with the new run in it, or why there is none; and what is wrong.
pub(crate) fn begin(
    options: &Options<'_>,
    result: &ResultFile,
    agenda: &Agenda,
) -> (Option<Store>, Vec<String>) {
    if options.database.none(options.settings) {
        return (None, vec![]);
    }
    let Some(location) = options.database.location(options.settings) else {
        let text = "this run is not stored: neither --db, XDG_DATA_HOME nor HOME says where";
        return (None, vec![text.to_owned()]);
    };
    make_home(&location);
    let begun = Store::open(&location).and_then(|mut store| {
        let others = store.others_at_work()?;
        store.begin(result, agenda, &build::binary())?;
        Ok((store, others))
    });
    match begun {
        Ok((store, others)) => {
            let warnings = others.iter().map(|pid| {
                format!("process {pid} is measuring too: both runs are noisier; let one wait")
            });
            (Some(store), warnings.collect())
        }
        Err(fault) => (None, vec![format!("this run is not stored: {fault}")]),
    }
}

/// The database that an invocation was told, which must be there.
///
/// # Errors
///
/// As [`open_database`].
pub fn open(options: &Options<'_>) -> Result<Store, Error> {
    open_database(options.database, options.settings)
}

/// The database, which must be there.
///
/// # Errors
///
/// It is not there, cannot be read, or was said to be `none`.
pub fn open_database(database: &Database, settings: &Settings) -> Result<Store, Error> {
    let location = located(database, settings)?;
    Store::open_existing(&location).map_err(|fault| Error::usage(fault.to_string()))
}

/// Where the database is that there must be.
///
/// # Errors
///
/// Nothing says where, or it was said to be `none`.
pub(crate) fn located(database: &Database, settings: &Settings) -> Result<Location, Error> {
    if database.none(settings) {
        return Err(Error::usage(
            "--db none has no stored runs: name the database",
        ));
    }
    database.location(settings).ok_or_else(|| {
        Error::usage("neither --db, XDG_DATA_HOME nor HOME says where the stored runs are")
    })
}

/// The database, which is made where there is none.
///
/// # Errors
///
/// It cannot be made or written, or was said to be `none`.
pub fn make_database(database: &Database, settings: &Settings) -> Result<Store, Error> {
    if database.none(settings) {
        return Err(Error::usage("--db none keeps nothing: name the database"));
    }
    let location = database.location(settings).ok_or_else(|| {
        Error::usage("neither --db, XDG_DATA_HOME nor HOME says where the stored runs are")
    })?;
    make_home(&location);
    Store::open(&location).map_err(|fault| Error::usage(fault.to_string()))
}

/// The directory of the database that nobody named.
fn make_home(location: &Location) {
    if Some(location) == default_database().as_ref()
        && let Location::File(path) = location
        && let Some(dir) = path.parent()
    {
        // Where this fails, opening fails and is told.
        let _ = fs::create_dir_all(dir);
    }
}

/// The latest run of this machine.
const LATEST: &str = "latest";

/// The run of this machine that others are held against.
const PINNED: &str = "pinned";

/// The latest run with a tag.
const TAG: &str = "tag:";

/// The one run whose name begins so, or that the word means.
///
/// # Errors
///
/// There is none, or there are several.
pub fn find(store: &Store, name: &str) -> Result<Brief, Error> {
    let here = || Files::default().machine();
    let refuse = |fault: Fault| Error::usage(fault.to_string());
    let id = match name.strip_prefix(TAG) {
        Some(tag) => {
            let found = store.tagged(tag, 1).map_err(refuse)?.into_iter().next();
            let missing = || format!("no run has the tag `{tag}`: `furlong history` lists them");
            Some(found.ok_or_else(|| Error::usage(missing()))?.id)
        }
        None if name == LATEST => {
            let host = here();
            let found = store.listed(Some(&host.id), 1).map_err(refuse)?;
            let missing = || {
                let (path, host) = (store.location(), &host.host);
                format!("there is no run of {host} in {path} yet: `furlong run` makes one")
            };
            let found = found.into_iter().next();
            Some(found.ok_or_else(|| Error::usage(missing()))?.id)
        }
        None if name == PINNED => {
            let host = here();
            let found = store.pinned(&host.id).map_err(refuse)?;
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

/// The one run whose name begins so.
fn beginning(store: &Store, prefix: &str) -> Result<Brief, Error> {
    let refuse = |fault: Fault| Error::usage(fault.to_string());
    let mut found = store.runs(prefix).map_err(refuse)?;
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
            let all = store.runs("").map_err(refuse)?;
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
                    "several runs begin with `{prefix}`: {}; give more of the name",
                    listed(&found)
                ))
            })
        }
    }
}

/// A run is one only on the same machine with the same executable.
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
            "run {id} is finished: `furlong show {id}` shows it"
        )));
    }
    if let Some(fleet) = &run.machine.fleet {
        return Err(Error::usage(format!(
            "run {} is a fleet's: `furlong collect {} --resubmit` goes on with it",
            run.id, fleet.dir
        )));
    }
    if peers::are_in(&run.command) != peers::are_here() {
        let (id, option) = (&run.id, peers::OPTION);
        let how = if peers::are_here() { "without" } else { "with" };
        return Err(Error::usage(format!(
            "run {id} was begun {how} {option}: resume it {how} {option}"
        )));
    }
    if run.version != build::version() {
        return refuse(format!(
            "furlong {} began it, this is {}",
            run.version,
            build::version()
        ));
    }
    if saved.binary != build::binary() {
        return refuse("another build of furlong began it".to_owned());
    }
    let here = Files::default().machine();
    if run.machine.id != here.id {
        let (there, kernel) = (&run.machine.host, &run.machine.kernel);
        return refuse(format!(
            "it was begun on {there} with {kernel}, this is {} with {}",
            here.host, here.kernel
        ));
    }
    Ok(())
}

/// A run that is in the store, with the store, for this process alone; `None` where it is not
/// there, or no store can be had: then whoever begins one is told why.
///
/// # Errors
///
/// Another process has it.
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
        Err(fault) => Err(Error::usage(fault.to_string())),
    }
}
