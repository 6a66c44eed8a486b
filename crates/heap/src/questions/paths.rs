//! The shortest path from a root to an object.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use foldhash::{HashMap, HashMapExt};
use hprof_format::{ObjectId, Root, nearest};
use serde::Serialize;

use crate::data::dump::FRAMES;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::{Holder, Label, Reference};
use crate::data::numbers::{ClassIndex, ObjectNumber};
use crate::data::shortest_paths::ShortestPaths;
use crate::data::small_numbers::SmallNumbers;
use crate::data::usual::{USUAL_PATHS, UsualPath};

/// The number of objects that are shown at each end of a path.
const SHOWN: usize = 50;

/// A path from a root to an object.
#[derive(Clone, Debug, Serialize)]
pub struct Path {
    /// The reason the first object is alive: `thread`, `sticky class`.
    pub root: String,
    /// The objects, the root first.
    pub steps: Vec<PathStep>,
    /// The number of further objects of the class that paths over the same classes lead to.
    #[serde(skip_serializing_if = "is_zero")]
    pub alike: u64,
}

/// An object on a path.
#[derive(Clone, Debug, Serialize)]
pub struct PathStep {
    /// The reference from the previous object; `None` for the root.
    #[serde(serialize_with = "crate::data::label::text_or_nothing")]
    pub reference: Option<Reference>,
    /// The object.
    pub object: Label,
    /// Its id.
    #[serde(serialize_with = "crate::data::names::hex")]
    pub id: ObjectId,
    /// Its shallow size, in bytes.
    pub shallow: u64,
    /// The number of objects of the path before this one that are omitted, because it is very long.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Heap<'_> {
    /// Returns a path with descriptions for people; `None` if no root reaches the object.
    pub(crate) fn path(
        &self,
        shortest_paths: &ShortestPaths,
        object: ObjectNumber,
    ) -> Result<Option<Path>, Error> {
        if shortest_paths.from(object) == ObjectNumber::NONE {
            return Ok(None);
        }
        let way = shortest_paths.to(object);
        let root = way[0];
        let mut steps = Vec::new();
        let mut before = None;
        let mut left_out = 0;
        for (place, &object) in way.iter().enumerate() {
            if place >= SHOWN && place + SHOWN < way.len() {
                left_out += 1;
                before = Some(object);
                continue;
            }
            let reference = before.map(|before| self.reference(before, object));
            before = Some(object);
            steps.push(PathStep {
                reference: reference.transpose()?,
                object: self.label(object)?,
                id: self.objects.ids.id(object),
                shallow: self.objects.size(object),
                left_out: std::mem::take(&mut left_out),
            });
        }
        let mut kinds = self.graph.roots.all.iter();
        let kind = kinds.find(|&&(object, _)| object == root);
        Ok(Some(Path {
            root: kind.map_or_else(String::new, |&(_, root)| root_name(root)),
            steps,
            alike: 0,
        }))
    }

    /// Returns the shortest paths to an object, or to those of a class, at most `most`; the closest to a root come
    /// first, and of those at the same distance the ones with the least id. Of the paths to objects of a class that lead over the same classes only the first is returned, with the
    /// number of the others.
    ///
    /// # Errors
    /// [`Error::NoObject`], [`Error::NoClass`], and those of reading records.
    pub fn paths(&self, target: &Target, most: usize) -> Result<Vec<Path>, Error> {
        self.paths_of_all(target, most).map(|(paths, _)| paths)
    }

