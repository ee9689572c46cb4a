//! The threads that make pages. The store's answers are waited for here, so that no connection
//! waits for another's page.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use tokio::sync::oneshot;

use super::answer::Answer;
use super::pages;
use super::reader::Reader;
use super::refusal::Refusal;
use super::route::Route;
use super::tallies::Tallies;
use crate::error::{Error, cause};
use crate::record::store::Location;
use crate::talk::Voice;

/// How many make pages at a time.
const THREADS: usize = 4;

/// How many pages may wait to be made.
const WAITING: usize = 64;

/// The threads, as those see them who want pages.
#[derive(Clone)]
pub(super) struct Crew(SyncSender<Job>);

/// A page to be made, and where it goes.
struct Job {
    route: Route,
    answer: oneshot::Sender<Answer>,
}

/// What the threads share.
struct Common {
    jobs: Mutex<Receiver<Job>>,
    tallies: Tallies,
    /// What was last said of the store, so that it is not said for every page.
    said: Mutex<Option<String>>,
    voice: Voice,
}

impl Crew {
    /// Begins; each of them goes when nobody is left who wants pages.
    ///
    /// # Errors
    ///
    /// The system has no thread to give.
    pub(super) fn of(location: &Location, voice: Voice) -> Result<Crew, Error> {
        let (sender, jobs) = sync_channel(WAITING);
        let common = Arc::new(Common {
            jobs: Mutex::new(jobs),
            tallies: Tallies::default(),
            said: Mutex::default(),
            voice,
        });
        for _ in 0..THREADS {
            let (common, reader) = (Arc::clone(&common), Reader::of(location));
            thread::Builder::new()
                .name("pages".to_owned())
                .spawn(move || common.work(reader))
                .map_err(|error| Error::failed(format!("no thread: {}", cause(&error))))?;
        }
        Ok(Crew(sender))
    }

    /// The page that is asked for.
    pub(super) async fn make(&self, route: Route) -> Answer {
        let (answer, made) = oneshot::channel();
        match self.0.try_send(Job { route, answer }) {
            Ok(()) => made
                .await
                .unwrap_or_else(|_| Answer::refusal(&Refusal::Broken)),
            Err(TrySendError::Full(_)) => Answer::refusal(&Refusal::Busy),
            Err(TrySendError::Disconnected(_)) => Answer::refusal(&Refusal::Broken),
        }
    }
}

impl Common {
    fn work(&self, mut reader: Reader) {
        loop {
            // The lock goes with the statement: while one waits for a job, the others wait for it.
            let job = self
                .jobs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .recv();
            let Ok(Job { route, answer }) = job else {
                return;
            };
            // Nobody waits for it any more.
            if answer.is_closed() {
                continue;
            }
            let made = catch_unwind(AssertUnwindSafe(|| self.page(&mut reader, &route)));
            let made = made.unwrap_or_else(|_| Answer::refusal(&Refusal::Broken));
            let _ = answer.send(made);
        }
    }

    fn page(&self, reader: &mut Reader, route: &Route) -> Answer {
        let begun = Instant::now();
        match reader.read(|store| pages::page(store, &self.tallies, route)) {
            Ok((answer, work)) => {
                self.say(None);
                answer.timed(&work, begun.elapsed())
            }
            Err(refusal) => {
                if let Refusal::Store(fault) = &refusal {
                    self.say(Some(fault.to_string()));
                }
                Answer::refusal(&refusal)
            }
        }
    }

    /// Says what is wrong with the store when it begins to be so, and when it is so no more.
    fn say(&self, what: Option<String>) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match (&what, &*said) {
            (Some(new), old) if Some(new) != old.as_ref() => self.voice.warn(new),
            (None, Some(_)) => self.voice.note("the database can be read again"),
            _ => {}
        }
        *said = what;
    }
}
