//! A shared domain and memory: it never allocates or frees under a lock, and never needs memory to
//! release.

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    ChunkSpace, Domain, DomainConfig, Flush, Grant, Highest, NoDomain, PartError, RangeError,
    Request, ReserveError, Shared, Standard, VecSpace,
};
use furlong::rbtree::{NoMemory, Off};
use furlong_spec::heap::{Watched, counted, failing, is_locked};
use furlong_spec::{Random, ThreadCpu};

use crate::PAGE;

/// Runs `work` with `granted` successful allocations; all later ones fail.
fn with_memory<T>(granted: u64, work: impl FnOnce() -> T) -> T {
    failing(granted..u64::MAX, work).0
}

/// A device that may sleep, so no lock may be held during a flush.
struct Device;

impl Flush for Device {
    fn flush(&self) {
        assert!(!is_locked(), "flushed under a lock");
    }
}

/// Capacities so small that rare paths become common.
struct Tiny;

impl DomainConfig for Tiny {
    type Space = Standard;
    type Lock = Watched;
    type Cpu = ThreadCpu;
    type Counters = Off;
    const MAGAZINE: usize = 2;
    const DEPOT: usize = 1;
    const QUARANTINE: usize = 3;
    const HIGH_WATER: usize = 2;
}

/// A magazine that exceeds any memory.
struct Endless;

impl DomainConfig for Endless {
    type Space = Standard;
    type Lock = Watched;
    type Cpu = ThreadCpu;
    type Counters = Off;
    const MAGAZINE: usize = isize::MAX as usize;
}

fn space(pages: u64) -> VecSpace {
    let extent = Extent::from_len(Iova::new(0), pages * PAGE).unwrap();
    VecSpace::new(extent, PAGE, Vec::new()).unwrap()
}

fn domain<C>(pages: u64) -> Domain<Device, C>
where
    C: DomainConfig<Space = Standard, Cpu = ThreadCpu>,
{
    Domain::with_config(space(pages), Device, ThreadCpu, 2).unwrap()
}

/// Reserves and releases in every way. Returns the grants held at the end.
fn churn<C>(domain: &Domain<Device, C>, random: &mut Random, steps: usize) -> Vec<Grant>
where
    C: DomainConfig<Space = Standard, Cpu = ThreadCpu>,
{
    let mut grants = Vec::with_capacity(steps);
    for _ in 0..steps {
        match random.below(16) {
            0..8 => {
                let request = Request::new(1 + random.below(9 * PAGE));
                grants.extend(domain.reserve(&request, Highest));
            }
            8..14 if !grants.is_empty() => {
                let grant = grants.swap_remove(random.index(grants.len()));
                match random.below(3) {
                    0 => domain.release_flushed(grant).unwrap(),
                    1 => {
                        let token = domain.release(grant).unwrap();
                        domain.redeem(token).unwrap();
                    }
                    _ => {
                        let _ = domain.release_later(grant).unwrap();
                    }
                }
            }
            14 if random.below(8) == 0 => {
                domain.drain_cpu(random.index(2));
            }
            _ => ThreadCpu::set(random.index(2)),
        }
    }
    grants
}

#[test]
fn no_memory_is_obtained_or_freed_under_a_lock() {
    let mut random = Random::new(3);
    // Two spaces that are always full, and one that never is and whose array of nodes grows.
    let work = |pages| {
        let tiny = domain::<Tiny>(pages);
        let grants = churn(&tiny, &mut random, 4000);
        let real = domain::<Shared<Watched, ThreadCpu>>(pages);
        let more = churn(&real, &mut random, 4000);
        tiny.stock(1).unwrap();
        tiny.prepare(300).unwrap();
        assert!(tiny.with_space(ChunkSpace::room) >= 300);
        drop((tiny.drain_all(), real.drain_all(), grants, more));
        tiny.check().unwrap();
        real.check().unwrap();
    };
    let ((), calls) = counted(|| [24, 100, 1 << 20].into_iter().for_each(work));
    assert_eq!(calls.under_lock, 0, "{calls:?}");
}

#[test]
fn the_watch_would_have_seen_it() {
    let lock = furlong::sync::Lock::new(Watched::default(), Vec::new());
    let ((), calls) = counted(|| lock.lock().push(1));
    assert_eq!(calls.under_lock, 1);
}

#[test]
fn without_memory_for_magazines_the_tree_is_used() {
    let endless = domain::<Endless>(100);
    let grants = churn(&endless, &mut Random::new(5), 2000);
    assert!(!grants.is_empty());
    for grant in grants {
        endless.release_flushed(grant).unwrap();
    }
    assert_eq!(endless.cached(), 0);
    endless.flush();
    assert!(endless.with_space(ChunkSpace::is_empty));
}

#[test]
fn releasing_needs_no_memory() {
    let tiny = domain::<Tiny>(64);
    let pages: Vec<_> = (0..40)
        .map(|_| tiny.reserve(&Request::new(PAGE), Highest).unwrap())
        .collect();
    with_memory(0, || {
        for (index, grant) in pages.into_iter().enumerate() {
            ThreadCpu::set(index % 2);
            if index % 3 == 0 {
                let _ = tiny.release_later(grant).unwrap();
            } else {
                tiny.release_flushed(grant).unwrap();
            }
        }
        tiny.drain_all();
    });
    tiny.check().unwrap();
    assert!(tiny.with_space(ChunkSpace::is_empty));
}

