//! The form of a row of the options' table.

/// An option.
pub(super) struct OptionRow<O: 'static> {
    pub(super) name: &'static str,
    /// The values as the help shows them.
    pub(super) values: &'static str,
    /// The allowed values in an error message, if `values` is a placeholder.
    pub(super) allowed: Option<&'static str>,
    pub(super) default: &'static str,
    pub(super) description: &'static str,
    /// The measurements that it changes.
    pub(super) scope: Scope<O>,
    pub(super) setter: Setter<O>,
    /// For an option that measures something on its own: returns `true` if that is requested.
    pub(super) measures: Option<fn(&O) -> bool>,
}

pub(super) enum Setter<O> {
    /// Takes `y` or `n`.
    Switch(fn(&mut O, bool)),
    /// Takes any value that the function accepts.
    Value(fn(&mut O, &str) -> Result<(), ValueRefusal>),
    /// Accepted because old scripts pass it; has no effect, and is missing from the help.
    WithoutEffect,
    /// As `Switch`, but without an effect.
    SwitchWithoutEffect,
}

pub(super) enum ValueRefusal {
    NotAllowed,
    Twice,
}

impl<O> OptionRow<O> {
    /// The fields that switches have in common: those which are off unless they are given.
    pub(super) const SWITCH: Self = Self {
        values: "y|n",
        default: "n",
        ..Self::NONE
    };

    /// The fields that need not be given: those of an option that is accepted, without an effect, and not documented.
    pub(super) const NONE: Self = Self {
        name: "",
        values: "",
        allowed: None,
        default: "",
        description: "",
        scope: Scope::Always,
        setter: Setter::SwitchWithoutEffect,
        measures: None,
    };

    /// Returns `false` if the option is only accepted.
    pub(super) fn has_effect(&self) -> bool {
        matches!(self.setter, Setter::Switch(_) | Setter::Value(_))
    }
}

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
