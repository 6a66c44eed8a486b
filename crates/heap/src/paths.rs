//! The shortest path from a root to an object.

use fixedbitset::FixedBitSet;
use hprof_format::Root;
use serde::Serialize;

use crate::Error;
use crate::graph::NONE;
use crate::heap::Heap;
use crate::label::{Label, Reference};
use crate::memory::Table;

/// The number of objects that are shown at each end of a path.
const SHOWN: usize = 50;

/// A path from a root to an object.
#[derive(Clone, Debug, Serialize)]
pub struct Path {
    /// The reason the first object is alive: `thread`, `sticky class`.
    pub root: String,
    /// The objects, the root first.
    pub steps: Vec<PathStep>,
}

/// An object on a path.
#[derive(Clone, Debug, Serialize)]
pub struct PathStep {
    /// The reference from the previous object; `None` for the root.
    #[serde(serialize_with = "crate::label::text_or_nothing")]
    pub reference: Option<Reference>,
    /// The object.
    pub object: Label,
    /// Its id.
    #[serde(serialize_with = "crate::names::hex")]
    pub id: u64,
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

/// The shortest paths from roots to all objects.
pub(crate) struct Ways {
    /// The object from which each one was reached; itself for roots, [`NONE`] if it was not reached. Shifted by one, so
    /// that a table of zeros has reached nothing.
    from: Table<u32>,
}

impl Ways {
    fn set(&mut self, object: u32, from: u32) {
        self.from[object as usize] = from + 1;
    }

    pub(crate) fn from(&self, object: u32) -> u32 {
        match self.from[object as usize] {
            0 => NONE,
            from => from - 1,
        }
    }

    /// Returns the objects from a root to `object`.
    pub(crate) fn to(&self, object: u32) -> Vec<u32> {
        let mut way = vec![object];
        let mut at = object;
        while self.from(at) != at && self.from(at) != NONE {
            at = self.from(at);
            way.push(at);
        }
        way.reverse();
        way
    }
}

impl Heap<'_> {
    /// Searches paths until `most` of `wanted` are reached, or everything that can be; also returns those that were
    /// reached, the closest to a root first.
    pub(crate) fn ways(&self, wanted: &[u32], most: usize) -> Result<(Ways, Vec<u32>), Error> {
        let mut ways = Ways {
            from: self.memory.table(self.objects.count() as usize)?,
        };
        let mut is_wanted = FixedBitSet::with_capacity(self.objects.count() as usize);
        is_wanted.extend(wanted.iter().map(|&object| object as usize));
        let most = most.min(is_wanted.count_ones(..));
        let mut found = Vec::new();
        let mut queue = self.memory.table::<u32>(self.dominators.len() as usize)?;
        let mut used = 0;
        for &(root, _) in &self.graph.roots.all {
            if ways.from(root) == NONE {
                ways.set(root, root);
                queue[used] = root;
                used += 1;
            }
        }
        let mut next = 0;
        while next < used && found.len() < most {
            let object = queue[next];
            next += 1;
            if is_wanted.contains(object as usize) {
                found.push(object);
            }
            self.graph.each(object, &self.objects, |to| {
                if ways.from(to) == NONE {
                    ways.set(to, object);
                    queue[used] = to;
                    used += 1;
                }
            });
        }
        Ok((ways, found))
    }

    /// Returns a path with descriptions for people; `None` if no root reaches the object.
    pub(crate) fn path(&self, ways: &Ways, object: u32) -> Result<Option<Path>, Error> {
        if ways.from(object) == NONE {
            return Ok(None);
        }
        let way = ways.to(object);
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
        }))
    }

    /// Returns the shortest paths to an object, or to those of a class, at most `most`; the closest to a root come
    /// first.
    ///
    /// # Errors
    /// [`Error::NoObject`], [`Error::NoClass`], and those of reading records.
    pub fn paths(&self, target: &Target, most: usize) -> Result<Vec<Path>, Error> {
        self.dump.unless_changed(|| {
            let objects = self.targets(target)?;
            let (ways, found) = self.ways(&objects, most)?;
            let mut paths = Vec::new();
            for object in found {
                paths.extend(self.path(&ways, object)?);
            }
            Ok(paths)
        })
    }

    fn targets(&self, target: &Target) -> Result<Vec<u32>, Error> {
        match target {
            Target::Object(id) => {
                let number = self.objects.ids.find(*id).ok_or(Error::NoObject(*id))?;
                Ok(vec![number])
            }
            Target::Class(name) => {
                let classes = self.classes_named(name)?;
                let all = self.objects.numbers();
                Ok(all
                    .filter(|&number| classes.contains(self.objects.class(number) as usize))
                    .collect())
            }
        }
    }

    /// Returns the classes of a name, one for each loader that has it.
    pub(crate) fn classes_named(&self, name: &str) -> Result<FixedBitSet, Error> {
        let wanted = crate::names::class_name(name.as_bytes());
        let all = self.classes.iter();
        let named = all.filter(|(_, class)| *class.name == *wanted);
        let mut found = FixedBitSet::with_capacity(self.classes.len());
        found.extend(named.map(|(index, _)| index as usize));
        match found.is_clear() {
            true => Err(Error::NoClass(wanted)),
            false => Ok(found),
        }
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

/// The target of a search.
#[derive(Clone, Debug)]
pub enum Target {
    /// The object with this id.
    Object(u64),
    /// The objects of a class, by its name in the form of Java source or of the VM.
    Class(String),
}
