//! Peers agree with the model everywhere, except in the cases of `findings`.

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{ReleaseError, Request, ReserveAtError};
use furlong_peers::iova::{
    Bluntly, Buddy, FreeMap, OffsetAllocator, Peer, PeerSubject, RangeAlloc, RangeMap, VmAllocator,
};
use furlong_peers::linux::{Straight, Turned};
use furlong_spec::iova::{GEOMETRIES, Geometry, Mix, Operation, Outcome, Place, operations};
use furlong_spec::{Judge, Subject};

use super::needed::has_linux;

/// Counts of a random stream's operations.
#[derive(Debug, Default)]
struct Trial {
    operations: u64,
    granted: u64,
    refused: u64,
}

/// Compares a peer with the model over streams of the operations that it offers, in every space
/// that it supports. Operations for which `is_known` predicts a wrong answer are left out.
fn agrees<P: Peer>(is_known: impl Fn(Geometry, &Bluntly, &Operation) -> bool) -> Trial {
    let mut trial = Trial::default();
    for geometry in GEOMETRIES {
        for (mix, seed) in [Mix::Growing, Mix::Steady, Mix::Shrinking]
            .into_iter()
            .zip(0..)
        {
            let Some(mut peer) = PeerSubject::<P>::new(geometry) else {
                continue;
            };
            let mut model = Bluntly::new(geometry);
            let stream = operations(geometry, mix, 2000, seed)
                .flat_map(|operation| [operation, Operation::Reserved])
                .filter_map(|operation| P::OFFERS.reduced(operation))
                .filter(|operation| !is_all_of_64_bits(geometry, operation));
            for operation in stream {
                if is_known(geometry, &model, &operation) {
                    continue;
                }
                let found = peer.apply(&operation);
                if let Err(expected) = model.judge(&operation, &found) {
                    panic!(
                        "{geometry:?}: {operation:?} gave {found:?}, not {expected:?}: {peer:?}"
                    );
                }
                trial.operations += 1;
                trial.granted += u64::from(matches!(found, Outcome::Granted(_)));
                let is_refused = matches!(found, Outcome::Refused(_) | Outcome::RefusedAt(_));
                trial.refused += u64::from(is_refused);
            }
        }
    }
    // A stream of only refusals, or only grants, would compare little.
    assert!(trial.operations > 25_000, "{trial:?}");
    assert!(trial.granted * 10 > trial.operations, "{trial:?}");
    assert!(trial.refused * 200 > trial.operations, "{trial:?}");
    trial
}

/// True if a request's granules have 2^64 bytes, a length that does not fit in 64 bits.
fn is_all_of_64_bits(geometry: Geometry, operation: &Operation) -> bool {
    let granules = |request: &Request| request.size.checked_next_multiple_of(geometry.granule);
    matches!(operation, Operation::Reserve(request, _) if granules(request).is_none())
}

/// The model's answer.
fn answer(model: &Bluntly, operation: &Operation) -> Outcome {
    model.clone().apply(operation)
}

#[test]
fn the_map_of_what_is_free_agrees_with_the_model() {
    agrees::<FreeMap>(|_, _, _| false);
}

#[test]
fn rangemap_agrees_with_the_model() {
    agrees::<RangeMap>(|_, _, _| false);
}

#[test]
fn linux_s_iova_allocator_agrees_with_the_model() {
    if has_linux("Linux's iova allocator against the specification") {
        agrees::<Straight>(|_, _, _| false);
        agrees::<Turned>(|_, _, _| false);
    }
}

#[test]
fn range_alloc_agrees_with_the_model_but_for_half_of_all_numbers() {
    const HALF: u64 = 1 << 63;
    agrees::<RangeAlloc>(|_, _, operation| match operation {
        Operation::Reserve(request, _) => request.size >= HALF,
        _ => false,
    });
}

#[test]
fn vm_allocator_agrees_with_the_model_but_for_what_is_known() {
    agrees::<VmAllocator>(|geometry, model, operation| {
        let is_known = match answer(model, operation) {
            Outcome::Granted(granted) => {
                let is_highest = matches!(operation, Operation::Reserve(_, Place::Highest));
                is_highest && granted.extent.start() == Iova::new(0)
                    || granted.extent.last() == Iova::new(u64::MAX)
            }
            Outcome::RefusedAt(ReserveAtError::Occupied(_)) => true,
            Outcome::Stale(_) | Outcome::NotReleased(ReleaseError::NotReserved) => true,
            _ => false,
        };
        is_known || geometry.granule == 1
    });
}

#[test]
fn offset_allocator_agrees_with_the_model_where_a_bin_suits() {
    agrees::<OffsetAllocator>(|geometry, model, operation| {
        let Operation::Reserve(request, _) = operation else {
            return false;
        };
        let Outcome::Free(gaps) = answer(model, &Operation::Free) else {
            panic!("the model tells its gaps")
        };
        let wanted = request.size.div_ceil(geometry.granule);
        let granules = |gap: &Extent<Iova>| {
            let all = gap.len().map(|bytes| bytes / geometry.granule);
            all.unwrap_or(geometry.granules as u64)
        };
        let fits = |gap: &Extent<Iova>| granules(gap) >= wanted;
        let bin_fits = |gap: &Extent<Iova>| bin_below(granules(gap)) >= bin_above(wanted);
        gaps.iter().any(fits) && !gaps.iter().any(bin_fits)
    });
}

#[test]
fn the_buddy_system_agrees_with_the_model_on_powers_of_two() {
    agrees::<Buddy>(|geometry, model, operation| {
        let Operation::Reserve(request, _) = operation else {
            return false;
        };
        let wanted = request.size.div_ceil(geometry.granule);
        let align = request.align.div_ceil(geometry.granule);
        // A request that is rounded up takes more than the model knows.
        if !wanted.is_power_of_two() || align > wanted {
            return true;
        }
        let Outcome::Free(gaps) = answer(model, &Operation::Free) else {
            panic!("the model tells its gaps")
        };
        let granules = |gap: &Extent<Iova>| {
            let [first, last] = [gap.start(), gap.last()].map(|at| at.raw() / geometry.granule);
            (first, last - first + 1)
        };
        let fits = |gap: &Extent<Iova>| granules(gap).1 >= wanted;
        let has_block = |gap: &Extent<Iova>| {
            let (first, all) = granules(gap);
            let padding = first.wrapping_neg() & (wanted - 1);
            padding.checked_add(wanted).is_some_and(|end| end <= all)
        };
        gaps.iter().any(fits) && !gaps.iter().any(has_block)
    });
}

/// The largest bin size up to `granules`. Bin sizes are numbers of four significant bits.
fn bin_below(granules: u64) -> u64 {
    let step = 1 << granules.checked_ilog2().unwrap_or(0).saturating_sub(3);
    granules & !(step - 1)
}

/// The smallest bin size from `granules` on.
fn bin_above(granules: u64) -> u64 {
    let step: u64 = 1 << granules.checked_ilog2().unwrap_or(0).saturating_sub(3);
    granules.next_multiple_of(step)
}
