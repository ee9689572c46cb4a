//! Decoder of the heap profiles that the preloaded allocator writes: pprof's format, in stored
//! blocks of gzip's.

use std::collections::HashMap;

use super::symbols::Symbols;

/// One stack of a program, and its sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stack {
    /// Its functions, from the outermost to the one that allocates.
    pub(super) functions: Vec<String>,
    /// Bytes that were allocated, and the part of them that was in use at the end.
    pub(super) bytes: [u64; 2],
}

/// Numbers of the fields of pprof's messages, from its `profile.proto`.
mod field {
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const MAPPING: u64 = 3;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const STRING: u64 = 6;
}

/// Decodes a profile. `None` if it is damaged.
pub(super) fn decode(file: &[u8], symbols: &mut Symbols) -> Option<Vec<Stack>> {
    let message = unpack(file)?;
    let all = fields(&message)?;
    let of = |field| all.iter().filter(move |(found, _)| *found == field);
    let bytes_of = |field| of(field).map(|(_, value)| value.bytes());
    let strings: Vec<&[u8]> = bytes_of(field::STRING).collect::<Option<_>>()?;
    let mut mappings = Vec::new();
    for mapping in bytes_of(field::MAPPING) {
        let [_, start, _, offset, file] = numbers(mapping?)?;
        let path = strings.get(usize::try_from(file).ok()?)?;
        mappings.push((start, offset, String::from_utf8_lossy(path).into_owned()));
    }
    let mut names = HashMap::new();
    for location in bytes_of(field::LOCATION) {
        let [id, mapping, address, ..] = numbers(location?)?;
        let mapping = usize::try_from(mapping).ok()?.checked_sub(1);
        let name = match mapping.and_then(|at| mappings.get(at)) {
            Some((start, offset, path)) => symbols.name(path, address - start + offset),
            None => "[unknown]".to_owned(),
        };
        names.insert(id, name);
    }
    let mut stacks = Vec::new();
    for sample in bytes_of(field::SAMPLE) {
        let parts = fields(sample?)?;
        let [ids, values] = [0, 1].map(|at| varints(parts.get(at)?.1.bytes()?));
        let functions = ids?.into_iter().rev().map(|id| names.get(&id).cloned());
        let mut functions: Vec<_> = functions.collect::<Option<_>>()?;
        // Functions without names look like one.
        functions.dedup_by(|callee, caller| callee == caller && callee.starts_with('['));
        let values = values?;
        stacks.push(Stack {
            functions,
            bytes: [*values.get(1)?, *values.get(3)?],
        });
    }
    Some(stacks)
}

/// Unpacks a file of gzip's whose blocks are stored, not compressed.
fn unpack(file: &[u8]) -> Option<Vec<u8>> {
    let mut rest = file.strip_prefix(&[0x1f, 0x8b, 8, 0])?.get(6..)?;
    let mut unpacked = Vec::new();
    loop {
        let (&[last, low, high, ..], after) = rest.split_at_checked(5)? else {
            return None;
        };
        let (block, after) = after.split_at_checked(u16::from_le_bytes([low, high]).into())?;
        unpacked.extend(block);
        rest = after;
        if last & 1 == 1 {
            let len = u32::from_le_bytes(rest.get(4..8)?.try_into().ok()?);
            return (len as usize == unpacked.len() && last == 1).then_some(unpacked);
        }
    }
}

/// The value of a field.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Number(_) => None,
        }
    }
}

/// The fields of a message. `None` if it is damaged.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, Value<'_>)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let number = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => Value::Number(number),
            2 => {
                let (value, rest) = bytes.split_at_checked(usize::try_from(number).ok()?)?;
                bytes = rest;
                Value::Bytes(value)
            }
            _ => return None,
        };
        fields.push((key >> 3, value));
    }
    Some(fields)
}

/// The first five fields of a message, which are numbers; 0 for those that it lacks.
fn numbers(message: &[u8]) -> Option<[u64; 5]> {
    let mut numbers = [0; 5];
    for (field, value) in fields(message)? {
        let slot = usize::try_from(field).ok()?.checked_sub(1);
        if let (Some(slot), Value::Number(number)) =
            (slot.and_then(|at| numbers.get_mut(at)), value)
        {
            *slot = number;
        }
    }
    Some(numbers)
}

fn varints(mut bytes: &[u8]) -> Option<Vec<u64>> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        values.push(varint(&mut bytes)?);
    }
    Some(values)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Stack, decode};
    use crate::recorder::heap::symbols::Symbols;

    /// A message's field of bytes.
    fn nested(field: u8, bytes: &[u8]) -> Vec<u8> {
        [&[field << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    /// A profile with a stack of two places in a file that is not there.
    fn profile() -> Vec<u8> {
        let message = [
            nested(
                2,
                &[nested(1, &[7, 9]), nested(2, &[1, 100, 1, 40])].concat(),
            ),
            nested(3, &[8, 1, 16, 5, 24, 99, 32, 0, 40, 1]),
            nested(4, &[8, 7, 16, 1, 24, 6]),
            nested(4, &[8, 9, 24, 8]),
            nested(6, b""),
            nested(6, b"/nowhere/libx.so"),
        ]
        .concat();
        let len = message.len() as u8;
        let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, len, 0, !len, 255];
        [&head[..], &message, &[0, 0, 0, 0, len, 0, 0, 0]].concat()
    }

    #[test]
    fn a_profile_is_decoded_and_a_damaged_one_is_refused() {
        let whole = profile();
        let stacks = decode(&whole, &mut Symbols::default());
        let functions = ["[unknown]", "[libx.so]"].map(str::to_owned).to_vec();
        let bytes = [100, 40];
        assert_eq!(stacks, Some(vec![Stack { functions, bytes }]));
        for len in 0..whole.len() {
            assert_eq!(
                decode(&whole[..len], &mut Symbols::default()),
                None,
                "{len}"
            );
        }
    }
}
