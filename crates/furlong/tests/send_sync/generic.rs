//! Types whose `Send` and `Sync` follow their parts, and types bound to their thread.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, Iova, VirtAddr};
use furlong::sync::SpinLock;
use furlong::{bounce, iova, malloc, maple, phys, rbtree, rcu, sync, vmspace};

use crate::{Both, No, None, Row, Seen, Sent, row};

const BOTH: (bool, bool) = (true, true);
/// It may move to another thread, but only one thread uses it at a time.
const SEND: (bool, bool) = (true, false);
/// Other threads may use it, but it does not move.
const SYNC: (bool, bool) = (false, true);
/// Only its own thread may use it.
const NEITHER: (bool, bool) = (false, false);

type Rows = Vec<(Row, (bool, bool))>;

pub(crate) fn rows() -> Rows {
    let parts = [
        layer_0(),
        rcu_types(),
        trees(),
        maple_types(),
        parts_of_maple(),
        iova_types(),
        systems(),
    ];
    parts.into_iter().flatten().chain(vmspace_types()).collect()
}

fn layer_0() -> Rows {
    vec![
        (row!("addr::Extent", Extent<Iova>), BOTH),
        (row!("sync::Held", sync::Held<'static, SpinLock>), NEITHER),
        (row!("sync::Guard", sync::Lent<'static, Both>), NEITHER),
        (row!("sync::Guard", sync::Lent<'static, None>), NEITHER),
        (row!("sync::Lock", sync::Lock<SpinLock, Both>), BOTH),
        (row!("sync::Lock", sync::Lock<SpinLock, Sent>), BOTH),
        (row!("sync::Lock", sync::Lock<SpinLock, Seen>), NEITHER),
        (row!("sync::Lock", sync::Lock<SpinLock, None>), NEITHER),
        (row!("sync::LockApi", sync::LockApi<Both>), BOTH),
        (row!("sync::LockApi", sync::LockApi<None>), NEITHER),
        (
            row!("sync::Guard", sync::LockGuard<'static, SpinLock, Both>),
            NEITHER,
        ),
        (
            row!("sync::Guard", sync::LockGuard<'static, SpinLock, Sent>),
            NEITHER,
        ),
        (row!("sync::MutPtr", sync::MutPtr<Both>), NEITHER),
        (row!("sync::Guard", sync::TryGuard<'static, Both>), NEITHER),
        (row!("sync::Guard", sync::TryGuard<'static, Sent>), NEITHER),
        (row!("sync::TryLock", sync::TryLock<Both>), BOTH),
        (row!("sync::TryLock", sync::TryLock<Sent>), BOTH),
        (row!("sync::TryLock", sync::TryLock<Seen>), NEITHER),
        (row!("sync::TryLock", sync::TryLock<None>), NEITHER),
        (row!("sync::UnsafeCell", sync::UnsafeCell<Both>), SEND),
        (row!("sync::UnsafeCell", sync::UnsafeCell<None>), NEITHER),
    ]
}

/// A CPU number, for types that need one.
type Cpu = sync::OneCpu;

fn rcu_types() -> Rows {
    type Of<T> = rcu::RcuCell<T, rcu::Domain>;
    vec![
        (row!("rcu::Batch", rcu::Batch), SEND),
        (row!("rcu::CpuGuard", rcu::CpuGuard<'static, ()>), NEITHER),
        (row!("rcu::Domain", rcu::Domain), BOTH),
        (row!("rcu::Guard", rcu::Guard<'static>), NEITHER),
        (
            row!("rcu::PerCpu", rcu::PerCpu<Cpu, [rcu::ReaderSlot; 4]>),
            BOTH,
        ),
        (row!("rcu::RcuBox", rcu::RcuBox<Both>), BOTH),
        (row!("rcu::RcuBox", rcu::RcuBox<Sent>), SEND),
        (row!("rcu::RcuBox", rcu::RcuBox<Seen>), SYNC),
        (row!("rcu::RcuBox", rcu::RcuBox<None>), NEITHER),
        (row!("rcu::RcuCell", Of<Both>), BOTH),
        (row!("rcu::RcuCell", Of<Sent>), SEND),
        (row!("rcu::RcuCell", Of<Seen>), NEITHER),
        (row!("rcu::RcuCell", Of<None>), NEITHER),
        (row!("rcu::Reader", rcu::Reader<'static>), SEND),
    ]
}

/// A node with empty halves.
struct Summed;

impl rbtree::Augment for Summed {
    type Item = Both;
    type Key = Both;
    type Half = ();
    type Summary = ();

    fn key(item: &Both) -> Both {
        *item
    }

    fn empty(_: &Both, _: rbtree::Side) {}

    fn half(_: &Both, _: rbtree::Side, (): &()) {}

    fn join(_: &Both, (): &(), (): &()) {}
}

/// An item that is in a tree by its own links.
type Hung = Both;

struct Adapted;

impl rbtree::Augment for Adapted {
    type Item = Hung;
    type Key = Both;
    type Half = ();
    type Summary = ();

    fn key(_: &Hung) -> Both {
        0
    }

    fn empty(_: &Hung, _: rbtree::Side) {}

    fn half(_: &Hung, _: rbtree::Side, (): &()) {}

    fn join(_: &Hung, (): &(), (): &()) {}
}

fn trees() -> Rows {
    type Tree = rbtree::VecArena<Summed>;
    type Config = rbtree::Standard;
    vec![
        (row!("rbtree::Arena", Tree), BOTH),
        (row!("rbtree::Chunks", rbtree::Chunks<Summed>), BOTH),
        (row!("rbtree::Growth", rbtree::Growth<Summed>), BOTH),
        (row!("rbtree::Broken", rbtree::Broken<rbtree::NodeId>), BOTH),
        (
            row!("rbtree::Custom", rbtree::Custom<rbtree::Checked>),
            BOTH,
        ),
        (
            row!("rbtree::InsertError", rbtree::InsertError<rbtree::NodeId>),
            BOTH,
        ),
        (row!("rbtree::Intrusive", rbtree::Intrusive<Adapted>), BOTH),
        (
            row!("rbtree::Iter", rbtree::Iter<'static, Tree, Config>),
            BOTH,
        ),
        (row!("rbtree::Links", rbtree::Links<Summed>), NEITHER),
        (row!("rbtree::Node", rbtree::Node<Summed>), BOTH),
        (row!("rbtree::Pinned", rbtree::Pinned<Both>), NEITHER),
        (row!("rbtree::RbTree", rbtree::RbTree<Tree>), BOTH),
        (row!("rbtree::Tally", rbtree::Tally), SEND),
    ]
}

fn maple_types() -> Rows {
    type Map<E> = maple::Maple<VirtAddr, E>;
    type Config = maple::Standard;
    type Boxed = Box<Both>;
    type Kept = rcu::RcuBox<Both>;
    type Of<E> = maple::RcuMaple<VirtAddr, E, rcu::Domain, SpinLock>;
    type Removed = maple::Removed<'static, 'static, VirtAddr, Kept, rcu::Domain, Config>;
    type Session = maple::Session<'static, VirtAddr, Kept, rcu::Domain, SpinLock, Config>;
    vec![
        (
            row!(
                "maple::Displaced",
                maple::Displaced<'static, VirtAddr, Boxed, Config>
            ),
            NEITHER,
        ),
        (
            row!("maple::Iter", maple::Iter<'static, VirtAddr, Boxed, Config>),
            NEITHER,
        ),
        (
            row!(
                "maple::IterBack",
                maple::IterBack<'static, VirtAddr, Boxed, Config>
            ),
            NEITHER,
        ),
        (
            row!(
                "maple::IterMut",
                maple::IterMut<'static, VirtAddr, Boxed, Config>
            ),
            NEITHER,
        ),
        (row!("maple::Maple", Map<Boxed>), BOTH),
        (row!("maple::RcuMaple", Of<Kept>), BOTH),
        (row!("maple::Removed", Removed), NEITHER),
        (row!("maple::Reservation", maple::Reservation<Config>), BOTH),
        (row!("maple::Session", Session), NEITHER),
        (row!("maple::Shared", maple::Shared<'static, Both>), BOTH),
        (row!("maple::Shared", maple::Shared<'static, Sent>), NEITHER),
        (row!("maple::Shared", maple::Shared<'static, Seen>), NEITHER),
        (row!("maple::Shared", maple::Shared<'static, None>), NEITHER),
        (
            row!(
                "maple::Unlinked",
                maple::Unlinked<'static, Kept, rcu::Domain>
            ),
            BOTH,
        ),
        (
            row!("maple::View", maple::View<'static, VirtAddr, Boxed, Config>),
            BOTH,
        ),
    ]
}

fn parts_of_maple() -> Rows {
    vec![
        (
            row!("maple::BulkError", maple::BulkError<VirtAddr, Both>),
            BOTH,
        ),
        (row!("maple::Cursor", maple::Cursor<VirtAddr>), BOTH),
        (
            row!("maple::Custom", maple::Custom<maple::Wide, maple::Heap>),
            BOTH,
        ),
        (
            row!("maple::DuplicateError", maple::DuplicateError<Both>),
            BOTH,
        ),
        (row!("maple::Fan", maple::Fan<3, 3, 4>), BOTH),
        (
            row!("maple::InsertError", maple::InsertError<VirtAddr, Both>),
            BOTH,
        ),
        (row!("maple::Lines", maple::Lines), BOTH),
        (row!("maple::Place", maple::Place<VirtAddr, Both>), BOTH),
        (
            row!("maple::ResizeError", maple::ResizeError<VirtAddr>),
            BOTH,
        ),
        (row!("maple::StoreError", maple::StoreError<Both>), BOTH),
    ]
}

fn iova_types() -> Rows {
    vec![
        (row!("iova::Boundary", iova::Boundary<20>), BOTH),
        (row!("iova::Counts", iova::Counts<4>), BOTH),
        (row!("iova::Custom", iova::Custom<u64>), BOTH),
        (row!("iova::Domain", iova::Domain<iova::NoTlb>), BOTH),
        (row!("iova::GapHalf", iova::GapHalf), BOTH),
        (row!("iova::GapSummary", iova::GapSummary), BOTH),
        (row!("iova::Gaps", iova::Gaps), BOTH),
        (
            row!("iova::NoDomain", iova::NoDomain<iova::NoTlb, iova::Shared>),
            BOTH,
        ),
        (row!("iova::Random", iova::Random<Both>), BOTH),
        (row!("iova::Runs", iova::Runs<4>), BOTH),
        (row!("iova::Shared", iova::Shared), BOTH),
        (row!("iova::Space", iova::VecSpace), BOTH),
    ]
}

fn systems() -> Rows {
    type Memory = bounce::HeapMemory;
    type Mapped = bounce::Mapped<'static, bounce::ToDevice<'static>, Memory>;
    type Waiting = bounce::Waiting<'static, bounce::ToDevice<'static>, Memory>;
    type Object<T> = malloc::Object<'static, T, Parts>;
    type Cache<T> = malloc::ObjectCache<T, Parts>;
    vec![
        (
            row!("bounce::Allocation", bounce::Allocation<'static, Memory>),
            BOTH,
        ),
        (row!("bounce::Both", bounce::Both<'static>), BOTH),
        (row!("bounce::Custom", bounce::Standard), BOTH),
        (
            row!("bounce::FromDevice", bounce::FromDevice<'static>),
            BOTH,
        ),
        (row!("bounce::LockFree", bounce::LockFree), BOTH),
        (row!("bounce::Locked", bounce::Locked), BOTH),
        (row!("bounce::Mapped", Mapped), BOTH),
        (row!("bounce::NoPool", bounce::NoPool<Both>), BOTH),
        (row!("bounce::NotSaved", bounce::NotSaved<Both>), BOTH),
        (row!("bounce::Pool", bounce::Pool<Memory>), BOTH),
        (row!("bounce::ToDevice", bounce::ToDevice<'static>), BOTH),
        (row!("bounce::Waiting", Waiting), BOTH),
        (row!("malloc::Global", malloc::Global<Parts>), BOTH),
        (row!("malloc::Malloc", malloc::Malloc<Parts>), BOTH),
        (row!("malloc::Object", Object<Both>), NEITHER),
        (row!("malloc::ObjectCache", Cache<Both>), SEND),
        (row!("malloc::ObjectCache", Cache<Sent>), SEND),
        (row!("malloc::ObjectCache", Cache<None>), NEITHER),
        (
            row!("malloc::Reserve", malloc::Reserve<'static, Both, Parts, 2>),
            NEITHER,
        ),
        (row!("malloc::Zone", malloc::Zone<Parts>), SEND),
        (row!("phys::Array", phys::Array), BOTH),
        (row!("phys::Custom", phys::Standard), BOTH),
        (
            row!(
                "phys::Listing",
                phys::Listing<'static, 'static, Both, phys::Standard, 32>
            ),
            NEITHER,
        ),
        (row!("phys::SegmentTable", phys::SegmentTable<Both>), BOTH),
        (
            row!(
                "phys::Segments",
                phys::Segments<'static, Both, phys::Standard, 32>
            ),
            NEITHER,
        ),
        (
            row!("phys::View", phys::View<'static, Both, phys::Standard>),
            NEITHER,
        ),
    ]
}

furlong::malloc::thread_heap!(Thread);

/// The parts of an allocator.
struct Parts;

impl malloc::Config for Parts {
    type Source = malloc::Linux;
    type Current = Thread;
    type Hardening = malloc::Checked;
    type Gate = malloc::Inlined;
    type Tier = malloc::Batched;
}

/// The value of an area, for one thread at a time.
#[derive(Clone)]
struct Held(Sent);

impl vmspace::Value for Held {
    fn merges(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

fn vmspace_types() -> Rows {
    type Config = vmspace::Standard;
    type Index = <Config as vmspace::SharedConfig>::Tree;
    type In = vmspace::InSession<'static, rcu::Domain, SpinLock, Config>;
    type Locked<A> = vmspace::Locked<'static, A, rcu::Domain, SpinLock, Config>;
    type Shared<A> = vmspace::Shared<A, rcu::Domain, SpinLock>;
    type Tree = vmspace::TreeIndex<Held>;
    vec![
        (row!("vmspace::Area", vmspace::Area<'static, Both>), BOTH),
        (
            row!("vmspace::BrokenSpace", vmspace::BrokenSpace<Both>),
            BOTH,
        ),
        (row!("vmspace::Custom", Config), BOTH),
        (row!("vmspace::Entry", vmspace::Entry<'static, Both>), BOTH),
        (row!("vmspace::ForkError", vmspace::ForkError<Both>), BOTH),
        (row!("vmspace::Freed", vmspace::Freed<Sent>), SEND),
        (row!("vmspace::Gaps", vmspace::Gaps<Both>), BOTH),
        (
            row!("vmspace::Glimpse", vmspace::Glimpse<'static, Both, Index>),
            BOTH,
        ),
        (row!("vmspace::InSession", In), BOTH),
        (row!("vmspace::Lending", vmspace::Lending<'static>), BOTH),
        (row!("vmspace::Locked", Locked<Both>), NEITHER),
        (row!("vmspace::Maple", vmspace::Maple), BOTH),
        (
            row!(
                "vmspace::MapleIndex",
                <vmspace::Maple as vmspace::Structure>::Index<Both>
            ),
            BOTH,
        ),
        (row!("vmspace::Node", vmspace::Node<Held>), SEND),
        (
            row!("vmspace::OwnedRanges", vmspace::OwnedRanges<Held, Index>),
            SEND,
        ),
        (row!("vmspace::Own", vmspace::Own<Sent>), SEND),
        (row!("vmspace::Piece", vmspace::Piece<Sent>), SEND),
        (row!("vmspace::Rbtree", vmspace::Rbtree), BOTH),
        (row!("vmspace::Record", vmspace::Record<Sent>), SEND),
        (row!("vmspace::Refused", vmspace::Refused<Sent>), SEND),
        (row!("vmspace::Request", vmspace::Request<Sent>), SEND),
        (row!("vmspace::SavedArea", vmspace::SavedArea<Sent>), SEND),
        (row!("vmspace::Shared", Shared<Both>), BOTH),
        (row!("vmspace::Space", vmspace::Space<Both>), BOTH),
        (row!("vmspace::Space", vmspace::Space<Held>), SEND),
        (row!("vmspace::State", vmspace::State<Sent>), SEND),
        (row!("vmspace::TreeIndex", Tree), SEND),
        (row!("vmspace::Unmapped", vmspace::Unmapped<Sent>), SEND),
    ]
}
