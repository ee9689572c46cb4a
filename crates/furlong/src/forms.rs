//! Implementations that many types have in the same form, each as one line beside its type, and the
//! seal of traits.
//!
//! After the type stands `where [..]`, the parameters of the implementation, if it has any.
#![forbid(unsafe_code)]

/// The supertrait of traits that no other crate may implement.
pub trait Sealed {}

/// Implements `Debug`: the text that is shown, with `it` for the value.
///
/// `Name { field: it.value(), .. }` names some values, `Name(it.value())` has one without a name,
/// and `[it.values()]` is a list.
macro_rules! debug_as {
    ($type:ty $(where [$($generics:tt)*])?:
        $(|$it:ident|)? $name:ident { $($field:ident: $value:expr,)* .. }
    ) => {
        impl $(<$($generics)*>)? ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $(let $it = self;)?
                f.debug_struct(::core::stringify!($name))
                    $(.field(::core::stringify!($field), &$value))*
                    .finish_non_exhaustive()
            }
        }
    };
    ($type:ty $(where [$($generics:tt)*])?: |$it:ident| $name:ident($value:expr)) => {
        impl $(<$($generics)*>)? ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let $it = self;
                f.debug_tuple(::core::stringify!($name)).field(&$value).finish()
            }
        }
    };
    ($type:ty $(where [$($generics:tt)*])?: |$it:ident| [$values:expr]) => {
        impl $(<$($generics)*>)? ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let $it = self;
                f.debug_list().entries($values).finish()
            }
        }
    };
}
pub(crate) use debug_as;

/// Implements `Copy` and `Clone` for handles, whatever their parameters are: a derive would demand
/// that these can be copied too.
macro_rules! copies {
    ($($type:ty where [$($generics:tt)*];)+) => {$(
        impl<$($generics)*> Clone for $type {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($generics)*> Copy for $type {}
    )+};
}
pub(crate) use copies;

/// Implements `Default` by `new`.
macro_rules! default_is_new {
    ($type:ty $(where [$($generics:tt)*])?) => {
        impl $(<$($generics)*>)? Default for $type {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}
pub(crate) use default_is_new;

/// Defines the setters of a builder, each named after its field.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty;)+) => {$(
        $(#[$doc])*
        #[must_use]
        pub const fn $field(self, $field: $type) -> Self {
            Self { $field, ..self }
        }
    )+};
}
pub(crate) use setters;
