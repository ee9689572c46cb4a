//! The store for the verbs: its location, the search of a run, and the conditions for resuming one.

pub mod foreign;

use crate::error::Error;
use crate::model::Schedule;
use crate::model::result::{Machine, ResultFile};
use crate::options::{Database, Options, Settings, default_database};
use crate::peers;
use crate::record::build;
use crate::record::class::{is_here, this_machine};
use crate::record::place;
use crate::record::store::{Listed, Location, Saved, Status, Store};
use crate::talk::quoted;

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
    let location = located(database, settings)?;
    make_home(&location);
    Ok(Store::open(&location)?)
}

/// Creates the directory of the default database for the user alone. Narrows one that exists, with
/// its database.
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

/// Returns the full name of the one run that a prefix of its name or a special name refers to.
///
/// # Shapes
///
/// `class` is the class of this machine, if the user names it.
///
/// # Errors
///
/// There is none, or there are several.
pub fn find(store: &Store, name: &str, class: Option<&str>) -> Result<String, Error> {
    let found = match name.strip_prefix(TAG) {
        Some(tag) => {
            let tagged = store.tagged(tag, 1)?.into_iter().next();
            let missing = || format!("no run has the tag `{tag}`: `furlong history` lists them");
            tagged.map(|run| run.id).ok_or_else(missing)
        }
        None if name == LATEST => {
            let (machine, latest) = here(store, class)?;
            let (path, host) = (store.location(), name_of(&machine));
            latest
                .ok_or_else(|| format!("{path} has no run of {host} yet: `furlong run` makes one"))
        }
        None if name == PINNED => {
            let (machine, _) = here(store, class)?;
            let host = name_of(&machine);
            let missing =
                || format!("no run of {host} is pinned: `furlong mark RUN --pin` pins one");
            store.pinned(&machine.id)?.ok_or_else(missing)
        }
        None => return beginning(store, name),
    };
    found.map_err(Error::usage)
}

/// Returns the name of a machine's class or of its host.
fn name_of(machine: &Machine) -> String {
    let class = machine.class.as_ref();
    class.map_or_else(|| machine.host.clone(), |class| format!("class {class}"))
}

/// Number of the latest runs among which this machine's latest is searched.
const RECENT: u32 = 1000;

/// Returns this machine as its latest run in the store counted it, itself or one of a class, with
/// the name of that run, if there is one. A class that is named decides.
///
/// # Errors
///
/// A fault of the database.
pub(crate) fn here(store: &Store, class: Option<&str>) -> Result<(Machine, Option<String>), Error> {
    let (here, wanted) = (this_machine(None), this_machine(class));
    let mut recent = store.latest_runs(RECENT)?.into_iter();
    let own = recent.find(|run| {
        is_here(&run.machine, &here) && (class.is_none() || run.machine.id == wanted.id)
    });
    if let Some(own) = own {
        return Ok((own.machine, Some(own.id)));
    }
    // The latest of the class, or one that is older than those.
    let latest = store.listed(&wanted.id, 1)?.into_iter().next();
    Ok((wanted, latest.map(|run| run.id)))
}

/// Returns the full name of the one run whose name has this prefix.
fn beginning(store: &Store, prefix: &str) -> Result<String, Error> {
    let found = store.runs(prefix)?;
    let is_meant = |run: &&Listed| found.len() == 1 || run.id == prefix;
    if let Some(run) = found.iter().find(is_meant) {
        return Ok(run.id.clone());
    }
    let told = |runs: &[Listed]| {
        let latest = runs.iter().take(5);
        let lines = latest.map(|run| format!("{} of {}", run.id, run.started));
        lines.collect::<Vec<_>>().join(", ")
    };
    if !found.is_empty() {
        let runs = told(&found);
        return Err(Error::usage(format!(
            "several runs begin with `{prefix}`: {runs}; type more of the name"
        )));
    }
    let (path, mut latest) = (store.location(), told(&store.latest_runs(5)?));
    if latest.is_empty() {
        "none yet".clone_into(&mut latest);
    }
    Err(Error::usage(format!(
        "no run begins with `{prefix}` in {path}; the latest are: {latest}"
    )))
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
        let (began, here) = (&run.version, build::version());
        return refuse(format!(
            "it was started by furlong {began}, and this is {here}"
        ));
    }
    if saved.binary != build::binary() {
        return refuse("it was started by another build of furlong".to_owned());
    }
    let here = this_machine(None);
    if !is_here(&run.machine, &here) {
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
    let Ok(mut store) = open_database(options.database, options.settings) else {
        return Ok(None);
    };
    if store.load(id).is_err() {
        return Ok(None);
    }
    store.claim(id)?;
    // As its last owner left it, who may have gone on until now.
    Ok(Some((store.load(id)?.result, store)))
}
