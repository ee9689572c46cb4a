//! Numbers for people: one unit and one number of decimals for values that are compared.

use clap::ValueEnum;

use super::text::shorten;
use crate::ministat::general::trimmed;

/// Units of one family, each with its size in terms of the first, ascending.
type Family = &'static [(&'static str, f64)];

const TIME: Family = &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
const BYTES: Family = &[
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
const BYTE_RATE: Family = &[
    ("B/s", 1.0),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
    ("TiB/s", 1_099_511_627_776.0),
];
const PREFIX: Family = &[
    ("", 1.0),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
];

/// Plain counts get a prefix from here on; below it, all digits are easier to read.
const PREFIX_FROM: f64 = 1e5;
/// Values further apart than this factor get a unit each: in a shared one the least would have two
/// digits left.
const ONE_UNIT_SPREAD: f64 = 50.0;
/// Digits that the greatest value of a scale shows.
const SIGNIFICANT: i32 = 4;
/// From here on a number is written with an exponent.
const PLAIN_BELOW: f64 = 1e15;
/// Below this, too.
const PLAIN_FROM: f64 = 1e-4;
/// Columns that a unit may take.
const UNIT_COLUMNS: usize = 12;

/// A unit of time that the user chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeUnit {
    /// µs.
    Microsecond,
    /// ms.
    Millisecond,
    /// s.
    Second,
}

impl TimeUnit {
    /// The unit in which a number of seconds has digits before its point.
    pub(super) fn fitting(seconds: f64) -> Self {
        match seconds {
            s if s < 1e-3 => Self::Microsecond,
            s if s < 1.0 => Self::Millisecond,
            _ => Self::Second,
        }
    }

    /// Its symbol.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Microsecond => "µs",
            Self::Millisecond => "ms",
            Self::Second => "s",
        }
    }

    /// A number of seconds in this unit.
    pub(super) fn number(self, seconds: f64) -> String {
        match self {
            Self::Microsecond => format!("{:.1}", seconds * 1e6),
            Self::Millisecond => format!("{:.1}", seconds * 1e3),
            Self::Second => format!("{seconds:.3}"),
        }
    }
}

/// The common format of a metric's values: digits line up and can be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    unit: String,
    symbol: String,
    factor: f64,
    digits: Digits,
    each: bool,
}

/// Format of a number's digits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Digits {
    /// This many decimals.
    Fixed(usize),
    /// With an exponent: too small or too great for anything else.
    Exponent,
}

impl Scale {
    /// The scale for `values` of `unit`; values that are not finite do not count.
    pub fn of(unit: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (mut greatest, mut least, mut whole) = (0.0_f64, f64::INFINITY, true);
        for value in values.into_iter().filter(|v| v.is_finite()) {
            greatest = greatest.max(value.abs());
            if value != 0.0 {
                least = least.min(value.abs());
            }
            whole &= value.fract() == 0.0;
        }
        let unit = shorten(unit, UNIT_COLUMNS);
        let (symbol, factor) = step(&unit, greatest);
        let scaled = greatest / factor;
        let digits = match scaled {
            _ if whole && factor == 1.0 => Digits::Fixed(0),
            s if s > 0.0 && s < PLAIN_FROM => Digits::Exponent,
            s => Digits::Fixed(decimals(s)),
        };
        let each = least.is_finite() && greatest / least > ONE_UNIT_SPREAD;
        Self {
            unit,
            symbol,
            factor,
            digits,
            each,
        }
    }

    /// The scale in a unit of time, if these are times; else as it is.
    pub fn in_time(self, wanted: Option<TimeUnit>, values: impl IntoIterator<Item = f64>) -> Self {
        let size = |symbol: &str| TIME.iter().find(|(name, _)| *name == symbol);
        let Some((wanted, (_, own))) = wanted.zip(size(&self.unit)) else {
            return self;
        };
        let (symbol, size) = size(wanted.symbol()).copied().unwrap_or(TIME[0]);
        let factor = size / own;
        let greatest = values.into_iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        Self {
            symbol: symbol.to_owned(),
            factor,
            digits: Digits::Fixed(decimals(greatest / factor)),
            each: false,
            ..self
        }
    }

    /// The unit that all values share, with its prefix. Empty for a plain count, and if each value
    /// has a unit of its own.
    pub fn symbol(&self) -> &str {
        if self.each { "" } else { &self.symbol }
    }

    /// The unit of an axis, which shows all values, even of very different sizes.
    pub fn axis(&self) -> &str {
        &self.symbol
    }

    /// The value in the unit that [`Scale::axis`] names.
    pub fn scaled(&self, value: f64) -> f64 {
        value / self.factor
    }

    /// The value with its unit, as `74.8 ns`.
    pub fn show(&self, value: f64) -> String {
        if !value.is_finite() {
            return fixed(value, 0);
        }
        if self.each {
            return Self::of(&self.unit, [value]).show(value);
        }
        join(&self.number(value), &self.symbol)
    }

