//! Quarantine: released extents wait here for a flush of the device's TLB.
#![forbid(unsafe_code)]

use core::ops::DerefMut;

use super::ring::{Level, Ring, TokenSlot};
use super::tag::Tag;
use super::token::{Parked, QuarantineError, Sealed, StaleSeal, StaleToken, Token};
use crate::iova::{Config, Grant, Space, Stale, Storage};

/// A queue of tokens, in order of release, that wait for a flush of the device's TLB. It also
/// counts all outstanding tokens, wherever they are.
///
/// It belongs to one [`Space`], that of its first grant, and serves users that own both
/// exclusively. A [`Domain`](crate::iova::Domain) contains one for each CPU. The caller provides
/// its memory: an array of [`TokenSlot`]s, one for each waiting token. Do not release a quarantined
/// extent by its address: if it were granted again before its token is redeemed, redemption would
/// free the new owner's extent.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, Iova};
/// use furlong::iova::{Level, Lowest, Quarantine, Request, TokenSlot, VecSpace};
/// # fn unmap(_: Iova) {}
/// # fn flush() {}
///
/// let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).unwrap();
/// let mut space = VecSpace::new(all, 4096, Vec::new())?;
/// let mut quarantine = Quarantine::new(vec![TokenSlot::EMPTY; 256], 192);
///
/// let grant = space.reserve(&Request::new(9000), Lowest)?;
/// unmap(grant.iova());
/// let token = quarantine.release(grant)?;
/// assert_eq!(quarantine.push(token)?, Level::Low);
/// assert_eq!(space.len(), 1); // nobody can get it yet
///
/// let sealed = quarantine.seal();
/// flush();
/// quarantine.redeem_sealed(sealed, &mut space)?;
/// assert!(space.is_empty());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Quarantine<M> {
    ring: Ring<M>,
    tag: Tag,
    /// Tag of the space that all its tokens come from.
    space: Option<Tag>,
    issued: u64,
    redeemed: u64,
}

impl<M: DerefMut<Target = [TokenSlot]>> Quarantine<M> {
    /// An empty quarantine with room for one token per slot.
    ///
    /// # Shapes
    /// From `high_water` tokens on, [`push`](Self::push) reports that a flush is due.
    pub fn new(slots: M, high_water: usize) -> Self {
        Self {
            ring: Ring::new(slots, high_water),
            tag: Tag::fresh(),
            space: None,
            issued: 0,
            redeemed: 0,
        }
    }

    /// Turns a grant into a token. The caller has removed the grant's translation. From now on
    /// nobody owns the extent, and it cannot be reserved before the token is redeemed.
    ///
    /// # Errors
    /// The grant is returned if a domain made it, or another space than that of the first grant
    /// released here; nothing has changed.
    pub fn release(&mut self, grant: Grant) -> Result<Token, Stale> {
        let is_other = self.space.is_some_and(|space| space != grant.tag);
        if is_other || !grant.tag.is_of_space() {
            return Err(Stale(grant));
        }
        self.space = Some(grant.tag);
        self.issued += 1;
        Ok(Token::of(&grant, self.tag))
    }

    /// Queues a token until the next flush.
    ///
    /// # Errors
    /// See [`QuarantineError`]: the token is returned, nothing has changed.
    ///
    /// # Cost
    /// O(1).
    pub fn push(&mut self, token: Token) -> Result<Level, QuarantineError> {
        if !token.parked().tag.is_with(self.tag) {
            return Err(QuarantineError::Stale(token));
        }
        self.ring.push(token).map_err(QuarantineError::Full)
    }

    /// Marks the tokens that are queued now. A flush that begins after this allows their
    /// redemption; tokens pushed later wait for another flush.
    ///
    /// # Cost
    /// O(1).
    pub fn seal(&self) -> Sealed {
        Sealed {
            tag: self.tag,
            cpu: 0,
            end: self.ring.end(),
        }
    }

    /// Frees the extent of a token that is not queued. The caller has flushed the device's TLB
    /// since its release.
    ///
    /// # Errors
    /// The token is returned if it belongs to another quarantine, or if its extent is no longer in
    /// `space`; nothing has changed.
    ///
    /// # Cost
    /// Same as [`Space::release`].
    pub fn redeem<C: Config, S: Storage<C>>(
        &mut self,
        token: Token,
        space: &mut Space<C, S>,
    ) -> Result<(), StaleToken> {
        let is_ours = token.parked().tag.is_with(self.tag);
        if !is_ours || space.release(self.grant(&token)).is_err() {
            return Err(StaleToken(token));
        }
        self.redeemed += 1;
        Ok(())
    }

