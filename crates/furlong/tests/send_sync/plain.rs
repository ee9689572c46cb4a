//! Types without restrictions: both `Send` and `Sync`.

use crate::Row;

/// A row for each type, by module.
macro_rules! rows {
    ($($module:ident: $($name:ident),+;)+) => {
        &[$($(crate::row!(
            concat!(stringify!($module), "::", stringify!($name)),
            furlong::$module::$name,
            crate::BOTH
        ),)+)+]
    };
}

/// One row per type.
pub(crate) const ROWS: &[Row] = rows! {
    bounce:
        Access, AreaFirst, Back, Backing, BrokenPool, Claimed, Device, Direction, Event,
        GrowError, Growth, Haste, HeapMemory, Kind, Leak, Limits, LimitsError, LockFree,
        Locked, MapError, Misuse, Mode, NotConverted, Off, Parameter, ParameterError, Plan,
        PlanError, PoolError, PoolFirst, RegionMemory, RestoreError, SavedBlock, SavedMapping,
        State, StillMapped, SyncError, Tally, Tended, Wanted, ZeroNothing, ZeroPads,
        ZeroUnmapped;
    error: NoMemory;
    iova:
        Best, BrokenDomain, BrokenSpace, ClaimError, Event, ExtendError, GapHalf, GapSummary,
        Gaps, GeometryError, Grant, Guard, Highest, Kept, Kind, Largest, LargestHalves, Level,
        Lowest, Near, Need, NoTlb, NotReleased, Owned, PartError, RangeError, ReleaseError,
        Request, ReserveAtError, ReserveError, Reserved, RestoreError, SavedExtent, Sealed,
        Shared, Split, Stale, StaleSeal, StaleToken, State, Token, Traffic;
    malloc:
        Batched, BrokenMalloc, BrokenSmall, Checked, Forks, Heap, HugePages, Inlined, Latch,
        Linux, Misuse, NoHardening, Outlined, PerCall, Policy, Profile, Secure, SmallStatistics,
        Statistics, Trouble;
    maple:
        Broken, EraseError, Event, Heap, Lines, Nodes, NotEnough, Off, Tally;
    phys:
        Array, BigFirst, BinarySearch, Branchless, BrokenTable, Contiguous, Direct, Flat,
        HostError, Isolated, Linear, MakeError, Node, Plug, PlugError, RemoveError,
        RestoreError, SavedFrames, SavedHandle, SavedSegment, Segment, SegmentId, SetError,
        Stale, StaleToken, StartError, State, StealError, Tree, UnplugError;
    rbtree:
        Checked, ChunkTable, Deferred, Eager, NodeId, NotLinked, Off, Ranks, Side;
    rcu:
        BarrierError, Domain, NoFreeSlot, Period, Progress, RcuHead, ReaderSlot;
    sync:
        OneCpu, SpinLock;
    vmspace:
        Access, Advice, At, Atomic, Attr, Direction, Errno, Half, Layout, Linux, Maple, Owned,
        Pages, Rbtree, Remap, RestoreError, SavedLayout, Summary, Usage;
};
