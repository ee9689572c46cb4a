//! Mistakes of a caller: each has its error, changes nothing, and touches no other caller's byte.
#![forbid(unsafe_code)]

use std::sync::Arc;

use furlong::addr::{Address, Iova};
use furlong::bounce::{
    AreaFirst, Both, Device, FromDevice, GrowError, Growth, Limits, LimitsError, LockFree,
    MapError, Mode, Parameter, ParameterError, Plan, PlanError, Pool, PoolError, SEGMENT, SLOT,
    SyncError, ToDevice, ZeroNothing, ZeroPads, ZeroUnmapped, Zeroing,
};
use furlong::check::Check;
use furlong_spec::bounce::{Addresses, Machine, Refusal, TestCpu, Tried};

const LONGEST: usize = SEGMENT * SLOT as usize;

type Tested<Z = ZeroPads> = Pool<Arc<Machine>, Tried<AreaFirst, LockFree, Z>>;

fn machine() -> Arc<Machine> {
    Arc::new(Machine::new(0, Addresses::new(1 << 20, 0)))
}

fn pool_on<Z: Zeroing>(machine: &Arc<Machine>, plan: &Plan) -> Tested<Z> {
    let pool = Pool::with_config(Arc::clone(machine), TestCpu::default(), plan);
    pool.unwrap_or_else(|none| panic!("{none}"))
}

fn device(limits: Limits) -> Device {
    Device::new(7, limits).expect("good limits")
}

/// Checks that the pool is unchanged: no mapping exists and no invariant is broken.
fn is_untouched<Z: Zeroing>(pool: &Tested<Z>) {
    pool.check().expect("no invariant is broken");
    assert_eq!((pool.free_slots(), pool.used_slots()), (pool.slots(), 0));
}

#[test]
fn sizes_that_cannot_be_mapped_are_refused() {
    let pool: Tested = pool_on(&machine(), &Plan::new(512, 4));
    let any = device(Limits::new());
    assert_eq!(
        pool.map(&any, ToDevice(&[])).unwrap_err(),
        MapError::ZeroSize
    );
    let too_large = vec![0; LONGEST + 1];
    let refused = pool.map(&any, ToDevice(&too_large)).unwrap_err();
    let (len, longest) = (LONGEST + 1, LONGEST as u64);
    assert_eq!(refused, MapError::TooLarge { len, longest });
    assert!(pool.map(&any, ToDevice(&too_large[1..])).is_ok());
    let refused = pool.allocate(&any, 0).unwrap_err();
    assert_eq!(refused, MapError::ZeroSize);
    is_untouched(&pool);
}

#[test]
fn limits_that_nothing_can_meet_are_refused() {
    let pool: Tested = pool_on(&machine(), &Plan::new(512, 4));
    let aligned = device(Limits::new().align_mask(LONGEST as u64 * 2 - 1));
    let refused = pool.map(&aligned, ToDevice(&[1])).unwrap_err();
    assert_eq!(refused, MapError::Align(LONGEST as u64 * 2 - 1));
    let near = device(Limits::new().reach(Iova::new(0xffff)));
    let refused = pool.map(&near, ToDevice(&[1])).unwrap_err();
    assert_eq!(refused, MapError::Unreachable(Iova::new(0xffff)));
    let narrow = device(Limits::new().boundary_mask(4095));
    let refused = pool.map(&narrow, ToDevice(&[1; 6000])).unwrap_err();
    let crosses = MapError::CrossesBoundary {
        len: 6000,
        boundary_mask: 4095,
    };
    assert_eq!(refused, crosses);
    is_untouched(&pool);
    let limits = |limits| Device::new(1, limits).map(|_| ()).unwrap_err();
    let any = Limits::new();
    assert_eq!(limits(any.min_align_mask(6)), LimitsError::MinAlignMask(6));
    assert_eq!(limits(any.align_mask(4096)), LimitsError::AlignMask(4096));
    assert_eq!(
        limits(any.boundary_mask(1023)),
        LimitsError::BoundaryMask(1023)
    );
    assert_eq!(limits(any.quota(0)), LimitsError::NoQuota);
}

#[test]
fn a_sync_outside_the_mapping_copies_nothing() {
    let pool: Tested = pool_on(&machine(), &Plan::new(512, 4));
    let any = device(Limits::new());
    let mut bytes = [5; 3000];
    let mut mapped = pool.map(&any, Both(&mut bytes)).unwrap();
    mapped.original_mut().fill(6);
    let (start, len) = (mapped.address(), mapped.len());
    let outside = Err(SyncError::Outside { start, len });
    assert_eq!(mapped.sync_for_device(0..3001), outside);
    assert_eq!(mapped.sync_for_cpu(2999..3001), outside);
    assert_eq!(mapped.sync_for_cpu(4000..4001), outside);
    assert_eq!(mapped.sync_for_cpu(7..7), Err(SyncError::ZeroSize));
    assert_eq!(pool.memory().read_bus(start.raw(), 3000), [5; 3000]);
    assert_eq!(mapped.original(), [6; 3000]);
    mapped.sync_for_cpu(1..2).unwrap();
    assert_eq!(mapped.original()[..3], [6, 5, 6]);
    mapped.sync_for_device(2..4).unwrap();
    assert_eq!(pool.memory().read_bus(start.raw(), 5), [5, 5, 6, 6, 5]);
    mapped.discard();
    assert_eq!((bytes[0], bytes[1]), (6, 5));
    is_untouched(&pool);
}