    /// As [`Heap::paths`]; also returns how many there are in all.
    ///
    /// # Errors
    /// As [`Heap::paths`].
    pub fn paths_of_all(&self, target: &Target, most: usize) -> Result<(Vec<Path>, u64), Error> {
        self.dump.unless_changed(|| {
            let (found, all) = match target {
                Target::Object(id) => {
                    let object = self.objects.ids.find(*id).ok_or(Error::NoObject(*id))?;
                    let path = self.path(&*self.shortest_paths_to(&[object])?, object)?;
                    let all = path.iter().len() as u64;
                    return Ok((path.into_iter().take(most).collect(), all));
                }
                Target::Class(name) => self.paths_to(&self.classes_named(name)?, most)?,
                Target::Site(site) => return self.paths_to_site(site, most),
            };
            let shortest_paths = self.shortest_paths()?;
            let mut paths = Vec::new();
            for UsualPath { object, alike, .. } in found {
                let path = self.path(shortest_paths, object)?;
                paths.extend(path.map(|path| Path { alike, ..path }));
            }
            Ok((paths, all))
        })
    }

    /// Returns the first of the objects of classes to which paths over the same classes lead, at most `most`, and how many
    /// there are in all.
    fn paths_to(&self, classes: &FixedBitSet, most: usize) -> Result<(Vec<UsualPath>, u64), Error> {
        let of_one_class = classes.count_ones(..) == 1;
        let (mut found, all) = match self.usual.get() {
            // The paths to objects of several classes of a name may be alike.
            Some(usual) if most <= USUAL_PATHS && of_one_class => {
                let mut known = usual.paths.iter();
                let known = known.find(|known| classes.contains(known.class.place()));
                known.map_or((Vec::new(), 0), |known| (known.paths.clone(), known.all))
            }
            _ => {
                let found = self.find_paths(Some(&self.kinds_of(classes)))?;
                let all = found.len() as u64;
                (found, all)
            }
        };
        found.sort_unstable();
        found.truncate(most);
        Ok((found, all))
    }

    /// Returns the paths to objects that a site has made, those first that most objects are like, and how many there are in
    /// all. Where a local variable and something else hold an object, the path is that of the latter.
    fn paths_to_site(&self, site: &MadeBy, most: usize) -> Result<(Vec<Path>, u64), Error> {
        let mut found = self.find_paths(Some(&self.kinds_made_by(site)?))?;
        let all = found.len() as u64;
        found.sort_unstable_by_key(|path| (Reverse(path.alike), path.distance, path.object));
        found.truncate(most);
        let shortest_paths = self.shortest_paths()?;
        let objects: Vec<ObjectNumber> = found.iter().map(|path| path.object).collect();
        let lasting_paths = self.lasting_paths_to(&objects, shortest_paths)?;
        let mut paths = Vec::new();
        for UsualPath { object, alike, .. } in found {
            let lasting = lasting_paths.as_ref();
            let lasting = lasting.map(|paths| self.path(paths, object)).transpose()?;
            let path = match lasting.flatten() {
                None => self.path(shortest_paths, object)?,
                lasting => lasting,
            };
            paths.extend(path.map(|path| Path { alike, ..path }));
        }
        Ok((paths, all))
    }

    /// Returns the kinds of objects that a site has made.
    fn kinds_made_by(&self, site: &MadeBy) -> Result<FixedBitSet, Error> {
        let mut kinds = self.kinds_of(&self.classes_named(&site.class)?);
        for (kind, own) in self.objects.kinds().into_iter().enumerate() {
            let trace = self.objects.sites.get(own).trace;
            if kinds.contains(kind) && !site.is_made_by(&self.dump.stack(trace)) {
                kinds.remove(kind);
            }
        }
        Ok(kinds)
    }

