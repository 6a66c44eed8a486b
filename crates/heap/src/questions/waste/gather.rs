//! One pass over a dump that collects strings, arrays and collections.

use std::hash::BuildHasher;
use std::io;
use std::ops::Range;

use bytemuck::Pod;
use fixedbitset::FixedBitSet;
use foldhash::quality::RandomState;
use hprof_format::bytes::read_id_be;
use hprof_format::{BasicType, HeapKind, HeapRecord, ObjectId};

use super::kinds::{self, NO_ARRAY};
use crate::data::classes::primitive;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::memory::{Memory, Numbers};
use crate::data::numbers::{ClassIndex, ObjectNumber};
use crate::data::turns::in_turn;

const STRING: &str = "java.lang.String";

/// Combines two object numbers into one, sorted by the first.
pub(super) const fn pair(first: ObjectNumber, second: ObjectNumber) -> u64 {
    (first.0 as u64) << 32 | second.0 as u64
}

pub(super) const fn first(pair: u64) -> ObjectNumber {
    ObjectNumber((pair >> 32) as u32)
}

pub(super) const fn second(pair: u64) -> ObjectNumber {
    ObjectNumber(pair as u32)
}

/// The role of a class's objects here.
#[derive(Clone, Copy, Debug)]
enum Role {
    Other,
    /// The offset of its array in an instance, and of the byte that determines how to read it.
    String {
        value: usize,
        coder: Option<usize>,
    },
    /// The offset of its array in an instance.
    Collection {
        elements: usize,
    },
    /// An array in which collections keep their elements.
    Elements,
    Primitives,
}

/// The collected data, only of live objects; by number, ascending.
pub(super) struct Gathered {
    /// The hashes of all arrays of primitive types, and their numbers.
    pub(super) hashes: Numbers<u64>,
    pub(super) arrays: Numbers<u32>,
    /// Strings: the number of the array, and that of the string.
    pub(super) strings: Numbers<u64>,
    /// Strings that are not Latin-1.
    pub(super) wide: FixedBitSet,
    /// Arrays of objects as collections use them: number, length, number of non-null elements.
    pub(super) elements: Numbers<[u32; 3]>,
    /// Collections: the number of the array, [`NO_ARRAY`] if there is none, and that of the
    /// collection.
    pub(super) collections: Numbers<u64>,
}

impl Gathered {
    pub(super) fn of(heap: &Heap<'_>) -> Result<Gathered, Error> {
        let live = heap.live();
        let reader = Reader {
            heap,
            roles: &roles(heap, &live),
            live: &live,
            hasher: RandomState::default(),
        };
        let mut tables = Tables::new(&reader)?;
        let samples = heap.record_offsets.samples.iter();
        let pieces = heap.dump.pieces(samples.map(|&(_, offset)| offset));
        in_turn(
            (heap.dump.threads(), pieces.len()),
            |number, piece| reader.read(pieces.get(number), piece),
            |piece| {
                tables.add(piece);
                Ok::<(), Error>(())
            },
            |_| {},
        )?;
        Ok(tables.finish())
    }
}

/// Returns the roles of the classes that have live objects: only for those is the number of fields limited by the bytes
/// in the dump.
fn roles(heap: &Heap<'_>, live: &FixedBitSet) -> Vec<Role> {
    let mut has_live = FixedBitSet::with_capacity(heap.classes.len());
    for number in live.ones() {
        has_live.insert(heap.objects.class(ObjectNumber::at(number)).place());
    }
    let offset = |class: ClassIndex, name: &str| {
        let mut fields = heap.classes.fields(class);
        let field = fields.find(|field| heap.dump.string(field.name) == Some(name.as_bytes()))?;
        Some((field.offset, field.kind))
    };
    let reference = |class, name: &str| match offset(class, name) {
        Some((offset, BasicType::Object)) => Some(offset),
        _ => None,
    };
    let collections = heap.classes.inherited(|class| kinds::field(&class.name));
    let of = |index: ClassIndex, name: &str| {
        if name == STRING {
            let coder = offset(index, "coder").filter(|&(_, kind)| kind == BasicType::Byte);
            let coder = coder.map(|(offset, _)| offset);
            let value = reference(index, "value");
            return value.map(|value| Role::String { value, coder });
        }
        if let Some(element) = name.strip_suffix("[]") {
            return Some(match primitive(element) {
                Some(_) => Role::Primitives,
                None if kinds::ARRAYS.contains(&name) => Role::Elements,
                None => Role::Other,
            });
        }
        let elements = reference(index, collections[index.place()]?)?;
        Some(Role::Collection { elements })
    };
    let classes = heap.classes.iter();
    classes
        .map(|(index, class)| match has_live.contains(index.place()) {
            true => of(index, &class.name).unwrap_or(Role::Other),
            false => Role::Other,
        })
        .collect()
}

