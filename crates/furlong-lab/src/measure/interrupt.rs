//! Ctrl-C ends the block and keeps the record: the signal is noted, the process that is being
//! measured is told to stop, and the run ends in order. A second signal ends it at once.

use std::process;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::error::{Error, Exit, cause};

type Waker = Box<dyn Fn() + Send>;

/// The user's request to stop. Copies share their state; the default is never interrupted.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<SignalState>);

#[derive(Default)]
struct SignalState {
    signal: AtomicI32,
    waker: Mutex<Option<Waker>>,
}

impl Interrupt {
    /// Starts to listen for SIGINT, SIGTERM and SIGHUP, in a thread that sleeps until one arrives.
    ///
    /// # Errors
    ///
    /// The system refuses the handler or the thread.
    pub fn listen() -> Result<Interrupt, Error> {
        let refused = |error| Error::failed(format!("cannot listen for Ctrl-C: {}", cause(&error)));
        let interrupt = Interrupt::default();
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(refused)?;
        let heard = interrupt.clone();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    if heard.signal().is_some() {
                        process::exit(exit_of(signal).code().into());
                    }
                    heard.raise(signal);
                }
            })
            .map_err(refused)?;
        Ok(interrupt)
    }

    /// Returns the exit code of a run that a signal ended.
    pub fn signal(&self) -> Option<Exit> {
        // Relaxed: the number carries no other data with it.
        match self.0.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(exit_of(signal)),
        }
    }

    /// Notes a signal and calls the waker.
    pub fn raise(&self, signal: i32) {
        // Relaxed: as in `signal`, the number alone.
        self.0.signal.store(signal, Ordering::Relaxed);
        if let Some(waker) = &*self.0.waker.lock().unwrap_or_else(PoisonError::into_inner) {
            waker();
        }
    }

    /// Sets the function that a signal calls from now on.
    pub fn wake(&self, waker: impl Fn() + Send + 'static) {
        let mut place = self.0.waker.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Box::new(waker));
    }
}

/// Turns exceeding the file size limit (`ulimit -f`) into a failed write. That is reported and does
/// not end the run: measuring goes on without the file.
pub fn outlive_file_limit() {
    // If the handler is refused, the system's default stays.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

fn exit_of(signal: i32) -> Exit {
    Exit::Signal(u8::try_from(signal).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::{Interrupt, SIGINT};
    use crate::error::Exit;

    #[test]
    fn a_signal_is_known_to_every_copy_and_wakes_the_waiter() {
        let interrupt = Interrupt::default();
        let copy = interrupt.clone();
        let (sender, woken) = mpsc::channel();
        copy.wake(move || sender.send(()).unwrap());
        assert_eq!(copy.signal(), None);
        interrupt.raise(SIGINT);
        woken.try_recv().unwrap();
        assert_eq!(copy.signal(), Some(Exit::Signal(2)));
        assert_eq!(copy.signal().unwrap().code(), 130);
    }
}
