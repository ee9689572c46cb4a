//! A space and its model. Every operation runs on both and is followed by a comparison.
#![forbid(unsafe_code)]

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    ClaimError, Config, Grant, Kept, Kind, Owned, PartError, ReserveAtError, Space, Stale, VecSpace,
};

use super::model::{Model, Run};

pub(crate) struct Pair<C: Config> {
    pub(crate) space: VecSpace<C>,
    pub(crate) model: Model,
    pub(crate) grants: Vec<Grant>,
    base: u64,
    granule: u64,
}

impl<C: Config> Pair<C> {
    /// A space of `granules` granules that begins `base` granules above 0.
    pub(crate) fn new(base: u64, granules: u64, granule: u64) -> Self {
        let all = Extent::from_len(Iova::new(base * granule), granules * granule);
        let all = all.expect("the space is one of 64 bits");
        Self {
            space: Space::with_config(all, granule, Vec::new()).expect("it is in whole granules"),
            model: Model::new(granules),
            grants: Vec::new(),
            base,
            granule,
        }
    }

    pub(crate) fn bytes(&self, (first, last): Run) -> Extent<Iova> {
        let start = Iova::new((self.base + first) * self.granule);
        let extent = Extent::from_len(start, (last - first + 1) * self.granule);
        extent.expect("a run of the space")
    }

    fn run(&self, extent: Extent<Iova>) -> Run {
        let granule = |address: Iova| address.raw() / self.granule - self.base;
        (granule(extent.start()), granule(extent.last()))
    }

    fn pieces(&self, owned: &[Owned]) -> Vec<(Run, Kind)> {
        let piece = |owned: &Owned| (self.run(owned.extent), owned.kind);
        owned.iter().map(piece).collect()
    }

    /// Checks that both have the same extents, that no invariant is broken, and that every stale
    /// grant is refused.
    pub(crate) fn compare(&mut self) {
        self.space.check().expect("no invariant is broken");
        let owned: Vec<Owned> = self.space.reserved().collect();
        assert_eq!(self.pieces(&owned), self.model.reserved());
        assert_eq!(self.space.len(), owned.len());
        let free: Vec<Run> = self.space.free().map(|gap| self.run(gap)).collect();
        assert_eq!(free, self.model.free());
        for at in (0..self.grants.len()).rev() {
            let run = self.run(self.grants[at].extent());
            let is_granted = self.model.kind(run) == Some(Kind::Granted);
            assert_eq!(self.space.holds(&self.grants[at]), is_granted);
            if !is_granted {
                let Err(Stale(grant)) = self.space.release(self.grants.swap_remove(at)) else {
                    panic!("a grant that was cut is good");
                };
                assert_eq!(self.run(grant.extent()), run);
            }
        }
        let granted = owned.iter().filter(|owned| owned.kind == Kind::Granted);
        assert_eq!(granted.count(), self.grants.len());
    }