#[test]
fn a_mode_says_which_buffers_are_bounced() {
    assert!(device(Limits::new()).reaches(Iova::new(u64::MAX), 1));
    let disk = device(Limits::new().reach(Iova::new(0xffff)));
    let bounced = |mode: Mode| [0xfff0, 0x10000].map(|at| mode.bounces(&disk, Iova::new(at), 16));
    assert_eq!(bounced(Mode::Auto), [false, true]);
    assert_eq!(bounced(Mode::Force), [true, true]);
    assert_eq!(bounced(Mode::NoForce), [false, false]);
}

#[test]
fn a_device_that_claims_to_have_written_more_is_not_believed() {
    let pool: Tested = pool_on(&machine(), &Plan::new(512, 4));
    let any = device(Limits::new());
    let mut bytes = [1; 100];
    let mapped = pool.map(&any, FromDevice(&mut bytes[10..90])).unwrap();
    pool.memory().write_bus(mapped.address().raw(), &[2; 100]);
    mapped.finish(1_000_000);
    assert_eq!((bytes[9], bytes[10], bytes[89], bytes[90]), (1, 2, 2, 1));
    let mapped = pool.map(&any, FromDevice(&mut bytes[10..90])).unwrap();
    pool.memory().write_bus(mapped.address().raw(), &[3; 80]);
    mapped.finish(5);
    assert_eq!((bytes[14], bytes[15]), (3, 2));
    is_untouched(&pool);
}

#[test]
fn a_device_that_writes_less_gives_back_what_was_there() {
    let pool: Tested = pool_on(&machine(), &Plan::new(512, 4));
    let any = device(Limits::new());
    drop(pool.map(&any, ToDevice(&[0xaa; 4096])).unwrap());
    let mut bytes = [7; 4096];
    let mapped = pool.map(&any, FromDevice(&mut bytes)).unwrap();
    pool.memory().write_bus(mapped.address().raw(), &[9; 100]);
    drop(mapped);
    assert!(bytes[..100] == [9; 100] && bytes[100..] == [7; 3996]);
}

/// The bytes of an earlier mapping that a device can see, while they are free and then in the pad
/// of a later mapping.
fn seen<Z: Zeroing>() -> (Vec<u8>, Vec<u8>) {
    let pool: Tested<Z> = pool_on(&machine(), &Plan::new(512, 1));
    let any = device(Limits::new());
    let first = pool.map(&any, ToDevice(&[0xaa; 8192])).unwrap();
    let start = first.address().raw();
    drop(first);
    let free = pool.memory().read_bus(start, 8192);
    let second = pool.map(&any, ToDevice(&[1; 2148])).unwrap();
    assert_eq!(second.address().raw(), start);
    (free, pool.memory().read_bus(start + 2148, 4096 - 2148))
}

#[test]
fn what_a_device_sees_of_others_is_the_policys_promise() {
    let secret = |bytes: &[u8]| bytes.contains(&0xaa);
    let (free, pad) = seen::<ZeroPads>();
    assert!(secret(&free) && !secret(&pad));
    let (free, pad) = seen::<ZeroUnmapped>();
    assert!(!secret(&free) && !secret(&pad));
    let (free, pad) = seen::<ZeroNothing>();
    assert!(secret(&free) && secret(&pad));
}

#[test]
fn a_quota_is_held_to_and_given_back() {
    let pool: Tested = pool_on(&machine(), &Plan::new(512, 4));
    let poor = device(Limits::new().quota(3));
    let two = pool.map(&poor, ToDevice(&[1; 4096])).unwrap();
    let over = MapError::Quota {
        quota: 3,
        used: 2,
        wanted: 2,
    };
    assert_eq!(pool.map(&poor, ToDevice(&[1; 4096])).unwrap_err(), over);
    let one = pool.map(&poor, ToDevice(&[1])).unwrap();
    assert_eq!(poor.used(), Some(3));
    let rich = device(Limits::new());
    assert!(pool.map(&rich, ToDevice(&[1; 4096])).is_ok());
    drop((one, two));
    assert_eq!(poor.used(), Some(0));
    is_untouched(&pool);
}

