//! Maps values to coordinates.

/// A linear scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report::html) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// Widening of a range of one point, as a fraction of it.
const POINT_PART: f64 = 0.01;

impl Scale {
    /// A scale that shows `low..=high` between the coordinates `from` and `to`. A range of one
    /// point is widened; an invalid range shows everything in the middle.
    pub(in crate::report::html) fn new(low: f64, high: f64, from: f64, to: f64) -> Self {
        let (low, high) = if low > high { (high, low) } else { (low, high) };
        let (low, high) = if low == high {
            let wider = match low.abs() {
                0.0 => 1.0,
                size => (size * POINT_PART).max(f64::MIN_POSITIVE),
            };
            (low - wider, high + wider)
        } else {
            (low, high)
        };
        Self {
            low,
            high,
            from,
            to,
        }
    }

    /// A scale over all `values`, with the fraction `part` of their range as room at either end. If
    /// no value is negative, no part of the scale is: a time has no room below zero.
    pub(in crate::report::html) fn over(
        values: impl IntoIterator<Item = f64>,
        part: f64,
        from: f64,
        to: f64,
    ) -> Option<Self> {
        let hull = |hull: Option<(f64, f64)>, v: f64| {
            Some(hull.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
        };
        let (low, high) = values
            .into_iter()
            .filter(|v| v.is_finite())
            .fold(None, hull)?;
        if low == 0.0 && high == 0.0 {
            return Some(Self::new(0.0, 1.0, from, to));
        }
        let room = (high / 2.0 - low / 2.0) * 2.0 * part;
        let least = if low < 0.0 { f64::NEG_INFINITY } else { 0.0 };
        let (wide_low, wide_high) = ((low - room).max(least), high + room);
        let whole = wide_low.is_finite() && wide_high.is_finite();
        Some(if whole {
            Self::new(wide_low, wide_high, from, to)
        } else {
            Self::new(low, high, from, to)
        })
    }

    /// The ends of the range.
    pub(in crate::report::html) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The coordinate of a value; a value outside the range is put at the end.
    pub(in crate::report::html) fn at(&self, value: f64) -> f64 {
        // In halves: the difference of the largest numbers would overflow.
        let part = (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        let part = if part.is_finite() {
            part.clamp(0.0, 1.0)
        } else {
            0.5
        };
        self.from + (self.to - self.from) * part
    }

    /// True if the value is inside the range.
    pub(in crate::report::html) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn the_ends_of_the_range_lie_at_the_ends_of_the_place() {
        let scale = Scale::new(10.0, 20.0, 100.0, 200.0);
        assert_eq!(
            (scale.at(10.0), scale.at(15.0), scale.at(20.0)),
            (100.0, 150.0, 200.0)
        );
        assert_eq!(scale.at(99.0), 200.0);
        assert!(!scale.holds(99.0));
    }

    #[test]
    fn a_point_lies_in_the_middle_however_small_or_great() {
        for value in [0.0, 5.0, -5.0, f64::MAX, f64::MIN_POSITIVE] {
            let scale = Scale::over([value], 0.05, 0.0, 100.0).unwrap();
            let place = scale.at(value);
            assert!((0.0..=100.0).contains(&place), "{value}: {place}");
        }
        let scale = Scale::over([5.0], 0.05, 0.0, 100.0).unwrap();
        assert!((scale.at(5.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn a_scale_of_values_that_are_not_negative_has_no_negative_part() {
        for values in [[0.0, 0.0], [0.0, 7.0], [f64::MIN_POSITIVE; 2], [1e-9, 4.0]] {
            let scale = Scale::over(values, 0.05, 0.0, 100.0).unwrap();
            let (low, high) = scale.ends();
            assert!(low >= 0.0 && high > low, "{values:?}: {low}..{high}");
        }
        let scale = Scale::over([-1.0, 4.0], 0.05, 0.0, 100.0).unwrap();
        assert!(scale.ends().0 < -1.0);
    }

    #[test]
    fn nothing_finite_is_no_scale() {
        assert_eq!(Scale::over([f64::NAN, f64::INFINITY], 0.05, 0.0, 1.0), None);
    }
}
