//! Arrays that are not objects of the program.
//!
//! If the VM's heap has a gap, such as the rest of a thread's allocation buffer, an `int[]` fills it, and the dump
//! has it like any other (JDK 21 gives it a class of its own, but not in the dump). A filler was never allocated, so
//! its allocation was not seen, and nothing refers to it. The same holds for garbage arrays that were allocated before
//! the agent could see them, and for empty arrays that the VM attaches to classes invisibly to any dump: no reader can
//! tell how they are reached, so they are omitted as well.

use std::rc::Rc;

use hprof_format::{
    BasicType, HeapError, HeapKind, HeapRecord, HeapRecords, IdSize, RawHeapRecord, Value,
};
use memory::{List, Map, OrStop, Set};

use super::first_pass::FirstPass;
use super::source::{DumpProgress, Source, Visitor};
use crate::engines::heap_dump::DumpError;
use hprof_format::bytes::read_u64_be;

/// The most untracked arrays that are examined: 8 MB.
const MOST_SUSPECTS: usize = 1_000_000;
/// The offsets of an instance's class and of its fields.
const INSTANCE_CLASS: usize = 13;
const INSTANCE_FIELDS: usize = 25;
/// The offsets of the class of an array of references and of its elements.
const ARRAY_CLASS: usize = 17;
const ELEMENTS: usize = 25;
/// The classes of arrays that can hold an `int[]`.
const HOLDERS: [&str; 4] = [
    "[Ljava/lang/Object;",
    "[[I",
    "[Ljava/lang/Cloneable;",
    "[Ljava/io/Serializable;",
];

/// Returns those of `suspects`, the ids of arrays, that nothing in the dump refers to; sorted. Leaves `source` at its
/// end.
pub(super) fn find(
    source: &mut Source,
    first_pass: &FirstPass,
    suspects: List<u64>,
) -> Result<List<u64>, DumpError> {
    if suspects.is_empty() || suspects.len() > MOST_SUSPECTS {
        return Ok(List::new());
    }
    let mut search = Search::new(first_pass, suspects);
    source.rewind()?;
    source.visit(&mut search)?;
    let mut fillers = List::collect(search.suspects.ids).or_stop();
    fillers.sort_unstable();
    Ok(fillers)
}

/// Examines all references.
struct Search<'s> {
    first_pass: &'s FirstPass,
    suspects: Suspects,
    holders: List<u64>,
    references: References,
}

/// The offsets of references in the instances of classes.
struct References {
    of: Map<u64, Rc<[u32]>>,
    /// The last class looked up, because instances of a class often follow each other.
    last: (u64, Rc<[u32]>),
}

/// 64 KB, which stay in a CPU's cache.
const FILTER_WORDS: usize = 8 * 1024;

/// Returns the word and the bit of an id in the filter.
fn filter_bit(id: u64) -> (usize, u64) {
    let hash = (id >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - 19);
    ((hash >> 6) as usize, 1 << (hash & 63))
}

/// Arrays that no reference to has been found yet.
struct Suspects {
    ids: Set<u64>,
    /// A bit for each hash of a suspect, so that hardly any other id is looked up.
    filter: Box<[u64; FILTER_WORDS]>,
}

impl Suspects {
    fn new(ids: List<u64>) -> Self {
        memory::need(FILTER_WORDS * size_of::<u64>());
        let mut filter = Box::new([0; FILTER_WORDS]);
        for &id in &ids {
            let (word, bit) = filter_bit(id);
            filter[word] |= bit;
        }
        let ids = Set::collect(ids).or_stop();
        Self { ids, filter }
    }

    /// Notes that something refers to this object.
    #[inline]
    fn meet(&mut self, id: u64) {
        let (word, bit) = filter_bit(id);
        if self.filter[word] & bit != 0 {
            self.ids.remove(&id);
        }
    }
}

