//! What is not counted as alive, and what is alive for an unusual reason: objects that only excluded references reach,
//! that wait for their finalizer, or that only soft references reach.

use std::cmp::Reverse;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use foldhash::HashMap;
use hprof_format::Value;
use serde::Serialize;

use crate::data::dominators::TOP;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::Label;
use crate::data::numbers::{ClassIndex, ObjectNumber};
use crate::data::references::Strength;

/// The share of all bytes from which objects that are not counted as alive are told apart.
const MUCH: f64 = 0.03;
/// The most classes of objects that wait for their finalizer.
const CLASSES: usize = 3;
/// The thread of the VM that calls the finalizers.
const FINALIZER_THREAD: &str = "java.lang.ref.Finalizer$FinalizerThread";
/// What is in the names of frames that run a finalizer.
const FINALIZE: &str = ".finalize(";

/// The objects that are not counted as alive.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Unreached {
    /// Their number.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those of them that excluded references reach, by the kind of the references; empty unless they are more than a few
    /// percent of all.
    pub excluded: Vec<Excluding>,
}

/// Objects that only references of one kind reach.
#[derive(Clone, Debug, Serialize)]
pub struct Excluding {
    /// The kind, as `--exclude` has it.
    pub kind: &'static str,
    /// The number of objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The objects that wait for their finalizer.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingForFinalizer {
    /// Their number.
    pub objects: u64,
    /// Their bytes, and those of what only they keep alive.
    pub bytes: u64,
    /// Their classes, those of most objects first.
    pub classes: Vec<WaitingClass>,
    /// The thread that calls the finalizers, if it is known.
    pub thread: Option<Label>,
    /// The finalizer that it runs; `None` if it runs none, or that is not known.
    pub running: Option<Arc<str>>,
}

/// Objects of one class that wait for their finalizer.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingClass {
    /// The class.
    pub class: Arc<str>,
    /// Their number.
    pub objects: u64,
}

impl Heap<'_> {
    /// Returns what is not counted as alive.
    #[must_use]
    pub fn unreached(&self) -> Unreached {
        let known = self.usual.get();
        let all = known.map_or_else(|| self.all_bytes(), |usual| usual.bytes);
        let bytes = all.saturating_sub(self.retained(TOP));
        let is_much = bytes as f64 >= all as f64 * MUCH && bytes > 0;
        let mut excluded = if is_much {
            self.reached_by_excluded()
        } else {
            Vec::new()
        };
        excluded.retain(|excluded| excluded.bytes as f64 >= all as f64 * MUCH);
        Unreached {
            objects: (u64::from(self.objects.count()) + 1)
                .saturating_sub(self.dominators.len().into()),
            bytes,
            excluded,
        }
    }

    /// Returns what excluded references reach, the strongest kind first.
    fn reached_by_excluded(&self) -> Vec<Excluding> {
        let mut reached = FixedBitSet::with_capacity(self.objects.count() as usize);
        let kinds = [
            (self.excluded.soft, Strength::Soft, "soft"),
            (self.excluded.weak, Strength::Weak, "weak"),
            (self.excluded.finalizer, Strength::Final, "finalizer"),
            (self.excluded.phantom, Strength::Phantom, "phantom"),
        ];
        let kinds = kinds.into_iter().filter(|&(is_excluded, ..)| is_excluded);
        let kinds = kinds.map(|(_, strength, kind)| {
            let starts = self.graph.omitted().into_iter().flatten();
            let starts = starts.filter(|&[from, _]| {
                self.classes.strength(self.objects.class(from)) == strength && self.is_live(from)
            });
            let mut excluding = Excluding {
                kind,
                objects: 0,
                bytes: 0,
            };
            let mut waiting: Vec<ObjectNumber> = starts.map(|[_, to]| to).collect();
            while let Some(object) = waiting.pop() {
                if !reached.put(object.place()) && !self.is_live(object) {
                    excluding.objects += 1;
                    excluding.bytes += self.objects.size(object);
                    self.graph
                        .each(object, &self.objects, |to| waiting.push(to));
                }
            }
            excluding
        });
        kinds.collect()
    }

    fn is_live(&self, object: ObjectNumber) -> bool {
        self.retained_of(object).is_some()
    }

    /// Returns the objects that wait for their finalizer; `None` if there are none.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn waiting_for_finalizer(&self) -> Result<Option<WaitingForFinalizer>, Error> {
        let waiting = &self.graph.waiting;
        if waiting.references.is_empty() {
            return Ok(None);
        }
        let mut objects: Vec<ObjectNumber> = waiting.references.iter().map(|&[_, to]| to).collect();
        objects.sort_unstable();
        objects.dedup();
        let mut classes: HashMap<ClassIndex, u64> = HashMap::default();
        for &object in &objects {
            *classes.entry(self.objects.class(object)).or_default() += 1;
        }
        let mut classes: Vec<(ClassIndex, u64)> = classes.into_iter().collect();
        classes.sort_unstable_by_key(|&(class, count)| (Reverse(count), class));
        let classes = classes.into_iter().take(CLASSES);
        let thread = self.graph.roots.traces.keys().copied().find(|&thread| {
            &*self.classes.get(self.objects.class(thread)).name == FINALIZER_THREAD
        });
        let stack = thread.map(|thread| self.thread_stack(thread));
        let running = stack.as_ref().and_then(|stack| {
            let mut frames = stack.iter();
            frames.rfind(|frame| frame.contains(FINALIZE)).cloned()
        });
        Ok(Some(WaitingForFinalizer {
            objects: objects.len() as u64,
            bytes: waiting.bytes,
            classes: classes
                .map(|(class, objects)| WaitingClass {
                    class: Arc::clone(&self.classes.get(class).name),
                    objects,
                })
                .collect(),
            thread: thread.map(|thread| self.label(thread)).transpose()?,
            running,
        }))
    }

    /// Returns the objects and the bytes of what only soft references reach of all that is alive.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn reached_softly(&self) -> Result<(u64, u64), Error> {
        let mut reached = FixedBitSet::with_capacity(self.objects.count() as usize);
        let (mut objects, mut bytes) = (0, 0);
        let roots = self.graph.roots.all.iter();
        let mut waiting: Vec<ObjectNumber> = roots.map(|&(object, _)| object).collect();
        while let Some(object) = waiting.pop() {
            if reached.put(object.place()) {
                continue;
            }
            (objects, bytes) = (objects + 1, bytes + self.objects.size(object));
            let referent = match self.classes.strength(self.objects.class(object)) {
                Strength::Soft => self.field(object, "referent")?,
                _ => None,
            };
            let referent = match referent {
                Some(Value::Object(id)) => self.objects.ids.find(id),
                _ => None,
            };
            self.graph.each(object, &self.objects, |to| {
                if Some(to) != referent {
                    waiting.push(to);
                }
            });
        }
        let live = (self.dominators.live() as u64, self.retained(TOP));
        Ok((live.0.saturating_sub(objects), live.1.saturating_sub(bytes)))
    }
}
