//! An observed share with its interval.

use super::distribution::normal_upper;

/// Wilson's score interval of a share, for `found` of `all`. It stays within 0 and 1, and has a
/// width even for none or all.
///
/// # Shapes
///
/// `level` is, for example, 0.95. For `all == 0` the share can be anything.
///
/// # Source
///
/// Wilson, JASA 1927.
pub fn interval(found: u64, all: u64, level: f64) -> [f64; 2] {
    let (n, z) = (all as f64, normal_upper((1.0 - level) / 2.0));
    let share = found as f64 / n;
    let weight = 1.0 + z * z / n;
    let middle = (share + z * z / (2.0 * n)) / weight;
    let half = z / weight * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    // For none of none both ends are NaN here, which becomes 0 and 1.
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::interval;

    fn close(found: u64, all: u64, wanted: [f64; 2]) {
        let ends = interval(found, all, 0.95);
        for (end, wanted) in ends.iter().zip(wanted) {
            assert!((end - wanted).abs() < 5e-6, "{found} of {all}: {ends:?}");
        }
    }

    #[test]
    fn intervals_agree_with_the_closed_form_computed_elsewhere() {
        close(0, 10, [0.0, 0.277_533]);
        close(10, 10, [0.722_467, 1.0]);
        close(5, 100, [0.021_544, 0.111_750]);
        close(50, 100, [0.403_832, 0.596_168]);
        close(0, 0, [0.0, 1.0]);
    }
}