#[test]
fn a_restricted_pool_and_its_devices_keep_to_each_other() {
    let restricted: Tested = pool_on(&machine(), &Plan::restricted(128));
    let open: Tested = pool_on(&machine(), &Plan::new(128, 1));
    let stranger = device(Limits::new());
    let refused = Err(MapError::NotAdmitted(7));
    assert_eq!(
        restricted.map(&stranger, ToDevice(&[1])).map(|_| ()),
        refused
    );
    let own = restricted.admit(stranger);
    assert!(restricted.map(&own, ToDevice(&[1])).is_ok());
    assert_eq!(open.map(&own, ToDevice(&[1])).map(|_| ()), refused);
    let grows = Plan::restricted(128).growth(Growth::Inline).blocks(2);
    let none = Tested::<ZeroPads>::with_config(machine(), TestCpu::default(), &grows).unwrap_err();
    assert_eq!(none.cause, PoolError::Plan(PlanError::Restricted));
}

#[test]
fn plans_that_cannot_be_are_refused() {
    let error = |plan: Plan| {
        let none = Tested::<ZeroPads>::with_config(machine(), TestCpu::default(), &plan);
        assert_eq!(none.as_ref().err().map(|none| none.memory.owned()), Some(0));
        none.unwrap_err().cause
    };
    assert_eq!(error(Plan::new(0, 1)), PoolError::Plan(PlanError::Empty));
    assert_eq!(
        error(Plan::new(512, 3)),
        PoolError::Plan(PlanError::Areas(3))
    );
    let uneven = |slots, areas| PoolError::Plan(PlanError::Uneven { slots, areas });
    assert_eq!(error(Plan::new(100, 1)), uneven(100, 1));
    assert_eq!(error(Plan::new(768, 4)), uneven(768, 4));
    assert_eq!(
        error(Plan::new(512, 4).blocks(0)),
        PoolError::Plan(PlanError::Empty)
    );
}

#[test]
fn memory_that_is_misaligned_or_too_small_is_not_used() {
    for refusal in [Refusal::Align, Refusal::Length] {
        let machine = machine();
        machine.refuse(refusal, 0);
        let plan = Plan::new(512, 4);
        let none = Tested::<ZeroPads>::with_config(Arc::clone(&machine), TestCpu::default(), &plan);
        let error = none.unwrap_err().cause;
        assert_eq!(error, PoolError::Block(GrowError::Misplaced));
        assert_eq!((machine.owned(), machine.shared()), (0, 0));
    }
}

#[test]
fn parameters_are_read_as_a_command_line_has_them() {
    let plan = |text: &str, cpus| {
        let parameter: Parameter = text.parse().expect(text);
        let plan = parameter.plan(cpus);
        assert!(Tested::<ZeroPads>::with_config(machine(), TestCpu::default(), &plan).is_ok());
        (plan.slots, plan.areas)
    };
    assert_eq!(plan("512,4,force", 1), (512, 4));
    assert_eq!(plan("force", 2), (32768, 2));
    assert_eq!(plan(",4", 1), (32768, 4));
    assert_eq!(plan("0x2000", 1), (8192, 1));
    assert_eq!(plan("0200", 1), (128, 1));
    assert_eq!(plan("129", 1), (256, 1));
    assert_eq!(plan("129,3", 8), (512, 4));
    assert_eq!(plan("300,0", 8), (512, 1));
    assert_eq!(plan("300", 1), (512, 1));
    assert_eq!(plan("0", 2), (32768, 2));
    assert_eq!(plan("0,3", 2), (32768, 4));
    assert_eq!(plan(",,force", 2), (32768, 2));
    assert_eq!(plan("512,", 2), (512, 2));
    assert_eq!(plan("noforce", 3), (32768, 4));
    // Numbers in a parameter are rounded, whatever follows them.
    for text in ["129,3", "129,3,force", "0x81,03,noforce"] {
        let parameter: Parameter = text.parse().expect(text);
        let read = (parameter.slots, parameter.areas);
        assert_eq!(read, (Some(256), Some(4)), "{text}");
    }
    let error = |text: &str| text.parse::<Parameter>().unwrap_err();
    assert_eq!(error(""), ParameterError::Empty);
    assert_eq!(error(","), ParameterError::Empty);
    assert_eq!(error(",,,"), ParameterError::Part(2));
    assert_eq!(error("512,,"), ParameterError::Part(2));
    assert_eq!(error(" 512"), ParameterError::Part(0));
    assert_eq!(error("0x"), ParameterError::Part(0));
    assert_eq!(error("many"), ParameterError::Part(0));
    assert_eq!(error("512,-4"), ParameterError::Part(1));
    assert_eq!(error("512,4,forced"), ParameterError::Part(2));
    assert_eq!(error("512,4,8"), ParameterError::Part(2));
    assert_eq!(error("force,512"), ParameterError::Part(1));
    assert_eq!(error("512,4,force,1"), ParameterError::Part(3));
    assert_eq!(error("99999999999"), ParameterError::TooLarge(0));
    assert_eq!(error("09"), ParameterError::Part(0));
}
