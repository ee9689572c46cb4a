//! Detection of a file's form, and the readers of all forms.

use std::fmt;

use super::fault::{Fault, MapError};
use super::map::MemoryMap;
use super::text::{lines, text_of};
use super::{iomem, native};

/// The forms of memory maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `furlong.map/1`, in which this project writes maps.
    Native,
    /// `/proc/iomem`.
    Iomem,
}

/// Returns true if a line is of a form.
type Recogniser = fn(&str) -> bool;

/// Reads the map in a text.
type Reader = fn(&str) -> Result<MemoryMap, MapError>;

impl Form {
    /// All forms.
    pub const ALL: [Form; 2] = [Form::Native, Form::Iomem];

    /// Name of the form.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Form::Native => native::HEADING,
            Form::Iomem => "/proc/iomem",
        }
    }

    fn parts(self) -> (Recogniser, Reader) {
        match self {
            Form::Native => (native::is_one, native::read),
            Form::Iomem => (iomem::is_one, iomem::read),
        }
    }

    /// The form of a text, detected from its first line that has one.
    #[must_use]
    pub fn of(text: &str) -> Option<Form> {
        lines(text).find_map(|(_, line)| {
            let mut forms = Form::ALL.into_iter();
            forms.find(|form| form.parts().0(line))
        })
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads the map in the bytes of a file of any form. `name` is the file's name in errors.
///
/// # Errors
/// The first fault, with the file and, if there is one, the line.
pub fn parse(name: &str, bytes: &[u8]) -> Result<MemoryMap, MapError> {
    let map = || {
        let text = text_of(bytes)?;
        let is_empty = lines(&text).next().is_none();
        let unknown = if is_empty {
            Fault::Empty
        } else {
            Fault::UnknownForm
        };
        let form = Form::of(&text).ok_or(MapError::whole(unknown))?;
        form.parts().1(&text)
    };
    map().map_err(|error| error.named(name))
}

/// Reads the map in the bytes of a file of a known form.
///
/// # Errors
/// As for [`parse`].
pub fn parse_as(form: Form, name: &str, bytes: &[u8]) -> Result<MemoryMap, MapError> {
    let map = text_of(bytes).and_then(|text| form.parts().1(&text));
    map.map_err(|error| error.named(name))
}
