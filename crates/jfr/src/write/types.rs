//! The metadata that is written: the types of values, those of events, and those of annotations.

use std::sync::Arc;

use super::events::EventType;
use crate::constants::{annotations, element, fields, types};
use crate::metadata::{Annotation, Field, Metadata, Type};

/// The number of the first type. Lower ones are the JDK's own events, two of which are known by their numbers.
const FIRST: u64 = 1000;

/// A field of a type of values: name, type, and the form of its values.
type ValueField = (&'static str, &'static str, Form);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Constant,
    Array,
}
use Form::{Array, Constant, Plain};

/// The types of values, with the fields in the order in which the tables write them: those of
/// `src/hotspot/share/jfr/metadata/metadata.xml` and `jfrTypeSet.cpp` that every JDK from 11 on has.
const VALUES: [(&str, &[ValueField]); 23] = [
    (types::BOOLEAN, &[]),
    (types::CHAR, &[]),
    (types::FLOAT, &[]),
    (types::DOUBLE, &[]),
    (types::BYTE, &[]),
    (types::SHORT, &[]),
    (types::INT, &[]),
    (types::LONG, &[]),
    (types::STRING, &[]),
    (types::SYMBOL, &[("string", types::STRING, Plain)]),
    (types::FRAME_TYPE, &[("description", types::STRING, Plain)]),
    (types::THREAD_STATE, &[("name", types::STRING, Plain)]),
    (
        types::MODULE,
        &[
            ("name", types::SYMBOL, Constant),
            ("version", types::SYMBOL, Constant),
            ("location", types::SYMBOL, Constant),
            ("classLoader", types::CLASS_LOADER, Constant),
        ],
    ),
    (
        types::PACKAGE,
        &[
            ("name", types::SYMBOL, Constant),
            ("module", types::MODULE, Constant),
            ("exported", types::BOOLEAN, Plain),
        ],
    ),
    (
        types::CLASS_LOADER,
        &[
            ("type", types::CLASS, Constant),
            ("name", types::SYMBOL, Constant),
        ],
    ),
    (
        types::CLASS,
        &[
            ("classLoader", types::CLASS_LOADER, Constant),
            ("name", types::SYMBOL, Constant),
            ("package", types::PACKAGE, Constant),
            ("modifiers", types::INT, Plain),
        ],
    ),
    (
        types::METHOD,
        &[
            ("type", types::CLASS, Constant),
            ("name", types::SYMBOL, Constant),
            ("descriptor", types::SYMBOL, Constant),
            ("modifiers", types::INT, Plain),
            ("hidden", types::BOOLEAN, Plain),
        ],
    ),
    (
        types::STACK_FRAME,
        &[
            ("method", types::METHOD, Constant),
            ("lineNumber", types::INT, Plain),
            ("bytecodeIndex", types::INT, Plain),
            ("type", types::FRAME_TYPE, Constant),
        ],
    ),
    (
        types::STACK_TRACE,
        &[
            ("truncated", types::BOOLEAN, Plain),
            ("frames", types::STACK_FRAME, Array),
        ],
    ),
    (
        types::THREAD_GROUP,
        &[
            ("parent", types::THREAD_GROUP, Constant),
            ("name", types::STRING, Plain),
        ],
    ),
    (
        types::THREAD,
        &[
            ("osName", types::STRING, Plain),
            ("osThreadId", types::LONG, Plain),
            ("javaName", types::STRING, Plain),
            ("javaThreadId", types::LONG, Plain),
            ("group", types::THREAD_GROUP, Constant),
        ],
    ),
    // Annotations.
    (annotations::CONTENT_TYPE, &[]),
    (
        annotations::CATEGORY,
        &[(element::VALUE, types::STRING, Array)],
    ),
];

/// The annotations with one text.
const ANNOTATIONS: [&str; 5] = [
    annotations::LABEL,
    annotations::DESCRIPTION,
    annotations::TIMESTAMP,
    annotations::TIMESPAN,
    annotations::DATA_AMOUNT,
];
/// Those among them that give a unit.
const UNITS: [&str; 3] = [
    annotations::TIMESTAMP,
    annotations::TIMESPAN,
    annotations::DATA_AMOUNT,
];
/// The types that viewers show as their only field.
const SIMPLE: [&str; 3] = [types::SYMBOL, types::FRAME_TYPE, types::THREAD_STATE];

