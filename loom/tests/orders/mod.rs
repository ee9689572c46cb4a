//! Runs a loom model in every order of its threads.
#![forbid(unsafe_code)]

use std::sync::Arc;

use loom::thread;

/// The code of one thread of a model.
pub(crate) type Body<W> = Box<dyn FnOnce(&W)>;

/// The initial state of a model: the threads' shared data, and the code of each thread.
pub(crate) type Start<W, const N: usize> = (Arc<W>, [Body<W>; N]);

/// A [`Body`] of a closure.
pub(crate) fn body<W>(run: impl FnOnce(&W) + 'static) -> Body<W> {
    Box::new(run)
}

/// Runs a model once for each order in which its threads can be spawned.
///
/// Loom explores from the order that it meets first, and goes back only to the last access of a
/// word that conflicts with the present one. So its coverage depends on that order.
pub(crate) fn model<W: 'static, const N: usize>(
    make: impl Fn() -> Start<W, N> + Copy + Send + Sync + 'static,
    at_the_end: fn(&W),
) {
    let mut builder = loom::model::Builder::new();
    // Some models take more steps than loom expects.
    builder.max_branches = 100_000;
    explore(&builder, make, at_the_end);
}

/// The same with the settings of `builder`.
pub(crate) fn explore<W: 'static, const N: usize>(
    builder: &loom::model::Builder,
    make: impl Fn() -> Start<W, N> + Copy + Send + Sync + 'static,
    at_the_end: fn(&W),
) {
    for order in orders(N) {
        builder.check(move || {
            let (world, threads) = make();
            let mut threads = threads.map(Some);
            let running: Vec<_> = order
                .iter()
                .map(|&index| {
                    let run = threads[index].take().unwrap();
                    let world = Arc::clone(&world);
                    thread::spawn(move || run(&world))
                })
                .collect();
            for thread in running {
                thread.join().unwrap();
            }
            at_the_end(&world);
        });
    }
}

/// All orders of `0..n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else {
        return vec![vec![]];
    };
    let mut all = Vec::new();
    for shorter in orders(last) {
        for at in 0..=last {
            let mut order = shorter.clone();
            order.insert(at, last);
            all.push(order);
        }
    }
    all
}