/// A table that is filled from its start.
struct Filling<T: Pod> {
    table: Numbers<T>,
    used: usize,
}

impl<T: Pod> Filling<T> {
    fn new(length: usize, memory: &Memory) -> io::Result<Filling<T>> {
        let table = memory.table(length)?;
        Ok(Filling { table, used: 0 })
    }

    /// Adds entries. A damaged dump may have two records of one object, and so too many.
    fn extend(&mut self, entries: &[T]) {
        let room = self.table.get_mut(self.used..).unwrap_or_default();
        let fitting = entries.len().min(room.len());
        room[..fitting].copy_from_slice(&entries[..fitting]);
        self.used += fitting;
    }

    fn finish(mut self) -> Numbers<T> {
        self.table.truncate(self.used);
        self.table
    }
}

/// What is needed to read the records of a piece of the dump.
struct Reader<'a> {
    heap: &'a Heap<'a>,
    roles: &'a [Role],
    live: &'a FixedBitSet,
    hasher: RandomState,
}

/// What a piece of the dump has, in the order of its records.
#[derive(Default)]
struct Piece {
    hashes: Vec<u64>,
    arrays: Vec<u32>,
    strings: Vec<u64>,
    /// Whether each of the strings is not Latin-1.
    wide: Vec<bool>,
    elements: Vec<[u32; 3]>,
    collections: Vec<u64>,
}

impl Reader<'_> {
    /// Reads the records in ranges of the dump, instead of what the piece had before.
    fn read(&self, ranges: &[Range<usize>], piece: &mut Piece) -> Result<(), Error> {
        piece.clear();
        // The next object often has the same class.
        let mut last = (0, Role::Other);
        let mut role = |class: u64| {
            if last.0 != class {
                let index = self.heap.classes.find(class);
                let role = index.map_or(Role::Other, |index| self.roles[index.place()]);
                last = (class, role);
            }
            last.1
        };
        for found in self.heap.dump.records_of(ranges) {
            let found = found?;
            if matches!(
                found.record.kind(),
                HeapKind::Instance | HeapKind::ObjectArray | HeapKind::PrimitiveArray
            ) {
                self.add(&found.decode()?, &mut role, piece);
            }
        }
        Ok(())
    }

    /// Adds what a record has. `role` returns that of a class's objects.
    #[inline]
    fn add(&self, record: &HeapRecord<'_>, mut role: impl FnMut(u64) -> Role, piece: &mut Piece) {
        match *record {
            HeapRecord::Instance {
                object,
                class,
                fields,
                ..
            } => match role(class.0) {
                Role::String { value, coder } => {
                    if let Some(number) = self.find(object) {
                        self.add_string(number, fields, (value, coder), piece);
                    }
                }
                Role::Collection { elements } => {
                    if let Some(number) = self.find(object) {
                        let array = self.reference(fields, elements);
                        let array = array.unwrap_or(NO_ARRAY);
                        piece.collections.push(pair(array, number));
                    }
                }
                _ => {}
            },
            HeapRecord::ObjectArray {
                object,
                class,
                elements,
                ..
            } => {
                if let Role::Elements = role(class.0)
                    && let Some(number) = self.find(object)
                {
                    let size = self.heap.dump.id_size().bytes() as usize;
                    let all = elements.chunks_exact(size);
                    let length = all.len() as u32;
                    let used = all.filter(|id| id.iter().any(|&byte| byte != 0)).count();
                    piece.elements.push([number.0, length, used as u32]);
                }
            }
            HeapRecord::PrimitiveArray {
                object,
                element,
                elements,
                ..
            } => {
                if let Some(number) = self.find(object) {
                    let hash = self.hasher.hash_one((element as u8, elements));
                    piece.hashes.push(hash);
                    piece.arrays.push(number.0);
                }
            }
            _ => {}
        }
    }

    /// Returns the number of a live object.
    #[inline]
    fn find(&self, id: ObjectId) -> Option<ObjectNumber> {
        let number = self.heap.objects.ids.find(id)?;
        self.live.contains(number.place()).then_some(number)
    }

    fn add_string(
        &self,
        number: ObjectNumber,
        fields: &[u8],
        (value, coder): (usize, Option<usize>),
        piece: &mut Piece,
    ) {
        if let Some(array) = self.reference(fields, value) {
            piece.strings.push(pair(array, number));
            let coder = coder.and_then(|offset| fields.get(offset));
            piece.wide.push(coder.is_some_and(|&coder| coder != 0));
        }
    }

    /// Returns the object at an offset of an instance; `None` for null and for objects that the dump lacks.
    fn reference(&self, fields: &[u8], offset: usize) -> Option<ObjectNumber> {
        let id_size = self.heap.dump.id_size();
        fields.get(offset..offset + id_size.bytes() as usize)?;
        let id = read_id_be(fields, offset, id_size);
        self.heap.objects.ids.find(ObjectId(id)).filter(|_| id != 0)
    }
}

