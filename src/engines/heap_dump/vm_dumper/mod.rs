//! The VM's own dumper, whose file is rewritten: the fastest dumper, because only the VM can walk its heap directly.
//!
//! The VM does not know where objects were allocated, and its ids for them are addresses that the agent does not know.
//! So before the dump all tracked objects are put into a list inside the heap. It appears in the dump like everything
//! else: its elements are the addresses of the objects, in the agent's order. Threads and classes follow the objects in
//! the list. Two passes over the VM's file (`source`) follow: the first (`first_pass`) finds the list and everything else
//! that must be known in advance, the second (`rewrite`) writes the records, with the agent's numbers (`numbering`,
//! `join`) and without the agent's own objects: this list, those of earlier dumps that have not been collected yet, and
//! the name of the file.

mod blocks;
mod class_dump;
mod dangling;
mod fillers;
mod first_pass;
mod numbering;
mod object_numbers;
mod rewrite;
mod source;
mod temporary;

use std::ffi::CStr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::births::BirthList;
use super::disk::Disk;
use super::{DumpError, DumpOutput, Dumped, HeapDumper, Subject};
use crate::engines::Moment;
use jvmti::{Env, Jni, LocalRef, ObjectList, OwnObjects, VmDumper, characters};
use names::Tables;
use names::class::ClassId;
use names::thread::ThreadSerial;
use names::trace::TraceId;
use stacks::Stacks;

use dangling::Dangling;
use first_pass::{Array, FirstPass, ListReference};
use hprof_format::ObjectId;
use hprof_format::bytes::read_u64_be;
use memory::{List, Map, OrStop, Set};
use numbering::{KnownIds, Numbering};
use object_numbers::ObjectNumbers;
use rewrite::{DumpRewriter, LEFT_OUT};
use source::Source;
use temporary::{Folder, TemporaryPlace};

/// The dumper that uses the VM's own.
pub struct VmHeapDumper {
    env: Env,
    tables: Arc<Tables>,
    stacks: Arc<Stacks>,
    place: TemporaryPlace,
    disk: Arc<Disk>,
    own: OwnObjects,
}

/// The bytes that the heap must have free beyond twice the size of the list: a heap that is nearly full belongs to the
/// program, and a failed request may end it (`-XX:+ExitOnOutOfMemoryError`).
const SPARE: u64 = 1024 * 1024;
/// The share of the heap, as a divisor, that must be free as well once a request has failed: what is free then may lie
/// in pieces.
const SPARE_SHARE: u64 = 16;
/// The number of times a list is enlarged because more objects have been allocated.
const ATTEMPTS: usize = 3;

/// Returns the number of bytes that must be free in addition to what a dump takes.
fn spare(dumper: VmDumper, subject: &Subject<'_>) -> u64 {
    match subject.moment {
        Moment::Exhausted => SPARE.max(dumper.heap().limit / SPARE_SHARE),
        Moment::Running | Moment::Death => SPARE,
    }
}

/// The list, and the meaning of its elements.
struct HeapList<'a> {
    list: ObjectList<'a>,
    meaning: Meaning,
}

/// The meaning of a list's elements: first the agent's own objects, then objects with a trace, then classes, then
/// threads.
struct Meaning {
    own: usize,
    objects: List<TraceId>,
    births: BirthList,
    classes: List<ClassId>,
    threads: List<ThreadSerial>,
}

impl VmHeapDumper {
    /// Creates a dumper whose temporary file is next to `target`.
    pub(super) fn new(
        env: Env,
        tables: Arc<Tables>,
        stacks: Arc<Stacks>,
        target: &Path,
        disk: Arc<Disk>,
    ) -> Self {
        Self {
            env,
            tables,
            stacks,
            place: TemporaryPlace::next_to(target),
            disk,
            own: OwnObjects::new(env),
        }
    }

