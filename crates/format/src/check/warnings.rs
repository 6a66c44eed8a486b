//! Habits of old tools that break the rules.

use std::collections::BTreeMap;
use std::fmt;

/// A deviation that occurs in the files of tools in use, and harms no reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Warning {
    /// A record names a thread without a START THREAD before it.
    ThreadNotStarted,
    /// An array has an element that is not in its heap dump.
    ElementNotDumped,
    /// A STRING, FRAME or TRACE is repeated with the same content, or a note with the id of another.
    Repeated,
    /// UNLOAD CLASS of a class that is not loaded.
    ClassNotLoaded,
    /// A CLASS DUMP states a size of instances that differs from that of its fields.
    InstanceSize,
    /// A ROOT JNI GLOBAL has an object that is not in its heap dump.
    GlobalNotDumped,
}

/// The occurrences of a deviation in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrences {
    /// Their number, at least 1.
    pub count: u64,
    /// The offset of the first record concerned, in bytes from the start of the file.
    pub first: u64,
}

/// Prints, for example, `a record names a thread that no START THREAD before it starts`.
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

/// The policy for deviations, and those accepted so far.
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

    /// Returns `true`, and counts the deviation, if the record at `offset` may have it.
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
