//! The groups by which costs are added up.

use std::fmt;
use std::str::FromStr;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::model::{FrameKind, Profile};
use crate::names::Name;
use crate::number::number;

/// The property that the costs of a row have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum By {
    /// The method.
    #[default]
    Method,
    /// The method and the line.
    Line,
    /// The class of the method.
    Class,
    /// The package of that class.
    Package,
    /// The class that was allocated, or whose monitor was wanted.
    Type,
    /// The thread.
    Thread,
    /// The threads whose names differ in their last number: `http-nio-8080-exec-*`.
    ThreadGroup,
    /// The lock that threads waited for: its class and its identity.
    Lock,
    /// The method in which a thread held the lock.
    Holder,
    /// The waiting method, the lock, and its holder.
    Wait,
    /// The whole stack.
    Trace,
    /// The time since the objects were made, of what is live.
    Age,
    /// The state of the thread: running, parked, blocked.
    State,
}

impl By {
    /// All groupings.
    pub const ALL: [By; 13] = [
        By::Method,
        By::Line,
        By::Class,
        By::Package,
        By::Type,
        By::Thread,
        By::ThreadGroup,
        By::Lock,
        By::Holder,
        By::Wait,
        By::Trace,
        By::Age,
        By::State,
    ];

    /// Returns the name by which users choose it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            By::Method => "method",
            By::Line => "line",
            By::Class => "class",
            By::Package => "package",
            By::Type => "type",
            By::Thread => "thread",
            By::ThreadGroup => "thread-group",
            By::Lock => "lock",
            By::Holder => "holder",
            By::Wait => "wait",
            By::Trace => "trace",
            By::Age => "age",
            By::State => "state",
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A name that does not stand for a [`By`].
#[derive(Debug, thiserror::Error)]
#[error("costs cannot be added up by `{0}`, only by {all}", all = By::ALL.map(By::name).join(", "))]
pub struct UnknownBy(String);

impl FromStr for By {
    type Err = UnknownBy;

    fn from_str(name: &str) -> Result<By, UnknownBy> {
        By::ALL
            .into_iter()
            .find(|by| by.name() == name)
            .ok_or_else(|| UnknownBy(name.to_owned()))
    }
}

/// The names of groups that the file does not identify.
const UNKNOWN_THREAD: &str = "<any thread>";
/// The name of threads whose name nobody could see.
const NO_NAME: &str = "<no name>";
pub(crate) const UNKNOWN_TYPE: &str = "<unknown>";
pub(crate) const NO_HOLDER: &str = "<no holder seen>";
const NO_PACKAGE: &str = "<no package>";

/// Returns the name of the threads whose names differ from this one in the last number.
fn group_of_thread(name: &str) -> String {
    let is_digit = |character: char| character.is_ascii_digit();
    let Some(end) = name.rfind(is_digit).map(|last| last + 1) else {
        return name.to_owned();
    };
    let start = name[..end].trim_end_matches(is_digit).len();
    format!("{}*{}", &name[..start], &name[end..])
}

/// The groups of a profile's frames, or of its sets of labels.
#[derive(Debug)]
pub struct Groups {
    /// The name of each group.
    pub names: Vec<String>,
    /// The group of each frame, or of each set of labels.
    pub of: Vec<u32>,
}

impl Groups {
    /// Returns the groups of all frames; `by` is method, line, class or package.
    #[must_use]
    pub fn of_frames(profile: &Profile, by: By) -> Groups {
        let names = &profile.names;
        Groups::collect(profile.frames().map(|frame| {
            let class = names.text(frame.class);
            let method = names.text(frame.method);
            if frame.kind == FrameKind::Marker {
                return method.to_owned();
            }
            match by {
                By::Class => class.to_owned(),
                By::Package => match class.rsplit_once('.') {
                    Some((package, _)) => package.to_owned(),
                    None => NO_PACKAGE.to_owned(),
                },
                By::Line | By::Trace => {
                    let file = frame.source.map_or("", |source| names.text(source));
                    match (frame.line, frame.kind) {
                        // In recordings of the JDK Flight Recorder.
                        (Some(line), _) if file.is_empty() => {
                            format!("{class}.{method}(line {line})")
                        }
                        (Some(line), _) => format!("{class}.{method}({file}:{line})"),
                        (None, FrameKind::Native) => format!("{class}.{method}(native)"),
                        (None, _) => format!("{class}.{method}({file})"),
                    }
                }
                _ => format!("{class}.{method}"),
            }
        }))
    }

    /// Returns the groups of all sets of labels; `by` is thread, thread group, type, lock or holder.
    #[must_use]
    pub fn of_labels(profile: &Profile, by: By) -> Groups {
        let text = |name: Option<Name>, unknown: &str| match name {
            Some(name) => profile.names.text(name).to_owned(),
            None => unknown.to_owned(),
        };
        Groups::collect(profile.label_sets().map(|labels| {
            match by {
                By::Type => text(labels.class, UNKNOWN_TYPE),
                By::Lock => profile.lock(labels).unwrap_or(UNKNOWN_TYPE).to_owned(),
                By::Holder => profile
                    .holder(labels)
                    .unwrap_or_else(|| NO_HOLDER.to_owned()),
                By::ThreadGroup => group_of_thread(&text(labels.thread, UNKNOWN_THREAD)),
                _ => match text(labels.thread, UNKNOWN_THREAD) {
                    name if name.trim().is_empty() => NO_NAME.to_owned(),
                    name => name,
                },
            }
        }))
    }

    fn collect(keys: impl Iterator<Item = String>) -> Groups {
        let mut names: IndexSet<String, RandomState> = IndexSet::default();
        let of = keys.map(|key| number(names.insert_full(key).0)).collect();
        let names = names.into_iter().collect();
        Groups { names, of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Labels;

    #[test]
    fn a_thread_without_a_name_is_a_row_that_can_be_seen() {
        let mut profile = Profile::default();
        for name in ["", " ", "main"] {
            let thread = Some(profile.names.intern(name));
            profile.intern_labels(Labels {
                thread,
                ..Labels::default()
            });
        }
        let groups = Groups::of_labels(&profile, By::Thread);
        assert_eq!(groups.names, [NO_NAME, "main"]);
    }

    #[test]
    fn threads_of_a_pool_are_one_group() {
        for (name, group) in [
            ("http-nio-8080-exec-12", "http-nio-8080-exec-*"),
            ("ForkJoinPool-1-worker-3", "ForkJoinPool-1-worker-*"),
            ("C2 CompilerThread0", "C2 CompilerThread*"),
            ("worker 7 of 8 \u{e9}", "worker 7 of * \u{e9}"),
            ("main", "main"),
            ("", ""),
        ] {
            assert_eq!(group_of_thread(name), group);
        }
    }
}
