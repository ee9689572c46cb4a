//! Connections: each is read by itself and none waits for another; one that is slow is cut.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task;
use tokio::time::{sleep, timeout};

use super::answer::Answer;
use super::crew::Crew;
use super::frame;
use super::host::Hosts;
use super::request::wanted;
use super::route::Route;
use crate::error::{Error, cause};
use crate::record::store::Location;
use crate::talk::Voice;

/// How long a client may take to say what it wants.
const ASKING: Duration = Duration::from_secs(10);

/// How long a connection lives at most, however it is used: one that takes nothing of what it is
/// sent is no use to anybody.
const LIVING: Duration = Duration::from_secs(60);

/// How long answers that are under way have when the server ends.
const ENDING: Duration = Duration::from_secs(2);

/// How long to wait when the system has no connection to give.
const PAUSE: Duration = Duration::from_millis(100);

/// Connections at a time; further ones wait at the door.
const CONNECTIONS: usize = 256;

/// Bytes of all that a client says before what it wants is known.
const HEAD_MAX: usize = 16 * 1024;

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// The store.
    pub location: Location,
    /// Under which names.
    pub hosts: Hosts,
    /// How much is said meanwhile.
    pub voice: Voice,
}

/// What every connection needs.
struct Server {
    crew: Crew,
    hosts: Hosts,
}

/// Answers until SIGINT or SIGTERM comes; `ready` is called when both are listened for.
///
/// # Errors
///
/// The system has no thread or handler to give.
pub fn serve(
    listener: TcpListener,
    options: &Options,
    ready: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let refused = |error: std::io::Error| Error::failed(format!("cannot serve: {}", cause(&error)));
    let crew = Crew::of(&options.location, options.voice)?;
    let server = Arc::new(Server {
        crew,
        hosts: options.hosts.clone(),
    });
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(refused)?.block_on(async {
        listener.set_nonblocking(true).map_err(refused)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(refused)?;
        let end = Arc::new(Notify::new());
        for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
            let (mut signal, end) = (signal(kind).map_err(refused)?, Arc::clone(&end));
            task::spawn(async move {
                signal.recv().await;
                end.notify_one();
            });
        }
        ready()?;
        let graceful = Arc::new(GracefulShutdown::new());
        let accepting = task::spawn(accept(listener, server, Arc::clone(&graceful)));
        end.notified().await;
        accepting.abort();
        let _ = accepting.await;
        if let Some(graceful) = Arc::into_inner(graceful) {
            let _ = timeout(ENDING, graceful.shutdown()).await;
        }
        Ok(())
    })
}

async fn accept(
    listener: tokio::net::TcpListener,
    server: Arc<Server>,
    graceful: Arc<GracefulShutdown>,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // It is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let server = Arc::clone(&server);
                task::spawn(connection(stream, server, graceful.watcher(), place));
            }
            // Of a client that has gone already, or because there are too many files.
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// One connection, until its client goes or its time is over.
async fn connection(
    stream: TcpStream,
    server: Arc<Server>,
    watcher: Watcher,
    _place: OwnedSemaphorePermit,
) {
    // Without it a page may wait for the next; there is no harm where it cannot be had.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request| {
        let server = Arc::clone(&server);
        async move { server.answer(&request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASKING)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), answer);
    // What is wrong with a connection is its client's to know.
    let _ = timeout(LIVING, watcher.watch(connection)).await;
}

impl Server {
    async fn answer(
        &self,
        request: &Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let known = request.headers().get(header::IF_NONE_MATCH);
        let known = known.and_then(|known| known.to_str().ok());
        let answer = match wanted(request, &self.hosts) {
            Ok(Route::Style) => frame::style(known),
            Ok(Route::Icon) => frame::icon(known),
            Ok(route) => self.crew.make(route).await,
            Err(refusal) => Answer::refusal(&refusal),
        };
        Ok(answer.response())
    }
}
