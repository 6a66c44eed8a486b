//! The memory outside of the heap that objects own: direct buffers, mapped files, memory segments.

use std::cmp::Reverse;
use std::sync::Arc;

use foldhash::HashMap;
use hprof_format::Value;
use serde::Serialize;

use crate::data::dominators::TOP;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::numbers::ObjectNumber;
use crate::questions::paths::holder;

/// The share of the live heap from which the holders of memory outside of it are looked for, and the bytes from which they are
/// in any case.
const MUCH: f64 = 0.05;
const MUCH_IN_ANY_CASE: u64 = 64 << 20;
/// The most objects whose holders are looked for, those that own most, and the most holders.
const MOST: usize = 1000;
const HOLDERS: usize = 5;
/// More than any process can address: the length of segments that stand for all memory.
const ADDRESSES: u64 = 1 << 47;
/// The beginnings of frames that allocate buffers for others.
const ALLOCATORS: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "io.netty."];

/// The memory outside of the heap that live objects own.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OutsideHeap {
    /// Its bytes.
    pub bytes: u64,
    /// By the kind of the objects, those with the most bytes first.
    pub kinds: Vec<OutsideKind>,
    /// By what holds the objects, those with the most bytes first; empty if it is little.
    pub holders: Vec<OutsideHolder>,
}

/// Objects of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct OutsideKind {
    /// `direct buffers`, `mapped files`, `memory segments`.
    pub kind: &'static str,
    /// Their number.
    pub objects: u64,
    /// The bytes that they own.
    pub bytes: u64,
}

/// Objects that one part of the program holds, and one place has made.
#[derive(Clone, Debug, Serialize)]
pub struct OutsideHolder {
    /// The part of the program, as of a suspect.
    pub holder: String,
    /// The innermost frame of the program in the stack that made them; empty if the dump does not have it.
    pub allocated: Arc<str>,
    /// Their number.
    pub objects: u64,
    /// The bytes that they own.
    pub bytes: u64,
}

/// The kind of an object that may own memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Direct,
    Mapped,
    Segment,
}

/// Memory that an object owns.
struct Owned {
    object: ObjectNumber,
    kind: Kind,
    address: u64,
    bytes: u64,
}

/// The class of the JDK that maps its own file of classes, `lib/modules`, by native code, and the field with a view of that buffer.
/// Unlike others of native code, the buffer does not refer to the file.
const IMAGE_READER: &str = "jdk.internal.jimage.BasicImageReader";
const IMAGE: &str = "memoryMap";

impl Kind {
    /// Returns the kind of a class of the JDK, which subclasses share.
    fn of_class(name: &str) -> Option<Kind> {
        match name {
            "java.nio.DirectByteBuffer" => Some(Kind::Direct),
            "jdk.internal.foreign.NativeMemorySegmentImpl" => Some(Kind::Segment),
            "jdk.internal.foreign.MappedMemorySegmentImpl" => Some(Kind::Mapped),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Direct => "direct buffers",
            Kind::Mapped => "mapped files",
            Kind::Segment => "memory segments",
        }
    }
}

