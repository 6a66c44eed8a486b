//! What a dump alone says against a leak: what a suspect keeps cannot grow further, or may go.

use std::sync::Arc;

use hprof_format::{HeapRecord, ObjectId, Root, Value};
use serde::Serialize;

use crate::data::classes::Known;
use crate::data::dominators::{Node, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::numbers::{ClassIndex, ObjectNumber};
use crate::questions::light_references::Light;

/// The objects above a suspect that may state its bound: its collection, and what wraps that.
const ABOVE: usize = 5;
/// The share of what a suspect keeps from which soft or cleared references decide.
const MOST_OF_IT: f64 = 0.5;
/// So many elements, of which each is large, are no pile.
const FEW: u64 = 64;
/// A smaller number may be anything.
const FEWEST: u64 = 8;
/// The words in names of fields that state a bound.
const BOUNDS: [&str; 6] = ["max", "capacity", "limit", "bound", "highwater", "quota"];
/// The names of fields that count the elements of a collection.
const COUNTS: [&str; 8] = [
    "size",
    "count",
    "elementcount",
    "basecount",
    "length",
    "used",
    "total",
    "n",
];

const LINKED_MAP: &str = "java.util.LinkedHashMap";
const ATOMIC_REFERENCE: &str = "java.util.concurrent.atomic.AtomicReference";
const ARRAY_QUEUE: &str = "java.util.concurrent.ArrayBlockingQueue";
const LINKED_QUEUE: &str = "java.util.concurrent.LinkedBlockingQueue";

/// The reason why what a suspect keeps is bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Bound {
    /// A linked map that drops its eldest entry: it is in the order of access, or of a subclass.
    EldestGoes {
        /// The class of the map.
        class: Arc<str>,
    },
    /// A field states a bound that the elements have nearly reached.
    Capacity {
        /// The class of the object with the field.
        class: Arc<str>,
        /// The name of the field.
        field: Arc<str>,
        /// Its value.
        value: u64,
        /// The number of elements.
        elements: u64,
    },
    /// An array that nothing counts: nothing is ever added to it.
    FixedArray {
        /// The number of its elements.
        length: u64,
    },
    /// A collection to which nothing can be added.
    Unmodifiable {
        /// Its class.
        class: Arc<str>,
    },
    /// An `AtomicReference` holds the collection: it is replaced as a whole.
    Snapshot,
    /// Soft references keep it: it goes when memory is short.
    Soft,
    /// Cleared references keep it, and their owner removes them when it is used the next time.
    Cleared,
    /// Few elements, each of which is large.
    Few {
        /// Their number.
        elements: u64,
    },
}

/// An array that an object or a class refers to.
struct Array {
    length: u64,
    /// The elements that are not null.
    used: u64,
    is_primitive: bool,
}

/// The numbers that an object or a class has in its fields.
struct Numbers {
    class: Arc<str>,
    fields: Vec<(Arc<str>, u64)>,
}

impl Bound {
    /// Returns `true` if it outweighs that objects pile up: if it is full, they take the places of others.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Bound::Capacity { .. })
    }
}

