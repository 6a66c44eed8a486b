//! The numbers that stand for what a dump has, each kind a type of its own: they index tables, and one in the place of another would
//! be an answer about something else.

/// The index of a class in [`Classes`](crate::data::classes::Classes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClassIndex(pub(crate) u32);

impl ClassIndex {
    /// Returns that of the class at a place; there are fewer than 2^32.
    pub(crate) fn at(place: usize) -> ClassIndex {
        ClassIndex(place as u32)
    }

    /// Returns its place.
    #[inline]
    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }
}

/// The index of a site: a class and the stack that allocated some of its objects. 0 is not a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SiteIndex(pub(crate) u32);

impl SiteIndex {
    /// What stands for no site.
    pub(crate) const NONE: SiteIndex = SiteIndex(0);

    /// Returns that of the site at a place; there are fewer than 2^32.
    pub(crate) fn at(place: usize) -> SiteIndex {
        SiteIndex(place as u32)
    }

    /// Returns its place.
    #[inline]
    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }
}
