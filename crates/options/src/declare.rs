//! From the list of options to the types and tables that come of it.

/// Declares [`crate::Options`] with its defaults, the table of the options, and the types of their values, from one row for
/// each option: its fields with their defaults, its [`crate::table::OptionRow`], its `Page`, which only tests see, and its
/// types. It looks like a list of blocks, so that `rustfmt` can format it.
macro_rules! options {
    ($({
        $($(#[$meta:meta])* let $field:ident: $type:ty = $default:expr;)*
        OptionRow $row:tt;
        Page $page:tt;
        $($value_type:item)*
    },)*) => {
        /// The options of a profile, with defaults filled in.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Options {
            $($($(#[$meta])* pub $field: $type,)*)*
            /// Options that are accepted but have no effect.
            pub without_effect: Vec<&'static str>,
        }

        impl Default for Options {
            fn default() -> Self {
                Self {
                    $($($field: $default,)*)*
                    without_effect: Vec::new(),
                }
            }
        }

        /// The options, in the order of the help.
        // Some rows have all fields.
        #[expect(clippy::needless_update)]
        pub(crate) const ROWS: &[OptionRow<Options>] = &[$(OptionRow $row,)*];

        /// What the reference says about each, and what tests must see of it.
        #[cfg(test)]
        // As above.
        #[expect(clippy::needless_update)]
        pub(crate) const PAGES: &[Page<Options>] = &[$(Page $page,)*];

        $($($value_type)*)*
    };
}

pub(crate) use options;
