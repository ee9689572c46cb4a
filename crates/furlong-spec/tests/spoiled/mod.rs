//! Saved states with random damage, in their numbers and lists or in their text.
#![forbid(unsafe_code)]

use furlong_spec::Random;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn count(value: &Value, is_one: fn(&Value) -> bool) -> usize {
    let inside: usize = match value {
        Value::Array(values) => values.iter().map(|value| count(value, is_one)).sum(),
        Value::Object(fields) => fields.values().map(|value| count(value, is_one)).sum(),
        _ => 0,
    };
    inside + usize::from(is_one(value))
}

fn nth<'v>(
    value: &'v mut Value,
    is_one: fn(&Value) -> bool,
    left: &mut usize,
) -> Option<&'v mut Value> {
    if is_one(value) {
        if *left == 0 {
            return Some(value);
        }
        *left -= 1;
    }
    match value {
        Value::Array(values) => values.iter_mut().find_map(|value| nth(value, is_one, left)),
        Value::Object(fields) => fields
            .values_mut()
            .find_map(|value| nth(value, is_one, left)),
        _ => None,
    }
}

/// A random part of a value.
fn any<'v>(
    random: &mut Random,
    value: &'v mut Value,
    is_one: fn(&Value) -> bool,
) -> Option<&'v mut Value> {
    let count = count(value, is_one);
    nth(value, is_one, &mut random.index(count.max(1)))
}

/// Another number, near or far.
fn other(random: &mut Random, number: u64, step: u64) -> u64 {
    match random.below(9) {
        0 => 0,
        1 => u64::MAX,
        2 => random.next(),
        3 => number ^ (1 << random.below(64)),
        4 => number.wrapping_add(1),
        5 => number.wrapping_sub(1),
        6 => number.wrapping_add(step),
        7 => number.wrapping_sub(step),
        _ => number.wrapping_mul(2),
    }
}

/// Changes a number; or less often swaps, removes or repeats an element of a list, or moves both
/// ends of a range. Ranges begin at multiples of `step`.
fn spoil(random: &mut Random, value: &mut Value, step: u64) {
    match random.below(8) {
        0 => {
            let range = any(random, value, |value| value.get("start").is_some());
            let (moved, Some(range)) = (random.below(64) * step, range) else {
                return;
            };
            for name in ["start", "end", "last"] {
                if let Some(Value::Number(end)) = range.get_mut(name) {
                    *end = end.as_u64().unwrap_or(0).wrapping_add(moved).into();
                }
            }
        }
        1 | 2 => {
            let is_list = |value: &Value| value.as_array().is_some_and(|values| !values.is_empty());
            let Some(Value::Array(list)) = any(random, value, is_list) else {
                return;
            };
            let [one, two] = [(); 2].map(|()| random.index(list.len()));
            match random.below(3) {
                0 => list.swap(one, two),
                1 => drop(list.remove(one)),
                _ => list.insert(one, list[two].clone()),
            }
        }
        _ => match any(random, value, |value| value.is_u64() || value.is_boolean()) {
            Some(Value::Bool(truth)) => *truth = !*truth,
            Some(number) => {
                *number = other(random, number.as_u64().unwrap_or(0), step).into();
            }
            None => {}
        },
    }
}

/// Changes a digit of a number in the text, or less often adds, changes or removes a byte or
/// truncates the text.
fn spoil_text(random: &mut Random, text: &mut Vec<u8>) {
    const BYTES: &[u8] = b"0123456789,:{}[]\"-.e \x00\xfft";
    if text.is_empty() {
        return;
    }
    let at = random.index(text.len());
    match random.below(20) {
        0 => drop(text.remove(at)),
        1 => text.insert(at, BYTES[random.index(BYTES.len())]),
        2 => text.truncate(at + 1),
        3 => text[at] ^= 1 << random.below(8),
        4 => text[at] = BYTES[random.index(BYTES.len())],
        _ => {
            let digit = text[at..].iter_mut().find(|byte| byte.is_ascii_digit());
            if let Some(digit) = digit {
                *digit = b'0' + random.below(10) as u8;
            }
        }
    }
}

/// Damages good states in one to three places each, as values with this step or as texts. Returns
/// the number of those that `judge` refused, that it accepted, and that could not be read.
pub(crate) fn judged<S: Serialize + DeserializeOwned>(
    goods: &[S],
    step: Option<u64>,
    cases: usize,
    seed: u64,
    judge: impl Fn(&S, usize) -> bool,
) -> [u32; 3] {
    let values = goods.iter().map(serde_json::to_value);
    let goods: Vec<Value> = values
        .map(|value| value.expect("numbers are numbers"))
        .collect();
    let mut random = Random::new(seed);
    let mut counts = [0; 3];
    for case in 0..cases {
        let mut value = goods[case % goods.len()].clone();
        let damages = 1 + random.below(3);
        if let Some(step) = step {
            (0..damages).for_each(|_| spoil(&mut random, &mut value, step));
        }
        let mut text = serde_json::to_vec(&value).expect("numbers are numbers");
        if step.is_none() {
            (0..damages).for_each(|_| spoil_text(&mut random, &mut text));
        }
        let read = serde_json::from_slice(&text);
        counts[read.map_or(2, |state| usize::from(judge(&state, case)))] += 1;
    }
    counts
}
