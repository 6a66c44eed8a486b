//! The form of a row of the options' table, and how a value is read with it.

use crate::error::OptionError;
use crate::scope::Scope;
use crate::settings::Settings;
use crate::values::switch;
use crate::values::time;

/// An option.
pub(super) struct OptionRow {
    pub(super) name: &'static str,
    /// The values as the help shows them.
    pub(super) values: &'static str,
    /// The allowed values in an error message, if `values` is a placeholder.
    pub(super) allowed: Option<&'static str>,
    pub(super) default: &'static str,
    pub(super) description: &'static str,
    /// The measurements that it changes.
    pub(super) scope: Scope,
    pub(super) setter: Setter,
}

pub(super) enum Setter {
    /// Takes `y` or `n`.
    Switch(fn(&mut Settings, bool)),
    /// Takes any value that the function accepts.
    Value(fn(&mut Settings, &str) -> Result<(), ValueRefusal>),
    /// Accepted because old scripts pass it; has no effect, and is missing from the help.
    WithoutEffect,
    /// As `Switch`, but without an effect.
    SwitchWithoutEffect,
}

pub(super) enum ValueRefusal {
    NotAllowed,
    Twice,
}

/// Sets `every=`.
pub(super) fn set_every(settings: &mut Settings, value: &str) -> Result<(), ValueRefusal> {
    settings.options.every = time(value).ok_or(ValueRefusal::NotAllowed)?;
    Ok(())
}

impl OptionRow {
    /// The fields that switches have in common: those which are off unless they are given.
    pub(super) const SWITCH: OptionRow = OptionRow {
        values: "y|n",
        default: "n",
        ..OptionRow::hidden("", "", Setter::SwitchWithoutEffect)
    };

    /// Returns the row of an option that is accepted and not documented.
    pub(super) const fn hidden(name: &'static str, values: &'static str, setter: Setter) -> Self {
        Self {
            name,
            values,
            allowed: None,
            default: "",
            description: "",
            scope: Scope::Always,
            setter,
        }
    }

    pub(super) fn apply(
        &'static self,
        settings: &mut Settings,
        value: Option<&str>,
    ) -> Result<(), OptionError> {
        let Some(value) = value else {
            return Err(OptionError::NoValue {
                name: self.name,
                allowed: self.allowed.unwrap_or(self.values).to_owned(),
            });
        };
        let answer = match &self.setter {
            Setter::Switch(set) => switch(value)
                .map(|on| set(settings, on))
                .ok_or(ValueRefusal::NotAllowed),
            Setter::Value(set) => set(settings, value),
            Setter::WithoutEffect => {
                settings.note(self.name);
                Ok(())
            }
            Setter::SwitchWithoutEffect => switch(value)
                .map(|_| settings.note(self.name))
                .ok_or(ValueRefusal::NotAllowed),
        };
        let value = value.to_owned();
        if answer.is_ok() {
            settings.given.push((self.name, &self.scope, value.clone()));
        }
        answer.map_err(|refusal| match refusal {
            ValueRefusal::NotAllowed => OptionError::Value {
                name: self.name,
                value,
                allowed: self.allowed.unwrap_or(self.values).to_owned(),
            },
            ValueRefusal::Twice => OptionError::Twice {
                name: self.name,
                value,
            },
        })
    }
}