    pub(crate) fn reserve_at(&mut self, run: Run) {
        let owner = self.model.reserved_in(run).first().copied();
        match self.space.reserve_at(self.bytes(run)) {
            Ok(grant) => {
                assert_eq!(owner, None);
                self.model.reserve(run, Kind::Granted);
                self.grants.push(grant);
            }
            Err(ReserveAtError::Occupied(found)) => {
                assert_eq!(Some(self.run(found)), owner.map(|(run, _)| run));
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn reserve_fixed(&mut self, run: Run) {
        let mut added = Vec::new();
        let region = self.bytes(run);
        let found = self.space.reserve_fixed(region, |part| added.push(part));
        let added: Vec<Run> = added.into_iter().map(|part| self.run(part)).collect();
        match (found, self.model.reserve_fixed(run)) {
            (Ok(count), Ok(expected)) => {
                assert_eq!((count, &added), (expected.len(), &expected));
            }
            (Err(ReserveAtError::Occupied(found)), Err(owner)) => {
                assert_eq!((self.run(found), &added[..]), (owner, &[][..]));
            }
            (found, expected) => panic!("{found:?}, the model says {expected:?}"),
        }
    }

    pub(crate) fn fill(&mut self, run: Run) {
        let range = self.bytes(run);
        let parts: Vec<Run> = self.space.free_in(range).map(|gap| self.run(gap)).collect();
        assert_eq!(parts, self.model.free_in(run));
        let mut grants = Vec::new();
        let count = self.space.fill(range, |grant| grants.push(grant));
        let filled: Vec<Run> = grants
            .iter()
            .map(|grant| self.run(grant.extent()))
            .collect();
        assert!(grants.iter().all(|grant| grant.extent() == grant.data()));
        assert_eq!(filled, self.model.fill(run, Kind::Granted));
        assert_eq!(count, Ok(filled.len()));
        assert_eq!(filled, parts);
        self.grants.append(&mut grants);
    }

    pub(crate) fn release_range(&mut self, run: Run) {
        let range = self.bytes(run);
        let owners: Vec<Owned> = self.space.reserved_in(range).collect();
        assert_eq!(self.pieces(&owners), self.model.reserved_in(run));
        let mut released = Vec::new();
        let count = self
            .space
            .release_range(range, |piece| released.push(piece));
        assert_eq!(count, Ok(released.len()));
        let expected = self.model.release_range(run, Kind::Unclaimed);
        assert_eq!(self.pieces(&released), expected);
        let taken = owners.iter().filter(|owner| owner.kind != Kind::Fixed);
        for (owner, piece) in taken.zip(&released) {
            assert_eq!(owner.index, piece.index);
            assert!(owner.extent.intersection(&piece.extent) == Some(piece.extent));
        }
    }

    /// Releases a part of one of the grants.
    pub(crate) fn release_part(&mut self, at: usize, run: Run) {
        let grant = self.grants.swap_remove(at);
        let (whole, index) = (self.run(grant.extent()), grant.index());
        let is_inside = whole.0 <= run.0 && run.1 <= whole.1;
        match self.space.release_part(grant, self.bytes(run)) {
            Ok(Kept { below, above }) => {
                assert!(is_inside);
                self.model.release_range(run, Kind::Granted);
                let kept =
                    |grant: &Option<Grant>| grant.as_ref().map(|grant| self.run(grant.extent()));
                let lower = (whole.0 < run.0).then(|| (whole.0, run.0 - 1));
                let upper = (run.1 < whole.1).then(|| (run.1 + 1, whole.1));
                assert_eq!((kept(&below), kept(&above)), (lower, upper));
                let lowest = below.as_ref().or(above.as_ref());
                assert!(lowest.is_none_or(|grant| grant.index() == index));
                self.grants.extend(below.into_iter().chain(above));
            }
            Err(refused) => {
                assert_eq!((refused.cause, is_inside), (PartError::NotInside, false));
                self.grants.push(refused.grant);
            }
        }
    }

    pub(crate) fn release(&mut self, at: usize) {
        let grant = self.grants.swap_remove(at);
        self.model.release(self.run(grant.extent()));
        self.space.release(grant).expect("it is as it was granted");
    }

    pub(crate) fn release_at(&mut self, run: Run) {
        let found = self.space.release_at(self.bytes(run));
        assert_eq!(found.ok(), self.model.kind(run));
        if found.is_ok() {
            self.model.release(run);
        }
    }

    pub(crate) fn claim(&mut self, run: Run) {
        let owner = self.model.reserved_in(run).first().copied();
        let found = self.space.claim(self.bytes(run));
        let expected = match (self.model.kind(run), owner) {
            (Some(Kind::Unclaimed), _) => {
                self.model.reserve(run, Kind::Granted);
                self.grants.push(found.expect("nobody holds it"));
                return;
            }
            (Some(Kind::Granted), _) => ClaimError::Granted,
            (Some(Kind::Fixed), _) => ClaimError::Fixed,
            (None, Some((owner, _))) => ClaimError::Partial(self.bytes(owner)),
            (None, None) => ClaimError::NotReserved,
        };
        assert_eq!(found, Err(expected));
    }

    pub(crate) fn release_unclaimed(&mut self) {
        let leaks: Vec<Run> = self
            .space
            .unclaimed()
            .map(|leak| self.run(leak.extent))
            .collect();
        let mut released = Vec::new();
        let count = self.space.release_unclaimed(|leak| released.push(leak));
        assert!(released.iter().all(|leak| leak.kind == Kind::Unclaimed));
        let released: Vec<Run> = released.iter().map(|leak| self.run(leak.extent)).collect();
        assert_eq!(released, self.model.release_unclaimed());
        assert_eq!((count, leaks), (released.len(), released));
    }
}
