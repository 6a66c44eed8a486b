//! The tree of elements in a metadata event: as in XML, with all texts in one table before it.

use std::sync::Arc;

use indexmap::IndexSet;

use crate::encoding::encode;
use crate::encoding::{Bytes, RawText};
use crate::error::{Fault, ReadError};

/// The most elements that stand in each other. The JDK has five: root, metadata, class, field, annotation.
const DEEPEST: usize = 16;

/// An element, with texts that may be shared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: Arc<str>,
    pub(crate) attributes: Vec<(Arc<str>, Arc<str>)>,
    pub(crate) children: Vec<Element>,
    /// Its place in the chunk.
    pub(crate) at: usize,
}

impl Element {
    pub(crate) fn new(name: &str) -> Element {
        Element {
            name: name.into(),
            ..Element::default()
        }
    }

    /// Returns the same with an attribute.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Element {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// Returns the value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Arc<str>> {
        let mut attributes = self.attributes.iter();
        attributes.find_map(|(key, value)| (**key == *name).then_some(value))
    }

    /// Iterates over the children with this name.
    pub(crate) fn children(&self, name: &str) -> impl Iterator<Item = &Element> {
        self.children
            .iter()
            .filter(move |child| *child.name == *name)
    }

    /// Writes the texts and the tree.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut texts = IndexSet::new();
        let mut tree = Vec::new();
        self.write_tree(&mut texts, &mut tree);
        encode::long(out, texts.len() as u64);
        texts.iter().for_each(|text| encode::text(out, text));
        out.extend(tree);
    }

    fn write_tree<'a>(&'a self, texts: &mut IndexSet<&'a str>, out: &mut Vec<u8>) {
        let mut place = |text| texts.insert_full(text).0 as u64;
        encode::long(out, place(&self.name));
        encode::long(out, self.attributes.len() as u64);
        for (name, value) in &self.attributes {
            encode::long(out, place(name));
            encode::long(out, place(value));
        }
        encode::long(out, self.children.len() as u64);
        for child in &self.children {
            child.write_tree(texts, out);
        }
    }

    /// Reads the texts and the tree.
    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<Element, ReadError> {
        let count = bytes.count()?;
        let mut texts = Vec::with_capacity(count);
        for _ in 0..count {
            texts.push(match bytes.text()? {
                RawText::Text(text) => Arc::from(text),
                RawText::Null | RawText::Constant(_) => Arc::from(""),
            });
        }
        read_tree(bytes, &texts, 0)
    }
}

fn read_tree(
    bytes: &mut Bytes<'_>,
    texts: &[Arc<str>],
    depth: usize,
) -> Result<Element, ReadError> {
    let at = bytes.at();
    if depth == DEEPEST {
        return Err(bytes.fault_at(at, Fault::Nested(DEEPEST)));
    }
    let text = |bytes: &mut Bytes<'_>| {
        let at = bytes.at();
        let place = bytes.int()?;
        let found = usize::try_from(place).ok().and_then(|at| texts.get(at));
        found
            .cloned()
            .ok_or_else(|| bytes.fault_at(at, Fault::NoText(place)))
    };
    let name = text(bytes)?;
    let mut attributes = Vec::new();
    for _ in 0..bytes.count()? {
        attributes.push((text(bytes)?, text(bytes)?));
    }
    let mut children = Vec::new();
    for _ in 0..bytes.count()? {
        children.push(read_tree(bytes, texts, depth + 1)?);
    }
    Ok(Element {
        name,
        attributes,
        children,
        at,
    })
}