    /// Lists all objects whose ids must be known. The heap may have no room for the list.
    fn list<'a>(
        &self,
        jni: Jni<'a>,
        dumper: VmDumper,
        subject: &Subject<'_>,
    ) -> Result<HeapList<'a>, DumpError> {
        for _ in 0..ATTEMPTS {
            let classes = self.env.loaded_classes(jni)?;
            let tracked = subject.tracked.len();
            // The sweeper may add more before the list is full.
            let room = tracked + tracked / 16 + 2_000 + classes.len() + subject.threads.len();
            if dumper.heap().free() < 2 * ObjectList::size(room) + spare(dumper, subject) {
                return Err(DumpError::NoRoom);
            }
            let mut list = ObjectList::new(jni, room).ok_or(DumpError::NoRoom)?;
            list.for_each_array(|array| self.own.add(jni, array));
            let mut meaning = Meaning {
                own: 0,
                objects: List::with_capacity(tracked).or_stop(),
                births: BirthList::new(subject),
                classes: List::with_capacity(classes.len()).or_stop(),
                threads: List::with_capacity(subject.threads.len()).or_stop(),
            };
            let mut fits = true;
            self.own.for_each(jni, |object| {
                fits = fits && list.push(object);
                meaning.own += 1;
            });
            let next = subject.tracked.for_each(jni, &mut |object, origin| {
                fits = fits && list.push_weak(object);
                if fits {
                    meaning.objects.push(origin.trace).or_stop();
                    meaning.births.push(&origin);
                }
            });
            meaning.births.next = next;
            for class in &classes {
                fits = fits && list.push(class.object());
                let id = self.stacks.class(jni, class.object());
                let id = id.unwrap_or_else(|_| self.stacks.unknown_class());
                meaning.classes.push(id).or_stop();
            }
            for thread in subject.threads {
                fits = fits && list.push(thread.object.object());
                meaning.threads.push(thread.serial).or_stop();
            }
            if fits {
                list.finish();
                return Ok(HeapList { list, meaning });
            }
        }
        Err(DumpError::NoRoom)
    }

    fn name_in_the_heap<'a>(
        &self,
        jni: Jni<'a>,
        dumper: VmDumper,
        name: &CStr,
    ) -> Result<LocalRef<'a>, DumpError> {
        let name = dumper.path(jni, name).ok_or(DumpError::NoRoom)?;
        self.own.add(jni, name.object());
        if let Some(characters) = characters(jni, &name) {
            self.own.add(jni, characters.object());
        }
        Ok(name)
    }

    /// Makes the VM dump, and finds the list in the dump. The file has no name any more when this returns.
    fn dump_and_read(
        &self,
        jni: Jni<'_>,
        subject: &Subject<'_>,
    ) -> Result<(Source, FirstPass, Meaning, Duration), DumpError> {
        let dumper = VmDumper::find(self.env).ok_or(DumpError::NoDumper(
            "this VM has no dumper that we know how to call",
        ))?;
        if dumper.heap().free() < spare(dumper, subject) {
            return Err(DumpError::NoRoom);
        }
        let folder: Folder = self.place.make()?;
        let name = folder.name_for_the_vm()?;
        let name = self.name_in_the_heap(jni, dumper, &name)?;
        let HeapList { list, meaning } = self.list(jni, dumper, subject)?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a Java array has at most 2^31 elements"
        )]
        let lengths = [list.length_of_outer() as u32, ObjectList::CHUNK as u32];
        let wanted = ListReference {
            reference: list.reference(),
            lengths,
            primitive_arrays: subject.primitive_arrays,
        };
        let start = Instant::now();
        dumper.dump(jni, &name).map_err(DumpError::Vm)?;
        let pause = start.elapsed();
        drop((list, name));
        let mut source = Source::open(&folder.file())?;
        source.remove_with(folder);
        let mut first_pass = FirstPass::new(wanted);
        source.visit(&mut first_pass)?;
        Ok((source, first_pass, meaning, pause))
    }
}

