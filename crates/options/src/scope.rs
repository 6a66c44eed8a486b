//! The scope of each option: the measurement, or the part of the output, that it changes.

/// Something that the options may ask for, and that another option may change.
pub(super) struct Use<O> {
    /// The options that ask for it, as the user writes them.
    pub(super) options: &'static str,
    /// Returns `true` if the options ask for it.
    pub(super) is_in: fn(&O) -> bool,
}

/// Which of the other options an option needs to have an effect.
pub(super) enum Scope<O: 'static> {
    /// None.
    Always,
    /// One of these; otherwise the option is refused.
    Only(&'static [Use<O>]),
    /// One of these; otherwise the option is accepted and named on stderr, because the original accepted it.
    Original(&'static [Use<O>]),
}

impl<O> Scope<O> {
    /// Returns what the option is for; nothing if it always has an effect.
    pub(super) fn uses(&self) -> &'static [Use<O>] {
        match self {
            Scope::Always => &[],
            Scope::Only(uses) | Scope::Original(uses) => uses,
        }
    }

    /// Returns `true` if the option changes something that the options ask for.
    pub(super) fn is_in(&self, options: &O) -> bool {
        let uses = self.uses();
        uses.is_empty() || uses.iter().any(|needed| (needed.is_in)(options))
    }

    /// Returns the options of which the option needs one, as the user writes them.
    pub(super) fn needed(&self) -> String {
        let needed: Vec<&str> = self.uses().iter().map(|needed| needed.options).collect();
        needed.join(" or ")
    }
}
