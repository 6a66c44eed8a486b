//! The class loaders of a dump: what they have loaded, what keeps them alive, and classes that several of them have.

use std::cmp::Reverse;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use hprof_format::{ObjectId, Value};
use serde::Serialize;

use crate::data::births::{Births, MadeWhen};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::{Holder, Label};
use crate::data::numbers::{ClassIndex, ObjectNumber, SiteIndex};
use crate::questions::paths::holder;

/// The loaders of one class from which they pile up, if each has a class of the same name.
const PILE: usize = 4;
/// The bytes of a loader's name that are shown.
const NAME: usize = 200;

/// A class loader.
#[derive(Clone, Debug, Serialize)]
pub struct Loader {
    /// The loader; `None` for that of the VM.
    pub loader: Option<Label>,
    /// Its id; 0 for that of the VM.
    #[serde(serialize_with = "crate::data::names::hex")]
    pub id: ObjectId,
    /// Its class; empty for that of the VM.
    pub class: Arc<str>,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its parent, if it has one in the dump.
    pub parent: Option<Label>,
    /// `true` if roots reach it.
    pub is_live: bool,
    /// The number of its classes.
    pub classes: u64,
    /// Those of which other loaders have one of the same name.
    pub duplicates: u64,
    /// The live instances of its classes.
    pub instances: u64,
    /// Their shallow size, in bytes.
    pub shallow: u64,
    /// Bytes that the loader retains.
    pub retained: u64,
    /// The part of the program that holds it.
    #[serde(serialize_with = "crate::data::label::text_or_nothing")]
    pub holder: Option<Holder>,
}

/// Class loaders of one class that have loaded the same class again and again.
#[derive(Clone, Debug, Serialize)]
pub struct PilingLoaders {
    /// The class of the loaders.
    pub class: Arc<str>,
    /// The number of the live ones.
    pub loaders: u64,
    /// The class that each of them has.
    pub loaded: Arc<str>,
    /// Bytes that would be freed without all of them.
    pub retained: u64,
    /// What holds them, that of most first.
    pub holders: Vec<LoaderHolder>,
}

/// The same with the class as a number.
pub(crate) struct PileOfLoaders {
    class: ClassIndex,
    pub(crate) found: PilingLoaders,
}

/// What holds class loaders.
#[derive(Clone, Debug, Serialize)]
pub struct LoaderHolder {
    /// The part of the program, as of a suspect.
    pub holder: String,
    /// How many of the loaders it holds.
    pub loaders: u64,
}

