//! The objects that keep most of the heap alive, and the stacks that allocated it.

use std::sync::Arc;

use foldhash::HashMap;
use hprof_format::ObjectId;
use serde::Serialize;

use crate::data::births::{Births, MadeWhen};
use crate::data::dominators::{Node, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::Holder;
use crate::data::numbers::{ClassIndex, ObjectNumber, SiteIndex};
use crate::data::shortest_paths::ShortestPaths;
use crate::data::usual::UsualSuspect;
use crate::questions::allocated::{Allocated, Rest, largest};
use crate::questions::bounds::Bound;
use crate::questions::elements::Elements;
use crate::questions::growing::{GrowingSites, LEAST, Piling};
use crate::questions::loaders::PilingLoaders;
use crate::questions::outside_heap::OutsideHeap;
use crate::questions::own_code::{IsOwn, OwnSites, own_part};
use crate::questions::paths::{Path, holder};
use crate::questions::patterns::Pattern;
use crate::questions::suspects::{FoundSuspect, KeptBy, SuspectKind};
use crate::questions::turnover::{TurningSites, Turnover};
use crate::questions::unreached::{Unreached, WaitingForFinalizer};

/// The default threshold of `hprof heap leaks`.
const USUAL_THRESHOLD: f64 = 0.1;
/// The share of the bytes that a suspect keeps from which it does not grow, if they were made in the first quarter of the
/// profile: the part that the search for what piles up leaves out.
const FROM_THE_START: f64 = 0.9;
/// The share of the objects that a suspect keeps from which all of them count as replaced, if they were made in the second half of
/// the profile.
const REPLACED: f64 = 0.9;

/// The suspects of a dump.
#[derive(Clone, Debug, Serialize)]
pub struct Leaks {
    /// Bytes of all that roots reach.
    pub live_bytes: u64,
    /// What is not counted as live.
    pub unreached: Unreached,
    /// The objects that wait for their finalizer, if there are some; they are live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingForFinalizer>,
    /// The memory outside of the heap that live objects own.
    pub outside_heap: OutsideHeap,
    /// Class loaders that pile up, however little they retain.
    pub piling_loaders: Vec<PilingLoaders>,
    /// The share of it from which something is a suspect.
    pub threshold: f64,
    /// Those whose objects pile up first, and of these and of the others those that retain most.
    pub suspects: Vec<Suspect>,
    /// Those that retain as much, but were made at the start of the profile, or are replaced all the time: what does not grow is
    /// no leak. Empty without a births file.
    pub not_growing: Vec<Suspect>,
    /// Those that retain as much, but are bounded, as the dump shows, and do not pile up: caches, pools, tables, buffers.
    pub bounded: Vec<Suspect>,
    /// The sites whose objects pile up that are not among them, because there are many.
    pub piling_else: u64,
    /// `true` if the dump has the stacks that allocated its objects.
    pub has_stacks: bool,
}

/// An object, or several of a class or of a site, that keep much alive.
#[derive(Clone, Debug, Serialize)]
pub struct Suspect {
    /// The kind.
    pub kind: SuspectKind,
    /// `java.util.HashMap$Node[] @ 0x7f00`, the class of several objects, or the frame that allocated them.
    pub what: String,
    /// 1, or the number of objects.
    pub objects: u64,
    /// The id of the object, or of the largest one.
    #[serde(serialize_with = "crate::data::names::hex")]
    pub id: ObjectId,
    /// Bytes it keeps alive; for several, the bytes that would be freed without all of them.
    pub retained: u64,
    /// Those of them that no suspect below it keeps alive: of all suspects together no byte counts twice.
    pub own: u64,
    /// The part of the program that holds it, or, of a class, most of what it keeps: the last static field, thread-local or local
    /// variable on the path.
    #[serde(serialize_with = "crate::data::label::text_or_nothing")]
    pub holder: Option<Holder>,
    /// What holds it, too: without only one of the holders it would stay. For several, that of the largest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_held_by: Vec<Holder>,
    /// `true` if it would be freed without all of these holders, and would not without fewer holders, whichever.
    pub holders_are_fewest: bool,
    /// The shortest path to it, or to the largest of several; of a class, to the largest of what it keeps most of.
    pub path: Option<Path>,
    /// When the objects were made that it keeps alive; `None` without a births file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<MadeWhen>,
    /// The evidence if most of what it keeps alive piles up; `None` without a births file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piling: Option<Piling>,
    /// The evidence if most of what it keeps alive is replaced all the time; `None` without a births file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turnover: Option<Turnover>,
    /// The reason why it is bounded, if the dump shows one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// The form of a pile, if what it keeps has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// What an object keeps most of, of a class of the program's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<Elements>,
    /// The objects it keeps alive, by class: those with the most bytes.
    pub kept: Vec<Kept>,
    /// Those of the other classes.
    pub kept_else: Rest,
    /// The stacks that allocated the objects it keeps alive, those with the most bytes; empty if the dump does not have
    /// them.
    pub allocated: Vec<Allocated>,
    /// Those of the other stacks.
    pub allocated_else: Rest,
    /// The objects it keeps alive whose stack the dump does not have.
    pub without_stack: Rest,
}

impl Suspect {
    /// Returns `true` if nearly all that it keeps was made at the start of the profile.
    #[must_use]
    pub fn is_from_the_start(&self) -> bool {
        let made = self.made.filter(|made| made.bytes > 0);
        let share = |made: MadeWhen| made.first_quarter_bytes as f64 / made.bytes as f64;
        self.piling.is_none() && made.is_some_and(|made| share(made) >= FROM_THE_START)
    }

    /// Returns `true` if it cannot grow further, and nothing shows that it does.
    fn is_bounded(&self) -> bool {
        let bound = self.bound.as_ref();
        bound.is_some_and(|bound| {
            bound.is_full() || (self.pattern.is_none() && self.piling.is_none())
        })
    }

    /// Returns `true` if it keeps objects that are young, of sites that make others all the time, of which most are gone.
    fn is_replaced(&self) -> bool {
        let made = self.made.filter(|made| made.objects > 0);
        let share = |made: MadeWhen| made.second_half as f64 / made.objects as f64;
        self.piling.is_none()
            && self.turnover.is_some()
            && made.is_some_and(|made| share(made) >= REPLACED)
    }
}

/// Objects of one class below a suspect.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    /// The class.
    pub class: Arc<str>,
    /// The number of objects.
    pub objects: u64,
    /// Their shallow size, in bytes.
    pub shallow: u64,
}

