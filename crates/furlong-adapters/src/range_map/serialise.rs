//! Serialised forms: those of `rangemap` with its feature `serde1`.

use alloc::vec::Vec;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use super::span::Span;
use super::span_map::SpanMap;
use super::span_set::SpanSet;

/// A sequence of `((start, end), value)`.
impl<R: Span<Key: Serialize>, V: Serialize> Serialize for SpanMap<R, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|(range, value)| (range.ends(), value)))
    }
}

/// A range without keys is an error.
impl<'de, R, V> Deserialize<'de> for SpanMap<R, V>
where
    R: Span<Key: Deserialize<'de>>,
    V: PartialEq + Clone + Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Self::new();
        for (ends, value) in Vec::deserialize(deserializer)? {
            map.insert(range(ends)?, value);
        }
        Ok(map)
    }
}

/// A sequence of `(start, end)`.
impl<R: Span<Key: Serialize>> Serialize for SpanSet<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Span::ends))
    }
}

/// A range without keys is an error.
impl<'de, R: Span<Key: Deserialize<'de>>> Deserialize<'de> for SpanSet<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ranges = Vec::deserialize(deserializer)?;
        ranges.into_iter().map(range).collect()
    }
}

fn range<R: Span, E: Error>((start, end): (R::Key, R::Key)) -> Result<R, E> {
    let range = R::new(start, end);
    match range.extent() {
        Some(_) => Ok(range),
        None => Err(E::custom(format_args!("the range {range:?} is empty"))),
    }
}