    /// Returns the first of the objects to which paths over the same classes lead, in any order; only those of some kinds
    /// if these are given.
    pub(crate) fn find_paths(&self, kinds: Option<&FixedBitSet>) -> Result<Vec<UsualPath>, Error> {
        let shortest_paths = self.shortest_paths()?;
        let mut shapes = Shapes::new(self, shortest_paths, ByReference::No)?;
        let is_wanted =
            |object| kinds.is_none_or(|kinds| kinds.contains(self.objects.kind(object)));
        // By the number of the shape.
        let mut found: Vec<Option<UsualPath>> = Vec::new();
        let mut result = Ok(());
        shortest_paths.each(|object, from| {
            if result.is_err() || !is_wanted(object) {
                return;
            }
            match shapes.shape_after(from, object) {
                Ok(shape) => add_path(&mut found, shape, shapes.distances.get(object.0), object),
                Err(error) => result = Err(error),
            }
        });
        result?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Returns the classes of a name, one for each loader that has it.
    pub(crate) fn classes_named(&self, name: &str) -> Result<FixedBitSet, Error> {
        let wanted = crate::data::names::class_name(name.as_bytes());
        let all = self.classes.iter();
        let named = all.filter(|(_, class)| *class.name == *wanted);
        let mut found = FixedBitSet::with_capacity(self.classes.len());
        found.extend(named.map(|(index, _)| index.place()));
        match found.is_clear() {
            true => Err(Error::NoClass {
                nearest: self.class_like(&wanted),
                name: wanted,
            }),
            false => Ok(found),
        }
    }

    /// Returns the kinds of objects that are of some classes.
    pub(crate) fn kinds_of(&self, classes: &FixedBitSet) -> FixedBitSet {
        let sites = self.objects.kinds();
        let mut found = FixedBitSet::with_capacity(sites.len());
        for (kind, site) in sites.into_iter().enumerate() {
            let class = self.objects.sites.get(site).class;
            found.set(kind, classes.contains(class.place()));
        }
        found
    }

    /// Returns the class that somebody probably meant: one of another package or an inner one with the same last name,
    /// or one that is spelt almost like it.
    fn class_like(&self, wanted: &str) -> Option<String> {
        let names: BTreeSet<&str> = self.classes.iter().map(|(_, class)| &*class.name).collect();
        let last = last_name(wanted);
        let same = |name: &&&str| last_name(name).eq_ignore_ascii_case(last);
        let shortest = names.iter().filter(same).min_by_key(|name| name.len());
        let like = shortest.copied();
        let like = like.or_else(|| nearest(wanted, names.iter().copied()));
        let like = like.or_else(|| {
            let spelt = nearest(last, names.iter().map(|name| last_name(name)))?;
            names.iter().copied().find(|name| last_name(name) == spelt)
        });
        like.map(str::to_owned)
    }
}

/// Adds an object to those with paths of the same shape.
fn add_path(found: &mut Vec<Option<UsualPath>>, shape: u32, distance: u32, object: ObjectNumber) {
    let place = shape as usize;
    if found.len() <= place {
        found.resize(place + 1, None);
    }
    match &mut found[place] {
        Some(path) => {
            path.alike += 1;
            if distance < path.distance {
                (path.distance, path.object) = (distance, object);
            }
        }
        none => {
            *none = Some(UsualPath {
                distance,
                object,
                alike: 0,
            });
        }
    }
}

/// Returns the name of a class without its package and the classes around it.
fn last_name(class: &str) -> &str {
    class.rsplit(['.', '$']).next().unwrap_or(class)
}

/// Returns the last part of the program on a path.
pub(crate) fn holder(path: &Path) -> Option<Holder> {
    let found = path.steps.windows(2).rev().find_map(|pair| {
        let reference = pair[1].reference.as_ref()?;
        holder_by(reference, &pair[0].object)
    });
    found.or_else(|| {
        Some(Holder::Root {
            object: path.steps.first()?.object.clone(),
            root: path.root.clone(),
        })
    })
}

/// Returns the part of the program that a reference from an object is, if it is one of the program's own.
pub(crate) fn holder_by(reference: &Reference, from: &Label) -> Option<Holder> {
    match reference {
        Reference::Static(field) => Some(Holder::Static {
            class: from.clone(),
            field: Arc::clone(field),
        }),
        Reference::Field(name) if matches!(&**name, "threadLocals" | "inheritableThreadLocals") => {
            Some(Holder::ThreadLocal(from.clone()))
        }
        Reference::Local(frame) => Some(Holder::Local {
            frame: frame.clone(),
            thread: from.clone(),
        }),
        _ => None,
    }
}

/// Returns a short name for the reason an object is alive: `jni global`, `java frame`, `sticky class`.
#[must_use]
pub fn root_name(root: Root) -> String {
    root.kind()
        .name()
        .trim_start_matches("ROOT ")
        .to_lowercase()
}

/// The shapes of paths: the classes of their objects, where several of one class in a row count once, such as the nodes
/// of a linked list. Classes themselves are told apart, because each has static fields of its own.
pub(crate) struct Shapes<'a, 'dump> {
    heap: &'a Heap<'dump>,
    shortest_paths: &'a ShortestPaths,
    by_reference: ByReference,
    /// The shape of the path to each object; 0 if it is not known yet.
    of: SmallNumbers,
    /// The number of objects on the path to each.
    distances: SmallNumbers,
    /// The shapes by the one without the last step, and that step.
    ids: HashMap<(u32, Step), u32>,
    /// The last step of each shape, from 1.
    last: Vec<Step>,
    /// The objects on a way, while it is followed.
    way: Vec<ObjectNumber>,
    /// The first class of the name of each class: paths through classes that several loaders have loaded are alike.
    first_of_name: Vec<ClassIndex>,
}

/// `Yes` if the shapes of paths through different fields and local variables are different, whatever the classes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByReference {
    Yes,
    No,
}