    /// Frees the extents of the tokens that were queued at the seal, and returns their number. The
    /// caller has flushed the device's TLB since.
    ///
    /// A token whose extent is no longer in `space`, because it was released or cut by its address,
    /// frees nothing and is not counted.
    ///
    /// # Errors
    /// The seal is returned if another quarantine made it, or if the tokens belong to another
    /// space; nothing has changed.
    ///
    /// # Cost
    /// One [`Space::release`] per token.
    pub fn redeem_sealed<C: Config, S: Storage<C>>(
        &mut self,
        sealed: Sealed,
        space: &mut Space<C, S>,
    ) -> Result<usize, StaleSeal> {
        let is_other = self.space.is_some_and(|of| !of.is_with(space.tag));
        if is_other || sealed.tag != self.tag {
            return Err(StaleSeal(sealed));
        }
        let mut freed = 0;
        while let Some(token) = self.ring.take_below(sealed.end) {
            self.redeemed += 1;
            freed += usize::from(space.release(self.grant(&token)).is_ok());
        }
        Ok(freed)
    }

    /// Rebuilds the space's grant from one of this quarantine's tokens.
    fn grant(&self, token: &Token) -> Grant {
        let tag = self.space.unwrap_or(Tag::NONE);
        Parked {
            tag,
            ..*token.parked()
        }
        .into_grant()
    }