impl<'s> Search<'s> {
    fn new(first_pass: &'s FirstPass, suspects: List<u64>) -> Self {
        let classes = first_pass.classes.values();
        let holders = classes
            .filter(|class| HOLDERS.contains(&&*first_pass.names.get(class.name)))
            .map(|class| class.object);
        Self {
            first_pass,
            suspects: Suspects::new(suspects),
            holders: List::collect(holders).or_stop(),
            references: References {
                of: Map::default(),
                last: (0, Rc::default()),
            },
        }
    }

    fn instance(&mut self, record: &[u8]) {
        let class = read_u64_be(record, INSTANCE_CLASS);
        let References { of, last } = &mut self.references;
        if last.0 != class {
            let references = of
                .get_or_insert_with(class, || references_of(self.first_pass, class))
                .or_stop();
            *last = (class, references.clone());
        }
        let fields = &record[INSTANCE_FIELDS..];
        for &at in last.1.iter() {
            if fields.len() >= at as usize + 8 {
                self.suspects.meet(read_u64_be(fields, at as usize));
            }
        }
    }

    fn other(&mut self, record: &RawHeapRecord<'_>) {
        match record.decode() {
            Ok(HeapRecord::Root { object, .. }) => self.suspects.meet(object.0),
            Ok(HeapRecord::Class(class)) => {
                let statics = class.statics.iter().map(|&(_, value)| value);
                let constants = class.constants.iter().map(|&(_, value)| value);
                for value in statics.chain(constants) {
                    if let Value::Object(object) = value {
                        self.suspects.meet(object.0);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Visitor for Search<'_> {
    fn record(&mut self, _: u8, _: &[u8]) -> Result<(), DumpError> {
        Ok(())
    }

    fn heap(&mut self, block: &mut [u8], offset: u64) -> Result<DumpProgress, DumpError> {
        let mut records = HeapRecords::new(block, IdSize::Eight);
        loop {
            let start = records.offset();
            match records.next() {
                Some(Ok(record)) => match record.kind() {
                    HeapKind::Instance => self.instance(record.bytes()),
                    HeapKind::ObjectArray => {
                        let record = record.bytes();
                        if self.holders.contains(&read_u64_be(record, ARRAY_CLASS)) {
                            let elements = record[ELEMENTS..].chunks_exact(8);
                            elements.for_each(|id| self.suspects.meet(read_u64_be(id, 0)));
                        }
                    }
                    HeapKind::PrimitiveArray => {}
                    _ => self.other(&record),
                },
                Some(Err(HeapError::Incomplete { needed, .. })) if start == 0 => {
                    let is_primitive =
                        HeapKind::from_tag(block[0]) == Some(HeapKind::PrimitiveArray);
                    // Its header is there, and states its length.
                    return Ok(match is_primitive && block.len() > ELEMENTS {
                        true => DumpProgress::Done(needed),
                        false => DumpProgress::Needs(needed),
                    });
                }
                None | Some(Err(HeapError::Incomplete { .. })) => {
                    return Ok(DumpProgress::Done(start as u64));
                }
                Some(Err(_)) => {
                    return Err(DumpError::Content {
                        offset: offset + start as u64,
                        what: "it is no record of a heap dump",
                    });
                }
            }
        }
    }
}

/// Returns the offsets of references in instances of a class: fields of the class first, then those of its superclass,
/// and so on.
fn references_of(first_pass: &FirstPass, class: u64) -> Rc<[u32]> {
    let mut references = List::new();
    let mut at = 0;
    let mut next = first_pass.layouts.get(&class);
    while let Some(layout) = next {
        for &kind in &layout.fields {
            if kind == BasicType::Object {
                references.push(at).or_stop();
            }
            #[expect(clippy::cast_possible_truncation, reason = "a value has 1 to 8 bytes")]
            let size = kind.size(8) as u32;
            at += size;
        }
        next = first_pass.layouts.get(&layout.super_class);
    }
    references.into_vec().into()
}
