//! The threads that make pages. Only they wait for the store: no connection waits for the page of
//! another.

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

/// Number of threads.
const THREADS: usize = 4;

/// Most pages in the queue.
const WAITING: usize = 64;

/// The handle by which connections request pages from the threads.
#[derive(Clone)]
pub(super) struct WorkerPool(SyncSender<Job>);

/// A page to make, and the receiver of the answer.
struct Job {
    route: Route,
    answer: oneshot::Sender<Answer>,
}

/// State shared by the threads.
struct Common {
    jobs: Mutex<Receiver<Job>>,
    tallies: Tallies,
    /// The last reported fault of the store: it is not reported again for every page.
    said: Mutex<Option<String>>,
    voice: Voice,
}

impl WorkerPool {
    /// Starts the threads. Each ends when the last handle is dropped.
    ///
    /// # Errors
    ///
    /// The system cannot start a thread.
    pub(super) fn of(location: &Location, voice: Voice) -> Result<WorkerPool, Error> {
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
                .map_err(|error| {
                    Error::failed(format!("cannot start a thread: {}", cause(&error)))
                })?;
        }
        Ok(WorkerPool(sender))
    }

    /// Makes the requested page.
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
            // The lock is held during `recv`: one thread waits for a job, the others for the lock.
            let job = self
                .jobs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .recv();
            let Ok(Job { route, answer }) = job else {
                return;
            };
            // The connection is already gone.
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

    /// Reports a fault of the store when it begins, and again when it ends.
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
