//! A walk over the references of the heap by JVMTI, which works in every VM.
//!
//! The VM reports one object after another, and each becomes a record at once, so that only its tag is kept. Facts that
//! the walk does not report, or reports too late, are requested before the program is stopped: the classes, their
//! fields, and the values of static fields. The records of classes therefore come first, as readers prefer, and the
//! values of static fields are from a moment before the walk; the objects they refer to are kept alive until it.

mod array_sizes;
mod chunk_writer;
mod class_prewalk;
mod classes;
mod describe;
mod forked;
mod held;
mod late_classes;
mod layout;
mod numbers;
mod recorder;
mod removed_tags;
mod roots;
mod stack_roots;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_format::{HeapTotals, ObjectId, TraceSerial};

use super::births::BirthList;
use super::room::Room;
use super::{DumpError, DumpOutput, Dumped, DumpedThread, HeapDumper, Subject};
use crate::engines::Moment;
use jvmti::{
    Child, ChildLink, ClassFields, ClassState, Env, FieldValue, HeapSize, Jni, LocalRef, Object,
    Tags, WantedValues, check_heap_is_private,
};
use names::Tables;
use names::class::{ClassId, name_of_signature};
use names::thread::ThreadSerial;
use names::trace::TraceId;
use stacks::Stacks;

use array_sizes::ArraySizes;
use chunk_writer::ChunkWriter;
use class_prewalk::{ClassReferences, PreWalk};
use classes::{Candidate, ClassKind, DumpClasses};
use describe::Describer;
use forked::ForkedOutput;
use held::HeldObjects;
use memory::{List, Map, OrStop, OutOfMemory, Set};
use numbers::{Numbers, Special, Tag};
use recorder::Recorder;
use removed_tags::TagRemoval;
use roots::Roots;
use stack_roots::ThreadRoot;

/// The dumper that walks over the references.
pub struct JvmtiHeapDumper {
    env: Env,
    tables: Arc<Tables>,
    stacks: Arc<Stacks>,
    /// `true` to walk in a child.
    forks: bool,
}

impl JvmtiHeapDumper {
    /// Creates a dumper for the whole run.
    pub fn new(env: Env, tables: Arc<Tables>, stacks: Arc<Stacks>) -> Self {
        Self {
            env,
            tables,
            stacks,
            forks: false,
        }
    }

    /// Returns the dumper that walks in a child.
    pub fn forking(&self) -> Self {
        Self {
            env: self.env,
            tables: self.tables.clone(),
            stacks: self.stacks.clone(),
            forks: true,
        }
    }

    /// Returns the memory for a child, or an error if none can do the walk.
    fn check_fork(&self, subject: &Subject<'_>) -> Result<Room, DumpError> {
        let refused = |reason: &str| DumpError::NoFork(reason.to_owned());
        if !self.env.vm_kind().is_known() {
            return Err(refused("this VM is not known"));
        }
        if self.env.vm_kind().has_value_objects() {
            return Err(refused("there may be value objects"));
        }
        let thread = subject.threads.first();
        let thread = thread.ok_or_else(|| refused("no thread is known"))?;
        check_heap_is_private(&thread.object).map_err(refused)?;
        Room::check(self.env)
    }

    /// Returns an error if the system has less memory than the Java heap has in use. The VM needs some for the tag of each
    /// object, and ends the process if it gets none.
    fn check_memory(&self) -> Result<(), OutOfMemory> {
        let heap = HeapSize::find(self.env).map(HeapSize::fill);
        let used = heap.map_or(Ok(0), |heap| usize::try_from(heap.used));
        memory::claim(used.unwrap_or(usize::MAX))
    }
}