#[test]
#[expect(clippy::result_large_err, reason = "the space comes back")]
fn a_domain_for_which_there_is_no_memory_gives_back_what_it_was_given() {
    let mut given = space(64);
    let grant = given.reserve(&Request::new(1), Highest).unwrap();
    let mut attempts = 0;
    let domain = loop {
        let new = || Domain::<_, Tiny>::with_config(given, Device, ThreadCpu, 2);
        match with_memory(attempts, new) {
            Ok(domain) => break domain,
            Err(NoDomain { space, .. }) => given = space,
        }
        attempts += 1;
        assert!(given.holds(&grant));
    };
    assert!(attempts > 10, "two CPUs and six depots need memory");
    assert_eq!(domain.with_space(ChunkSpace::len), 1);
}

/// Reserves and then releases with `granted` successful allocations. Returns the number of refused
/// reservations.
fn with_memory_until(tiny: &Domain<Device, Tiny>, granted: u64) -> usize {
    let mut random = Random::new(11);
    let mut grants = Vec::with_capacity(100);
    let mut refused = 0;
    with_memory(granted, || {
        let _ = tiny.stock(1);
        for _ in 0..100 {
            let request = Request::new(1 + random.below(40 * PAGE));
            let before = tiny.with_space(ChunkSpace::len);
            match tiny.reserve(&request, Highest) {
                Ok(grant) => grants.push(grant),
                Err(error) => {
                    assert_eq!(error, ReserveError::NoMemory);
                    assert_eq!(tiny.with_space(ChunkSpace::len), before);
                    refused += 1;
                }
            }
        }
    });
    tiny.check().unwrap();
    with_memory(0, || {
        for grant in grants {
            tiny.release_flushed(grant).unwrap();
        }
    });
    refused
}

#[test]
fn whichever_request_for_memory_fails_nothing_is_lost() {
    let mut granted = 0;
    loop {
        let tiny = domain::<Tiny>(1 << 20);
        let refused = with_memory_until(&tiny, granted);
        tiny.check().unwrap();
        tiny.drain_all();
        assert!(tiny.with_space(ChunkSpace::is_empty), "{granted} granted");
        if refused == 0 {
            break;
        }
        granted += 1;
    }
    assert!(granted > 6, "six magazines and the nodes need memory");
}

/// A domain whose chunk of nodes is used up, the grant of its lowest three pages, and three more
/// that were given up.
fn used_up() -> (Domain<Device, Tiny>, Grant, [Extent<Iova>; 2]) {
    let tiny = domain::<Tiny>(1 << 20);
    let run = |first: u64, count| Extent::from_len(Iova::new(first * PAGE), count * PAGE).unwrap();
    let grant = tiny.reserve_at(run(0, 3)).unwrap();
    let loose = tiny.disown(tiny.reserve_at(run(3, 3)).unwrap()).unwrap();
    let mut page = 10;
    while tiny.with_space(ChunkSpace::room) > 0 {
        let _ = tiny.reserve_at(run(page, 1)).unwrap();
        page += 2;
    }
    (tiny, grant, [loose, run(4, 1)])
}

#[test]
fn a_cut_without_memory_is_refused_and_with_it_allocates_under_no_lock() {
    // The list of new chunks, a chunk, and a table of all chunks.
    let cut_with = |granted| {
        let (tiny, grant, [loose, middle]) = used_up();
        let extents = tiny.with_space(ChunkSpace::len);
        let page = Extent::from_len(Iova::new(PAGE), PAGE).unwrap();
        let parted = with_memory(granted, || tiny.release_part(grant, page));
        match parted {
            Ok((token, kept)) => {
                assert!(kept.below.is_some() && kept.above.is_some());
                assert_eq!(tiny.with_space(ChunkSpace::len), extents + 2);
                tiny.redeem(token).unwrap();
            }
            Err(refused) => {
                assert_eq!((refused.cause, granted < 3), (PartError::NoMemory, true));
                assert!(tiny.with_space(|space| space.holds(&refused.grant)));
                assert_eq!(tiny.with_space(ChunkSpace::len), extents);
            }
        }
        let (tiny, _, _) = used_up();
        let mut tokens = Vec::with_capacity(1);
        let mut cut = || tiny.release_range(middle, |token| tokens.push(token));
        let cut = with_memory(granted, &mut cut);
        let listed = tiny.with_space(|space| space.owner(loose.start()).unwrap());
        match cut {
            Ok(count) => assert_eq!((count, tokens[0].extent()), (1, middle)),
            Err(error) => assert_eq!((error, listed.extent), (RangeError::NoMemory, loose)),
        }
        assert_eq!(cut.is_ok(), granted == 3);
        let (tiny, _, _) = used_up();
        let around = Extent::from_len(Iova::new(6 * PAGE), 4 * PAGE).unwrap();
        let fixed = with_memory(granted, || tiny.reserve_fixed(around));
        assert_eq!(fixed.is_ok(), granted == 3, "{fixed:?}");
        tiny.check().unwrap();
    };
    let ((), calls) = counted(|| (0..=3).for_each(cut_with));
    assert_eq!(calls.under_lock, 0, "{calls:?}");
}

#[test]
fn more_nodes_than_can_be_named_are_refused() {
    let tiny = domain::<Tiny>(64);
    for nodes in [usize::MAX, usize::MAX / 2, 1 << 31] {
        assert_eq!(tiny.prepare(nodes), Err(NoMemory));
    }
    assert_eq!(tiny.with_space(ChunkSpace::capacity), 0);
}