impl Heap<'_> {
    /// Returns the class loaders, those that retain most first.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn loaders(&self) -> Result<Vec<Loader>, Error> {
        self.dump.unless_changed(|| self.find_loaders())
    }

    fn find_loaders(&self) -> Result<Vec<Loader>, Error> {
        let mut classes: HashMap<u64, Vec<ClassIndex>> = HashMap::default();
        let mut loaders_of: HashMap<&str, HashSet<u64>> = HashMap::default();
        for (index, class) in self.classes.iter().filter(|(_, class)| class.id != 0) {
            classes.entry(class.loader).or_default().push(index);
            loaders_of
                .entry(&class.name)
                .or_default()
                .insert(class.loader);
        }
        let numbers = classes.keys();
        let numbers = numbers.filter_map(|&id| self.objects.ids.find(ObjectId(id)));
        let numbers: Vec<ObjectNumber> = numbers.collect();
        let paths = self.shortest_paths_to(&numbers)?;
        let instances = self.sums_by_loader();
        let mut loaders = Vec::new();
        for (&id, all) in &classes {
            let number = self.objects.ids.find(ObjectId(id)).filter(|_| id != 0);
            let is_double = |class: &&ClassIndex| {
                loaders_of
                    .get(&*self.classes.get(**class).name)
                    .is_some_and(|loaders| loaders.len() > 1)
            };
            let (objects, shallow) = instances.get(&id).copied().unwrap_or_default();
            let path = number.map(|number| self.path(&paths, number)).transpose()?;
            let retained = number.and_then(|number| self.retained_of(number));
            let path = path.flatten();
            loaders.push(Loader {
                loader: number.map(|number| self.label(number)).transpose()?,
                id: ObjectId(id),
                class: number.map_or_else(Arc::default, |number| {
                    Arc::clone(&self.classes.get(self.objects.class(number)).name)
                }),
                name: number.map_or(Ok(None), |number| self.loader_name(number))?,
                parent: number.map_or(Ok(None), |number| self.parent(number))?,
                is_live: id == 0 || retained.is_some(),
                classes: all.len() as u64,
                duplicates: all.iter().filter(is_double).count() as u64,
                instances: objects,
                shallow,
                retained: retained.unwrap_or_default(),
                holder: path.as_ref().and_then(holder),
            });
        }
        loaders.sort_by_key(|loader| (Reverse((loader.retained, loader.shallow)), loader.id));
        Ok(loaders)
    }

    /// Returns the names of all class loaders for people, by their ids. An id is in a name only where another loader would
    /// have the same.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn loader_labels(&self) -> Result<HashMap<u64, Arc<str>>, Error> {
        self.dump.unless_changed(|| {
            let ids: HashSet<u64> = self.classes.iter().map(|(_, class)| class.loader).collect();
            let mut labels = HashMap::default();
            let mut loaders_of: HashMap<String, usize> = HashMap::default();
            for id in ids {
                let label = self.loader_label(id)?;
                *loaders_of.entry(label.clone()).or_default() += 1;
                labels.insert(id, label);
            }
            let unique = labels
                .into_iter()
                .map(|(id, label)| match loaders_of[&label] {
                    1 => (id, label.into()),
                    _ => (id, format!("{label} @ 0x{id:x}").into()),
                });
            Ok(unique.collect())
        })
    }

    fn loader_label(&self, id: u64) -> Result<String, Error> {
        if id == 0 {
            return Ok("<boot loader>".to_owned());
        }
        let Some(loader) = self.objects.ids.find(ObjectId(id)) else {
            return Ok("<loader that is not in the dump>".to_owned());
        };
        let class = &self.classes.get(self.objects.class(loader)).name;
        let name = self.loader_name(loader)?.filter(|name| !name.is_empty());
        Ok(match name {
            Some(name) => format!("{name} ({class})"),
            None => class.to_string(),
        })
    }

    fn loader_name(&self, loader: ObjectNumber) -> Result<Option<String>, Error> {
        match self.field(loader, "name")? {
            Some(Value::Object(name)) => self.string(name, NAME),
            _ => Ok(None),
        }
    }

    fn parent(&self, loader: ObjectNumber) -> Result<Option<Label>, Error> {
        let parent = match self.field(loader, "parent")? {
            Some(Value::Object(id)) => self.objects.ids.find(id),
            _ => None,
        };
        parent.map(|parent| self.label(parent)).transpose()
    }

    /// Returns the class loaders that pile up: live ones of a class that have each loaded a class of the same name.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn piling_loaders(&self) -> Result<Vec<PilingLoaders>, Error> {
        self.dump.unless_changed(|| {
            let piles = self.find_piling_loaders(None)?.into_iter();
            Ok(piles.map(|pile| pile.found).collect())
        })
    }

    /// Returns the place of the pile that makes up most of what an object retains, with the number of its loaders, given the
    /// objects and bytes of each site that the object keeps alive.
    pub(crate) fn pile_below(
        &self,
        piles: &[PileOfLoaders],
        retained: u64,
        sites: &HashMap<SiteIndex, (u64, u64)>,
    ) -> Option<(usize, u64)> {
        let mut piles = piles.iter().enumerate();
        piles.find_map(|(place, pile)| {
            let of_class = sites
                .iter()
                .filter(|&(&site, _)| self.objects.sites.get(site).class == pile.class);
            let loaders: u64 = of_class.map(|(_, &(objects, _))| objects).sum();
            let PilingLoaders {
                loaders: all,
                retained: of_all,
                ..
            } = pile.found;
            let is_most = 2 * loaders > all && of_all >= retained / 2;
            is_most.then_some((place, loaders))
        })
    }

    /// Returns the same without loaders all of which were made at the start of the profile, as the births show.
    pub(crate) fn find_piling_loaders(
        &self,
        births: Option<&Births>,
    ) -> Result<Vec<PileOfLoaders>, Error> {
        let mut loaded: HashMap<&Arc<str>, Vec<ObjectNumber>> = HashMap::default();
        for (_, class) in self.classes.iter() {
            let loader = self.objects.ids.find(ObjectId(class.loader));
            let loader = loader.filter(|_| class.id != 0 && class.loader != 0);
            if let Some(loader) = loader.filter(|&loader| self.retained_of(loader).is_some()) {
                loaded.entry(&class.name).or_default().push(loader);
            }
        }
        // Of the classes that the same loaders have, one is enough: the first by its name.
        let mut sets: HashMap<(ClassIndex, Vec<ObjectNumber>), &Arc<str>> = HashMap::default();
        for (name, mut loaders) in loaded {
            loaders.sort_unstable_by_key(|&loader| (self.objects.class(loader), loader));
            loaders.dedup();
            for of_class in loaders
                .chunk_by(|&one, &other| self.objects.class(one) == self.objects.class(other))
            {
                if of_class.len() >= PILE {
                    let key = (self.objects.class(of_class[0]), of_class.to_vec());
                    let first = sets.entry(key).or_insert(name);
                    *first = (*first).min(name);
                }
            }
        }
        let mut largest: HashMap<ClassIndex, (Vec<ObjectNumber>, &Arc<str>)> = HashMap::default();
        for ((class, loaders), name) in sets {
            let known = largest.entry(class).or_insert_with(|| (Vec::new(), name));
            if (loaders.len(), Reverse(name)) > (known.0.len(), Reverse(known.1)) {
                *known = (loaders, name);
            }
        }
        let mut piling = Vec::new();
        for (class, (loaders, name)) in largest {
            if births.is_some_and(|births| self.are_from_the_start(&loaders, births)) {
                continue;
            }
            let found = self.describe_pile(class, &loaders, name)?;
            piling.push(PileOfLoaders { class, found });
        }
        piling.sort_by(|one, other| {
            let by_size = other.found.retained.cmp(&one.found.retained);
            by_size.then_with(|| one.found.class.cmp(&other.found.class))
        });
        Ok(piling)
    }

    fn are_from_the_start(&self, loaders: &[ObjectNumber], births: &Births) -> bool {
        let mut made = MadeWhen::default();
        for &loader in loaders {
            births.add_to(&mut made, self.objects.ids.id(loader), 1);
        }
        made.first_quarter_bytes == loaders.len() as u64
    }

    fn describe_pile(
        &self,
        class: ClassIndex,
        loaders: &[ObjectNumber],
        loaded: &Arc<str>,
    ) -> Result<PilingLoaders, Error> {
        let paths = self.shortest_paths_to(loaders)?;
        let mut holders: HashMap<String, u64> = HashMap::default();
        for &loader in loaders {
            let path = self.path(&paths, loader)?;
            if let Some(holder) = path.as_ref().and_then(holder) {
                *holders.entry(holder.to_string()).or_default() += 1;
            }
        }
        let holders = holders.into_iter();
        let mut holders: Vec<LoaderHolder> = holders
            .map(|(holder, loaders)| LoaderHolder { holder, loaders })
            .collect();
        holders.sort_by(|one, other| {
            let by_number = other.loaders.cmp(&one.loaders);
            by_number.then_with(|| one.holder.cmp(&other.holder))
        });
        let mut members = fixedbitset::FixedBitSet::with_capacity(self.objects.count() as usize);
        members.extend(loaders.iter().map(|loader| loader.place()));
        Ok(PilingLoaders {
            class: Arc::clone(&self.classes.get(class).name),
            loaders: loaders.len() as u64,
            loaded: Arc::clone(loaded),
            retained: self.joint_sizes.get(loaders, || {
                self.retained_without(|object| members.contains(object.place()))
            })?,
            holders,
        })
    }
}
