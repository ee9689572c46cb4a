//! Connections: none waits for another, and slow ones make room for new ones.

use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
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
use super::frame;
use super::host::Hosts;
use super::idle::{Idle, Seat};
use super::request::wanted;
use super::route::Route;
use super::worker_pool::WorkerPool;
use crate::error::{Error, cause};
use crate::record::store::Location;
use crate::talk::Voice;

/// Longest time for a client to send a request's head.
const ASKING: Duration = Duration::from_secs(10);

/// Longest life of a connection, however it is used: a client that reads nothing must not hold one
/// forever.
const LIVING: Duration = Duration::from_secs(60);

/// Time for answers in progress when the server ends.
const ENDING: Duration = Duration::from_secs(2);

/// Pause after the system failed to accept a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Connections at a time. A further one replaces the one that has been idle longest.
const CONNECTIONS: usize = 256;

/// Largest size of a request's head, in bytes.
const HEAD_MAX: usize = 16 * 1024;

/// Parameters of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The store.
    pub location: Location,
    /// The names under which it answers.
    pub hosts: Hosts,
    /// The amount of messages.
    pub voice: Voice,
}

/// State shared by all connections.
struct Server {
    workers: WorkerPool,
    hosts: Hosts,
}

/// Answers until SIGINT or SIGTERM; calls `ready` once both are handled.
///
/// # Errors
///
/// The system cannot provide a thread or a signal handler.
pub fn serve(
    listener: TcpListener,
    options: &Options,
    ready: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let refused = |error: std::io::Error| Error::failed(format!("cannot serve: {}", cause(&error)));
    let workers = WorkerPool::of(&options.location, options.voice)?;
    let server = Arc::new(Server {
        workers,
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
    let idle = Arc::<Idle>::default();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if places.available_permits() == 0 {
                    idle.dismiss();
                }
                // The semaphore is never closed. If all are at work, the first to end makes room.
                let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                    return;
                };
                let (server, seat) = (Arc::clone(&server), Arc::new(idle.seat()));
                task::spawn(connection(stream, server, graceful.watcher(), seat, place));
            }
            // The client has already gone, or too many files are open.
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// One connection, until its client closes it, its time is over, or it has to make room.
async fn connection(
    stream: TcpStream,
    server: Arc<Server>,
    watcher: Watcher,
    seat: Arc<Seat>,
    _place: OwnedSemaphorePermit,
) {
    // Without it, a page may be delayed until the next; a failure does no harm.
    let _ = stream.set_nodelay(true);
    let taken = Arc::clone(&seat);
    let answer = service_fn(move |request| {
        let (server, seat) = (Arc::clone(&server), Arc::clone(&taken));
        async move {
            seat.work();
            let answer = server.answer(&request).await;
            seat.rest();
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASKING)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), answer);
    let served = watcher.watch(connection);
    let mut dismissed = pin!(seat.dismissed());
    let mut served = pin!(served);
    let ended = poll_fn(|context| match dismissed.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        // A connection's error concerns only its client.
        Poll::Pending => served.as_mut().poll(context).map(drop),
    });
    let _ = timeout(LIVING, ended).await;
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
            Ok(route) => self.workers.make(route).await,
            Err(refusal) => Answer::refusal(&refusal),
        };
        Ok(answer.response())
    }
}