impl Heap<'_> {
    /// Returns the memory outside of the heap that live objects own.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn outside_heap(&self) -> Result<OutsideHeap, Error> {
        self.dump.unless_changed(|| self.find_outside_heap())
    }

    fn find_outside_heap(&self) -> Result<OutsideHeap, Error> {
        let owned = self.owned()?;
        let mut kinds: HashMap<Kind, (u64, u64)> = HashMap::default();
        for owned in &owned {
            let sum = kinds.entry(owned.kind).or_default();
            *sum = (sum.0 + 1, sum.1 + owned.bytes);
        }
        let mut kinds: Vec<OutsideKind> = kinds
            .into_iter()
            .map(|(kind, (objects, bytes))| OutsideKind {
                kind: kind.name(),
                objects,
                bytes,
            })
            .collect();
        kinds.sort_unstable_by_key(|kind| (Reverse(kind.bytes), kind.kind));
        let bytes = kinds.iter().map(|kind| kind.bytes).sum();
        let is_much = bytes >= MUCH_IN_ANY_CASE || bytes as f64 > self.retained(TOP) as f64 * MUCH;
        Ok(OutsideHeap {
            bytes,
            kinds,
            holders: match is_much {
                true => self.holders(&owned)?,
                false => Vec::new(),
            },
        })
    }

    /// Returns the memory that live objects own, the most first; what several refer to counts for the first.
    fn owned(&self) -> Result<Vec<Owned>, Error> {
        let kinds = self.classes.inherited(|class| Kind::of_class(&class.name));
        let mut classes = fixedbitset::FixedBitSet::with_capacity(kinds.len());
        for (place, kind) in kinds.iter().enumerate() {
            classes.set(place, kind.is_some());
        }
        if classes.is_clear() {
            return Ok(Vec::new());
        }
        let mut owned = Vec::new();
        for object in self.live_of(&classes) {
            if let Some(Some(kind)) = kinds.get(self.objects.class(object).place()) {
                owned.extend(self.owned_by(object, *kind)?);
            }
        }
        let images = self.images()?;
        for owned in &mut owned {
            if images.contains(&owned.address) {
                owned.kind = Kind::Mapped;
            }
        }
        // Slices of a segment begin in it, and come after it.
        owned.sort_unstable_by_key(|owned| (owned.address, Reverse(owned.bytes), owned.object));
        let mut end = 0;
        owned.retain(|owned| {
            let is_new = owned.address >= end;
            end = end.max(owned.address + owned.bytes);
            is_new
        });
        owned.sort_by_key(|owned| Reverse(owned.bytes));
        Ok(owned)
    }

    /// Returns the addresses to which the JDK's files of classes are mapped.
    fn images(&self) -> Result<Vec<u64>, Error> {
        let readers = self
            .classes
            .inherited(|class| (*class.name == *IMAGE_READER).then_some(()));
        let mut classes = fixedbitset::FixedBitSet::with_capacity(readers.len());
        for (place, is_reader) in readers.iter().enumerate() {
            classes.set(place, is_reader.is_some());
        }
        let mut addresses = Vec::new();
        if classes.is_clear() {
            return Ok(addresses);
        }
        for reader in self.live_of(&classes) {
            let Some(Value::Object(view)) = self.field(reader, IMAGE)? else {
                continue;
            };
            let Some(view) = self.objects.ids.find(view) else {
                continue;
            };
            if let Some(Value::Long(address)) = self.field(view, "address")? {
                addresses.push(address.cast_unsigned());
            }
        }
        Ok(addresses)
    }

    fn owned_by(&self, object: ObjectNumber, kind: Kind) -> Result<Option<Owned>, Error> {
        let number = |name: &str| -> Result<u64, Error> {
            Ok(match self.field(object, name)? {
                Some(Value::Int(value)) => u64::try_from(value).unwrap_or_default(),
                Some(Value::Long(value)) => u64::try_from(value).unwrap_or_default(),
                Some(Value::Object(id)) => id.0,
                _ => 0,
            })
        };
        let (kind, address, bytes) = match kind {
            // It is a view of another.
            Kind::Direct if number("att")? != 0 => return Ok(None),
            Kind::Direct => {
                let is_mapped = number("fd")? != 0;
                let kind = if is_mapped {
                    Kind::Mapped
                } else {
                    Kind::Direct
                };
                (kind, number("address")?, number("capacity")?)
            }
            Kind::Mapped | Kind::Segment => (kind, number("min")?, number("length")?),
        };
        let is_possible = address > 0 && bytes > 0 && address < ADDRESSES && bytes < ADDRESSES;
        Ok(is_possible.then_some(Owned {
            object,
            kind,
            address,
            bytes,
        }))
    }

    fn holders(&self, owned: &[Owned]) -> Result<Vec<OutsideHolder>, Error> {
        let owned = &owned[..owned.len().min(MOST)];
        let objects: Vec<ObjectNumber> = owned.iter().map(|owned| owned.object).collect();
        let paths = self.shortest_paths_to(&objects)?;
        let mut found: HashMap<(String, Arc<str>), (u64, u64)> = HashMap::default();
        for owned in owned {
            let path = self.path(&paths, owned.object)?;
            let holder = path.as_ref().and_then(holder);
            let holder = holder.map_or_else(String::new, |holder| holder.to_string());
            let stack = self.dump.stack(self.objects.trace(owned.object));
            let is_own = |frame: &&Arc<str>| !ALLOCATORS.iter().any(|of| frame.starts_with(of));
            let allocated = stack.iter().find(is_own).cloned().unwrap_or_default();
            let sum = found.entry((holder, allocated)).or_default();
            *sum = (sum.0 + 1, sum.1 + owned.bytes);
        }
        let mut holders: Vec<OutsideHolder> = found
            .into_iter()
            .map(|((holder, allocated), (objects, bytes))| OutsideHolder {
                holder,
                allocated,
                objects,
                bytes,
            })
            .collect();
        holders.sort_unstable_by(|one, other| {
            let by_bytes = other.bytes.cmp(&one.bytes);
            by_bytes
                .then_with(|| (&one.holder, &one.allocated).cmp(&(&other.holder, &other.allocated)))
        });
        holders.truncate(HOLDERS);
        Ok(holders)
    }
}
