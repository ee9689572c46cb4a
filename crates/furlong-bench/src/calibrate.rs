//! Calibration: the number of operations that makes a sample of the wanted length. It is done once
//! per workload, on the baseline, and frozen for all arms: a faster arm takes less time.

/// Maximum growth of a try, so that a slow first operation cannot mislead it far.
const GROWTH_MAX: f64 = 64.0;

/// Maximum number of operations, however fast they are.
const OPERATIONS_MAX: u64 = 1 << 44;

/// Finds the number of operations that takes about `wanted_s` seconds.
///
/// # Shapes
///
/// `measure` runs a number of operations, `first` at the first try, and returns the number done (an
/// arm may round up to whole rounds) and their seconds. The result is at least 1.
///
/// # Errors
///
/// The first error of `measure`.
pub fn calibrate<E>(
    wanted_s: f64,
    first: u64,
    mut measure: impl FnMut(u64) -> Result<(u64, f64), E>,
) -> Result<u64, E> {
    let mut ask = first;
    loop {
        let (done, elapsed_s) = measure(ask)?;
        let done = done.max(1);
        let ratio = wanted_s / elapsed_s.max(1e-9);
        if ratio <= 2.0 || done >= OPERATIONS_MAX {
            return Ok(scaled(done, ratio));
        }
        // Aims a little short of the target: the last step is a division, not another try.
        ask = scaled(done, (0.8 * ratio).min(GROWTH_MAX)).max(ask + 1);
    }
}

fn scaled(operations: u64, factor: f64) -> u64 {
    ((operations as f64 * factor).round() as u64).clamp(1, OPERATIONS_MAX)
}

#[cfg(test)]
mod tests {
    use super::{OPERATIONS_MAX, calibrate};

    /// Calibrates a subject that takes `ns` per operation, `setup_ns` before, and rounds up to
    /// `round`.
    fn found(wanted_s: f64, ns: f64, setup_ns: f64, round: u64) -> (u64, u32) {
        let mut tries = 0;
        let operations = calibrate(wanted_s, 256, |ask| {
            tries += 1;
            let done = ask.next_multiple_of(round);
            Ok::<_, ()>((done, (setup_ns + done as f64 * ns) * 1e-9))
        });
        (operations.unwrap(), tries)
    }

    #[test]
    fn it_finds_the_wanted_length_in_a_few_tries() {
        for ns in [0.5, 20.0, 300.0, 10_000.0] {
            let (operations, tries) = found(0.2, ns, 0.0, 1);
            let seconds = operations as f64 * ns * 1e-9;
            assert!((0.19..0.21).contains(&seconds), "{ns} ns: {seconds} s");
            assert!(tries <= 7, "{ns} ns: {tries} tries");
        }
    }

    #[test]
    fn whole_rounds_do_not_mislead_it() {
        let (operations, _) = found(0.2, 200.0, 0.0, 65_536);
        assert!((900_000..1_100_000).contains(&operations), "{operations}");
    }

    #[test]
    fn an_operation_longer_than_the_batch_is_run_once() {
        assert_eq!(found(0.001, 1e9, 0.0, 1).0, 1);
    }

    #[test]
    fn operations_that_take_no_time_end_at_the_limit() {
        assert_eq!(found(1e9, 0.0, 0.0, 1).0, OPERATIONS_MAX);
    }

    #[test]
    fn an_error_ends_it() {
        assert_eq!(calibrate(1.0, 1, |_| Err("no")), Err("no"));
    }
}