/// A step of a shape.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Step {
    /// Through an object of this class.
    Instance(ClassIndex),
    /// Through an object of this class, which a field or a local variable refers to.
    Held(ClassIndex, Arc<str>),
    /// Through the object of this class.
    Class(ClassIndex),
    /// Through this object, which is a class, or in a static field.
    This(ObjectNumber),
}

impl Step {
    /// Returns `true` if both lead through objects of one class.
    fn has_class_of(&self, other: &Step) -> bool {
        let class = |step: &Step| match *step {
            Step::Instance(class) | Step::Held(class, _) => Some(class),
            Step::Class(_) | Step::This(_) => None,
        };
        self == other || class(self).is_some_and(|own| class(other) == Some(own))
    }
}

impl<'a, 'dump> Shapes<'a, 'dump> {
    pub(crate) fn new(
        heap: &'a Heap<'dump>,
        shortest_paths: &'a ShortestPaths,
        by_reference: ByReference,
    ) -> Result<Self, Error> {
        Ok(Shapes {
            heap,
            shortest_paths,
            by_reference,
            of: SmallNumbers::new(heap.objects.count() as usize, &heap.memory)?,
            distances: SmallNumbers::new(heap.objects.count() as usize, &heap.memory)?,
            ids: HashMap::new(),
            last: Vec::new(),
            way: Vec::new(),
            first_of_name: heap.classes.first_of_names(),
        })
    }

    /// Returns the number of the shape of the path to an object, from 1.
    pub(crate) fn shape(&mut self, object: ObjectNumber) -> Result<u32, Error> {
        self.shape_after(self.shortest_paths.from(object), object)
    }

    /// Returns the same, given the object before it.
    fn shape_after(&mut self, from: ObjectNumber, object: ObjectNumber) -> Result<u32, Error> {
        let known = self.of.get(object.0);
        if known != 0 {
            return Ok(known);
        }
        let mut way = std::mem::take(&mut self.way);
        way.push(object);
        let (mut last, mut at) = (object, from);
        let (mut shape, mut distance) = (0, 0);
        // Paths of a damaged index may lead in a circle.
        while at != last && at != ObjectNumber::NONE && way.len() < self.of.len() {
            let known = self.of.get(at.0);
            if known != 0 {
                (shape, distance) = (known, self.distances.get(at.0));
                break;
            }
            way.push(at);
            (last, at) = (at, self.shortest_paths.from(at));
        }
        while let Some(object) = way.pop() {
            shape = self.set(object, shape, distance)?;
            distance = self.distances.get(object.0);
        }
        self.way = way;
        Ok(shape)
    }

