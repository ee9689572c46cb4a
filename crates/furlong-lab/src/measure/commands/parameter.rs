//! Sweeps: a parameter takes several values, and each `{name}` in a command is replaced by one of
//! them.

use serde::{Deserialize, Serialize};

/// Maximum number of combinations. A person cannot read a longer comparison.
pub const COMBINATIONS_MAX: usize = 1000;

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name, as between the braces.
    pub name: String,
    /// Values: at least one, without duplicates.
    pub values: Vec<String>,
}

/// One value for each of several parameters.
pub type Setting = Vec<(String, String)>;

impl Parameter {
    /// Parses `-P NAME MIN MAX`, with the step of `-D`. Whole numbers have a default step of 1.
    ///
    /// # Errors
    ///
    /// The mistake in the range, in one line.
    pub fn range(name: &str, min: &str, max: &str, step: Option<&str>) -> Result<Self, String> {
        let number = |text: &str| {
            Decimal::parse(text)
                .ok_or_else(|| format!("-P {name}: `{text}` is not a number such as 4 or 0.25"))
        };
        let (min, max) = (number(min)?, number(max)?);
        let step = match step {
            Some(step) => number(step)?,
            None if min.places == 0 && max.places == 0 => Decimal::ONE,
            None => {
                return Err(format!("-P {name}: it has decimals: give its step with -D"));
            }
        };
        let places = min.places.max(max.places).max(step.places);
        let [min, max, step] = [min, max, step].map(|number| number.scaled(places));
        if step <= 0 {
            return Err(format!("-P {name}: the step of -D must be more than 0"));
        } else if max < min {
            return Err(format!(
                "-P {name}: the range ends before it begins: swap its ends"
            ));
        }
        let count = (max - min) / step + 1;
        if count > COMBINATIONS_MAX as i128 {
            return Err(format!(
                "-P {name}: {count} values are too many: at most {COMBINATIONS_MAX}"
            ));
        }
        let values = (0..count).map(|place| shown(min + place * step, places));
        Self::new("-P", name, values.collect())
    }

    /// Parses `-L NAME a,b,c`. A comma behind a backslash is part of a value.
    ///
    /// # Errors
    ///
    /// The mistake in the list, in one line.
    pub fn list(name: &str, values: &str) -> Result<Self, String> {
        let mut all = vec![String::new()];
        let mut letters = values.chars();
        while let Some(letter) = letters.next() {
            match letter {
                ',' => all.push(String::new()),
                '\\' => match letters.next() {
                    Some(escaped @ (',' | '\\')) => push(&mut all, &[escaped]),
                    Some(other) => push(&mut all, &['\\', other]),
                    None => push(&mut all, &['\\']),
                },
                letter => push(&mut all, &[letter]),
            }
        }
        Self::new("-L", name, all)
    }

    fn new(option: &str, name: &str, values: Vec<String>) -> Result<Self, String> {
        if name.is_empty() || name.contains(['{', '}', '=', ',']) {
            return Err(format!(
                "{option}: `{name}` is not a valid name of a parameter"
            ));
        }
        let twice = |place: &usize| values[..*place].contains(&values[*place]);
        match (0..values.len()).find(twice) {
            Some(place) => Err(format!(
                "{option} {name}: `{}` is given twice",
                values[place]
            )),
            None => Ok(Self {
                name: name.to_owned(),
                values,
            }),
        }
    }
}

fn push(all: &mut [String], letters: &[char]) {
    if let Some(last) = all.last_mut() {
        last.extend(letters);
    }
}