impl Piece {
    fn clear(&mut self) {
        self.hashes.clear();
        self.arrays.clear();
        self.strings.clear();
        self.wide.clear();
        self.elements.clear();
        self.collections.clear();
    }
}

/// What all pieces have.
struct Tables {
    hashes: Filling<u64>,
    arrays: Filling<u32>,
    strings: Filling<u64>,
    wide: FixedBitSet,
    elements: Filling<[u32; 3]>,
    collections: Filling<u64>,
}

impl Tables {
    fn new(reader: &Reader<'_>) -> io::Result<Tables> {
        let Reader {
            heap, roles, live, ..
        } = *reader;
        let (mut strings, mut collections, mut elements, mut arrays) = (0, 0, 0, 0);
        for number in live.ones() {
            match roles[heap.objects.class(ObjectNumber::at(number)).place()] {
                Role::Other => {}
                Role::String { .. } => strings += 1,
                Role::Collection { .. } => collections += 1,
                Role::Elements => elements += 1,
                Role::Primitives => arrays += 1,
            }
        }
        let memory = &heap.memory;
        Ok(Tables {
            hashes: Filling::new(arrays, memory)?,
            arrays: Filling::new(arrays, memory)?,
            strings: Filling::new(strings, memory)?,
            wide: FixedBitSet::with_capacity(live.len()),
            elements: Filling::new(elements, memory)?,
            collections: Filling::new(collections, memory)?,
        })
    }

    fn add(&mut self, piece: &Piece) {
        self.hashes.extend(&piece.hashes);
        self.arrays.extend(&piece.arrays);
        self.strings.extend(&piece.strings);
        for (&string, &is_wide) in piece.strings.iter().zip(&piece.wide) {
            self.wide.set(second(string).place(), is_wide);
        }
        self.elements.extend(&piece.elements);
        self.collections.extend(&piece.collections);
    }

    fn finish(self) -> Gathered {
        let mut gathered = Gathered {
            hashes: self.hashes.finish(),
            arrays: self.arrays.finish(),
            strings: self.strings.finish(),
            wide: self.wide,
            elements: self.elements.finish(),
            collections: self.collections.finish(),
        };
        gathered.strings.sort_unstable();
        gathered.collections.sort_unstable();
        gathered.elements.sort_unstable();
        if !gathered.arrays.is_sorted() {
            let mut both: Vec<(u32, u64)> = gathered
                .arrays
                .iter()
                .copied()
                .zip(gathered.hashes.iter().copied())
                .collect();
            both.sort_unstable();
            for (offset, (number, hash)) in both.into_iter().enumerate() {
                (gathered.arrays[offset], gathered.hashes[offset]) = (number, hash);
            }
        }
        gathered
    }
}
