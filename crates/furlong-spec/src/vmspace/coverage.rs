//! The outcomes that a stream must have. A stream without a single refusal does not test refusals.

use std::borrow::Cow;

use furlong::vmspace::{
    AdviseError, BrkError, FaultError, MapError, ProtectError, RemapError, UnmapError, UpdateError,
};

use super::{Operation, Outcome, Refusal};
use crate::Coverage;
use crate::coverage::{Cell, kind};

/// The results that successful operations must have had at least once.
const DONE: [Cell; 12] = [
    ("map", "done"),
    ("map", "over"),
    ("unmap", "done"),
    ("protect", "done"),
    ("advise", "done"),
    ("update", "done"),
    ("remap", "done"),
    ("brk", "done"),
    ("fault", "done"),
    ("find", "done"),
    ("fork", "done"),
    ("clear", "done"),
];

/// The name of an outcome: of the refusal, or of an effect.
pub(super) fn word(operation: &Operation, outcome: &Outcome) -> Cow<'static, str> {
    let is_vain = match (operation, outcome) {
        (_, Outcome::Refused(refusal, _)) => return cell(*refusal).1.into(),
        (Operation::Map(_), Outcome::At(_, gone)) if !gone.is_empty() => return "over".into(),
        (Operation::Unmap(..) | Operation::Clear, Outcome::Done(gone)) => gone.is_empty(),
        (_, Outcome::Area(area)) => area.is_none(),
        (_, Outcome::Areas(areas)) => areas.is_empty(),
        _ => false,
    };
    if is_vain { "nothing" } else { "done" }.into()
}

/// The kind of an operation and the name of its refusal.
fn cell(refusal: Refusal) -> (String, String) {
    let text = format!("{refusal:?}");
    let name = text.trim_end_matches(')').split_once('(');
    let (_, name) = name.expect("a refusal holds an error");
    (kind(&refusal), name.to_owned())
}

/// The outcomes that have not occurred `least` times. Those for lack of memory are not required.
pub(super) fn gaps(coverage: &Coverage, least: u64) -> Vec<String> {
    let mut gaps = coverage.missing(DONE, least);
    gaps.extend(coverage.missing(every_refusal().into_iter().map(cell), least));
    gaps
}

/// The refusals for lack of memory.
pub const NO_MEMORY: [Refusal; 8] = [
    Refusal::Map(MapError::NoMemory),
    Refusal::Unmap(UnmapError::NoMemory),
    Refusal::Protect(ProtectError::NoMemory),
    Refusal::Advise(AdviseError::NoMemory),
    Refusal::Update(UpdateError::NoMemory),
    Refusal::Remap(RemapError::NoMemory),
    Refusal::Brk(BrkError::NoMemory),
    Refusal::Fault(FaultError::NoMemory),
];

/// All refusals except lack of memory.
fn every_refusal() -> Vec<Refusal> {
    let all = MapError::ALL.iter().copied().map(Refusal::Map);
    let all = all.chain(UnmapError::ALL.iter().copied().map(Refusal::Unmap));
    let all = all.chain(ProtectError::ALL.iter().copied().map(Refusal::Protect));
    let all = all.chain(AdviseError::ALL.iter().copied().map(Refusal::Advise));
    let all = all.chain(UpdateError::ALL.iter().copied().map(Refusal::Update));
    let all = all.chain(RemapError::ALL.iter().copied().map(Refusal::Remap));
    let all = all.chain(BrkError::ALL.iter().copied().map(Refusal::Brk));
    let all = all.chain(FaultError::ALL.iter().copied().map(Refusal::Fault));
    all.filter(|refusal| !NO_MEMORY.contains(refusal)).collect()
}
