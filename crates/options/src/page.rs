//! The part of an option's row that only tests see.

use std::path::MAIN_SEPARATOR;

/// The option `live=` with an absolute path of this system.
pub(crate) const LIVE: &str = match MAIN_SEPARATOR {
    '/' => "live=/s",
    _ => r"live=C:\s",
};

/// What the reference says about an option, and what tests must see of it.
pub(crate) struct Page<O: 'static> {
    /// The part of the page that its section is in.
    pub(crate) part: Part,
    /// The section, in Markdown, with its line breaks. `hprof options NAME` prints it, too.
    pub(crate) text: &'static str,
    /// Each with the option given, and seen.
    pub(crate) effects: &'static [Effect<O>],
    /// The option with a value, and the measurements that it changes, of those in `tests/scope.rs`; `None` if it always has
    /// an effect.
    pub(crate) scoped: Option<(&'static str, &'static str)>,
    /// `true` if none of the option's values is its default, which the help then describes.
    pub(crate) default_in_words: bool,
}

/// The options it needs, the option with a value other than the default, and a check of its effect.
pub(crate) type Effect<O> = (&'static str, &'static str, fn(&O) -> bool);

/// The parts of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Measured,
    Output,
    Detail,
    BadEnd,
    Dumps,
    Rare,
    Original,
}

impl<O> Page<O> {
    /// For an option that is not documented, and has no effect.
    pub(crate) const NONE: Self = Self {
        part: Part::Original,
        text: "",
        effects: &[],
        scoped: None,
        default_in_words: false,
    };
}
