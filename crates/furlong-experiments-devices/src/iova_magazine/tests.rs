//! Whole samples of both arms, and of arms with defects.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use furlong::addr::{Extent, Iova};
use furlong::iova::Traffic;
use furlong::rbtree::Off;

use super::{LockedTree, Magazines, SharedAllocator, experiment, run};
use crate::traffic::Buffer;
use furlong_lab::model::{Failure, Outcome, Request};

fn all(run: fn(&Request) -> Result<Outcome, Failure>, exact: bool) -> Vec<Outcome> {
    let plan = experiment().plan;
    let loads = plan
        .workloads
        .iter()
        .map(|load| experiment().request(&load.name, 5000, exact));
    loads.map(|request| run(&request).unwrap()).collect()
}

#[test]
fn both_arms_go_through_every_workload_and_leave_nothing_behind() {
    let (tree, magazines) = (
        all(run::<LockedTree>, false),
        all(run::<Magazines<Off>>, false),
    );
    for (one, other) in tree.iter().zip(&magazines) {
        assert_eq!(
            (one.operations, one.digest),
            (other.operations, other.digest)
        );
        assert!(one.operations >= 5000 && one.operations < 5128);
    }
}

#[test]
fn exact_counts_are_the_same_every_time() {
    let visits = |run: fn(&Request) -> Result<Outcome, Failure>| {
        let outcomes = all(run, true).into_iter();
        let counts = outcomes.map(|outcome| outcome.metrics["depot_visits_per_op"]);
        counts.collect::<Vec<f64>>()
    };
    let magazines = visits(run::<Magazines<Traffic>>);
    assert_eq!(magazines, visits(run::<Magazines<Traffic>>));
    let tree = visits(run::<LockedTree>);
    assert!(tree.iter().all(|visits| *visits == 2.0), "{tree:?}");
    assert!(
        magazines.iter().all(|visits| *visits < 1.0),
        "{magazines:?}"
    );
}

/// The tree, with a defect.
struct Erring<const DEFECT: u8> {
    tree: LockedTree,
    reserved: AtomicU64,
    latest: Mutex<Option<Extent<Iova>>>,
}

/// Some requests get the extent that was granted last.
const TWICE: u8 = 0;
/// Some extents are not released.
const LEAK: u8 = 1;
/// A buffer larger than a page gets one page.
const SHORT: u8 = 2;

/// The reported extent, and the real grant.
struct Told(Extent<Iova>, <LockedTree as SharedAllocator>::Grant);

impl<const DEFECT: u8> SharedAllocator for Erring<DEFECT> {
    type Grant = Told;

    fn new(space: Extent<Iova>, granule: u64, cpus: usize) -> Result<Self, Failure> {
        Ok(Self {
            tree: LockedTree::new(space, granule, cpus)?,
            reserved: AtomicU64::new(0),
            latest: Mutex::default(),
        })
    }

    fn reserve(&self, buffer: Buffer) -> Option<Told> {
        let grant = self.tree.reserve(buffer)?;
        let extent = LockedTree::extent(&grant);
        let count = self.reserved.fetch_add(1, Ordering::SeqCst);
        let latest = self.latest.lock().unwrap().replace(extent);
        let told = match (DEFECT, latest) {
            (TWICE, Some(latest)) if count % 1000 > 990 && buffer.pages() == 1 => latest,
            (SHORT, _) => Extent::from_len(extent.start(), 4096).unwrap(),
            _ => extent,
        };
        Some(Told(told, grant))
    }

    fn extent(grant: &Told) -> Extent<Iova> {
        grant.0
    }

    fn release(&self, grant: Told) {
        if DEFECT != LEAK || !self.reserved.load(Ordering::SeqCst).is_multiple_of(1000) {
            self.tree.release(grant.1);
        }
    }

    fn visits(&self) -> u64 {
        self.tree.visits()
    }

    fn finish(self) -> Result<Vec<Extent<Iova>>, Failure> {
        self.tree.finish()
    }
}

#[test]
fn a_wrong_grant_and_a_lost_one_are_failures() {
    for load in ["nic-2t", "nvme-1t", "cross-cpu-2t"] {
        let request = experiment().request(load, 64, false);
        let twice = run::<Erring<TWICE>>(&request).unwrap_err().0;
        assert!(
            twice.contains("already in use") || twice.contains("was not in use"),
            "{twice}"
        );
        let short = run::<Erring<SHORT>>(&request).unwrap_err().0;
        assert!(short.contains("shorter"), "{short}");
    }
    let lost = run::<Erring<LEAK>>(&experiment().request("nvme-1t", 64, false))
        .unwrap_err()
        .0;
    assert!(lost.contains("not released"), "{lost}");
}
