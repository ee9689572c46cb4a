//! `counts!`, the one way to define the counts of a race or a stress run.
#![forbid(unsafe_code)]

/// Defines counts that can be added. Behind each stand the words with which it is shown.
macro_rules! counts {
    ($(#[$meta:meta])* pub struct $counts:ident {$(
        $(#[$doc:meta])* $count:ident: $words:literal,
    )+}) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $counts {$(
            $(#[$doc])*
            pub $count: u64,
        )+}

        impl ::core::ops::AddAssign for $counts {
            fn add_assign(&mut self, other: Self) {
                $(self.$count += other.$count;)+
            }
        }

        impl ::core::fmt::Display for $counts {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let all = [$(::std::format!("{} {}", self.$count, $words)),+];
                f.write_str(&all.join(", "))
            }
        }
    };
}
pub(crate) use counts;
