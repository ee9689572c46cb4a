//! Calibration: the number of operations that makes a sample of the wanted length. It is done once
//! per workload, on the baseline, and frozen for all arms: a faster arm takes less time.

/// Maximum growth of a try, so that a slow first operation cannot mislead it far.
const GROWTH_MAX: f64 = 64.0;

/// Maximum time of a first try that is repeated if it already takes long.
const ODD_MAX_S: f64 = 1.0;

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
    let mut before_s = None;
    loop {
        let (mut done, mut elapsed_s) = measure(ask)?;
        // The machine may have paused: such a try is repeated, and the faster one counts.
        let each_s = elapsed_s / done.max(1) as f64;
        let is_odd = match before_s {
            None => elapsed_s < ODD_MAX_S,
            Some(before_s) => each_s > 2.0 * before_s,
        };
        if is_odd && elapsed_s > wanted_s / 2.0 {
            let (again, again_s) = measure(ask)?;
            if again_s / (again.max(1) as f64) < each_s {
                (done, elapsed_s) = (again, again_s);
            }
        }
        let done = done.max(1);
        before_s = Some(elapsed_s / done as f64);
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
    fn a_pause_of_the_machine_does_not_end_it() {
        for paused in [0, 1, 2] {
            let mut tries = 0;
            let operations = calibrate(0.1, 1, |ask| {
                let pause_s = if tries == paused { 0.06 } else { 0.0 };
                tries += 1;
                Ok::<_, ()>((ask, ask as f64 * 20e-9 + pause_s))
            });
            let seconds = operations.unwrap() as f64 * 20e-9;
            assert!((0.09..0.11).contains(&seconds), "{paused}: {seconds} s");
        }
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