/// Returns every combination; the last parameter changes fastest. Without parameters it is one
/// empty setting.
///
/// # Errors
///
/// A duplicate name, or more than [`COMBINATIONS_MAX`] combinations.
pub fn combinations(parameters: &[Parameter]) -> Result<Vec<Setting>, String> {
    let mut all = vec![Setting::new()];
    for (place, parameter) in parameters.iter().enumerate() {
        let name = &parameter.name;
        if parameters[..place].iter().any(|other| other.name == *name) {
            return Err(format!(
                "the parameter {name} is given twice: list all its values in one option"
            ));
        }
        let count = all.len().saturating_mul(parameter.values.len());
        if count > COMBINATIONS_MAX {
            return Err(format!(
                "the parameters have {count} combinations or more: at most {COMBINATIONS_MAX} are \
                 allowed"
            ));
        }
        let with = |setting: Setting| {
            let values = parameter.values.iter();
            values.map(move |value| {
                let mut longer = setting.clone();
                longer.push((name.clone(), value.clone()));
                longer
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    Ok(all)
}

/// Replaces the parameters in a command by their values.
pub fn fill(text: &str, setting: &Setting) -> String {
    let mut filled = String::new();
    let mut rest = text;
    // Goes from left to right, so that a value with braces in it is not replaced again.
    while let Some(start) = rest.find('{') {
        filled.push_str(&rest[..start]);
        let inner = &rest[start + 1..];
        let value = inner.split_once('}').and_then(|(name, after)| {
            let (_, value) = setting.iter().find(|(known, _)| known == name)?;
            Some((value, after))
        });
        match value {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = inner;
            }
        }
    }
    filled + rest
}

/// True if a command contains a parameter.
pub fn takes(text: &str, name: &str) -> bool {
    text.contains(&format!("{{{name}}}"))
}

/// Formats a setting: `threads=4,size=1`.
pub fn label(setting: &Setting) -> String {
    let parts = setting
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    parts.collect::<Vec<_>>().join(",")
}

/// A decimal number with its precision: a count of units of the last decimal place.
#[derive(Clone, Copy)]
struct Decimal {
    units: i128,
    places: u32,
}

/// Maximum number of digits of a parameter.
const DIGITS_MAX: usize = 18;

impl Decimal {
    const ONE: Self = Self {
        units: 1,
        places: 0,
    };

    fn parse(text: &str) -> Option<Self> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        let is_number = all.chars().all(|digit| digit.is_ascii_digit());
        if all.is_empty() || all.len() > DIGITS_MAX || !is_number {
            return None;
        }
        Some(Self {
            units: sign * all.parse::<i128>().ok()?,
            places: fraction.len() as u32,
        })
    }

    fn scaled(self, places: u32) -> i128 {
        // At most 18 digits and 18 places, so this cannot overflow.
        self.units * 10_i128.pow(places - self.places)
    }
}

fn shown(units: i128, places: u32) -> String {
    let (sign, units) = (if units < 0 { "-" } else { "" }, units.abs());
    if places == 0 {
        return format!("{sign}{units}");
    }
    let one = 10_i128.pow(places);
    let (whole, fraction, places) = (units / one, units % one, places as usize);
    format!("{sign}{whole}.{fraction:0places$}")
}

#[cfg(test)]
mod tests {
    use super::{COMBINATIONS_MAX, Parameter, combinations, fill, label, takes};

    fn range(min: &str, max: &str, step: Option<&str>) -> Result<Vec<String>, String> {
        Parameter::range("n", min, max, step).map(|parameter| parameter.values)
    }

    fn list(values: &str) -> Vec<String> {
        Parameter::list("n", values).unwrap().values
    }

    #[test]
    fn a_range_has_both_its_ends_where_the_step_meets_them() {
        assert_eq!(range("1", "4", None).unwrap(), ["1", "2", "3", "4"]);
        assert_eq!(range("0", "10", Some("4")).unwrap(), ["0", "4", "8"]);
        assert_eq!(range("-1", "1", None).unwrap(), ["-1", "0", "1"]);
        assert_eq!(range("7", "7", None).unwrap(), ["7"]);
        let tenths = range("0", "1", Some("0.1")).unwrap();
        assert_eq!(
            (tenths.len(), &tenths[3][..], &tenths[10][..]),
            (11, "0.3", "1.0")
        );
        assert_eq!(
            range("-0.5", "0.5", Some("0.5")).unwrap(),
            ["-0.5", "0.0", "0.5"]
        );
    }

    #[test]
    fn a_range_that_is_none_is_refused_with_what_to_do() {
        for (min, max, step, wanted) in [
            ("5", "1", None, "ends before it begins"),
            ("1", "5", Some("0"), "must be more than 0"),
            ("1", "5", Some("-1"), "must be more than 0"),
            ("1", "2.5", None, "give its step with -D"),
            ("1", "x", None, "`x` is not a number"),
            ("", "1", None, "`` is not a number"),
            ("1", "1e9", None, "`1e9` is not a number"),
            ("0", "9999", None, "10000 values are too many"),
            (
                "0",
                "999999999999999999",
                Some("0.00000000000000001"),
                "too many",
            ),
        ] {
            let found = range(min, max, step).expect_err("it is none");
            assert!(found.contains(wanted), "{found}");
        }
    }

    #[test]
    fn a_list_is_cut_at_commas_but_for_those_behind_a_backslash() {
        assert_eq!(list("gcc,clang"), ["gcc", "clang"]);
        assert_eq!(list(r"a\,b,c\\,d\n"), ["a,b", r"c\", r"d\n"]);
        assert_eq!(list(",x"), ["", "x"]);
        let twice = Parameter::list("n", "a,b,a").expect_err("it is there twice");
        assert_eq!(twice, "-L n: `a` is given twice");
        assert!(Parameter::list("a{b", "1").is_err());
    }

    #[test]
    fn combinations_are_every_value_with_every_other() {
        let all = |text: &str| Parameter::list(text, "1,2").unwrap();
        let labels: Vec<String> = combinations(&[all("a"), all("b")])
            .unwrap()
            .iter()
            .map(label)
            .collect();
        assert_eq!(labels, ["a=1,b=1", "a=1,b=2", "a=2,b=1", "a=2,b=2"]);
        assert_eq!(combinations(&[]).unwrap(), [vec![]]);
        assert!(
            combinations(&[all("a"), all("a")])
                .unwrap_err()
                .contains("twice")
        );
        let names: Vec<String> = (0..10).map(|name| format!("p{name}")).collect();
        let many: Vec<Parameter> = names.iter().map(|name| all(name)).collect();
        let refused = combinations(&many).unwrap_err();
        assert!(
            refused.contains(&format!("at most {COMBINATIONS_MAX}")),
            "{refused}"
        );
    }

    #[test]
    fn a_command_is_filled_once_and_other_braces_stay() {
        let setting = vec![
            ("a".to_owned(), "{b}".to_owned()),
            ("b".to_owned(), "2".to_owned()),
        ];
        assert_eq!(fill("x {a} {b} {c} ${d} {", &setting), "x {b} 2 {c} ${d} {");
        assert_eq!(fill("{{a}}", &setting), "{{b}}");
        assert!(takes("make -j{a}", "a") && !takes("make -j{a}", "b"));
    }
}
