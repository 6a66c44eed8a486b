//! How firmly `java.lang.ref` holds what it refers to.

use std::str::FromStr;

/// How a reference object holds its referent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    /// As every other object holds what its fields refer to.
    Strong,
    Soft,
    Weak,
    Phantom,
    Final,
}

impl Strength {
    /// That of a class of the JDK which sets it for itself and its subclasses.
    pub(crate) fn of_class(name: &str) -> Option<Strength> {
        Some(match name {
            "java.lang.ref.SoftReference" => Strength::Soft,
            "java.lang.ref.WeakReference" => Strength::Weak,
            "java.lang.ref.PhantomReference" => Strength::Phantom,
            "java.lang.ref.FinalReference" => Strength::Final,
            _ => return None,
        })
    }
}

/// Which kinds of reference objects do not keep their referents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// `SoftReference` and its subclasses.
    pub soft: bool,
    /// `WeakReference` and its subclasses.
    pub weak: bool,
    /// `PhantomReference` and its subclasses.
    pub phantom: bool,
    /// What the VM makes for objects with a `finalize` method.
    pub finalizer: bool,
}

impl Excluded {
    /// Every reference keeps what it refers to.
    pub const NONE: Excluded = Excluded {
        soft: false,
        weak: false,
        phantom: false,
        finalizer: false,
    };

    pub(crate) fn has(self, strength: Strength) -> bool {
        match strength {
            Strength::Strong => false,
            Strength::Soft => self.soft,
            Strength::Weak => self.weak,
            Strength::Phantom => self.phantom,
            Strength::Final => self.finalizer,
        }
    }

    /// Their names as the option has them.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            (self.weak, "weak"),
            (self.soft, "soft"),
            (self.phantom, "phantom"),
            (self.finalizer, "finalizer"),
        ];
        let named = all.into_iter().filter(|&(excluded, _)| excluded);
        named.map(|(_, name)| name).collect()
    }
}

/// As a collection treats them: only soft references keep their referents.
impl Default for Excluded {
    fn default() -> Excluded {
        Excluded {
            weak: true,
            phantom: true,
            finalizer: true,
            ..Excluded::NONE
        }
    }
}

/// A kind of reference object that there is not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no kind of reference {0:?}: weak, soft, phantom and finalizer can be excluded, commas between them; or none"
)]
pub struct ExcludedError(String);

impl FromStr for Excluded {
    type Err = ExcludedError;

    fn from_str(text: &str) -> Result<Excluded, ExcludedError> {
        let mut excluded = Excluded::NONE;
        if text == "none" {
            return Ok(excluded);
        }
        for name in text.split(',') {
            match name {
                "soft" => excluded.soft = true,
                "weak" => excluded.weak = true,
                "phantom" => excluded.phantom = true,
                "finalizer" => excluded.finalizer = true,
                _ => return Err(ExcludedError(name.to_owned())),
            }
        }
        Ok(excluded)
    }
}
