//! The classes of the program at the beginning of the walk, with everything except the values in instances.

use std::collections::BTreeSet;
use std::sync::Arc;

use memory::{Map, OrStop};

use super::layout::{RecordLayout, declared};
use super::numbers::{Numbers, Special, Tag};
use jvmti::{ClassFields, ClassState, Env, Jni, JvmtiError, LocalRef, Object, Primitive, Tags};

/// A class.
pub(super) struct DumpClass {
    /// The tag of its `java.lang.Class` object.
    pub(super) tag: Tag,
    /// Its superclass, by index; for an interface or an array, `java.lang.Object`.
    pub(super) super_class: Option<usize>,
    pub(super) kind: ClassKind,
    /// The number of fields it declares.
    fields: u32,
}

/// The kind of its instances.
pub(super) enum ClassKind {
    /// Objects with fields.
    Instances(Arc<RecordLayout>),
    /// Objects with fields that the VM does not reveal, because the class is not linked; the fields of its superclasses
    /// take that many bytes.
    Unknown(u32),
    /// Arrays of references.
    ObjectArrays,
    /// Arrays of primitive values.
    PrimitiveArrays(Primitive),
}

impl ClassKind {
    /// Returns the number of bytes of an instance's fields.
    pub(super) fn size(&self) -> u32 {
        match self {
            Self::Instances(layout) => layout.size,
            Self::Unknown(size) => *size,
            Self::ObjectArrays | Self::PrimitiveArrays(_) => 0,
        }
    }
}

/// All classes, by index.
#[derive(Default)]
pub(super) struct DumpClasses {
    all: Vec<DumpClass>,
    /// Classes described after the walk, by the numbers of their tags.
    late: Map<u64, usize>,
    /// `java.lang.Object`.
    object: Option<usize>,
    /// `java.lang.Class`.
    pub(super) class: Option<usize>,
    /// `java.lang.VirtualThread` and the other classes of virtual threads.
    virtual_threads: Vec<usize>,
}

/// A class of the program that is to be added.
pub(super) struct Candidate<'a> {
    pub(super) class: LocalRef<'a>,
    pub(super) tag: Tag,
    /// The name as in Java source.
    pub(super) name: String,
}

/// The VM's information about one class, before it is arranged.
struct Facts<'a> {
    state: ClassState,
    super_class: Option<usize>,
    interfaces: Vec<usize>,
    fields: Option<ClassFields<'a>>,
}

impl DumpClasses {
    pub(super) fn get(&self, place: usize) -> &DumpClass {
        &self.all[place]
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the index of the class whose `java.lang.Class` object has the tag.
    pub(super) fn place(&self, numbers: &Numbers, tag: Tag) -> Option<usize> {
        if let Some(&place) = self.late.get(&tag.number()) {
            return Some(place);
        }
        match numbers.special(tag) {
            Some(Special::DumpClass(place)) => Some(place),
            _ => None,
        }
    }

    /// Returns `true` if objects of the class are virtual threads.
    pub(super) fn is_virtual_thread(&self, place: usize) -> bool {
        self.virtual_threads.contains(&place)
    }

    /// Adds classes; returns the fields that each declares, if the VM reveals them.
    pub(super) fn add<'a>(
        &mut self,
        env: Env,
        jni: Jni<'_>,
        tags: &Tags,
        numbers: &Numbers,
        candidates: &'a [Candidate<'_>],
    ) -> Result<Vec<Option<ClassFields<'a>>>, JvmtiError> {
        let first = self.all.len();
        for (index, candidate) in candidates.iter().enumerate() {
            let place = first + index;
            match &*candidate.name {
                "java.lang.Object" => self.object = Some(place),
                "java.lang.Class" => self.class = Some(place),
                "java.lang.VirtualThread" | "java.lang.ThreadBuilders$BoundVirtualThread" => {
                    self.virtual_threads.push(place);
                }
                _ => {}
            }
            let special = numbers.special(candidate.tag);
            if special != Some(Special::DumpClass(place)) {
                self.late.insert(candidate.tag.number(), place).or_stop();
            }
        }
        let place_of = |class: Object<'_>| {
            let tag = tags.get(class).ok()?;
            self.place(numbers, Tag(tag))
        };
        let facts: Result<Vec<Facts<'a>>, JvmtiError> = candidates
            .iter()
            .map(|candidate| Facts::of(env, jni, candidate.class.object(), &place_of))
            .collect();
        let mut facts = facts?;
        let mut layouts = Layouts {
            known: self,
            first,
            facts: &facts,
            done: vec![None; candidates.len()],
        };
        for index in 0..candidates.len() {
            layouts.lay_out(first + index);
        }
        let inherited: Vec<u32> = (first..first + candidates.len())
            .map(|place| layouts.size(place))
            .collect();
        let done = layouts.done;
        let laid_out = done.into_iter().zip(inherited);
        for ((candidate, facts), (layout, size)) in candidates.iter().zip(&facts).zip(laid_out) {
            let kind = match facts.state {
                ClassState::Array => array(&candidate.name),
                _ => layout.map_or(ClassKind::Unknown(size), ClassKind::Instances),
            };
            self.all.push(DumpClass {
                tag: candidate.tag,
                // As in the dumps of the VM's own dumper for interfaces, for which JNI returns no superclass.
                super_class: facts.super_class.or(self
                    .object
                    .filter(|object| Some(*object) != Some(self.all.len()))),
                kind,
                fields: facts.declared(),
            });
        }
        Ok(facts.iter_mut().map(|facts| facts.fields.take()).collect())
    }
}