    /// The value without the unit that [`Scale::symbol`] names.
    pub fn number(&self, value: f64) -> String {
        if self.each {
            return self.show(value);
        }
        match self.digits {
            _ if !value.is_finite() => fixed(value, 0),
            Digits::Exponent => format!("{:.3e}", self.scaled(value)),
            Digits::Fixed(decimals) => fixed(self.scaled(value), decimals),
        }
    }
}

/// A number and its unit with a space between them, if there is a unit.
pub(crate) fn join(number: &str, symbol: &str) -> String {
    if symbol.is_empty() {
        number.to_owned()
    } else {
        format!("{number} {symbol}")
    }
}

/// The greatest unit of a family that a size reaches, or its smallest.
fn fitting(family: Family, size: f64) -> (&'static str, f64) {
    let mut from_greatest = family.iter().rev();
    let fits = from_greatest.find(|(_, unit)| size >= *unit);
    *fits.unwrap_or(&family[0])
}

/// The unit in which `greatest` has few digits, and its size in `unit`.
fn step(unit: &str, greatest: f64) -> (String, f64) {
    let unit = match unit {
        "us" => "µs",
        "bytes" => "B",
        "1" => "",
        other => other,
    };
    for family in [TIME, BYTES, BYTE_RATE] {
        if let Some(&(_, own)) = family.iter().find(|(name, _)| *name == unit) {
            let base = greatest * own;
            if base == 0.0 {
                return (unit.to_owned(), 1.0);
            }
            let (symbol, size) = fitting(family, base);
            return (symbol.to_owned(), size / own);
        }
    }
    let fits = match greatest {
        g if g < PREFIX_FROM => PREFIX[0],
        g => fitting(PREFIX, g),
    };
    let symbol = match unit.strip_prefix('1') {
        Some(per) if per.starts_with('/') => format!("{}{per}", fits.0),
        _ if fits.0.is_empty() => unit.to_owned(),
        _ => join(fits.0, unit).trim_end().to_owned(),
    };
    (symbol, fits.1)
}

/// Decimals that give `greatest` its significant digits.
fn decimals(greatest: f64) -> usize {
    if greatest == 0.0 || !greatest.is_finite() {
        return 0;
    }
    let digits = SIGNIFICANT - 1 - exponent(greatest);
    usize::try_from(digits.clamp(0, 9)).unwrap_or(0)
}

/// The power of ten at or below `value`.
fn exponent(value: f64) -> i32 {
    // A logarithm of an f64 is below 309.
    value.abs().log10().floor() as i32
}

/// A number with this many decimals and a comma between thousands; `n/a` if it is not finite.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    if value.abs() >= PLAIN_BELOW {
        return format!("{value:.3e}");
    }
    let digits = format!("{:.decimals$}", value.abs());
    let zero = digits.bytes().all(|b| b == b'0' || b == b'.');
    let sign = if value < 0.0 && !zero { "-" } else { "" };
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{dot}{fraction}", thousands(whole))
}

/// Digits with a comma between thousands.
fn thousands(digits: &str) -> String {
    if digits.len() <= 4 {
        return digits.to_owned();
    }
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with a comma between thousands.
pub(crate) fn count(n: u64) -> String {
    thousands(&n.to_string())
}

/// A number of things, whose name gets an `s` unless there is one.
pub(crate) fn counted(n: u64, thing: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(n))
}

/// A percentage that the user chose or that is only a magnitude: two digits, no trailing zeros.
pub(crate) fn percent(value: f64) -> String {
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    let digits = usize::try_from((1 - exponent_or_zero(value)).clamp(0, 6)).unwrap_or(0);
    let text = fixed(value, digits);
    format!("{} %", trimmed(&text))
}

/// A percentage as the user chose it, with all its digits.
pub fn chosen_percent(value: f64) -> String {
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    format!("{} %", trimmed(&fixed(value, 4)))
}

/// A coefficient of variation for a column under `%`: two digits, so that the points line up.
pub(crate) fn spread(value: f64) -> String {
    let digits = if value.abs() >= 9.95 {
        0
    } else {
        2 - usize::from(value.abs() >= 0.995)
    };
    fixed(value, digits)
}

fn exponent_or_zero(value: f64) -> i32 {
    if value == 0.0 { 0 } else { exponent(value) }
}

/// Decimals of an effect and its interval: as many as the interval's width supports. For an exact
/// effect, two digits of the effect and of the part of the baseline that it leaves.
pub fn effect_decimals(effect: f64, interval: Option<[f64; 2]>) -> usize {
    let half = match interval {
        Some([low, high]) if low.is_finite() && high.is_finite() => (high - low).abs() / 2.0,
        _ if effect < 0.0 && effect > -100.0 => (-effect).min(100.0 + effect) / 50.0,
        _ => (effect / 50.0).abs(),
    };
    match half {
        h if h >= 10.0 => 0,
        h if h >= 0.1 => 1,
        h if h >= 0.01 => 2,
        h if h > 0.0 => 3,
        _ => 1,
    }
}

