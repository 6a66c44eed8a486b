//! The strength of references in `java.lang.ref`.

use std::str::FromStr;

/// The strength with which a reference object holds its referent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    /// As any other object holds the targets of its fields.
    Strong,
    Soft,
    Weak,
    Phantom,
    Final,
}

impl Strength {
    /// Returns the strength of a class of the JDK that defines it for itself and its subclasses.
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

/// The kinds of reference objects that do not keep their referents alive.
///
/// The VM's references to objects with a `finalize` method are a case of their own: unless they are excluded, they keep
/// alive what nothing else does, until it has been finalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// `SoftReference` and its subclasses.
    pub soft: bool,
    /// `WeakReference` and its subclasses.
    pub weak: bool,
    /// `PhantomReference` and its subclasses.
    pub phantom: bool,
    /// The VM's references to objects with a `finalize` method.
    pub finalizer: bool,
}

impl Excluded {
    /// Every reference keeps its target alive.
    pub const NONE: Excluded = Excluded {
        soft: false,
        weak: false,
        phantom: false,
        finalizer: false,
    };

    /// Returns `true` if a reference of this strength is not among those that count from the start. Those to objects with
    /// a `finalize` method never are: whether they keep anything alive is known when all others have been followed.
    pub(crate) fn omits(self, strength: Strength) -> bool {
        match strength {
            Strength::Strong => false,
            Strength::Soft => self.soft,
            Strength::Weak => self.weak,
            Strength::Phantom => self.phantom,
            Strength::Final => true,
        }
    }

    /// Returns their names as in the option.
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

/// As collections treat them: soft references keep their referents alive, and so does what waits for its finalizer.
impl Default for Excluded {
    fn default() -> Excluded {
        Excluded {
            weak: true,
            phantom: true,
            ..Excluded::NONE
        }
    }
}

/// An unknown kind of reference object.
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
