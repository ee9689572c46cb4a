//! Types whose `Send` and `Sync` follow their parts, and types bound to their thread.

use furlong::addr::{Extent, Iova, VirtAddr};
use furlong::bounce::HeapMemory;
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong::{bounce, iova, malloc, maple, phys, rbtree, rcu, sync, vmspace};

use crate::{BOTH, Both, No, None, Row, Seen, Sent, rows};

/// It may move to another thread, but only one thread uses it at a time.
const SEND: [bool; 2] = [true, false];
/// Other threads may use it, but it does not move.
const SYNC: [bool; 2] = [false, true];
/// Only its own thread may use it.
const NEITHER: [bool; 2] = [false, false];

type Kept = rcu::RcuBox<Both>;
type Index = <vmspace::Standard as vmspace::SharedConfig>::Tree;

/// A node with empty halves.
struct Summed;

impl rbtree::Augment for Summed {
    type Item = Both;
    type Key = Both;
    type Halves = [(); 2];
    type Summary = ();

    fn key(item: &Both) -> Both {
        *item
    }

    fn empty(_: &Both, _: rbtree::Side) {}

    fn half(_: &Both, _: rbtree::Side, (): &()) {}

    fn join(_: &Both, _: rbtree::Side, (): &(), (): &()) {}
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

/// One row per choice of a type's parts.
pub(crate) const ROWS: &[Row] = rows! {
    "addr::Extent": Extent<Iova> => BOTH;
    "sync::Held": sync::Held<'static, SpinLock> => NEITHER;
    "sync::Guard": sync::Lent<'static, Both> => NEITHER;
    "sync::Guard": sync::Lent<'static, None> => NEITHER;
    "sync::Lock": sync::Lock<SpinLock, Both> => BOTH;
    "sync::Lock": sync::Lock<SpinLock, Sent> => BOTH;
    "sync::Lock": sync::Lock<SpinLock, Seen> => NEITHER;
    "sync::Lock": sync::Lock<SpinLock, None> => NEITHER;
    "sync::LockApi": sync::LockApi<Both> => BOTH;
    "sync::LockApi": sync::LockApi<None> => NEITHER;
    "sync::Guard": sync::LockGuard<'static, SpinLock, Both> => NEITHER;
    "sync::Guard": sync::LockGuard<'static, SpinLock, Sent> => NEITHER;
    "sync::MutPtr": sync::MutPtr<Both> => NEITHER;
    "sync::Guard": sync::TryGuard<'static, Both> => NEITHER;
    "sync::Guard": sync::TryGuard<'static, Sent> => NEITHER;
    "sync::TryLock": sync::TryLock<Both> => BOTH;
    "sync::TryLock": sync::TryLock<Sent> => BOTH;
    "sync::TryLock": sync::TryLock<Seen> => NEITHER;
    "sync::TryLock": sync::TryLock<None> => NEITHER;
    "sync::UnsafeCell": sync::UnsafeCell<Both> => SEND;
    "sync::UnsafeCell": sync::UnsafeCell<None> => NEITHER;
    "rcu::Batch": rcu::Batch => SEND;
    "rcu::CpuGuard": rcu::CpuGuard<'static, ()> => NEITHER;
    "rcu::Guard": rcu::Guard<'static> => NEITHER;
    "rcu::PerCpu": rcu::PerCpu<sync::OneCpu, [rcu::ReaderSlot; 4]> => BOTH;
    "rcu::RcuBox": rcu::RcuBox<Both> => BOTH;
    "rcu::RcuBox": rcu::RcuBox<Sent> => SEND;
    "rcu::RcuBox": rcu::RcuBox<Seen> => SYNC;
    "rcu::RcuBox": rcu::RcuBox<None> => NEITHER;
    "rcu::RcuCell": rcu::RcuCell<Both, Domain> => BOTH;
    "rcu::RcuCell": rcu::RcuCell<Sent, Domain> => SEND;
    "rcu::RcuCell": rcu::RcuCell<Seen, Domain> => NEITHER;
    "rcu::RcuCell": rcu::RcuCell<None, Domain> => NEITHER;
    "rcu::Reader": rcu::Reader<'static> => SEND;
    "rbtree::Arena": rbtree::VecArena<Summed> => BOTH;
    "rbtree::Chunks": rbtree::Chunks<Summed> => BOTH;
    "rbtree::Growth": rbtree::Growth<Summed> => BOTH;
    "rbtree::Broken": rbtree::Broken<rbtree::NodeId> => BOTH;
    "rbtree::Custom": rbtree::Custom<rbtree::Checked> => BOTH;
    "rbtree::InsertError": rbtree::InsertError<rbtree::NodeId> => BOTH;
    "rbtree::Intrusive": rbtree::Intrusive<Summed> => BOTH;
    "rbtree::Iter": rbtree::Iter<'static, rbtree::VecArena<Summed>, rbtree::Standard> => BOTH;
    "rbtree::Links": rbtree::Links<Summed> => NEITHER;
    "rbtree::Node": rbtree::Node<Summed> => BOTH;
    "rbtree::Pinned": rbtree::Pinned<Both> => NEITHER;
    "rbtree::RbTree": rbtree::RbTree<rbtree::VecArena<Summed>> => BOTH;
    "rbtree::Tally": rbtree::Tally => SEND;
    "maple::Displaced": maple::Displaced<'static, VirtAddr, Box<Both>, maple::Standard> => NEITHER;
    "maple::Iter": maple::Iter<'static, VirtAddr, Box<Both>, maple::Standard> => NEITHER;
    "maple::IterBack": maple::IterBack<'static, VirtAddr, Box<Both>, maple::Standard> => NEITHER;
    "maple::IterMut": maple::IterMut<'static, VirtAddr, Box<Both>, maple::Standard> => NEITHER;
    "maple::Maple": maple::Maple<VirtAddr, Box<Both>> => BOTH;
    "maple::RcuMaple": maple::RcuMaple<VirtAddr, Kept, Domain, SpinLock> => BOTH;
    "maple::Removed":
        maple::Removed<'static, 'static, VirtAddr, Kept, Domain, maple::Standard> => NEITHER;
    "maple::Reservation": maple::Reservation<maple::Standard> => BOTH;
    "maple::Session":
        maple::Session<'static, VirtAddr, Kept, Domain, SpinLock, maple::Standard> => NEITHER;
    "maple::Shared": maple::Shared<'static, Both> => BOTH;
    "maple::Shared": maple::Shared<'static, Sent> => NEITHER;
    "maple::Shared": maple::Shared<'static, Seen> => NEITHER;
    "maple::Shared": maple::Shared<'static, None> => NEITHER;
    "maple::Unlinked": maple::Unlinked<'static, Kept, Domain> => BOTH;
    "maple::Unlinked": maple::Unlinked<'static, rcu::RcuBox<Sent>, Domain> => NEITHER;
    "maple::View": maple::View<'static, VirtAddr, Box<Both>, maple::Standard> => BOTH;
    "maple::BulkError": maple::BulkError<VirtAddr, Both> => BOTH;
    "maple::Cursor": maple::Cursor<VirtAddr> => BOTH;
    "maple::Custom": maple::Custom<maple::Wide, maple::Heap> => BOTH;
    "maple::DuplicateError": maple::DuplicateError<Both> => BOTH;
    "maple::Fan": maple::Fan<3, 3, 4> => BOTH;
    "maple::InsertError": maple::InsertError<VirtAddr, Both> => BOTH;
    "maple::Place": maple::Place<VirtAddr, Both> => BOTH;
    "maple::ResizeError": maple::ResizeError<VirtAddr> => BOTH;
    "maple::StoreError": maple::StoreError<Both> => BOTH;
    "iova::Boundary": iova::Boundary<20> => BOTH;
    "iova::Counts": iova::Counts<4> => BOTH;
    "iova::Custom": iova::Custom<iova::Largest> => BOTH;
    "iova::Domain": iova::Domain<iova::NoTlb> => BOTH;
    "iova::NoDomain": iova::NoDomain<iova::NoTlb, iova::Shared> => BOTH;
    "iova::Random": iova::Random<Both> => BOTH;
    "iova::Runs": iova::Runs<4> => BOTH;
    "iova::Space": iova::VecSpace => BOTH;
    "bounce::Allocation": bounce::Allocation<'static, HeapMemory> => BOTH;
    "bounce::Both": bounce::Both<'static> => BOTH;
    "bounce::Custom": bounce::Standard => BOTH;
    "bounce::FromDevice": bounce::FromDevice<'static> => BOTH;
    "bounce::Mapped": bounce::Mapped<'static, bounce::ToDevice<'static>, HeapMemory> => BOTH;
    "bounce::NoPool": bounce::NoPool<Both> => BOTH;
    "bounce::NotSaved": bounce::NotSaved<Both> => BOTH;
    "bounce::Pool": bounce::Pool<HeapMemory> => BOTH;
    "bounce::ToDevice": bounce::ToDevice<'static> => BOTH;
    "bounce::Waiting": bounce::Waiting<'static, bounce::ToDevice<'static>, HeapMemory> => BOTH;
    "malloc::Global": malloc::Global<Parts> => BOTH;
    "malloc::Malloc": malloc::Malloc<Parts> => BOTH;
    "malloc::Object": malloc::Object<'static, Both, Parts> => NEITHER;
    "malloc::ObjectCache": malloc::ObjectCache<Both, Parts> => SEND;
    "malloc::ObjectCache": malloc::ObjectCache<Sent, Parts> => SEND;
    "malloc::ObjectCache": malloc::ObjectCache<None, Parts> => NEITHER;
    "malloc::Reserve": malloc::Reserve<'static, Both, Parts, 2> => NEITHER;
    "malloc::Sample": malloc::Sample => NEITHER;
    "malloc::SmallGlobal": malloc::SmallGlobal<SpinLock, malloc::StaticRegion<8>> => BOTH;
    "malloc::SmallHeap": malloc::SmallHeap<'static> => SEND;
    "malloc::StaticRegion": malloc::StaticRegion<8> => BOTH;
    "malloc::Zone": malloc::Zone<Parts> => SEND;
    "phys::Custom": phys::Standard => BOTH;
    "phys::Listing": phys::Listing<'static, 'static, Both, phys::Standard, 32> => NEITHER;
    "phys::SegmentTable": phys::SegmentTable<Both> => BOTH;
    "phys::Segments": phys::Segments<'static, Both, phys::Standard, 32> => NEITHER;
    "phys::View": phys::View<'static, Both, phys::Standard> => NEITHER;
    "vmspace::Area": vmspace::Area<'static, Both> => BOTH;
    "vmspace::BrokenSpace": vmspace::BrokenSpace<Both> => BOTH;
    "vmspace::Custom": vmspace::Standard => BOTH;
    "vmspace::Entry": vmspace::Entry<'static, Both> => BOTH;
    "vmspace::ForkError": vmspace::ForkError<Both> => BOTH;
    "vmspace::Freed": vmspace::Freed<Sent> => SEND;
    "vmspace::Gaps": vmspace::Gaps<Both> => BOTH;
    "vmspace::Glimpse": vmspace::Glimpse<'static, Both, Index> => BOTH;
    "vmspace::InSession": vmspace::InSession<'static, Domain, SpinLock, vmspace::Standard> => BOTH;
    "vmspace::Lending": vmspace::Lending<'static> => BOTH;
    "vmspace::Locked":
        vmspace::Locked<'static, Both, Domain, SpinLock, vmspace::Standard> => NEITHER;
    "vmspace::MapleIndex": <vmspace::Maple as vmspace::Structure>::Index<Both> => BOTH;
    "vmspace::Node": vmspace::Node<Held> => SEND;
    "vmspace::OwnedRanges": vmspace::OwnedRanges<Held, Index> => SEND;
    "vmspace::Own": vmspace::Own<Sent> => SEND;
    "vmspace::Piece": vmspace::Piece<Sent> => SEND;
    "vmspace::Record": vmspace::Record<Sent> => SEND;
    "vmspace::Refused": vmspace::Refused<Sent> => SEND;
    "vmspace::Request": vmspace::Request<Sent> => SEND;
    "vmspace::SavedArea": vmspace::SavedArea<Sent> => SEND;
    "vmspace::Shared": vmspace::Shared<Both, Domain, SpinLock> => BOTH;
    "vmspace::Space": vmspace::Space<Both> => BOTH;
    "vmspace::Space": vmspace::Space<Held> => SEND;
    "vmspace::State": vmspace::State<Sent> => SEND;
    "vmspace::TreeIndex": vmspace::TreeIndex<Held> => SEND;
    "vmspace::Unmapped": vmspace::Unmapped<Sent> => SEND;
};
