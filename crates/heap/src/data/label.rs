//! The descriptions of objects, references and holders.

use std::fmt;
use std::sync::Arc;

use hprof_format::ObjectId;
use serde::{Serialize, Serializer};

/// The description of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// The object of a class: `class Main`.
    Class(Arc<str>),
    /// A thread that has a name: `java.lang.Thread "main" @ 0x7f08`.
    Thread {
        /// Its class.
        class: Arc<str>,
        /// Its name.
        name: String,
        /// Its id.
        id: ObjectId,
    },
    /// Any other: `Main @ 0x7f00`.
    Object {
        /// Its class.
        class: Arc<str>,
        /// Its id.
        id: ObjectId,
    },
}

impl fmt::Display for Label {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Class(name) => write!(out, "class {name}"),
            Label::Thread { class, name, id } => write!(out, "{class} \"{name}\" @ 0x{:x}", id.0),
            Label::Object { class, id } => write!(out, "{class} @ 0x{:x}", id.0),
        }
    }
}

/// The description of a reference from an object to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// From an instance, by a field: `.name`.
    Field(Arc<str>),
    /// From an array, by an element: `[7]`.
    Element(usize),
    /// From a class, by a static field: `static cache`.
    Static(Arc<str>),
    /// From a class to its superclass.
    Superclass,
    /// From a class to its loader.
    ClassLoader,
    /// From a class to its signers.
    Signers,
    /// From a class to its protection domain.
    ProtectionDomain,
    /// From a class, by its constant pool.
    Constant,
    /// From a thread, by a local variable in a frame; `None` if the frame is unknown.
    Local(Option<Arc<str>>),
    /// From an object to its class.
    Class,
}

impl fmt::Display for Reference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Field(name) => write!(out, ".{name}"),
            Reference::Element(place) => write!(out, "[{place}]"),
            Reference::Static(name) => write!(out, "static {name}"),
            Reference::Superclass => out.write_str("<superclass>"),
            Reference::ClassLoader => out.write_str("<class loader>"),
            Reference::Signers => out.write_str("<signers>"),
            Reference::ProtectionDomain => out.write_str("<protection domain>"),
            Reference::Constant => out.write_str("<constant>"),
            Reference::Local(Some(frame)) => write!(out, "<local variable in {frame}>"),
            Reference::Local(None) => out.write_str("<local variable>"),
            Reference::Class => out.write_str("<class>"),
        }
    }
}

/// The part of the program that holds an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// `static field Main.cache`.
    Static {
        /// Its class.
        class: Label,
        /// Its name.
        field: Arc<str>,
    },
    /// `thread-local variable of java.lang.Thread "main" @ 0x7f08`.
    ThreadLocal(Label),
    /// `local variable in Main.main(Main.java:7) of java.lang.Thread "main" @ 0x7f08`.
    Local {
        /// Its frame, if known.
        frame: Option<Arc<str>>,
        /// Its thread.
        thread: Label,
    },
    /// None of these: a root, and the reason it is one.
    Root {
        /// The object.
        object: Label,
        /// `jni global`, `sticky class`.
        root: String,
    },
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Static { class, field } => match class {
                Label::Class(class) => write!(out, "static field {class}.{field}"),
                other => write!(out, "static field {other}.{field}"),
            },
            Holder::ThreadLocal(thread) => write!(out, "thread-local variable of {thread}"),
            Holder::Local { frame, thread } => match frame {
                Some(frame) => write!(out, "local variable in {frame} of {thread}"),
                None => write!(out, "local variable of {thread}"),
            },
            Holder::Root { object, root } => write!(out, "{object} ({root})"),
        }
    }
}

/// Serializes as text, which is their form in JSON.
macro_rules! serialize_as_text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.collect_str(self)
            }
        }
    )*};
}

serialize_as_text!(Label, Reference, Holder);

/// Serializes an optional value as text, empty for `None`.
#[expect(clippy::ref_option, reason = "serde asks for it")]
pub(crate) fn text_or_nothing<T: fmt::Display, S: Serializer>(
    value: &Option<T>,
    out: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => out.collect_str(value),
        None => out.serialize_str(""),
    }
}
