//! The form of a row of the options' table, and how a value is read with it.

use crate::error::OptionError;
use crate::scope::Scope;
use crate::values::switch;

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

    /// Sets the value.
    pub(super) fn apply(&self, options: &mut O, value: Option<&str>) -> Result<(), OptionError> {
        let allowed = || self.allowed.unwrap_or(self.values).to_owned();
        let Some(value) = value else {
            return Err(OptionError::NoValue {
                name: self.name,
                allowed: allowed(),
            });
        };
        let answer = match &self.setter {
            Setter::Switch(set) => switch(value)
                .map(|on| set(options, on))
                .ok_or(ValueRefusal::NotAllowed),
            Setter::Value(set) => set(options, value),
            Setter::WithoutEffect => Ok(()),
            Setter::SwitchWithoutEffect => {
                switch(value).map(|_| ()).ok_or(ValueRefusal::NotAllowed)
            }
        };
        answer.map_err(|refusal| match refusal {
            ValueRefusal::NotAllowed => OptionError::Value {
                name: self.name,
                value: value.to_owned(),
                allowed: allowed(),
            },
            ValueRefusal::Twice => OptionError::Twice {
                name: self.name,
                value: value.to_owned(),
            },
        })
    }
}
