//! The error that every module has, and `messages!`, the one way to give an error its text.
#![forbid(unsafe_code)]

/// Implements `Display` and `Error` for a type: a message for each pattern of its values.
macro_rules! messages {
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
