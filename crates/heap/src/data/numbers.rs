//! The numbers that stand for what a dump has. Each kind is a type of its own: they index tables, and whoever mixed two up
//! would get an answer about something else.

/// Defines a number that is a place in a table.
macro_rules! number {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(pub(crate) u32);

        impl $name {
            /// Returns the number of what is at a place, which is below 2^32.
            pub(crate) fn at(place: usize) -> $name {
                $name(place as u32)
            }

            /// Returns its place.
            #[inline]
            pub(crate) fn place(self) -> usize {
                self.0 as usize
            }
        }
    };
}

number! {
    /// The number of an object, in the order of the ids.
    ObjectNumber
}

number! {
    /// The index of a class in [`Classes`](crate::data::classes::Classes).
    ClassIndex
}

number! {
    /// The index of a site: a class and the stack that allocated some of its objects. 0 is not a site.
    SiteIndex
}

impl ObjectNumber {
    /// No object.
    pub(crate) const NONE: ObjectNumber = ObjectNumber(u32::MAX);
}

impl SiteIndex {
    /// No site.
    pub(crate) const NONE: SiteIndex = SiteIndex(0);
}