/// Returns the number of a type of values or annotations.
pub(super) fn id(name: &str) -> u64 {
    let values = VALUES.iter().map(|(name, _)| *name);
    let place = values.chain(ANNOTATIONS).position(|known| known == name);
    // Each name that this package uses is in one of the lists, which a test checks.
    FIRST + place.unwrap_or_default() as u64
}

/// Returns the number of a type of events.
pub(super) fn event_id(place: usize) -> u64 {
    FIRST + (VALUES.len() + ANNOTATIONS.len() + place) as u64
}

/// Returns all types of a recording with these events.
pub(super) fn metadata(events: &[EventType]) -> Metadata {
    let mut all: Vec<Type> = VALUES
        .iter()
        .map(|&(name, fields)| value_type(name, fields))
        .collect();
    all.extend(ANNOTATIONS.map(|name| value_type(name, &[(element::VALUE, types::STRING, Plain)])));
    let events = events.iter().enumerate();
    all.extend(events.map(|(place, event)| event_type(event_id(place), event)));
    Metadata::new(all)
}

fn value_type(name: &'static str, fields: &[ValueField]) -> Type {
    let mut of = Type::new(id(name), name);
    of.is_simple = SIMPLE.contains(&name);
    if name.starts_with("jdk.jfr.") {
        of.super_type = Some(types::ANNOTATION.into());
    }
    if UNITS.contains(&name) {
        of.annotations.push(Annotation {
            type_id: id(annotations::CONTENT_TYPE),
            values: Vec::new(),
        });
    }
    let fields = fields.iter().map(|&(name, of, form)| Field {
        is_constant: form == Constant,
        is_array: form == Array,
        ..field(name, of)
    });
    of.fields = fields.collect();
    of
}

fn field(name: &str, of: &str) -> Field {
    Field {
        name: name.into(),
        type_id: id(of),
        is_array: false,
        is_constant: false,
        annotations: Vec::new(),
    }
}

fn event_type(id: u64, event: &EventType) -> Type {
    let mut of = Type::new(id, event.name);
    of.super_type = Some(types::EVENT.into());
    let texts = [
        (annotations::LABEL, event.label),
        (annotations::DESCRIPTION, event.description),
    ];
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    of.annotations = texts.map(|(name, text)| annotation(name, text)).collect();
    if !event.category.is_empty() {
        let places = event.category.iter().enumerate();
        let values = places.map(|(place, &text)| {
            let name: Arc<str> = format!("{}-{place}", element::VALUE).into();
            (name, text.into())
        });
        of.annotations.push(Annotation {
            type_id: self::id(annotations::CATEGORY),
            values: values.collect(),
        });
    }
    of.fields.push(Field {
        annotations: vec![
            annotation(annotations::LABEL, "Start Time"),
            annotation(annotations::TIMESTAMP, annotations::TICKS),
        ],
        ..field(fields::START_TIME, types::LONG)
    });
    of.fields.extend(event.fields.iter().map(|of| {
        let unit = of.kind.unit();
        let unit = unit.map(|(name, text)| annotation(name, text));
        let label = annotation(annotations::LABEL, of.label);
        Field {
            is_constant: of.kind.is_constant(),
            annotations: [label].into_iter().chain(unit).collect(),
            ..field(of.name, of.kind.type_name())
        }
    }));
    of
}

fn annotation(name: &str, value: &str) -> Annotation {
    Annotation {
        type_id: id(name),
        values: vec![(element::VALUE.into(), value.into())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_is_named_is_described() {
        let metadata = metadata(&[]);
        for (place, of) in metadata.types().iter().enumerate() {
            assert_eq!(of.id, FIRST + place as u64, "{}", of.name);
            assert_eq!(id(&of.name), of.id);
            let annotations = of.annotations.iter().map(|annotation| annotation.type_id);
            for id in of
                .fields
                .iter()
                .map(|field| field.type_id)
                .chain(annotations)
            {
                assert!(metadata.of(id).is_some(), "{id} of {}", of.name);
            }
        }
    }
}
