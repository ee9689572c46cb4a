//! A fault of a file and its place, for messages of one line.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt::{self, Debug, Display};

/// The maximum number of characters of a line that a message shows.
const SHOWN_CHARS: usize = 48;

/// The reason that a file, or the rest of one, cannot be read.
#[derive(Debug)]
pub struct Located<F> {
    /// Name of the file.
    pub name: String,
    /// Number of the line, counted from one, if the fault has a line.
    pub line: Option<usize>,
    /// The fault.
    pub fault: F,
}

impl<F> Located<F> {
    /// A fault of a line.
    pub(crate) fn at(line: usize, fault: F) -> Self {
        Self {
            line: Some(line),
            ..Self::whole(fault)
        }
    }

    /// A fault of the whole file.
    pub(crate) fn whole(fault: F) -> Self {
        Self {
            name: String::new(),
            line: None,
            fault,
        }
    }

    /// Adds the file's name, unless there is one.
    pub(crate) fn named(mut self, name: &str) -> Self {
        if self.name.is_empty() {
            self.name = shown(name, usize::MAX);
        }
        self
    }
}

impl<F: Display> Display for Located<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}", self.fault)
    }
}

impl<F: Debug + Display> Error for Located<F> {}

/// Defines an enum of faults, each variant with its text. An item of a variant has a name, for the
/// text; in the enum it has none.
macro_rules! faults {
    ($(#[$meta:meta])* pub enum $fault:ident {$(
        $(#[$doc:meta])*
        $variant:ident
            $(($item:ident: $item_type:ty))?
            $({$($(#[$field_doc:meta])* $field:ident: $field_type:ty,)+})?
        => $text:literal;
    )+}) => {
        $(#[$meta])*
        pub enum $fault {$(
            $(#[$doc])*
            $variant $(($item_type))? $({$($(#[$field_doc])* $field: $field_type,)+})?,
        )+}

        impl ::std::fmt::Display for $fault {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant $(($item))? $({ $($field),+ })? => ::std::write!(f, $text),)+
                }
            }
        }

        impl ::std::error::Error for $fault {}
    };
}
pub(crate) use faults;

/// The beginning of a line or a word, for a message.
pub(crate) fn shortened(text: &str) -> String {
    shown(text.trim(), SHOWN_CHARS)
}

/// At most so many characters. Control characters are escaped, because the text is printed in a
/// terminal.
fn shown(text: &str, chars_max: usize) -> String {
    let mut safe = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == chars_max {
            safe.push_str("..");
            break;
        }
        if c.is_control() {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}