impl HeapDumper for VmHeapDumper {
    fn dump(
        &self,
        jni: Jni<'_>,
        subject: &Subject<'_>,
        output: &mut dyn DumpOutput,
    ) -> Result<Dumped, DumpError> {
        // The VM's own file is there until the output is.
        self.disk.check(1)?;
        let (mut source, mut first_pass, meaning, pause) = self.dump_and_read(jni, subject)?;
        let arrays = Arrays::find(&source, &first_pass)?;
        let mut known = KnownIds::default();
        let Listed {
            own,
            made_at,
            births,
        } = arrays.read(&source, meaning, &mut known)?;
        births.write(made_at.iter().map(|&(id, _)| ObjectId(id)), output);
        first_pass.leave_out(&source, &own)?;
        let line_numbers = self.stacks.line_numbers();
        // Classes get their ids in this dump before a trace names them, because readers use the first one they see.
        let numbering = Numbering::new(&self.tables, line_numbers, &first_pass, &known, output);
        let mut serials = Serials::default();
        let serial = |(id, trace)| (id, serials.get(trace, output));
        let made_at = made_at.into_iter().map(serial);
        let left_out = own.iter().map(|&id| (id, LEFT_OUT));
        let numbers = List::collect(made_at.chain(left_out)).or_stop();
        let mut traces = ObjectNumbers::new(numbers);
        let suspects = std::mem::take(&mut first_pass.ints).into_iter();
        let suspects = suspects.filter(|&id| traces.find(id).is_none());
        let suspects = List::collect(suspects).or_stop();
        let fillers = fillers::find(&mut source, &first_pass, suspects)?;
        first_pass.leave_out(&source, &fillers)?;
        traces.extend(fillers.into_iter().map(|id| (id, LEFT_OUT)));
        let totals = first_pass.totals();
        let dumped = Dumped {
            objects: totals.objects,
            bytes: totals.bytes,
            pause,
        };
        let left_out = Set::collect(own).or_stop();
        let dangling = Dangling::find(&source, &first_pass, &left_out)?;
        output.totals(dumped.objects, dumped.bytes);
        source.rewind()?;
        let no_trace = output.trace(TraceId::EMPTY).0;
        source.visit(&mut DumpRewriter {
            output,
            first_pass: &first_pass,
            numbering,
            traces,
            no_trace,
            no_thread: ThreadSerial::UNKNOWN.0,
            left_out,
            dangling,
            primitive_fields: subject.primitive_fields,
            primitive_arrays: subject.primitive_arrays,
            has_objects: false,
            all_is_named: false,
            names: Map::default(),
            primitives: Map::default(),
        })?;
        Ok(dumped)
    }

    fn abandon(&self) {
        self.place.clear();
    }
}

/// The arrays of the list, as they are in the dump.
struct Arrays {
    chunks: List<Array>,
}

impl Arrays {
    fn find(source: &Source, first_pass: &FirstPass) -> Result<Self, DumpError> {
        let missing = DumpError::Content {
            offset: 0,
            what: "the list of tracked objects is not in it",
        };
        let outer = first_pass.list.and_then(|outer| first_pass.array(outer));
        let array = outer.ok_or(missing)?;
        let ids = source.read_at(array.offset, array.length as usize * 8)?;
        let chunks = ids
            .chunks_exact(8)
            .map(|id| read_u64_be(id, 0))
            .filter_map(|id| first_pass.array(id));
        Ok(Self {
            chunks: List::collect(chunks).or_stop(),
        })
    }

    /// Reads the ids of the listed objects.
    fn read(
        &self,
        source: &Source,
        meaning: Meaning,
        known: &mut KnownIds,
    ) -> Result<Listed, DumpError> {
        let Meaning {
            own,
            objects,
            births,
            classes,
            threads,
        } = meaning;
        let mut listed = Listed {
            own: List::with_capacity(own).or_stop(),
            made_at: List::with_capacity(objects.len()).or_stop(),
            births,
        };
        let mut objects = objects.into_iter();
        let mut classes = classes.into_iter();
        let mut threads = threads.into_iter();
        for chunk in &self.chunks {
            let elements = source.read_at(chunk.offset, chunk.length as usize * 8)?;
            for id in elements.chunks_exact(8).map(|id| read_u64_be(id, 0)) {
                if listed.own.len() < own {
                    listed.own.push(id).or_stop();
                } else if let Some(trace) = objects.next() {
                    listed.made_at.push((id, trace)).or_stop();
                } else if let Some(class) = classes.next() {
                    known.classes.insert(id, class).or_stop();
                } else if let Some(thread) = threads.next() {
                    known.threads.insert(id, thread).or_stop();
                }
            }
        }
        listed.own.sort_unstable();
        Ok(listed)
    }
}

/// The contents of the list.
struct Listed {
    /// The agent's own objects, sorted.
    own: List<u64>,
    /// Objects and the traces that allocated them.
    made_at: List<(u64, TraceId)>,
    /// The births of these objects, in their order.
    births: BirthList,
}

/// The serial numbers of traces that have been written.
#[derive(Default)]
struct Serials(List<Option<u32>>);

impl Serials {
    fn get(&mut self, trace: TraceId, output: &mut dyn DumpOutput) -> u32 {
        let index = trace.index() as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, None).or_stop();
        }
        *self.0[index].get_or_insert_with(|| output.trace(trace).0)
    }
}
