//! A connection to the store that is reopened when necessary: after its file was replaced, or its
//! server was restarted.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::refusal::Refusal;
use crate::record::store::{Fault, Location, Store, Work};

/// A connection, if there is one.
pub(super) struct Reader {
    location: Location,
    open: Option<Open>,
}

struct Open {
    store: Store,
    /// The file that was opened.
    file: Option<File>,
}

/// A file, independent of its name: its device and its inode number.
type File = (u64, u64);

impl Reader {
    /// A reader of a store; nothing is opened yet.
    pub(super) fn of(location: &Location) -> Reader {
        Reader {
            location: location.clone(),
            open: None,
        }
    }

    /// Runs `take` on the store.
    ///
    /// # Errors
    ///
    /// The refusal of `take`. After a fault the store is reopened: at once if only the connection
    /// was lost, otherwise at the next call.
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
        // Before opening: if the file is replaced in between, this is the old one, and it is
        // reopened.
        let file = file(&self.location);
        let store = Store::open_to_read(&self.location)?;
        Ok(Open { store, file })
    }
}

/// The file at the store's path; `None` if there is none, or the store is not a file.
fn file(location: &Location) -> Option<File> {
    let Location::File(path) = location else {
        return None;
    };
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