impl Heap<'_> {
    /// Returns the reason why what an object keeps is bounded, if the dump shows one. `has_references` is `true` if there are
    /// soft or weak references among that.
    pub(crate) fn bound(&self, node: Node, has_references: bool) -> Result<Option<Bound>, Error> {
        if has_references && let Some(bound) = self.bound_by_references(node)? {
            return Ok(Some(bound));
        }
        let above = self.above_suspect(node)?;
        for &at in std::iter::once(&node).chain(&above) {
            let object = self.dominators.object(at);
            if let Some(bound) = self.bound_by_class(object)? {
                return Ok(Some(bound));
            }
            // A collection bounds its elements, and not what grows in one of them.
            if !self.is_part_of_a_collection(object) {
                break;
            }
        }
        if self.is_snapshot(&above) {
            return Ok(Some(Bound::Snapshot));
        }
        let elements = self.elements(node)?;
        for &at in std::iter::once(&node).chain(&above) {
            if let Some(bound) = self.stated_bound(self.dominators.object(at), elements)? {
                return Ok(Some(bound));
            }
        }
        self.bound_of_array(node, above.first().copied(), elements)
    }

    /// Returns the bound that a field of an object states, or a static one of its class, if about as many elements are there.
    fn stated_bound(&self, object: ObjectNumber, elements: u64) -> Result<Option<Bound>, Error> {
        let mut all = vec![self.numbers(object)?];
        if self.class_of_object(object).is_none() {
            let class = self.classes.get(self.objects.class(object));
            if let Some(class) = self.objects.ids.find(ObjectId(class.id)) {
                all.push(self.numbers(class)?);
            }
        }
        for Numbers { class, fields } in all {
            let full = fields.into_iter().find(|&(ref name, value)| {
                let name = name.to_lowercase();
                let is_bound = BOUNDS.iter().any(|bound| name.contains(bound));
                is_bound && is_full(elements, value)
            });
            if let Some((field, value)) = full {
                return Ok(Some(Bound::Capacity {
                    class,
                    field,
                    value,
                    elements,
                }));
            }
        }
        Ok(None)
    }

    fn length(&self, array: ObjectNumber) -> Result<u64, Error> {
        Ok(match self.record(array)? {
            Some(HeapRecord::ObjectArray { elements, .. }) => {
                elements.len() as u64 / self.dump.id_size().bytes()
            }
            Some(HeapRecord::PrimitiveArray {
                element, elements, ..
            }) => (elements.len() / element.size(8)) as u64,
            _ => 0,
        })
    }

    /// Returns `true` if it is the class of this name, or extends it.
    fn extends(&self, class: ClassIndex, name: &str) -> bool {
        let is_it = self
            .classes
            .inherited(|class| (&*class.name == name).then_some(()));
        is_it[class.place()].is_some()
    }

    /// Returns `true` for arrays and for objects of the JDK's classes.
    fn is_part_of_a_collection(&self, object: ObjectNumber) -> bool {
        let name = &self.classes.get(self.objects.class(object)).name;
        name.starts_with("java.") || name.ends_with("[]")
    }

    /// Returns `true` if an `AtomicReference` holds the collection of a suspect, or the suspect.
    fn is_snapshot(&self, above: &[Node]) -> bool {
        let mut near = above.iter().take(2);
        near.any(|&at| {
            let class = self.objects.class(self.dominators.object(at));
            &*self.classes.get(class).name == ATOMIC_REFERENCE
        })
    }

    fn bound_by_references(&self, node: Node) -> Result<Option<Bound>, Error> {
        let (kind, bytes) = self.light_references(node)?.kept(self);
        let is_most = bytes as f64 >= self.retained(node) as f64 * MOST_OF_IT;
        Ok(is_most.then_some(match kind {
            Light::Soft => Bound::Soft,
            Light::Cleared => Bound::Cleared,
        }))
    }

    /// Returns the objects above a suspect, the nearest first, up to the class or the thread that holds it.
    fn above_suspect(&self, node: Node) -> Result<Vec<Node>, Error> {
        let mut above = Vec::new();
        let mut at = node;
        while above.len() < ABOVE {
            at = self.dominators.above(at);
            if at == TOP {
                break;
            }
            let object = self.dominators.object(at);
            if self.is_a(object, Known::ClassLoader) || self.is_a(object, Known::Thread) {
                break;
            }
            above.push(at);
            if self.class_of_object(object).is_some() {
                break;
            }
        }
        Ok(above)
    }

    fn bound_by_class(&self, object: ObjectNumber) -> Result<Option<Bound>, Error> {
        if self.class_of_object(object).is_some() {
            return Ok(None);
        }
        let index = self.objects.class(object);
        let class = Arc::clone(&self.classes.get(index).name);
        if class.starts_with("java.util.ImmutableCollections$")
            || class.starts_with("java.util.Collections$Unmodifiable")
        {
            return Ok(Some(Bound::Unmodifiable { class }));
        }
        if &*class == ARRAY_QUEUE {
            let Some(Value::Object(items)) = self.field(object, "items")? else {
                return Ok(None);
            };
            let items = self.objects.ids.find(items).map(|items| self.length(items));
            let count = self.field(object, "count")?;
            return Ok(match (items.transpose()?, count) {
                (Some(value), Some(Value::Int(count))) => Some(Bound::Capacity {
                    class,
                    field: Arc::from("items.length"),
                    value,
                    elements: u64::try_from(count).unwrap_or_default(),
                }),
                _ => None,
            });
        }
        if &*class == LINKED_QUEUE {
            return self.bound_of_linked_queue(object, class);
        }
        if !self.extends(index, LINKED_MAP) {
            return Ok(None);
        }
        let in_order_of_access = self.field(object, "accessOrder")? == Some(Value::Boolean(true));
        let is_subclass = &*class != LINKED_MAP;
        Ok((in_order_of_access || is_subclass).then_some(Bound::EldestGoes { class }))
    }

    /// Returns the capacity of a `LinkedBlockingQueue` that is nearly full. It counts its elements in an `AtomicInteger`.
    fn bound_of_linked_queue(
        &self,
        queue: ObjectNumber,
        class: Arc<str>,
    ) -> Result<Option<Bound>, Error> {
        let Some(Value::Object(count)) = self.field(queue, "count")? else {
            return Ok(None);
        };
        let count = match self.objects.ids.find(count) {
            Some(count) => self.field(count, "value")?,
            None => None,
        };
        let (Some(Value::Int(capacity)), Some(Value::Int(count))) =
            (self.field(queue, "capacity")?, count)
        else {
            return Ok(None);
        };
        let elements = u64::try_from(count).unwrap_or_default();
        let value = u64::try_from(capacity).unwrap_or_default();
        Ok(is_full(elements, value).then(|| Bound::Capacity {
            class,
            field: Arc::from("capacity"),
            value,
            elements,
        }))
    }

    /// Returns the number of elements that a suspect keeps: as its collection counts them, or those that are directly below it.
    fn elements(&self, node: Node) -> Result<u64, Error> {
        let object = self.dominators.object(node);
        if let Some(HeapRecord::PrimitiveArray { .. }) = self.record(object)? {
            return self.length(object);
        }
        let below = self.dominators.children(node).count() as u64;
        let near = [node, self.dominators.above(node)];
        for at in near.into_iter().filter(|&at| at != TOP) {
            let numbers = self.numbers(self.dominators.object(at))?;
            let counts = numbers.fields.iter().filter(|(name, _)| {
                let name = name.to_lowercase();
                COUNTS.contains(&&*name)
            });
            // Some elements of a hash table are below others.
            let mut counts = counts.map(|&(_, value)| value);
            if let Some(count) = counts.find(|&count| count >= below / 2 && count <= 4 * below + 4)
            {
                return Ok(count);
            }
        }
        Ok(below)
    }

    /// Returns the integers that an instance has in its fields, or a class in its static ones.
    fn numbers(&self, object: ObjectNumber) -> Result<Numbers, Error> {
        let integer = |value: Value| match value {
            Value::Int(value) => u64::try_from(value).ok(),
            Value::Long(value) => u64::try_from(value).ok(),
            Value::Short(value) => u64::try_from(value).ok(),
            _ => None,
        };
        if let Some(HeapRecord::Class(class)) = self.record(object)? {
            let index = self.class_of_object(object);
            let statics = class.statics.iter();
            let statics = statics
                .filter_map(|&(name, value)| Some((self.dump.name(name.0), integer(value)?)));
            return Ok(Numbers {
                class: index.map_or_else(
                    || Arc::from(""),
                    |index| Arc::clone(&self.classes.get(index).name),
                ),
                fields: statics.collect(),
            });
        }
        let class = self.objects.class(object);
        let fields = self.field_values(object)?.into_iter();
        let fields =
            fields.filter_map(|(name, value)| Some((self.dump.name(name), integer(value)?)));
        Ok(Numbers {
            class: Arc::clone(&self.classes.get(class).name),
            fields: fields.collect(),
        })
    }

    fn has_loaders_below(&self, node: Node) -> bool {
        let mut below = self.dominators.children(node);
        below.any(|below| self.is_a(self.dominators.object(below), Known::ClassLoader))
    }

    /// Returns the bound of an array: that it is not the array of a collection, or that it has few elements.
    fn bound_of_array(
        &self,
        node: Node,
        above: Option<Node>,
        elements: u64,
    ) -> Result<Option<Bound>, Error> {
        // Loaders pile up one by one, each with all its classes.
        let is_pool = (2..=FEW).contains(&elements) && !self.has_loaders_below(node);
        let few = is_pool.then_some(Bound::Few { elements });
        let object = self.dominators.object(node);
        let is_primitive = match self.record(object)? {
            Some(HeapRecord::ObjectArray { .. }) => false,
            Some(HeapRecord::PrimitiveArray { .. }) => true,
            _ => {
                let is_counted = self.is_counted(node, elements)?;
                return Ok(few.filter(|_| is_counted));
            }
        };
        let array = Array {
            length: self.length(object)?,
            used: self.used(object)?,
            is_primitive,
        };
        let is_fixed = match above.map(|above| self.dominators.object(above)) {
            Some(owner) => !self.may_add_to(owner, &array)?,
            None => self.is_held_by_native_code(object) && !self.holds_own_objects(node),
        };
        Ok(if is_fixed {
            let length = array.length;
            Some(Bound::FixedArray { length })
        } else {
            few
        })
    }

    /// Returns `true` if a global reference of native code is the only root at an object. The VM has such tables, with objects of
    /// the JDK: the constants of the classes in its archive.
    fn is_held_by_native_code(&self, object: ObjectNumber) -> bool {
        let roots = self.graph.roots.all.iter();
        let mut roots = roots.filter(|(root, _)| *root == object).peekable();
        roots.peek().is_some() && roots.all(|(_, kind)| matches!(kind, Root::JniGlobal { .. }))
    }

    /// Returns the number of elements of an array that are not null.
    fn used(&self, array: ObjectNumber) -> Result<u64, Error> {
        let Some(HeapRecord::ObjectArray { elements, .. }) = self.record(array)? else {
            return self.length(array);
        };
        let elements = elements.chunks_exact(self.dump.id_size().bytes() as usize);
        let is_null = |id: &&[u8]| id.iter().all(|&byte| byte == 0);
        Ok(elements.filter(|id| !is_null(id)).count() as u64)
    }

    /// Returns `true` if an object with an array may add elements to it: it belongs to the JDK, as collections and builders of
    /// texts do, or it has a number that can count objects, or be the place of the next one. A buffer of numbers has such numbers,
    /// too, and is not expected to grow.
    fn may_add_to(&self, owner: ObjectNumber, array: &Array) -> Result<bool, Error> {
        let numbers = self.numbers(owner)?;
        let is_class = self.class_of_object(owner).is_some();
        if !is_class && numbers.class.starts_with("java.") {
            return Ok(true);
        }
        let least = if is_class { array.used / 2 } else { 0 };
        let mut fields = numbers.fields.iter();
        // One that is as long as an array states its length.
        let may_count = fields.any(|&(_, value)| value > least && value < array.length);
        Ok(may_count && !array.is_primitive)
    }

    /// Returns `true` if an object counts its elements itself.
    fn is_counted(&self, node: Node, elements: u64) -> Result<bool, Error> {
        let numbers = self.numbers(self.dominators.object(node))?;
        let mut fields = numbers.fields.iter();
        Ok(fields.any(|&(_, value)| value == elements))
    }
}

/// Returns `true` if the elements have nearly reached a bound.
fn is_full(elements: u64, bound: u64) -> bool {
    bound >= FEWEST && elements >= bound - bound / 8 && elements <= bound + bound / 16
}