/// A suspect before it is described.
struct Measured {
    kind: SuspectKind,
    /// The object, or the largest one.
    node: Node,
    /// 1, or the number of objects.
    objects: u64,
    /// The retained size without the suspects below.
    own: u64,
    retained: u64,
    made: Option<MadeWhen>,
    piling: Option<Piling>,
    turnover: Option<Turnover>,
    /// The objects that it keeps alive, by site, with their bytes.
    sites: HashMap<SiteIndex, (u64, u64)>,
}

impl Heap<'_> {
    /// Returns the suspects, which retain at least `threshold` (0 to 1) of everything alive. With `own`, the stacks that
    /// allocated what they keep are added up by their innermost own frame, and begin with it; so are sites.
    ///
    /// # Errors
    /// Those of reading records, and of temporary files.
    pub fn leaks(&self, threshold: f64, own: Option<IsOwn<'_>>) -> Result<Leaks, Error> {
        self.leaks_and_ages(threshold, own, None)
    }

    /// As [`Heap::leaks`], with the ages of what the suspects keep.
    ///
    /// # Errors
    /// As [`Heap::leaks`].
    pub fn leaks_and_ages(
        &self,
        threshold: f64,
        own: Option<IsOwn<'_>>,
        births: Option<&Births>,
    ) -> Result<Leaks, Error> {
        self.dump
            .unless_changed(|| self.find_leaks(threshold, own, births))
    }

    fn find_leaks(
        &self,
        threshold: f64,
        own: Option<IsOwn<'_>>,
        births: Option<&Births>,
    ) -> Result<Leaks, Error> {
        let live = self.retained(TOP);
        let is_usual = threshold.to_bits() == USUAL_THRESHOLD.to_bits();
        let (found, piling_else) = if is_usual && own.is_none() && births.is_none() {
            let suspects = self.usual_suspects()?.iter();
            (suspects.map(Measured::known).collect(), 0)
        } else {
            self.measured(threshold, own, births)?
        };
        let objects: Vec<ObjectNumber> = found
            .iter()
            .map(|suspect| self.dominators.object(self.held_part(suspect.node)))
            .collect();
        let shortest_paths = self.shortest_paths_to(&objects)?;
        let lasting_paths = self.lasting_paths_to(&objects, &shortest_paths)?;
        let paths = (lasting_paths.as_ref(), &*shortest_paths);
        let is_judged = births.is_some_and(|births| births.time() >= LEAST);
        let mut piles = self.find_piling_loaders(births.filter(|_| is_judged))?;
        let (mut suspects, mut not_growing, mut bounded) = (Vec::new(), Vec::new(), Vec::new());
        for suspect in found {
            let pile = self.pile_below(&piles, suspect.retained, &suspect.sites);
            let mut suspect = self.suspect(suspect, paths, own)?;
            // One verdict for the loaders: either they pile up, or what keeps them is full.
            if let Some((place, loaders)) = pile.filter(|_| suspect.kind == SuspectKind::Object) {
                if suspect.bound.as_ref().is_some_and(Bound::is_full) {
                    piles.remove(place);
                } else if suspect.pattern.is_none() {
                    suspect.pattern = Some(Pattern::Loaders {
                        class: Arc::clone(&piles[place].found.class),
                        objects: loaders,
                    });
                }
            }
            if is_judged && (suspect.is_from_the_start() || suspect.is_replaced()) {
                not_growing.push(suspect);
            } else if suspect.is_bounded() {
                bounded.push(suspect);
            } else {
                suspects.push(suspect);
            }
        }
        Ok(Leaks {
            live_bytes: live,
            unreached: self.unreached(),
            waiting: self.waiting_for_finalizer()?,
            outside_heap: self.outside_heap()?,
            piling_loaders: piles.into_iter().map(|pile| pile.found).collect(),
            threshold,
            suspects,
            not_growing,
            bounded,
            piling_else,
            has_stacks: self.has_stacks(),
        })
    }

    /// Returns the suspects for the usual question, as an index has them. They are found once.
    pub(crate) fn usual_suspects(&self) -> Result<&[UsualSuspect], Error> {
        if let Some(known) = self.usual.get() {
            return Ok(&known.suspects);
        }
        if let Some(known) = self.usual_suspects.get() {
            return Ok(known);
        }
        let (found, _) = self.measured(USUAL_THRESHOLD, None, None)?;
        let found = found.into_iter().map(Measured::usual).collect();
        Ok(self.usual_suspects.get_or_init(|| found))
    }

    /// Finds the suspects, those whose objects pile up first, and the number of sites that pile up else.
    fn measured(
        &self,
        threshold: f64,
        own: Option<IsOwn<'_>>,
        births: Option<&Births>,
    ) -> Result<(Vec<Measured>, u64), Error> {
        let least = ((self.retained(TOP) as f64 * threshold) as u64).max(1);
        let mut growing = births.map_or(Ok(GrowingSites::default()), |births| {
            self.growing_sites(births)
        })?;
        let turning = births.map_or_else(TurningSites::default, |_| self.turning_sites());
        let mut found = Vec::new();
        let mut suspects = self.suspects(least, &mut OwnSites::new(own))?;
        suspects.extend(self.small_piles(least, &suspects));
        for suspect in suspects {
            let mut measured = self.measure(&suspect, births)?;
            measured.piling = growing.below(&measured.sites);
            measured.turnover = self.turnover(&turning, &measured.sites);
            found.push(measured);
        }
        let (piles, piling_else) = self.piles(growing);
        for pile in piles {
            let suspect = FoundSuspect {
                kind: SuspectKind::Piling,
                nodes: pile.nodes,
                own: pile.own,
            };
            let mut measured = self.measure(&suspect, births)?;
            measured.piling = Some(pile.piling);
            found.push(measured);
        }
        found.sort_by_key(|suspect| (suspect.piling.is_none(), std::cmp::Reverse(suspect.own)));
        Ok((found, piling_else))
    }

    fn measure(&self, suspect: &FoundSuspect, births: Option<&Births>) -> Result<Measured, Error> {
        let KeptBy { sites, made } = self.kept_by(&suspect.nodes, births)?;
        Ok(Measured {
            kind: suspect.kind,
            node: suspect.nodes[0],
            objects: suspect.nodes.len() as u64,
            own: suspect.own,
            retained: match suspect.nodes[..] {
                [only] => self.retained(only),
                ref several => self.retained_by(several)?,
            },
            made: births.map(|_| made),
            piling: None,
            turnover: None,
            sites,
        })
    }

    /// Describes a suspect by the first of its objects, with a path that lasts if there is one.
    fn suspect(
        &self,
        mut suspect: Measured,
        (lasting_paths, shortest_paths): (Option<&ShortestPaths>, &ShortestPaths),
        own: Option<IsOwn<'_>>,
    ) -> Result<Suspect, Error> {
        let object = self.dominators.object(suspect.node);
        let held = self.held_part(suspect.node);
        let held_object = self.dominators.object(held);
        let lasting = lasting_paths.map(|paths| self.path(paths, held_object));
        let (path, paths) = match (lasting.transpose()?.flatten(), lasting_paths) {
            (Some(path), Some(paths)) => (Some(path), paths),
            _ => (self.path(shortest_paths, held_object)?, shortest_paths),
        };
        let holders = self.fewest_holders(held, paths)?;
        let stack = || self.dump.stack(self.objects.trace(object));
        let (bound, pattern) = match suspect.kind {
            SuspectKind::Object => {
                let has_references = self.have_references(suspect.sites.keys().copied());
                let bound = self.bound(suspect.node, has_references)?;
                (bound, self.pattern(suspect.node))
            }
            SuspectKind::Class | SuspectKind::Site | SuspectKind::Piling => (None, None),
        };
        let elements = match suspect.kind {
            SuspectKind::Object => self.elements_of(suspect.node, &suspect.sites),
            SuspectKind::Class | SuspectKind::Site | SuspectKind::Piling => None,
        };
        let (kept, kept_else) = self.kept(&suspect.sites);
        let without_stack = self.remove_without_stack(&mut suspect.sites);
        let (allocated, allocated_else) = self.allocated_by(&suspect.sites, own);
        Ok(Suspect {
            kind: suspect.kind,
            what: match suspect.kind {
                SuspectKind::Object => self.label(object)?.to_string(),
                SuspectKind::Class | SuspectKind::Piling => {
                    let class = self.objects.class(object);
                    self.classes.get(class).name.to_string()
                }
                SuspectKind::Site => own
                    .map_or_else(stack, |is_own| own_part(&stack(), is_own))
                    .first()
                    .map_or_else(String::new, |at| at.to_string()),
            },
            objects: suspect.objects,
            id: self.objects.ids.id(object),
            retained: suspect.retained,
            own: suspect.own,
            holder: holders.first.or_else(|| path.as_ref().and_then(holder)),
            also_held_by: holders.others,
            holders_are_fewest: holders.are_fewest,
            path,
            made: suspect.made,
            piling: suspect.piling,
            turnover: suspect.turnover,
            bound,
            pattern,
            elements,
            kept,
            kept_else,
            allocated,
            allocated_else,
            without_stack,
        })
    }

    /// Returns what the holders of a suspect are to be found of: the suspect, or, if that is a class, the largest of the objects
    /// that several of its static fields keep together. Without the class all would be free, but it is the program.
    fn held_part(&self, node: Node) -> Node {
        if self.class_of_object(self.dominators.object(node)).is_none() {
            return node;
        }
        // The bytes of all of a class, with the largest and its bytes.
        let mut classes: HashMap<ClassIndex, (u64, Node, u64)> = HashMap::default();
        for child in self.children(node) {
            let class = self.objects.class(child.object);
            let (sum, largest, most) = classes.entry(class).or_insert((0, child.node, 0));
            *sum += child.retained;
            if child.retained > *most {
                (*largest, *most) = (child.node, child.retained);
            }
        }
        let largest = classes.into_values().max();
        largest.map_or(node, |(_, largest, _)| largest)
    }

    /// Returns `true` if the dump has the stacks that allocated its objects.
    #[must_use]
    pub fn has_stacks(&self) -> bool {
        let mut sites = self.objects.sites.iter();
        sites.any(|site| self.dump.has_stack(site.trace))
    }

    /// Adds up sites by class: those with the most bytes, and the others.
    fn kept(&self, sites: &HashMap<SiteIndex, (u64, u64)>) -> (Vec<Kept>, Rest) {
        let mut classes: HashMap<ClassIndex, (u64, u64)> = HashMap::default();
        for (&site, &(objects, shallow)) in sites {
            let class = self.objects.sites.get(site).class;
            let sum = classes.entry(class).or_default();
            sum.0 += objects;
            sum.1 += shallow;
        }
        let (largest, rest) = largest(&classes);
        let kept = largest.into_iter().map(|(class, objects, shallow)| Kept {
            class: Arc::clone(&self.classes.get(class).name),
            objects,
            shallow,
        });
        (kept.collect(), rest)
    }

    /// Removes the sites whose stack the dump does not have; returns their sum.
    fn remove_without_stack(&self, sites: &mut HashMap<SiteIndex, (u64, u64)>) -> Rest {
        let mut without = Rest::default();
        sites.retain(|&site, &mut (objects, shallow)| {
            let has_stack = self.dump.has_stack(self.objects.sites.get(site).trace);
            if !has_stack {
                without.add(objects, shallow);
            }
            has_stack
        });
        without
    }

    fn allocated_by(
        &self,
        sites: &HashMap<SiteIndex, (u64, u64)>,
        own: Option<IsOwn<'_>>,
    ) -> (Vec<Allocated>, Rest) {
        match own {
            Some(is_own) => self.allocated_by_own(sites, is_own),
            None => {
                let (largest, rest) = largest(sites);
                let rows = largest.into_iter();
                let rows =
                    rows.map(|(site, objects, shallow)| self.allocated(site, objects, shallow));
                (rows.collect(), rest)
            }
        }
    }
}

impl Measured {
    fn known(suspect: &UsualSuspect) -> Measured {
        let sites = suspect.sites.iter();
        Measured {
            kind: match (suspect.objects, suspect.is_site) {
                (1, _) => SuspectKind::Object,
                (_, true) => SuspectKind::Site,
                (_, false) => SuspectKind::Class,
            },
            node: suspect.node,
            objects: suspect.objects,
            own: suspect.own,
            retained: suspect.retained,
            made: None,
            piling: None,
            turnover: None,
            sites: sites
                .map(|&(site, objects, shallow)| (site, (objects, shallow)))
                .collect(),
        }
    }

    fn usual(self) -> UsualSuspect {
        let sites = self.sites.into_iter();
        let mut sites: Vec<(SiteIndex, u64, u64)> = sites
            .map(|(site, (objects, shallow))| (site, objects, shallow))
            .collect();
        sites.sort_unstable();
        UsualSuspect {
            node: self.node,
            objects: self.objects,
            is_site: self.kind == SuspectKind::Site,
            own: self.own,
            retained: self.retained,
            sites,
        }
    }
}
