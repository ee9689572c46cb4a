//! Connections without a request in progress, the one that has waited longest first. It makes room
//! for a new connection, so that slow clients cannot keep others out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The idle connections, each by the notice that asks it to end.
#[derive(Default)]
pub(super) struct Idle(Mutex<VecDeque<Arc<Notify>>>);

/// A connection among them, until it is dropped.
pub(super) struct Seat {
    idle: Arc<Idle>,
    leave: Arc<Notify>,
}

impl Idle {
    /// Adds a connection, which is idle at first.
    pub(super) fn seat(self: &Arc<Idle>) -> Seat {
        let seat = Seat {
            idle: Arc::clone(self),
            leave: Arc::default(),
        };
        seat.rest();
        seat
    }

    /// Asks the connection that has been idle longest to end. False if all are at work.
    pub(super) fn dismiss(&self) -> bool {
        let oldest = self.waiting().pop_front();
        oldest.inspect(|leave| leave.notify_one()).is_some()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Takes a request: the connection is at work, and stays.
    pub(super) fn work(&self) {
        let is_other = |leave: &Arc<Notify>| !Arc::ptr_eq(leave, &self.leave);
        self.idle.waiting().retain(is_other);
    }

    /// Finishes a request: the connection is idle from now on.
    pub(super) fn rest(&self) {
        self.work();
        self.idle.waiting().push_back(Arc::clone(&self.leave));
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
        let waiting = || idle.waiting().len();
        assert_eq!(waiting(), 3, "the second is at work");
        assert!(idle.dismiss(), "the third has been idle longest");
        let left: Vec<_> = idle.waiting().iter().cloned().collect();
        let is = |place: usize, seat: usize| Arc::ptr_eq(&left[place], &seats[seat].leave);
        assert!(left.len() == 2 && is(0, 3) && is(1, 0));
        drop(seats);
        assert!(waiting() == 0 && !idle.dismiss());
    }
}
