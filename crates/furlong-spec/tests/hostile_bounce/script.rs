//! Scripts: the steps of a caller, drawn from a seed.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use furlong::bounce::{
    Allocation, Area, Both, Device, FromDevice, Mapped, Order, ToDevice, Waiting,
};
use furlong_spec::hostile::user_code;
use furlong_spec::random::Random;

use super::memory::Hostile;
use super::{Arms, Tested};

pub(crate) const STEPS: usize = 14;
pub(crate) const HELD: usize = 8;

/// The value to forget, and the step after which to forget it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forget {
    pub(crate) step: usize,
    pub(crate) which: usize,
}

/// A pool that returns to its cell on drop, even after a panic.
pub(crate) struct Kept<'c, T> {
    value: Option<T>,
    cell: &'c Cell<Option<T>>,
}

impl<'c, T> Kept<'c, T> {
    pub(crate) fn new(value: T, cell: &'c Cell<Option<T>>) -> Self {
        let value = Some(value);
        Self { value, cell }
    }

    pub(crate) fn get(&self) -> &T {
        self.value.as_ref().expect("it is here until the end")
    }
}

impl<T> Drop for Kept<'_, T> {
    fn drop(&mut self) {
        self.cell.set(self.value.take());
    }
}

/// A waker whose wake and drop are user code.
struct Bell;

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        user_code("Wake::wake");
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        user_code("Waker::drop");
    }
}

type Of<'a, B, O, A> = Mapped<'a, B, Arc<Hostile>, Arms<O, A>>;

/// A value that a caller holds. The kinds and slots of all values are the state of an attack.
enum Value<'a, O: Order, A: Area> {
    To(Of<'a, ToDevice<'static>, O, A>),
    From(Of<'a, FromDevice<'static>, O, A>),
    Both(Of<'a, Both<'static>, O, A>),
    Memory(Allocation<'a, Arc<Hostile>, Arms<O, A>>),
    Waiting(Waiting<'a, ToDevice<'static>, Arc<Hostile>, Arms<O, A>>),
}

impl<O: Order, A: Area> Value<'_, O, A> {
    fn kind(&self) -> &'static str {
        match self {
            Self::To(_) | Self::From(_) | Self::Both(_) => "bounce::Mapped",
            Self::Memory(_) => "bounce::Allocation",
            Self::Waiting(_) => "bounce::Waiting",
        }
    }

    fn digest(&self) -> u64 {
        match self {
            Self::To(one) => 1 + 8 * u64::from(one.slots()),
            Self::From(one) => 2 + 8 * u64::from(one.slots()),
            Self::Both(one) => 3 + 8 * u64::from(one.slots()),
            Self::Memory(one) => 4 + 8 * one.len() as u64,
            Self::Waiting(_) => 5,
        }
    }
}

static BYTES: [u8; 9000] = [3; 9000];

fn room(len: usize) -> &'static mut [u8] {
    vec![0; len].leak()
}

/// The steps that follow from a seed.
pub(crate) struct Script(Random);

impl Script {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// Runs all steps, and drops all values. Before each step calls `say` with the step and the
    /// state. Returns the kind of the forgotten value, and the state before it.
    pub(crate) fn run<'a, O: Order, A: Area>(
        mut self,
        pool: &'a Tested<O, A>,
        device: &'a Device,
        forget: Option<Forget>,
        mut say: impl FnMut(u64, u64),
    ) -> Option<(&'static str, u64)> {
        let mut held: Vec<Value<'a, O, A>> = Vec::new();
        let mut lost = None;
        for step in 0..STEPS {
            let state = held.iter().fold(0_u64, |state, value| {
                state.wrapping_mul(1_000_003) ^ value.digest()
            });
            let which = self.0.below(16);
            let len = [1, 2048, 2049, 5000, 9000][self.0.index(5)];
            say(which * 16 + len as u64 % 13, state);
            if which < 8 {
                if held.len() < HELD {
                    held.extend(take(pool, device, which, len));
                }
            } else if which < 14 {
                give(&mut held, &mut self.0, which);
            } else {
                tend(pool, which);
            }
            if let Some(forget) = forget
                && forget.step == step
                && forget.which < held.len()
            {
                let value = held.remove(forget.which);
                lost = Some((value.kind(), state));
                std::mem::forget(value);
                break;
            }
        }
        // One at a time: each drop may panic, and the others are dropped nevertheless.
        while let Some(value) = held.pop() {
            say(300 + value.digest(), held.len() as u64);
            drop(value);
        }
        lost
    }
}

/// Obtains a value.
fn take<'a, O: Order, A: Area>(
    pool: &'a Tested<O, A>,
    device: &'a Device,
    which: u64,
    len: usize,
) -> Option<Value<'a, O, A>> {
    let bytes = ToDevice(&BYTES[..len]);
    match which {
        0 | 1 => pool.map(device, bytes).ok().map(Value::To),
        2 => {
            let mapped = pool.map(device, FromDevice(room(len)));
            mapped.ok().map(Value::From)
        }
        3 => pool.map(device, Both(room(len))).ok().map(Value::Both),
        4 => pool.allocate(device, len).ok().map(Value::Memory),
        5 | 6 => {
            let mut waiting = pool.wait(device, bytes);
            let waker = Waker::from(Arc::new(Bell));
            let polled = Pin::new(&mut waiting).poll(&mut Context::from_waker(&waker));
            // Dropped here, because a panic in a drop at the end of the scope would leak the
            // result.
            drop(waker);
            match polled {
                Poll::Ready(done) => done.ok().map(Value::To),
                Poll::Pending => Some(Value::Waiting(waiting)),
            }
        }
        _ => {
            let mut left = 2;
            let mapped = pool.wait(device, bytes).block_while(|| {
                user_code("pause");
                // The pause callback may use the pool.
                drop(pool.map(device, ToDevice(&[1])));
                left -= 1;
                if left > 0 {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            mapped.ok().map(Value::To)
        }
    }
}

/// Uses a value, or uses it up.
fn give<O: Order, A: Area>(held: &mut Vec<Value<'_, O, A>>, random: &mut Random, which: u64) {
    if held.is_empty() {
        return;
    }
    let at = random.index(held.len());
    if which == 13 {
        match &mut held[at] {
            Value::Both(one) => {
                assert!(one.sync_for_device(0..1).is_ok() && one.sync_for_cpu(0..1).is_ok());
                assert!(one.sync_for_cpu(0..usize::MAX).is_err());
            }
            Value::Memory(one) => {
                assert!(one.write(0, &[7]).is_ok());
                assert!(one.write(usize::MAX, &[7]).is_err());
            }
            Value::Waiting(one) => {
                let waker = Waker::from(Arc::new(Bell));
                let polled = Pin::new(one).poll(&mut Context::from_waker(&waker));
                drop(waker);
                if let Poll::Ready(done) = polled {
                    held.remove(at);
                    held.extend(done.ok().map(Value::To));
                }
            }
            _ => {}
        }
        return;
    }
    match held.remove(at) {
        Value::From(one) if which == 12 => one.finish(usize::MAX),
        Value::Both(one) if which == 12 => one.discard(),
        value => drop(value),
    }
}

/// Calls a method that does not concern a mapping.
fn tend<O: Order, A: Area>(pool: &Tested<O, A>, which: u64) {
    if which == 14 {
        // Refused if the memory lies or a limit is reached.
        let _ = pool.grow();
    } else {
        pool.tend();
        let _ = pool.counters();
        let unclaimed = pool.unclaimed(|_| user_code("unclaimed"));
        assert_eq!(unclaimed, 0, "nothing was restored");
    }
}
