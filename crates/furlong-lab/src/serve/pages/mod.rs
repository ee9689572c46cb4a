//! The pages. Each is made from the store alone, with a bounded number of statements.
//!
//! # Files
//!
//! - `home.rs`: the latest runs and every experiment; `experiment.rs`: its runs; `run.rs`: one of
//!   them; `file.rs`: the same as a download.
//! - `compare.rs`: two runs; `series.rs`: a figure from run to run.
//! - `piece.rs`: parts of several pages.

mod compare;
mod experiment;
mod file;
mod home;
mod piece;
mod run;
mod series;

use super::answer::Answer;
use super::refusal::Refusal;
use super::route::Route;
use super::tallies::Tallies;
use crate::record::store::Store;

/// The answer to a route.
///
/// # Errors
///
/// The target does not exist, or the store does not respond.
pub(super) fn page(store: &Store, tallies: &Tallies, route: &Route) -> Result<Answer, Refusal> {
    let page = match route {
        Route::Home { first } => home::page(store, tallies, first)?,
        Route::Experiment {
            name,
            filter,
            before,
        } => experiment::page(store, name, filter, *before)?,
        Route::Run { id } => run::page(store, id)?,
        Route::File { id, form } => return file::answer(store, id, *form),
        Route::Compare(pair) => compare::page(store, pair)?,
        Route::Series(figure) => series::page(store, figure)?,
        Route::Style | Route::Icon => return Err(Refusal::Broken),
    };
    Ok(Answer::page(&page))
}
