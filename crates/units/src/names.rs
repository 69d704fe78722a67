//! Closed lists of named values.

/// Declares a closed list as an enum, with the `COUNT` of its values, `ALL` of them in order, and the `name` of each in
/// results: `Read = "read",`. A choice of a configuration is a [`choice!`](crate::choice).
#[macro_export]
macro_rules! names {
    ($(#[$meta:meta])+ pub enum $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[doc = $doc])+ $variant,)+ }

        impl $name {
            /// Number of values.
            pub const COUNT: usize = [$($text),+].len();

            /// All values, in order.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            /// Name in results.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}
