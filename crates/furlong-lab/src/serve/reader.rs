//! A connection to the store that comes back when the store does: a file that was put in another's
//! place is seen, a server that was started again is connected to again.
#![forbid(unsafe_code)]

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::refusal::Refusal;
use crate::record::store::{Fault, Location, Store, Work};

/// A connection, where there is one.
pub(super) struct Reader {
    location: Location,
    open: Option<Open>,
}

struct Open {
    store: Store,
    /// Which file it was that was opened.
    file: Option<File>,
}

/// A file, whatever its name: its device and its number there.
type File = (u64, u64);

impl Reader {
    /// Of a store; nothing is opened yet.
    pub(super) fn of(location: &Location) -> Reader {
        Reader {
            location: location.clone(),
            open: None,
        }
    }

    /// Does something with the store.
    ///
    /// # Errors
    ///
    /// What is refused. After a fault the store is opened anew, at once where all that was lost is
    /// the connection.
    pub(super) fn read<T>(
        &mut self,
        take: impl Fn(&Store) -> Result<T, Refusal>,
    ) -> Result<(T, Work), Refusal> {
        let kept = self
            .open
            .take()
            .filter(|open| open.file == file(&self.location));
        let was_open = kept.is_some();
        match self.try_to(kept, &take) {
            Err(Refusal::Store(fault)) if was_open && fault.is_lost() => self.try_to(None, &take),
            done => done,
        }
    }

    fn try_to<T>(
        &mut self,
        open: Option<Open>,
        take: impl Fn(&Store) -> Result<T, Refusal>,
    ) -> Result<(T, Work), Refusal> {
        let open = match open {
            Some(open) => open,
            None => self.open()?,
        };
        let taken = take(&open.store);
        let work = open.store.take_work();
        if !matches!(taken, Err(Refusal::Store(_))) {
            self.open = Some(open);
        }
        taken.map(|taken| (taken, work))
    }

    fn open(&self) -> Result<Open, Fault> {
        // First, so that a file that is exchanged meanwhile is one that is not known.
        let file = file(&self.location);
        let store = Store::open_to_read(&self.location)?;
        Ok(Open { store, file })
    }
}

/// Which file stands where the store is; `None` where there is none, or the store is no file.
fn file(location: &Location) -> Option<File> {
    let Location::File(path) = location else {
        return None;
    };
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