fn array(name: &str) -> ClassKind {
    let element = name.strip_suffix("[]").unwrap_or(name);
    Primitive::of_name(element).map_or(ClassKind::ObjectArrays, ClassKind::PrimitiveArrays)
}

impl<'a> Facts<'a> {
    fn of(
        env: Env,
        jni: Jni<'_>,
        class: Object<'a>,
        place_of: &impl Fn(Object<'_>) -> Option<usize>,
    ) -> Result<Self, JvmtiError> {
        let state = env.class_state(class)?;
        let super_class = jni.superclass(class);
        let mut facts = Self {
            state,
            super_class: super_class.and_then(|class| place_of(class.object())),
            interfaces: Vec::new(),
            fields: None,
        };
        if state == ClassState::Prepared {
            let interfaces = env.interfaces(jni, class)?;
            let places = interfaces.iter().map(|class| place_of(class.object()));
            facts.interfaces = places.flatten().collect();
            facts.fields = Some(env.class_fields(class)?);
        }
        Ok(facts)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a class file has 16 bits for their number"
    )]
    fn declared(&self) -> u32 {
        self.fields
            .as_ref()
            .map_or(0, |fields| fields.as_slice().len() as u32)
    }
}

/// Lays out classes, each after its superclasses.
struct Layouts<'l, 'a> {
    known: &'l DumpClasses,
    /// The index of the first of `facts`.
    first: usize,
    facts: &'l [Facts<'a>],
    done: Vec<Option<Arc<RecordLayout>>>,
}

impl Layouts<'_, '_> {
    /// Returns the layout of a class; `None` if the VM does not reveal it.
    fn lay_out(&mut self, place: usize) -> Option<Arc<RecordLayout>> {
        let Some(index) = place.checked_sub(self.first) else {
            return match &self.known.get(place).kind {
                ClassKind::Instances(layout) => Some(layout.clone()),
                _ => None,
            };
        };
        if let Some(layout) = &self.done[index] {
            return Some(layout.clone());
        }
        let facts = &self.facts[index];
        let fields = facts.fields.as_ref()?;
        let above = match facts.super_class {
            Some(above) => Some(self.lay_out(above)?),
            None => None,
        };
        let interfaces = self.all_interfaces(above.as_deref(), &facts.interfaces)?;
        let interface_fields = interfaces.iter().map(|&place| self.fields(place)).sum();
        let layout = Arc::new(RecordLayout::new(
            declared(fields),
            above.as_deref(),
            interfaces,
            interface_fields,
        ));
        self.done[index] = Some(layout.clone());
        Some(layout)
    }

    /// Returns the number of bytes of an instance's fields, as far as the VM reveals them.
    fn size(&mut self, place: usize) -> u32 {
        if let Some(layout) = self.lay_out(place) {
            return layout.size;
        }
        match place.checked_sub(self.first) {
            Some(index) => self.facts[index]
                .super_class
                .map_or(0, |above| self.size(above)),
            None => self.known.get(place).kind.size(),
        }
    }

    fn all_interfaces(
        &mut self,
        above: Option<&RecordLayout>,
        own: &[usize],
    ) -> Option<Arc<[usize]>> {
        let inherited = above
            .map(|above| above.interfaces.clone())
            .unwrap_or_default();
        if own.is_empty() {
            return Some(inherited);
        }
        let mut all: BTreeSet<usize> = inherited.iter().copied().collect();
        for &interface in own {
            all.insert(interface);
            all.extend(self.lay_out(interface)?.interfaces.iter());
        }
        Some(all.into_iter().collect())
    }

    fn fields(&self, place: usize) -> u32 {
        match place.checked_sub(self.first) {
            Some(index) => self.facts[index].declared(),
            None => self.known.get(place).fields,
        }
    }
}
