//! Connections without a request in progress, the one that has waited longest first. It makes room
//! for a new connection, so that slow clients cannot keep others out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The idle connections.
#[derive(Default)]
pub(super) struct Idle(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    next: u64,
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// A connection among them, until it is dropped.
pub(super) struct Seat {
    idle: Arc<Idle>,
    /// Its number while it is idle.
    number: Mutex<Option<u64>>,
    leave: Arc<Notify>,
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Idle {
    /// Adds a connection, which is idle at first.
    pub(super) fn seat(self: &Arc<Idle>) -> Seat {
        let seat = Seat {
            idle: Arc::clone(self),
            number: Mutex::default(),
            leave: Arc::default(),
        };
        seat.rest();
        seat
    }

    /// Asks the connection that has been idle longest to end. False if all are at work.
    pub(super) fn dismiss(&self) -> bool {
        let oldest = locked(&self.0).waiting.pop_first();
        oldest.inspect(|(_, leave)| leave.notify_one()).is_some()
    }
}

impl Seat {
    /// Takes a request: the connection is at work, and stays.
    pub(super) fn work(&self) {
        let number = locked(&self.number).take();
        if let Some(number) = number {
            locked(&self.idle.0).waiting.remove(&number);
        }
    }

    /// Finishes a request: the connection is idle from now on.
    pub(super) fn rest(&self) {
        self.work();
        let number = {
            let mut queue = locked(&self.idle.0);
            let number = queue.next;
            queue.next += 1;
            queue.waiting.insert(number, Arc::clone(&self.leave));
            number
        };
        *locked(&self.number) = Some(number);
    }

    /// Waits until the connection has to end.
    pub(super) async fn dismissed(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.work();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Idle;

    #[test]
    fn the_longest_idle_goes_first_and_who_works_stays() {
        let idle = Arc::<Idle>::default();
        let seats: Vec<_> = (0..4).map(|_| idle.seat()).collect();
        seats[0].work();
        seats[0].rest();
        seats[1].work();
        let waiting = || idle.0.lock().unwrap().waiting.len();
        assert_eq!(waiting(), 3, "the second is at work");
        assert!(idle.dismiss(), "the third has been idle longest");
        let left: Vec<_> = idle.0.lock().unwrap().waiting.values().cloned().collect();
        let is = |place: usize, seat: usize| Arc::ptr_eq(&left[place], &seats[seat].leave);
        assert!(left.len() == 2 && is(0, 3) && is(1, 0));
        drop(seats);
        assert!(waiting() == 0 && !idle.dismiss());
    }
}
