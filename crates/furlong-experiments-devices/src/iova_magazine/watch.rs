//! Ownership of each page: no address may be granted twice, by any CPU.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use furlong::addr::{Address, Extent, Iova};

use crate::traffic::Buffer;
use furlong_lab::model::Failure;

/// Observes every grant and every release.
pub(crate) trait Watch: Sync {
    /// True if it checks anything; if not, callers need not prepare its arguments.
    const LOOKS: bool;
    /// An extent was reserved for a buffer.
    fn granted(&self, extent: Extent<Iova>, buffer: Buffer);
    /// An extent is about to be released.
    fn released(&self, extent: Extent<Iova>);
}

/// Checks nothing and costs nothing.
pub(crate) struct Blind;

impl Watch for Blind {
    const LOOKS: bool = false;
    #[inline(always)]
    fn granted(&self, _: Extent<Iova>, _: Buffer) {}
    #[inline(always)]
    fn released(&self, _: Extent<Iova>) {}
}

/// One bit per page, and the first fault found.
pub(crate) struct Claims {
    page: u64,
    bits: Vec<AtomicU64>,
    wrong: OnceLock<String>,
}

impl Claims {
    /// Covers addresses from 0 to `last`, in pages of `page` bytes.
    pub(crate) fn new(last: u64, page: u64) -> Self {
        let words = last / page / 64 + 1;
        Self {
            page,
            bits: (0..words).map(|_| AtomicU64::new(0)).collect(),
            wrong: OnceLock::new(),
        }
    }

    /// Returns the first fault, if any.
    pub(crate) fn verdict(&self) -> Result<(), Failure> {
        match self.wrong.get() {
            Some(wrong) => Err(Failure(wrong.clone())),
            None => Ok(()),
        }
    }

    /// Pages of an extent, each as a word and a bit.
    fn pages(&self, extent: Extent<Iova>) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let (first, last) = (extent.start().raw(), extent.last().raw());
        let pages = first / self.page..=last / self.page;
        pages.map(|page| (&self.bits[(page / 64) as usize], 1 << (page % 64)))
    }

    fn complain(&self, extent: Extent<Iova>, what: &str) {
        // Only the first fault is kept.
        let _ = self.wrong.set(format!("{extent:?} {what}"));
    }
}

impl Watch for Claims {
    const LOOKS: bool = true;

    fn granted(&self, extent: Extent<Iova>, buffer: Buffer) {
        if extent.last().raw() / self.page / 64 >= self.bits.len() as u64 {
            return self.complain(extent, "is outside the space");
        }
        let is_enough = extent
            .len()
            .is_some_and(|len| len >= buffer.pages() * self.page);
        if !is_enough {
            self.complain(extent, "is shorter than the request");
        }
        for (word, bit) in self.pages(extent) {
            if word.fetch_or(bit, Ordering::SeqCst) & bit != 0 {
                self.complain(extent, "was granted although it was already in use");
            }
        }
    }

    fn released(&self, extent: Extent<Iova>) {
        for (word, bit) in self.pages(extent) {
            if word.fetch_and(!bit, Ordering::SeqCst) & bit == 0 {
                self.complain(extent, "was released although it was not in use");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use furlong::addr::{Extent, Iova};

    use super::{Claims, Watch};
    use crate::traffic::Buffer;

    const PAGE: Buffer = Buffer {
        size: 4096,
        offset: 0,
    };

    fn pages(first: u64, len: u64) -> Extent<Iova> {
        Extent::from_len(Iova::new(first * 4096), len * 4096).unwrap()
    }

    fn said(acts: impl FnOnce(&Claims)) -> Option<String> {
        let claims = Claims::new((1 << 20) - 1, 4096);
        acts(&claims);
        claims.verdict().err().map(|failure| failure.0)
    }

    #[test]
    fn what_comes_and_goes_is_right() {
        let said = said(|claims| {
            claims.granted(pages(60, 8), PAGE);
            claims.released(pages(60, 8));
            claims.granted(pages(255, 1), PAGE);
        });
        assert_eq!(said, None);
    }

    #[test]
    fn a_page_that_somebody_has_is_seen() {
        let said = said(|claims| {
            claims.granted(pages(60, 8), PAGE);
            claims.granted(pages(67, 2), PAGE);
        });
        assert!(said.unwrap().contains("already in use"));
    }

    #[test]
    fn a_second_release_a_short_grant_and_one_beyond_are_seen() {
        let twice = said(|claims| {
            claims.granted(pages(3, 1), PAGE);
            claims.released(pages(3, 1));
            claims.released(pages(3, 1));
        });
        assert!(twice.unwrap().contains("was not in use"));
        let two = Buffer {
            size: 8192,
            offset: 0,
        };
        let short = said(|claims| claims.granted(pages(3, 1), two));
        assert!(short.unwrap().contains("shorter"));
        let beyond = said(|claims| claims.granted(pages(256, 1), PAGE));
        assert!(beyond.unwrap().contains("is outside the space"));
    }
}