    /// Sets the shape of the path to an object, given that of the path to the one before, and its distance.
    fn set(&mut self, object: ObjectNumber, before: u32, distance: u32) -> Result<u32, Error> {
        let step = self.step(object)?;
        let shape = self.longer(before, step);
        let memory = &self.heap.memory;
        self.of.set(object.0, shape, memory)?;
        let distance = distance.saturating_add(1);
        self.distances.set(object.0, distance, memory)?;
        Ok(shape)
    }

    fn longer(&mut self, shape: u32, step: Step) -> u32 {
        if shape > 0 && self.last[shape as usize - 1].has_class_of(&step) {
            return shape;
        }
        let key = (shape, step);
        if let Some(&known) = self.ids.get(&key) {
            return known;
        }
        self.last.push(key.1.clone());
        let id = self.last.len() as u32;
        self.ids.insert(key, id);
        id
    }

    fn step(&self, object: ObjectNumber) -> Result<Step, Error> {
        let heap = self.heap;
        let class = heap.objects.class(object);
        let first = |class: ClassIndex| self.first_of_name[class.place()];
        if heap.classes.is_class_of_classes(class) {
            let own = heap.class_of_object(object);
            let own = own.filter(|_| self.by_reference == ByReference::No);
            return Ok(own.map_or(Step::This(object), |class| Step::Class(first(class))));
        }
        if self.by_reference == ByReference::No {
            return Ok(Step::Instance(first(class)));
        }
        let Some(from) = self.shortest_paths.before(object) else {
            return Ok(Step::Instance(class));
        };
        let holder = heap.objects.class(from);
        if heap.classes.is_class_of_classes(holder) {
            return Ok(Step::This(object));
        }
        // Elements are alike, and an array may be long.
        if heap.classes.get(holder).name.ends_with("[]") {
            return Ok(Step::Instance(class));
        }
        Ok(match heap.reference(from, object)? {
            Reference::Field(name) | Reference::Local(Some(name)) => Step::Held(class, name),
            _ => Step::Instance(class),
        })
    }
}

/// The target of a search.
#[derive(Clone, Debug)]
pub enum Target {
    /// The object with this id.
    Object(ObjectId),
    /// The objects of a class, by its name in the form of Java source or of the VM.
    Class(String),
    /// The objects that a site has made.
    Site(MadeBy),
}

/// A site, as a profile names it: a class, and the stack that allocates its objects.
#[derive(Clone, Debug)]
pub struct MadeBy {
    /// The class, by its name in the form of Java source or of the VM.
    pub class: String,
    /// The stack, innermost frame first.
    pub stack: Vec<MadeIn>,
}

/// A frame of such a stack.
#[derive(Clone, Debug)]
pub struct MadeIn {
    /// The method, as `java.util.HashMap.put`.
    pub method: String,
    /// The line, from 1; `None` if it is not known.
    pub line: Option<u32>,
}

impl MadeBy {
    /// Returns `true` if a stack of the dump is this one.
    fn is_made_by(&self, stack: &[Arc<str>]) -> bool {
        let known = self.stack.len().min(FRAMES);
        let frames = &stack[..stack.len().min(FRAMES)];
        frames.len() == known
            && self
                .stack
                .iter()
                .zip(frames)
                .all(|(own, frame)| own.is(frame))
    }
}

impl MadeIn {
    /// Returns `true` if a frame of the dump, such as `java.util.HashMap.put(HashMap.java:610)`, is this one.
    fn is(&self, frame: &str) -> bool {
        let Some((method, place)) = frame.split_once('(') else {
            return false;
        };
        let line = place.trim_end_matches(')').rsplit_once(':');
        let line = line.and_then(|(_, line)| line.parse().ok());
        // Only a dump's frames tell the name of a hidden class from its address as the VM does: `Main$$Lambda/0x0801003000`.
        method.replace('/', ".") == self.method && line == self.line
    }
}
