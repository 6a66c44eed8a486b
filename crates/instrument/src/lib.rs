//! Inserts calls into the methods of a class file: one at the entry of a method, one at each exit.
//!
//! It works on the bytes of class files, without a JVM. They call static methods of one class, the *tracker*, which
//! take the method's number:
//!
//! ```text
//!     entry(n)            before the first instruction; a jump back to it does not call it again
//!     ...
//!     exit(n); return     before each return
//!     ...
//!     catch any: exception_exit(n); throw it on
//! ```
//!
//! # What the receiver of the calls may rely on
//!
//! - Each activation that gets as far as its first instruction calls `entry` once. It does not if that very call fails
//!   (the stack is used up): then it calls nothing else either.
//! - Then it calls `exit` when it returns, or `exception_exit` when an exception leaves it, whoever threw it. The
//!   program's own handlers run first, so an exception that it catches itself is not seen. When `exit` itself fails,
//!   `exception_exit` follows; so `exit` and `exception_exit` must do their work wholly or throw before they begin.
//! - There are activations that call neither, and only these: a constructor whose `super(...)` or `this(...)` throws
//!   (the verifier allows no handler there), a constructor of a shape that no compiler makes, a method in which no
//!   instruction can throw when its thread is stopped from outside or `exit` fails, and one whose `exception_exit`
//!   fails. All are left by an exception. Whoever catches it may enter other methods before it leaves itself, so until
//!   then these seem to be called by the one that is gone. A shadow stack heals when a call of `exit` or
//!   `exception_exit` takes off everything above the nearest entry of its own method, and nothing if there is no such
//!   entry.
//! - A `synchronized` method calls `entry` when it has the lock, and `exit` or `exception_exit` before it gives it
//!   back.
//! - The calls take no lock and allocate nothing of their own in Java.
//!
//! # Example
//!
//! ```
//! use hprof_instrument::{Hooks, class_name, tracker_class};
//!
//! let hooks = Hooks {
//!     tracker: b"com/example/Tracker",
//!     entry: b"entry",
//!     exit: b"exit",
//!     exception_exit: b"exceptionExit",
//! };
//! // The class whose native methods are called; `instrument` inserts the calls into any other class.
//! let tracker = tracker_class(&hooks);
//! assert_eq!(class_name(&tracker)?, b"com/example/Tracker");
//! # Ok::<(), hprof_instrument::Error>(())
//! ```

#![forbid(unsafe_code)]

mod class;
mod code;
mod constructor;
mod descriptor;
mod error;
mod frames;
mod layout;
mod opcodes;
mod pool;
mod reader;
mod source;
mod tables;
mod tracker;

pub use class::{class_name, instrument, round_trip};
pub use error::Error;
pub use source::source_file;
pub use tracker::tracker_class;

/// The calls to insert: their class and methods. All names are in the form of class files.
#[derive(Debug, Clone, Copy)]
pub struct Hooks<'a> {
    /// The class, with slashes: `java/lang/HprofTracker`. It is never instrumented itself.
    pub tracker: &'a [u8],
    /// `static void methodEntry(int method)`: called first in the method.
    pub entry: &'a [u8],
    /// `static void methodExit(int method)`: called before the method returns.
    pub exit: &'a [u8],
    /// `static void exceptionExit(int method)`: called when an exception leaves the method. May be the same as `exit`.
    pub exception_exit: &'a [u8],
}

/// The facts about a class in its file.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ClassInfo<'a> {
    /// With slashes: `java/lang/String`; modified UTF-8.
    pub name: &'a [u8],
    /// The superclass; `None` for `java/lang/Object` and modules.
    pub super_name: Option<&'a [u8]>,
    /// The flags of the class file.
    pub access: u16,
    /// The class file's version: 52 is Java 8.
    pub major: u16,
}

/// The facts about a method in the class file.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Method<'a> {
    /// Its index in the class file's table of methods, from 0.
    pub index: u16,
    /// In modified UTF-8; `<init>` and `<clinit>` are methods too.
    pub name: &'a [u8],
    /// As in `(I)V`.
    pub descriptor: &'a [u8],
    /// The flags of the class file.
    pub access: u16,
    /// The original length in bytes; 0 if it has no code.
    pub code_length: u32,
    /// `true` if it carries the annotation of methods that the VM replaces by its own code.
    pub is_intrinsic: bool,
    annotations: class::Annotations<'a>,
    code: &'a [u8],
}

impl Method<'_> {
    /// Returns the line of its first instruction; `None` if the class file does not have it.
    pub fn first_line(&self) -> Option<u16> {
        source::first_line(self.annotations.pool(), self.code)
    }

    /// Returns `true` if it has a run-time visible annotation of this type: `Ljdk/internal/vm/annotation/Hidden;`.
    pub fn has_annotation(&self, descriptor: &[u8]) -> bool {
        self.annotations.contains(descriptor)
    }
}

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

#[cfg(test)]
mod tests;
