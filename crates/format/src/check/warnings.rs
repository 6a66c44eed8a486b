//! What a file does that old tools always did.

use std::collections::BTreeMap;
use std::fmt;

/// What breaks a rule in the files of tools that are in use, and hurts no reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Warning {
    /// A record names a thread that no START THREAD before it starts.
    ThreadNotStarted,
    /// An array has an element that is not in its heap dump.
    ElementNotDumped,
    /// A STRING, FRAME or TRACE comes again with the content that it has before, or a note with the id of another.
    Repeated,
    /// UNLOAD CLASS of a class that is not loaded.
    ClassNotLoaded,
    /// A CLASS DUMP states another size of instances than its fields take.
    InstanceSize,
    /// A ROOT JNI GLOBAL has an object that is not in its heap dump.
    GlobalNotDumped,
}

/// How often a file does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrences {
    /// How often, 1 and up.
    pub count: u64,
    /// Where the first record that does it starts, in bytes from the start of the file.
    pub first: u64,
}

/// `a record names a thread that no START THREAD before it starts`.
impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Warning::ThreadNotStarted => {
                "a record names a thread that no START THREAD before it starts"
            }
            Warning::ElementNotDumped => "an array has an element that is not in its heap dump",
            Warning::Repeated => "a record has the id of one of its kind before it",
            Warning::ClassNotLoaded => "UNLOAD CLASS of a class that is not loaded here",
            Warning::InstanceSize => {
                "CLASS DUMP states another size of instances than its fields take"
            }
            Warning::GlobalNotDumped => {
                "ROOT JNI GLOBAL has an object that is not in its heap dump"
            }
        })
    }
}

/// What is let pass with a warning, and what has been.
#[derive(Clone, Debug)]
pub(super) struct Tolerance {
    pub(super) strict: bool,
    pub(super) warnings: BTreeMap<Warning, Occurrences>,
}

impl Tolerance {
    pub(super) fn new(strict: bool) -> Tolerance {
        Tolerance {
            strict,
            warnings: BTreeMap::new(),
        }
    }

    /// Whether the record at `offset` may do this. If so, it is counted.
    pub(super) fn allows(&mut self, warning: Warning, offset: u64) -> bool {
        if !self.strict {
            self.add(
                warning,
                Occurrences {
                    count: 1,
                    first: offset,
                },
            );
        }
        !self.strict
    }

    pub(super) fn merge(&mut self, other: Tolerance) {
        for (warning, occurrences) in other.warnings {
            self.add(warning, occurrences);
        }
    }

    fn add(&mut self, warning: Warning, more: Occurrences) {
        self.warnings
            .entry(warning)
            .and_modify(|all| {
                all.count += more.count;
                all.first = all.first.min(more.first);
            })
            .or_insert(more);
    }
}
