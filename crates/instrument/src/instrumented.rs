//! The result of instrumenting a class.

/// The result of instrumenting a class.
#[derive(Debug, Clone, Default)]
pub struct Instrumented {
    /// The new bytes; `None` if nothing was inserted.
    pub class: Option<Vec<u8>>,
    /// The methods that cannot be instrumented, except for those without a body (`abstract`) and those that the caller
    /// did not want.
    pub left_out: Vec<LeftOut>,
}

/// A method that cannot be instrumented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its index in the class file's table of methods, from 0.
    pub index: u16,
    /// In modified UTF-8.
    pub name: Vec<u8>,
    /// As in `(I)V`.
    pub descriptor: Vec<u8>,
    /// The reason.
    pub reason: Reason,
}

/// The reason a method cannot be instrumented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Its code is not bytecode.
    Native,
    /// The VM has its own code for it, which would no longer be used.
    Intrinsic,
    /// An empty `finalize()`: with code in it, every object would have to be finalized.
    EmptyFinalizer,
    /// With the calls it would exceed the size of a method (64 KB, and other limits of the format).
    TooLarge,
    /// A conditional jump in it would have to reach too far (32 KB).
    JumpTooFar,
    /// The class file has no room for more constants.
    FullConstantPool,
    /// The class file is older than Java 1.0.2: its code has another form.
    TooOld,
    /// Its code is invalid, or has an unknown form.
    Malformed,
}

impl Reason {
    /// Returns a short description, which completes the sentence "not instrumented: ...".
    pub fn text(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Intrinsic => "intrinsic of the VM",
            Self::EmptyFinalizer => "empty finalizer",
            Self::TooLarge => "too large",
            Self::JumpTooFar => "a jump too far",
            Self::FullConstantPool => "constant pool full",
            Self::TooOld => "class file too old",
            Self::Malformed => "malformed code",
        }
    }
}
