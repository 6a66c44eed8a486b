//! The metadata: a description of each type, which says how its values are written.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::constants::{element, types};
use crate::element::Element;
use crate::encoding::Bytes;
use crate::error::{Fault, ReadError};

/// The types of a chunk.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    types: Vec<Type>,
    by_id: HashMap<u64, usize, RandomState>,
}

/// A type of events or of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its number in this chunk.
    pub id: u64,
    /// Its name, such as `jdk.ExecutionSample`.
    pub name: Arc<str>,
    /// The name of the type that it extends: that of events or of annotations, or none.
    pub super_type: Option<Arc<str>>,
    /// `true` if it stands for its only field.
    pub is_simple: bool,
    /// Its annotations: label, description, unit and the like.
    pub annotations: Vec<Annotation>,
    /// The fields, in the order in which they are written.
    pub fields: Vec<Field>,
    pub(crate) kind: Kind,
}

/// The way in which a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Boolean,
    Char,
    Float,
    Double,
    Byte,
    Short,
    Int,
    Long,
    Text,
    Fields,
}

/// A field of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// The number of its type.
    pub type_id: u64,
    /// `true` if it has any number of values.
    pub is_array: bool,
    /// `true` if it has the key of a constant instead of the value.
    pub is_constant: bool,
    /// Its annotations: label, description, unit and the like.
    pub annotations: Vec<Annotation>,
}

/// A statement about a type or a field, such as its label or its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The number of its type.
    pub type_id: u64,
    /// Its values by their names; those of an array are `value-0`, `value-1`.
    pub values: Vec<(Arc<str>, Arc<str>)>,
}

impl Kind {
    fn of(name: &str) -> Kind {
        match name {
            types::BOOLEAN => Kind::Boolean,
            types::CHAR => Kind::Char,
            types::FLOAT => Kind::Float,
            types::DOUBLE => Kind::Double,
            types::BYTE => Kind::Byte,
            types::SHORT => Kind::Short,
            types::INT => Kind::Int,
            types::LONG => Kind::Long,
            types::STRING => Kind::Text,
            _ => Kind::Fields,
        }
    }
}

impl Type {
    pub(crate) fn new(id: u64, name: &str) -> Type {
        Type {
            id,
            name: name.into(),
            super_type: None,
            is_simple: false,
            annotations: Vec::new(),
            fields: Vec::new(),
            kind: Kind::of(name),
        }
    }

    /// Returns `true` for a type of events.
    #[must_use]
    pub fn is_event(&self) -> bool {
        self.super_type.as_deref() == Some(types::EVENT)
    }

    /// Returns the field with this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| *field.name == *name)
    }

    fn write(&self) -> Element {
        let mut class = Element::new(element::CLASS)
            .with(element::ID, &self.id.to_string())
            .with(element::NAME, &self.name);
        if let Some(super_type) = &self.super_type {
            class = class.with(element::SUPER_TYPE, super_type);
        }
        if self.is_simple {
            class = class.with(element::SIMPLE_TYPE, element::TRUE);
        }
        let annotations = self.annotations.iter().map(Annotation::write);
        class.children = annotations.collect();
        class.children.extend(self.fields.iter().map(Field::write));
        class
    }

    fn read(class: &Element, bytes: &Bytes<'_>) -> Result<Type, ReadError> {
        let name = attribute(class, element::CLASS, element::NAME, bytes)?;
        let id = number(class, element::CLASS, element::ID, bytes)?;
        let fields = class.children(element::FIELD);
        Ok(Type {
            kind: Kind::of(name),
            name: name.clone(),
            super_type: class.attribute(element::SUPER_TYPE).cloned(),
            is_simple: is_marked(class, element::SIMPLE_TYPE),
            annotations: annotations(class, bytes)?,
            fields: fields
                .map(|field| Field::read(field, bytes))
                .collect::<Result<_, _>>()?,
            id,
        })
    }
}

impl Field {
    fn write(&self) -> Element {
        let mut field = Element::new(element::FIELD)
            .with(element::NAME, &self.name)
            .with(element::CLASS, &self.type_id.to_string());
        if self.is_constant {
            field = field.with(element::CONSTANT_POOL, element::TRUE);
        }
        if self.is_array {
            field = field.with(element::DIMENSION, element::ONE);
        }
        field.children = self.annotations.iter().map(Annotation::write).collect();
        field
    }

