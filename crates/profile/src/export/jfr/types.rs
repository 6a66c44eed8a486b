//! The types of events that do not depend on the profile's tables.

use hprof_jfr::{EventField, EventType, FieldKind};

use crate::jfr::SAMPLED_TIME;

/// The class of an object.
pub(super) const CLASS: EventField = field("objectClass", "Object Class", FieldKind::Class);
/// The state of a thread.
pub(super) const STATE: EventField = field("state", "Thread State", FieldKind::State);
/// The object that a thread waited for, as class and identity hash code.
pub(super) const LOCK: EventField = field("lock", "Lock", FieldKind::Text);
/// The method in which another thread held it.
pub(super) const HOLDER: EventField = field("holder", "Holder", FieldKind::Text);
/// The whole stack with which it was held.
pub(super) const HOLDER_STACK: EventField =
    field("holderStackTrace", "Holder's Stack Trace", FieldKind::Stack);
/// Where viewers show the events of this project.
pub(super) const OWN_CATEGORY: &[&str] = &["HPROF"];

/// A type of events. Those of the JDK have the names, labels and categories of its own recordings, and of their fields
/// those that a profile can fill (`src/hotspot/share/jfr/metadata/metadata.xml` of OpenJDK).
pub(super) enum Standard {
    ExecutionSample,
    ObjectAllocationSample,
    JvmInformation,
    /// The objects alive after a collection.
    LiveObjects,
    /// The time in which the samples of a value were taken.
    SampledTime,
    /// A line of the head of the file, or a note in it.
    Fact,
}

impl Standard {
    pub(super) fn event_type(self) -> EventType {
        match self {
            Standard::ExecutionSample => EventType {
                name: "jdk.ExecutionSample",
                label: "Method Profiling Sample",
                description: "Snapshot of a threads state",
                category: &["Java Virtual Machine", "Profiling"],
                fields: vec![
                    field("sampledThread", "Thread", FieldKind::Thread),
                    EventField::STACK,
                    STATE,
                ],
            },
            Standard::ObjectAllocationSample => EventType {
                name: "jdk.ObjectAllocationSample",
                label: "Object Allocation Sample",
                description: "",
                category: &["Java Application"],
                fields: vec![
                    EventField::THREAD,
                    EventField::STACK,
                    CLASS,
                    field("weight", "Sample Weight", FieldKind::Bytes),
                ],
            },
            Standard::JvmInformation => EventType {
                name: "jdk.JVMInformation",
                label: "JVM Information",
                description: "Description of JVM and the Java application",
                category: &["Java Virtual Machine"],
                fields: vec![
                    field("jvmName", "JVM Name", FieldKind::Text),
                    field("jvmVersion", "JVM Version", FieldKind::Text),
                    field(
                        "jvmArguments",
                        "JVM Command Line Arguments",
                        FieldKind::Text,
                    ),
                    field("jvmFlags", "JVM Settings File Arguments", FieldKind::Text),
                    field(
                        "javaArguments",
                        "Java Application Arguments",
                        FieldKind::Text,
                    ),
                    field("jvmStartTime", "JVM Start Time", FieldKind::Time),
                    field("pid", "Process Identifier", FieldKind::Count),
                ],
            },
            Standard::LiveObjects => EventType {
                name: "hprof.LiveObjects",
                label: "Live Objects over Time",
                description: "The objects alive after a collection, and those allocated so far",
                category: OWN_CATEGORY,
                fields: vec![
                    field("liveBytes", "Live", FieldKind::Bytes),
                    field("liveObjects", "Live Objects", FieldKind::Count),
                    field("allocatedBytes", "Allocated", FieldKind::Bytes),
                    field("allocatedObjects", "Allocated Objects", FieldKind::Count),
                    field("collections", "Collections", FieldKind::Count),
                ],
            },
            Standard::SampledTime => EventType {
                name: SAMPLED_TIME,
                label: "Time of Samples",
                description: "The time in which the samples of a value were taken; it is divided into steps",
                category: OWN_CATEGORY,
                fields: vec![
                    EventField::DURATION,
                    field("value", "Value", FieldKind::Text),
                    field("firstStep", "First Step", FieldKind::Time),
                    field("step", "Length of a Step", FieldKind::Nanoseconds),
                ],
            },
            Standard::Fact => EventType {
                name: "hprof.Fact",
                label: "About the Run",
                description: "A line of the head of the HPROF file, or a note in it",
                category: OWN_CATEGORY,
                fields: vec![
                    field("key", "Key", FieldKind::Text),
                    field("value", "Value", FieldKind::Text),
                ],
            },
        }
    }
}

const fn field(name: &'static str, label: &'static str, kind: FieldKind) -> EventField {
    EventField { name, label, kind }
}

/// Returns the JDK's name of a state of wall samples, `<parked>`.
pub(super) fn state_of(state: Option<&str>) -> &'static str {
    match state {
        Some("<parked>") => "STATE_PARKED",
        Some("<sleeping>") => "STATE_SLEEPING",
        Some("<waiting>") => "STATE_IN_OBJECT_WAIT",
        Some("<blocked>") => "STATE_BLOCKED_ON_MONITOR_ENTER",
        _ => "STATE_RUNNABLE",
    }
}