/// A number with its sign, `+` included: its direction cannot be overlooked.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    let zero = !text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if value > 0.0 && value.is_finite() && !zero {
        format!("+{text}")
    } else {
        text
    }
}

/// Formats a change with its sign: `-12.3 %`.
pub fn signed_effect(pct: f64, interval: Option<[f64; 2]>) -> String {
    format!("{} %", signed(pct, effect_decimals(pct, interval)))
}

/// Formats the interval of a change, with as many decimals: `[-13.1, -11.5]`.
pub fn signed_interval(pct: f64, interval: Option<[f64; 2]>) -> Option<String> {
    let decimals = effect_decimals(pct, interval);
    let ends = interval?.map(|end| signed(end, decimals));
    Some(format!("[{}]", ends.join(", ")))
}

/// Formats a change and its interval, if it has one: `-12.3 % [-13.1, -11.5]`.
pub fn change(pct: f64, interval: Option<[f64; 2]>) -> String {
    let effect = signed_effect(pct, interval);
    match signed_interval(pct, interval) {
        Some(interval) => format!("{effect} {interval}"),
        None => effect,
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, chosen_percent, effect_decimals, fixed, percent, signed, spread};

    #[test]
    fn values_of_a_metric_share_unit_and_decimals() {
        let scale = Scale::of("ns", [101.42, 74.8]);
        assert_eq!(scale.show(101.42), "101.4 ns");
        assert_eq!(scale.show(74.8), "74.8 ns");
        let scale = Scale::of("s", [0.0021, 0.0009]);
        assert_eq!(scale.show(0.0021), "2.100 ms");
        assert_eq!(scale.show(0.0009), "0.900 ms");
        assert_eq!(Scale::of("KiB", [2048.0]).show(2048.0), "2.000 MiB");
        assert_eq!(Scale::of("us", [2e6]).show(2e6), "2.000 s");
    }

    #[test]
    fn whole_counts_have_no_decimals_and_large_ones_a_prefix() {
        assert_eq!(Scale::of("1", [12.0, 3.0]).show(3.0), "3");
        assert_eq!(Scale::of("1", [15.24, 4.66]).show(4.66), "4.66");
        assert_eq!(Scale::of("1", [71_512_345.0]).show(71_512_345.0), "71.51 M");
        assert_eq!(
            Scale::of("ops/s", [1_055_123.0]).show(1_055_123.0),
            "1.055 M ops/s"
        );
        assert_eq!(Scale::of("1", [12_345.0]).show(12_345.0), "12,345");
        assert_eq!(
            Scale::of("1/s", [1_109_800.0]).show(1_109_800.0),
            "1.110 M/s"
        );
    }

    #[test]
    fn values_far_apart_each_get_their_own_unit() {
        let scale = Scale::of("ns", [3.0, 5e9]);
        assert_eq!(scale.show(3.0), "3 ns");
        assert_eq!(scale.number(5e9), "5.000 s");
        assert_eq!((scale.symbol(), scale.axis()), ("", "s"));
    }

    #[test]
    fn what_is_no_number_is_said_and_nothing_panics() {
        assert_eq!(Scale::of("ns", [f64::NAN]).show(f64::NAN), "n/a");
        assert_eq!(fixed(f64::INFINITY, 2), "n/a");
        assert_eq!(fixed(-0.0001, 2), "0.00");
        assert_eq!(fixed(f64::MAX, 1), "1.798e308");
        assert_eq!(percent(f64::NAN), "n/a");
        assert_eq!(
            Scale::of("B", [f64::MIN_POSITIVE]).show(f64::MIN_POSITIVE),
            "2.225e-308 B"
        );
    }

    #[test]
    fn percentages_have_the_digits_that_they_deserve() {
        assert_eq!(percent(1.0), "1 %");
        assert_eq!(percent(0.4), "0.4 %");
        assert_eq!(percent(0.374), "0.37 %");
        assert_eq!(percent(12.34), "12 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(1500.0), "1500 %");
        assert_eq!(effect_decimals(-26.1, Some([-26.8, -25.4])), 1);
        assert_eq!(effect_decimals(0.31, Some([0.26, 0.36])), 2);
        assert_eq!(effect_decimals(-51.7, None), 1);
        assert_eq!(effect_decimals(-99.0, None), 2);
        assert_eq!(effect_decimals(-99.99, None), 3);
        assert_eq!(chosen_percent(12.5), "12.5 %");
        assert_eq!(spread(0.844), "0.84");
        assert_eq!(spread(2.0), "2.0");
        assert_eq!(spread(12.0), "12");
        assert_eq!(effect_decimals(200.0, Some([100.0, 300.0])), 0);
        assert_eq!(signed(0.31, 2), "+0.31");
        assert_eq!(signed(0.0001, 1), "0.0");
        assert_eq!(signed(-26.14, 1), "-26.1");
    }
}