    fn read(field: &Element, bytes: &Bytes<'_>) -> Result<Field, ReadError> {
        let name = attribute(field, element::FIELD, element::NAME, bytes)?;
        let dimension = field.attribute(element::DIMENSION);
        Ok(Field {
            name: name.clone(),
            type_id: number(field, element::FIELD, element::CLASS, bytes)?,
            is_array: dimension.is_some_and(|dimension| **dimension == *element::ONE),
            is_constant: is_marked(field, element::CONSTANT_POOL),
            annotations: annotations(field, bytes)?,
        })
    }
}

impl Annotation {
    fn write(&self) -> Element {
        let class = self.type_id.to_string();
        let mut annotation = Element::new(element::ANNOTATION).with(element::CLASS, &class);
        annotation.attributes.extend(self.values.iter().cloned());
        annotation
    }
}

impl Metadata {
    /// Collects types; of two with the same number, the last counts.
    pub(crate) fn new(types: Vec<Type>) -> Metadata {
        let ids = types.iter().enumerate();
        Metadata {
            by_id: ids.map(|(place, of)| (of.id, place)).collect(),
            types,
        }
    }

    /// Returns all types.
    #[must_use]
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    /// Returns the type with this number.
    #[must_use]
    pub fn of(&self, id: u64) -> Option<&Type> {
        self.by_id.get(&id).map(|&place| &self.types[place])
    }

    /// Returns a text that an annotation of this type gives, such as `jdk.jfr.Label`.
    #[must_use]
    pub fn annotated<'a>(&self, annotations: &'a [Annotation], name: &str) -> Option<&'a str> {
        let mut named = annotations.iter().filter(|annotation| {
            self.of(annotation.type_id)
                .is_some_and(|of| *of.name == *name)
        });
        let (_, value) = named.next()?.values.first()?;
        Some(value)
    }

    /// Writes what follows the times in the event's content.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut root = Element::new(element::ROOT);
        let mut metadata = Element::new(element::METADATA);
        metadata.children = self.types.iter().map(Type::write).collect();
        // The JDK's reader wants a region; texts of numbers are not in any language.
        let region = Element::new(element::REGION)
            .with(element::LOCALE, "en_US")
            .with(element::GMT_OFFSET, "0");
        root.children = vec![metadata, region];
        root.write(out);
    }

    /// Reads what [`Metadata::write`] writes.
    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<Metadata, ReadError> {
        let root = Element::read(bytes)?;
        let mut types = Vec::new();
        for metadata in root.children(element::METADATA) {
            for class in metadata.children(element::CLASS) {
                types.push(Type::read(class, bytes)?);
            }
        }
        Ok(Metadata::new(types))
    }
}

fn annotations(of: &Element, bytes: &Bytes<'_>) -> Result<Vec<Annotation>, ReadError> {
    let annotations = of.children(element::ANNOTATION).map(|annotation| {
        let values = annotation.attributes.iter();
        let values = values.filter(|(name, _)| **name != *element::CLASS);
        Ok(Annotation {
            type_id: number(annotation, element::ANNOTATION, element::CLASS, bytes)?,
            values: values.cloned().collect(),
        })
    });
    annotations.collect()
}

fn is_marked(of: &Element, attribute: &str) -> bool {
    let mark = of.attribute(attribute);
    mark.is_some_and(|mark| **mark == *element::TRUE)
}

fn attribute<'a>(
    of: &'a Element,
    element: &'static str,
    attribute: &'static str,
    bytes: &Bytes<'_>,
) -> Result<&'a Arc<str>, ReadError> {
    let fault = Fault::NoAttribute { element, attribute };
    let found = of.attribute(attribute);
    found.ok_or_else(|| bytes.fault_at(of.at, fault))
}

fn number(
    of: &Element,
    element: &'static str,
    name: &'static str,
    bytes: &Bytes<'_>,
) -> Result<u64, ReadError> {
    let text = attribute(of, element, name, bytes)?;
    let number = text.parse();
    number.map_err(|_| bytes.fault_at(of.at, Fault::NoNumber(text.to_string())))
}
