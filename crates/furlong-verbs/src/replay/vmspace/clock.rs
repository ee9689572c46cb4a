//! Operations, timed one by one and added up by class.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use furlong_spec::vmspace::trace::{Class, Watch};

/// Clock readings for measuring the cost of one.
const LOOKS: u32 = 1024;

/// Times each operation. A clock reading takes about as long as an operation does, so its cost is
/// subtracted.
pub(super) struct Clock {
    look: Duration,
    times: BTreeMap<Class, Duration>,
}

impl Clock {
    /// Makes a clock with no times yet.
    pub(super) fn new() -> Self {
        let looks = (0..LOOKS).map(|_| black_box(Instant::now()).elapsed());
        Self {
            look: looks.min().unwrap_or_default(),
            times: BTreeMap::new(),
        }
    }

    /// Total time of the operations of each class.
    pub(super) fn times(self) -> BTreeMap<Class, Duration> {
        self.times
    }
}

impl Watch for Clock {
    fn carry_out<T>(&mut self, class: Class, operation: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = operation();
        let time = begun.elapsed().saturating_sub(self.look);
        *self.times.entry(class).or_default() += time;
        done
    }

    fn asks_choice(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use furlong_spec::vmspace::trace::{Class, Watch};

    use super::Clock;

    #[test]
    fn operations_are_carried_out_and_booked_by_class() {
        let mut clock = Clock::new();
        assert_eq!(clock.carry_out(Class::Map, || 7), 7);
        clock.carry_out(Class::Brk, || ());
        clock.carry_out(Class::Map, || ());
        let classes: Vec<Class> = clock.times().into_keys().collect();
        assert_eq!(classes, [Class::Map, Class::Brk]);
    }
}
