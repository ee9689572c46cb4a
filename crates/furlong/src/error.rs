//! The error that every module has, and `messages!`, the one way to give an error its text.
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// Defines an enum of errors, each variant with its text, or implements `Display` and `Error` for
/// another type: a text for each pattern of its values.
///
/// Items of a variant have names, for the text. In the enum they have none.
macro_rules! messages {
    (
        $(#[$meta:meta])*
        $visible:vis enum $error:ident {$(
            $(#[$variant_meta:meta])*
            $variant:ident
                $(($($item:tt: $item_type:ty),+))?
                $({$($(#[$field_meta:meta])* $field:ident: $field_type:ty,)+})?
            => $message:literal $(, $value:expr)*;
        )+}
    ) => {
        $(#[$meta])*
        $visible enum $error {$(
            $(#[$variant_meta])*
            $variant $(($($item_type),+))? $({$($(#[$field_meta])* $field: $field_type,)+})?,
        )+}

        $crate::error::messages! { $error:
            $(Self::$variant $(($($item),+))? $({ $($field),+ })? => $message $(, $value)*;)+
        }
    };
    ($error:ty $(where [$($generics:tt)*])?:
        $($pattern:pat => $message:literal $(, $value:expr)*;)+
    ) => {
        impl $(<$($generics)*>)? ::core::fmt::Display for $error {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self {
                    $($pattern => ::core::write!(f, $message $(, $value)*),)+
                }
            }
        }

        impl $(<$($generics)*>)? ::core::error::Error for $error {}
    };
}
pub(crate) use messages;

/// Out of memory; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

messages! { NoMemory:
    Self => "out of memory";
}

/// An empty vector with room for `len` elements.
#[cfg(feature = "alloc")]
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>, NoMemory> {
    let mut memory = Vec::new();
    let obtained = memory.try_reserve_exact(len);
    obtained.map(|()| memory).map_err(|_| NoMemory)
}