    /// Number of queued tokens.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns true if no token is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of tokens issued and not redeemed: queued ones, those held elsewhere, and dropped
    /// ones, whose extents have leaked.
    pub fn outstanding(&self) -> u64 {
        self.issued - self.redeemed
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::Quarantine;
    use crate::addr::{Extent, Iova};
    use crate::iova::{
        Grant, Level, Lowest, QuarantineError, Request, ReserveError, Space, SpaceNode, Stale,
        StaleSeal, StaleToken, Standard, TokenSlot, VecSpace,
    };

    const PAGE: u64 = 4096;

    /// A space of `pages` pages.
    fn space(pages: u64) -> VecSpace {
        let extent = Extent::from_len(Iova::new(0), pages * PAGE).unwrap();
        Space::new(extent, PAGE, Vec::<SpaceNode<Standard>>::new()).unwrap()
    }

    fn page(space: &mut VecSpace) -> Grant {
        space.reserve(&Request::new(PAGE), Lowest).unwrap()
    }

    fn quarantine(slots: usize) -> Quarantine<Vec<TokenSlot>> {
        Quarantine::new(vec![TokenSlot::EMPTY; slots], slots.div_ceil(2))
    }

    #[test]
    fn a_released_extent_is_not_had_again_before_it_is_redeemed() {
        let (mut space, mut quarantine) = (space(1), quarantine(2));
        let token = quarantine.release(page(&mut space)).unwrap();
        let full = space.reserve(&Request::new(1), Lowest);
        assert!(matches!(full, Err(ReserveError::NoSpace { .. })));
        quarantine.redeem(token, &mut space).unwrap();
        assert_eq!(page(&mut space).iova(), Iova::new(0));
        assert_eq!(quarantine.outstanding(), 0);
    }

    #[test]
    fn a_flush_frees_what_was_there_when_it_was_sealed_and_no_more() {
        let (mut space, mut quarantine) = (space(8), quarantine(4));
        let push = |quarantine: &mut Quarantine<_>, space: &mut VecSpace| {
            let token = quarantine.release(page(space)).unwrap();
            quarantine.push(token).unwrap()
        };
        // Three rounds, so that the queue wraps around the end of its array.
        for _ in 0..3 {
            assert_eq!(push(&mut quarantine, &mut space), Level::Low);
            assert_eq!(push(&mut quarantine, &mut space), Level::High);
            let early = quarantine.seal();
            assert_eq!(push(&mut quarantine, &mut space), Level::High);
            let late = quarantine.seal();
            assert_eq!(quarantine.redeem_sealed(early, &mut space), Ok(2));
            assert_eq!((space.len(), quarantine.len()), (1, 1));
            assert_eq!(quarantine.redeem_sealed(late, &mut space), Ok(1));
            assert!(space.is_empty() && quarantine.is_empty());
        }
    }

    #[test]
    fn the_later_of_two_seals_covers_the_earlier_one() {
        let (mut space, mut quarantine) = (space(2), quarantine(2));
        let mut seals = Vec::new();
        for _ in 0..2 {
            let token = quarantine.release(page(&mut space)).unwrap();
            let _ = quarantine.push(token).unwrap();
            seals.push(quarantine.seal());
        }
        let freed = seals.into_iter().rev();
        let freed: Vec<_> = freed
            .map(|sealed| quarantine.redeem_sealed(sealed, &mut space).unwrap())
            .collect();
        assert_eq!(freed, [2, 0]);
    }

    #[test]
    fn a_full_quarantine_gives_the_token_back() {
        let (mut space, mut quarantine) = (space(2), quarantine(1));
        let tokens = [(); 2].map(|()| quarantine.release(page(&mut space)).unwrap());
        let [first, second] = tokens;
        assert_eq!(quarantine.push(first), Ok(Level::High));
        let Err(QuarantineError::Full(second)) = quarantine.push(second) else {
            panic!("one slot, two tokens");
        };
        let sealed = quarantine.seal();
        assert_eq!(quarantine.redeem_sealed(sealed, &mut space), Ok(1));
        quarantine.redeem(second, &mut space).unwrap();
        assert!(space.is_empty());
    }

    #[test]
    fn a_quarantine_without_slots_holds_nothing() {
        let (mut space, mut quarantine) = (space(1), quarantine(0));
        let token = quarantine.release(page(&mut space)).unwrap();
        assert!(matches!(
            quarantine.push(token),
            Err(QuarantineError::Full(_))
        ));
        assert_eq!(quarantine.seal(), quarantine.seal());
    }

    #[test]
    fn a_dropped_token_leaks_its_extent_and_is_counted() {
        let (mut space, mut quarantine) = (space(2), quarantine(2));
        drop(quarantine.release(page(&mut space)).unwrap());
        let sealed = quarantine.seal();
        assert_eq!(quarantine.redeem_sealed(sealed, &mut space), Ok(0));
        assert_eq!((space.len(), quarantine.outstanding()), (1, 1));
    }

    #[test]
    fn tokens_and_seals_of_another_quarantine_are_refused() {
        let (mut space, mut ours, mut other) = (space(2), quarantine(2), quarantine(2));
        let token = other.release(page(&mut space)).unwrap();
        let Err(QuarantineError::Stale(token)) = ours.push(token) else {
            panic!("it was released elsewhere");
        };
        let Err(StaleToken(token)) = ours.redeem(token, &mut space) else {
            panic!("it was released elsewhere");
        };
        let _ = other.push(token).unwrap();
        let sealed = other.seal();
        let Err(StaleSeal(sealed)) = ours.redeem_sealed(sealed, &mut space) else {
            panic!("another one was sealed");
        };
        assert_eq!((ours.outstanding(), space.len()), (0, 1));
        assert_eq!(other.redeem_sealed(sealed, &mut space), Ok(1));
    }

    #[test]
    fn a_quarantine_goes_with_the_space_of_its_first_grant() {
        let (mut ours, mut other, mut quarantine) = (space(2), space(2), quarantine(2));
        let token = quarantine.release(page(&mut ours)).unwrap();
        let grant = page(&mut other);
        let Err(Stale(grant)) = quarantine.release(grant) else {
            panic!("it is of another space");
        };
        let Err(StaleToken(token)) = quarantine.redeem(token, &mut other) else {
            panic!("the other space has the same extent, and not this token's");
        };
        let _ = quarantine.push(token).unwrap();
        let sealed = quarantine.seal();
        let Err(StaleSeal(sealed)) = quarantine.redeem_sealed(sealed, &mut other) else {
            panic!("the tokens are of another space");
        };
        assert_eq!((quarantine.len(), other.len()), (1, 1));
        assert_eq!(quarantine.redeem_sealed(sealed, &mut ours), Ok(1));
        other.release(grant).unwrap();
        assert!(ours.is_empty() && other.is_empty());
    }

    #[test]
    fn a_token_whose_extent_was_released_by_its_address_frees_nothing() {
        let (mut space, mut quarantine) = (space(2), quarantine(2));
        let tokens = [(); 2].map(|()| quarantine.release(page(&mut space)).unwrap());
        for token in &tokens {
            space.release_at(token.extent()).unwrap();
        }
        let [first, second] = tokens;
        let Err(StaleToken(first)) = quarantine.redeem(first, &mut space) else {
            panic!("the space does not know it");
        };
        let _ = quarantine.push(first).unwrap();
        let _ = quarantine.push(second).unwrap();
        let sealed = quarantine.seal();
        assert_eq!(quarantine.redeem_sealed(sealed, &mut space), Ok(0));
        assert_eq!(quarantine.outstanding(), 0);
    }
}