impl HeapDumper for JvmtiHeapDumper {
    fn dump(
        &self,
        jni: Jni<'_>,
        subject: &Subject<'_>,
        output: &mut dyn DumpOutput,
    ) -> Result<Dumped, DumpError> {
        if subject.moment == Moment::Exhausted {
            self.check_memory()?;
        }
        let fork = match self.forks {
            true => Some(Fork {
                room: self.check_fork(subject)?,
                link: ChildLink::new()?,
            }),
            false => None,
        };
        let link = fork.as_ref().map(|fork| &fork.link);
        let mut output = ForkedOutput::new(output, link);
        let output: &mut dyn DumpOutput = &mut output;
        let tags = Tags::new(self.env)?;
        let tracked = track(jni, &tags, subject);
        let unseen = output.trace(TraceId::EMPTY);
        let births = tracked.births;
        let tracked = serials(tracked.traces, output);
        let base = self.tables.objects.add_dump().0;
        let dump = Dump {
            dumper: self,
            jni,
            subject,
            tags: &tags,
            numbers: Numbers::new(base, tracked, unseen),
            chunks: ChunkWriter::new(output),
            used: Set::default(),
        };
        let answer = dump.run(births, fork.as_ref());
        if subject.moment == Moment::Death {
            tags.leave();
        }
        answer
    }
}

/// What a walk in a child needs.
struct Fork {
    room: Room,
    link: ChildLink,
}

/// The tracked objects, in the order of their tags.
struct TrackedList {
    traces: List<TraceId>,
    births: BirthList,
}

/// Tags the tracked objects with numbers from 1.
fn track(jni: Jni<'_>, tags: &Tags, subject: &Subject<'_>) -> TrackedList {
    let tracked = subject.tracked;
    let mut traces = List::with_capacity(tracked.len()).or_stop();
    let mut births = BirthList::new(subject);
    let next = tracked.for_each(jni, &mut |object, origin| {
        let tag = Tag::new(traces.len() as u64 + 1, 0);
        // An object that has died cannot be tagged.
        if tags.set_weak(object, tag.0).is_ok() {
            traces.push(origin.trace).or_stop();
            births.push(&origin);
        }
    });
    births.next = next;
    TrackedList { traces, births }
}

fn serials(traces: List<TraceId>, output: &mut dyn DumpOutput) -> List<TraceSerial> {
    let mut known = Map::<TraceId, TraceSerial>::default();
    let serial = |trace| {
        let serial = known.get_or_insert_with(trace, || output.trace(trace));
        *serial.or_stop()
    };
    List::collect(traces.into_iter().map(serial)).or_stop()
}

/// One dump.
struct Dump<'d, 'o, 'a> {
    dumper: &'d JvmtiHeapDumper,
    jni: Jni<'a>,
    subject: &'d Subject<'d>,
    tags: &'d Tags,
    numbers: Numbers,
    chunks: ChunkWriter<'o>,
    /// Classes that have an object in this dump.
    used: Set<ClassId>,
}

/// The loaded classes as they were listed before the walk. The first three are by the place of the class.
struct ListedClasses<'c> {
    classes: &'c DumpClasses,
    candidates: &'c [Candidate<'c>],
    fields: &'c [Option<ClassFields<'c>>],
    /// The objects of `int.class` and its kin.
    primitive_types: &'c [LocalRef<'c>],
}

impl<'d, 'a> Dump<'d, '_, 'a> {
    fn run(mut self, births: BirthList, fork: Option<&Fork>) -> Result<Dumped, DumpError> {
        let (env, jni) = (self.dumper.env, self.jni);
        if self.subject.moment != Moment::Exhausted {
            self.link(&env.loaded_classes(jni)?);
        }
        // A child must know all classes. What is prepared while they are listed counts, too: at worst a listing is repeated.
        let prepared = fork.map(|_| self.tags.watch_classes()).transpose()?;
        // Linking loads further classes, mainly of arrays.
        let loaded = env.loaded_classes(jni)?;
        let mut held = HeldObjects::default();
        let candidates = self.name_classes(loaded, &mut held)?;
        let mut classes = DumpClasses::default();
        let fields = classes.add(env, jni, self.tags, &self.numbers, &candidates)?;
        let of_class = classes.class.and_then(|place| fields[place].as_ref());
        let primitive_types = self.primitive_types(of_class, &candidates, &fields)?;
        let threads = self.threads()?;
        let own = env.current_thread(jni)?;
        let own = own.map_or(Ok(0), |own| self.tags.get(own.object()))?;

        let mut pause = Duration::ZERO;
        let (found, first) = self.prewalk(&classes, &mut pause)?;
        let last = fork.map(|_| self.last_object(first)).transpose()?;
        let listed = ListedClasses {
            classes: &classes,
            candidates: &candidates,
            fields: &fields,
            primitive_types: &primitive_types,
        };
        let unknown_classes = self.describe(listed, &found, last, &mut held)?;
        // Local references are roots, and these belong to the agent.
        drop((fields, primitive_types));
        drop(candidates);

        self.chunks.flush();
        self.chunks.output.all_is_named();
        let before = self.chunks.totals();
        let mut recorder = Recorder::new(
            &mut self.numbers,
            &classes,
            &mut self.chunks,
            Roots::new(&threads, Tag(own)),
            held.numbers(),
        );
        recorder.strange_classes = unknown_classes;
        let wanted = WantedValues {
            fields: self.subject.primitive_fields,
            arrays: self.subject.primitive_arrays,
        };
        let begin = Instant::now();
        let mut totals = match (fork, last, &prepared) {
            (Some(fork), Some((last, _)), Some(prepared)) => {
                let child =
                    self.tags
                        .follow_in_child(wanted, &mut recorder, &fork.link, last.0, prepared);
                pause += begin.elapsed();
                let answer = self.receive(child.map_err(DumpError::from), fork, &mut classes);
                self.untag(&held, &mut pause)?;
                answer.map_err(|error| error.after(pause))?
            }
            _ => {
                let answer = self.tags.follow(wanted, &mut recorder);
                recorder.finish();
                pause += begin.elapsed();
                let (late_classes, failure) = recorder.into_late_classes();
                answer?;
                if let Some(failure) = failure {
                    return Err(DumpError::Walk(failure));
                }
                self.late_classes(&mut classes, late_classes)?;
                before
            }
        };
        drop(held);
        self.chunks.flush();
        if self.chunks.has_failed() {
            return Err(DumpError::Output);
        }
        let numbers = &self.numbers;
        let ids = (1..).map(|number| numbers.tracked_object(Tag::new(number, 0)));
        births.write(ids, self.chunks.output);
        // What was written here since the walk began.
        let after = self.chunks.totals();
        totals.objects += after.objects - before.objects;
        totals.bytes += after.bytes - before.bytes;
        Ok(Dumped {
            objects: totals.objects,
            bytes: totals.bytes,
            pause,
        })
    }

    fn special(
        &mut self,
        special: Special,
        old: Tag,
        id: impl FnOnce(ObjectId) -> ObjectId,
    ) -> Tag {
        self.numbers.add_special(special, old, id)
    }

    /// Names classes, and tags and writes them.
    fn name_classes(
        &mut self,
        loaded: Vec<LocalRef<'a>>,
        held: &mut HeldObjects,
    ) -> Result<Vec<Candidate<'a>>, DumpError> {
        let mut candidates = Vec::with_capacity(loaded.len());
        for (index, class) in loaded.into_iter().enumerate() {
            let (id, name) = self.name_class(class.object())?;
            let old = Tag(self.tags.get(class.object())?);
            let object = self.class_object(id);
            let tag = self.special(Special::DumpClass(index), old, |own| object.unwrap_or(own));
            self.tags.set(class.object(), tag.0)?;
            held.hold(self.jni, class.object(), tag)?;
            self.chunks.output.class(id, self.numbers.object(tag));
            candidates.push(Candidate { class, tag, name });
        }
        Ok(candidates)
    }

    /// Links the VM's own classes that are loaded only: the VM maps objects of some from its archive, and reveals the
    /// fields of linked classes only. A program cannot notice that. All are linked at once, because records for names
    /// that appear after the walk has begun would end up between the dump's segments.
    fn link(&self, loaded: &[LocalRef<'_>]) {
        let env = self.dumper.env;
        for class in loaded {
            let class = class.object();
            let is_loaded_only = env.class_state(class) == Ok(ClassState::Loaded);
            if is_loaded_only && matches!(env.class_loader(self.jni, class), Ok(None)) {
                self.jni.link(class);
            }
        }
    }

    fn name_class(&self, class: Object<'_>) -> Result<(ClassId, String), DumpError> {
        let id = self.dumper.stacks.class(self.jni, class)?;
        let signature = self.dumper.env.class_signature(class)?;
        Ok((id, name_of_signature(&signature)))
    }

    /// Returns the id that the class had before; `None` if another class of that name has taken it in this dump.
    fn class_object(&mut self, id: ClassId) -> Option<ObjectId> {
        let object = self.dumper.tables.classes.get(id).object;
        let is_new = self.used.insert(id).or_stop();
        is_new.then_some(ObjectId(object.0))
    }

    /// Tags the `java.lang.Class` objects of the primitive types, which are in no list of classes: they are found by
    /// their array classes, all but `void`.
    fn primitive_types(
        &mut self,
        of_class: Option<&ClassFields<'_>>,
        candidates: &[Candidate<'_>],
        fields: &[Option<ClassFields<'_>>],
    ) -> Result<Vec<LocalRef<'a>>, DumpError> {
        let mut types = Vec::new();
        for (candidate, fields) in candidates.iter().zip(fields) {
            let known = match &*candidate.name {
                "java.lang.Void" => type_in(self.jni, fields.as_ref(), "TYPE", None),
                array if holds_primitives(array) => {
                    let array = Some(candidate.class.object());
                    type_in(self.jni, of_class, "componentType", array)
                }
                _ => None,
            };
            if let Some(class) = known {
                let old = Tag(self.tags.get(class.object())?);
                let tag = self.special(Special::PrimitiveType, old, |own| own);
                self.tags.set(class.object(), tag.0)?;
                types.push(class);
            }
        }
        Ok(types)
    }

    fn threads(&mut self) -> Result<Vec<ThreadRoot<'d>>, DumpError> {
        let mut threads = Vec::with_capacity(self.subject.threads.len());
        for (index, thread) in self.subject.threads.iter().enumerate() {
            let DumpedThread {
                object,
                serial,
                stack,
            } = thread;
            let old = Tag(self.tags.get(object.object())?);
            let named = self.dumper.tables.threads.object(*serial);
            let tag = self.special(Special::Thread(index), old, |own| {
                named.map_or(own, |named| ObjectId(named.0))
            });
            self.tags.set(object.object(), tag.0)?;
            threads.push(ThreadRoot {
                serial: (*serial != ThreadSerial::UNKNOWN)
                    .then_some(hprof_format::ThreadSerial(serial.0)),
                trace: self.chunks.output.trace(stack.trace),
                frames: &stack.frames,
            });
        }
        Ok(threads)
    }

    /// Returns the object that the child visits last, which is the first one that the VM reports: a thread.
    fn last_object(&self, first: Option<Tag>) -> Result<(Tag, Object<'d>), DumpError> {
        let unknown = || DumpError::NoFork("the VM's first thread is not known".to_owned());
        let tag = first.ok_or_else(unknown)?;
        match self.numbers.special(tag) {
            Some(Special::Thread(index)) => Ok((tag, self.subject.threads[index].object.object())),
            _ => Err(unknown()),
        }
    }

    /// Writes what a child finds, and then what can be asked only after the walk. Returns the totals of what the child has
    /// written, and of what was written before the fork.
    fn receive(
        &mut self,
        child: Result<Child<'_>, DumpError>,
        Fork { room, link }: &Fork,
        classes: &mut DumpClasses,
    ) -> Result<HeapTotals, DumpError> {
        let walked = forked::receive(child?, link, room, self.chunks.output)?;
        let mut late = walked.late_classes.objects.iter();
        // The child's tags do not tell which class of the program it is.
        if late.any(|object| classes.place(&self.numbers, object.class).is_none()) {
            return Err(DumpError::Changed {
                what: "a class was loaded meanwhile",
                pause: Duration::ZERO,
            });
        }
        self.late_classes(classes, walked.late_classes)?;
        Ok(walked.totals)
    }

    /// Removes the tags of the program's objects after a walk in a child, without a pass over the heap.
    fn untag(&mut self, held: &HeldObjects, pause: &mut Duration) -> Result<(), DumpError> {
        let mut removal = TagRemoval {
            numbers: &self.numbers,
        };
        let begin = Instant::now();
        self.tags.follow(WantedValues::default(), &mut removal)?;
        *pause += begin.elapsed();
        held.untag(self.tags)?;
        let tags = self.tags;
        self.subject.tracked.for_each(self.jni, &mut |object, _| {
            // One that has died has no tag.
            let _ = tags.set_weak(object, Tag::NONE.0);
        });
        tags.are_removed();
        Ok(())
    }

    /// Runs the walk over the objects that classes refer to. Returns what it found, and the first object that the VM
    /// reported.
    fn prewalk(
        &mut self,
        classes: &DumpClasses,
        pause: &mut Duration,
    ) -> Result<(Vec<ClassReferences>, Option<Tag>), DumpError> {
        let mut prewalk = PreWalk {
            numbers: &mut self.numbers,
            classes,
            found: vec![ClassReferences::default(); classes.len()],
            array_sizes: ArraySizes::new(),
            first: None,
        };
        let begin = Instant::now();
        self.tags.follow(WantedValues::default(), &mut prewalk)?;
        *pause += begin.elapsed();
        if let Some(layout) = prewalk.array_sizes.layout() {
            self.chunks.layout(layout);
        }
        Ok((prewalk.found, prewalk.first))
    }

    /// Writes the records of classes. Returns `java.lang.Class` objects that they refer to and that are not among them.
    fn describe(
        &mut self,
        listed: ListedClasses<'_>,
        found: &[ClassReferences],
        last: Option<(Tag, Object<'_>)>,
        held: &mut HeldObjects,
    ) -> Result<Vec<Tag>, DumpError> {
        let ListedClasses {
            classes,
            candidates,
            fields,
            primitive_types,
        } = listed;
        let of_class = classes.class.and_then(|place| fields[place].as_ref());
        let hidden = self.hidden(of_class);
        let mut describer = Describer {
            env: self.dumper.env,
            jni: self.jni,
            tags: self.tags,
            numbers: &mut self.numbers,
            classes,
            held: Some(held),
            hidden,
            primitive_fields: self.subject.primitive_fields,
            constant_entries: self.subject.constant_entries,
            unknown_classes: Vec::new(),
        };
        let all = candidates.iter().zip(fields).zip(found);
        for (place, ((candidate, fields), found)) in all.enumerate() {
            // It is described later, when the VM may reveal its fields.
            if matches!(classes.get(place).kind, ClassKind::Unknown(_)) {
                continue;
            }
            let fields = fields.as_ref();
            describer.class(&mut self.chunks, candidate, place, fields, of_class, found)?;
        }
        for class in primitive_types {
            if let Some(of_class) = of_class {
                describer.primitive_type(&mut self.chunks, class.object(), of_class)?;
            }
        }
        if let Some((_, object)) = last
            && !describer.instance(&mut self.chunks, object, fields)?
        {
            let reason = "the class of the VM's first thread is not linked";
            return Err(DumpError::NoFork(reason.to_owned()));
        }
        Ok(describer.unknown_classes)
    }

    /// Lists the references in `java.lang.Class` objects that have no place in a class's record.
    fn hidden(
        &mut self,
        of_class: Option<&ClassFields<'_>>,
    ) -> Vec<(usize, hprof_format::StringId)> {
        let fields = of_class.map(ClassFields::as_slice).unwrap_or_default();
        let fields = fields.iter().enumerate();
        fields
            .filter(|(_, field)| {
                !field.is_static && field.kind.is_none() && field.name != "classLoader"
            })
            .map(|(index, field)| {
                let name = format!("<{}>", field.name);
                (index, self.chunks.output.string(&name))
            })
            .collect()
    }
}

/// Returns the class that a field holds: a static field, or one of `object`.
fn type_in<'a>(
    jni: Jni<'a>,
    fields: Option<&ClassFields<'_>>,
    name: &str,
    object: Option<Object<'_>>,
) -> Option<LocalRef<'a>> {
    let fields = fields?;
    let mut all = fields.as_slice().iter();
    let field = all.position(|field| field.is_static == object.is_none() && field.name == name)?;
    match fields.value(jni, field, object) {
        Some(FieldValue::Object(class)) => class,
        _ => None,
    }
}

fn holds_primitives(array: &str) -> bool {
    let elements = [
        "boolean[]",
        "byte[]",
        "char[]",
        "short[]",
        "int[]",
        "long[]",
        "float[]",
        "double[]",
    ];
    elements.contains(&array)
}
