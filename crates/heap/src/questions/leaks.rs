//! The objects that keep most of the heap alive, and the stacks that allocated it.

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use foldhash::{HashMap, HashSet};
use hprof_format::{ObjectId, Value};
use serde::Serialize;

use crate::data::births::{Births, MadeWhen};
use crate::data::classes::{ClassIndex, Known};
use crate::data::dominators::{Node, Step, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::{Holder, Reference};
use crate::data::shortest_paths::ShortestPaths;
use crate::questions::allocated::{Allocated, Rest, largest};
use crate::questions::growing::{GrowingSites, LEAST, Piling};
use crate::questions::own_code::{IsOwn, OwnSites, own_part};
use crate::questions::paths::Path;
use crate::questions::turnover::{TurningSites, Turnover};

/// An object with this many others of the same class above it is an element of one structure, a linked list.
const REPEATS: u32 = 16;
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
    /// The share of it from which something is a suspect.
    pub threshold: f64,
    /// Those whose objects pile up first, and of these and of the others those that retain most.
    pub suspects: Vec<Suspect>,
    /// Those that retain as much, but were made at the start of the profile, or are replaced all the time: what does not grow is
    /// no leak. Empty without a births file.
    pub not_growing: Vec<Suspect>,
    /// The sites whose objects pile up that are not among them, because there are many.
    pub piling_else: u64,
    /// `true` if the dump has the stacks that allocated its objects.
    pub has_stacks: bool,
}

/// The kind of a suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SuspectKind {
    /// One object.
    Object,
    /// Several objects of a class.
    Class,
    /// Several objects, of more than one class, that one stack allocated, or one frame of the reader's own code.
    Site,
    /// Several objects of one class, allocated by one stack, that pile up, however little they retain.
    Piling,
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
    pub id: u64,
    /// Bytes it keeps alive; for several, the bytes that would be freed without all of them.
    pub retained: u64,
    /// The part of the program that holds it: the last static field, thread-local or local variable on the path.
    #[serde(serialize_with = "crate::data::label::text_or_nothing")]
    pub holder: Option<Holder>,
    /// The shortest path to it, or to the largest of several.
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
    fn is_from_the_start(&self) -> bool {
        let made = self.made.filter(|made| made.bytes > 0);
        let share = |made: MadeWhen| made.first_quarter_bytes as f64 / made.bytes as f64;
        self.piling.is_none() && made.is_some_and(|made| share(made) >= FROM_THE_START)
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

/// The objects below a suspect.
struct Below {
    made: Option<MadeWhen>,
    piling: Option<Piling>,
    turnover: Option<Turnover>,
    kept: Vec<Kept>,
    kept_else: Rest,
    allocated: Vec<Allocated>,
    allocated_else: Rest,
    without_stack: Rest,
}

/// A suspect before it is described.
struct FoundSuspect {
    kind: SuspectKind,
    /// One, or several with the largest first.
    nodes: Vec<Node>,
    /// The retained size without the suspects below.
    own: u64,
}

/// The common property of a group's objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Common {
    Class(ClassIndex),
    /// The number of a site in [`OwnSites`].
    Site(u32),
}

impl Common {
    fn kind(self) -> SuspectKind {
        match self {
            Common::Class(_) => SuspectKind::Class,
            Common::Site(_) => SuspectKind::Site,
        }
    }
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
        let least = ((live as f64 * threshold) as u64).max(1);
        let mut growing =
            births.map_or_else(GrowingSites::default, |births| self.growing_sites(births));
        let turning = births.map_or_else(TurningSites::default, |_| self.turning_sites());
        let found = self.suspects(least, &mut OwnSites::new(own))?;
        let mut found: Vec<(FoundSuspect, Below)> = found
            .into_iter()
            .map(|suspect| {
                let below = self.below(&suspect, own, births, (&mut growing, &turning));
                (suspect, below)
            })
            .collect();
        let (piles, piling_else) = self.piles(growing);
        for pile in piles {
            let suspect = FoundSuspect {
                kind: SuspectKind::Piling,
                nodes: pile.nodes,
                own: pile.own,
            };
            let none = (&mut GrowingSites::default(), &TurningSites::default());
            let mut below = self.below(&suspect, own, births, none);
            below.piling = Some(pile.piling);
            found.push((suspect, below));
        }
        found.sort_by_key(|(suspect, below)| {
            (below.piling.is_none(), std::cmp::Reverse(suspect.own))
        });
        let (found, below): (Vec<FoundSuspect>, Vec<Below>) = found.into_iter().unzip();
        let objects: Vec<u32> = found
            .iter()
            .map(|suspect| self.dominators.object(suspect.nodes[0]))
            .collect();
        let shortest_paths = self.shortest_paths_to(&objects)?;
        let is_judged = births.is_some_and(|births| births.time() >= LEAST);
        let (mut suspects, mut not_growing) = (Vec::new(), Vec::new());
        for ((suspect, object), below) in found.iter().zip(objects).zip(below) {
            let suspect = self.suspect(suspect, object, below, &shortest_paths, own)?;
            if is_judged && (suspect.is_from_the_start() || suspect.is_replaced()) {
                not_growing.push(suspect);
            } else {
                suspects.push(suspect);
            }
        }
        Ok(Leaks {
            live_bytes: live,
            threshold,
            suspects,
            not_growing,
            piling_else,
            has_stacks: self.has_stacks(),
        })
    }

    /// Describes a suspect by the first of its objects.
    fn suspect(
        &self,
        suspect: &FoundSuspect,
        object: u32,
        below: Below,
        shortest_paths: &ShortestPaths,
        own: Option<IsOwn<'_>>,
    ) -> Result<Suspect, Error> {
        let path = self.path(shortest_paths, object)?;
        let stack = || self.dump.stack(self.objects.trace(object));
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
            objects: suspect.nodes.len() as u64,
            id: self.objects.ids.id(object),
            retained: match suspect.nodes[..] {
                [only] => self.retained(only),
                ref several => self.retained_by(several)?,
            },
            holder: path.as_ref().and_then(holder),
            path,
            made: below.made,
            piling: below.piling,
            turnover: below.turnover,
            kept: below.kept,
            kept_else: below.kept_else,
            allocated: below.allocated,
            allocated_else: below.allocated_else,
            without_stack: below.without_stack,
        })
    }

    fn retained_by(&self, nodes: &[Node]) -> Result<u64, Error> {
        let objects = nodes.iter().map(|&node| self.dominators.object(node));
        let mut objects: Vec<u32> = objects.collect();
        objects.sort_unstable();
        self.joint_sizes.get(&objects, || {
            let mut members = FixedBitSet::with_capacity(self.objects.count() as usize);
            members.extend(objects.iter().map(|&object| object as usize));
            self.retained_without(|object| members.contains(object as usize))
        })
    }

    /// Returns `true` if the dump has the stacks that allocated its objects.
    #[must_use]
    pub fn has_stacks(&self) -> bool {
        let mut sites = self.objects.sites.iter();
        sites.any(|site| self.dump.has_stack(site.trace))
    }

    /// Descends from the roots as long as one object keeps enough alive. An object that then keeps much alive in many
    /// small parts is a suspect.
    fn suspects(&self, least: u64, sites: &mut OwnSites<'_>) -> Result<Vec<FoundSuspect>, Error> {
        let mut found = Vec::new();
        let mut waiting = vec![TOP];
        while let Some(node) = waiting.pop() {
            let (at, large) = self.descend(node, least);
            let children: u64 = large.iter().map(|&child| self.retained(child)).sum();
            // Those of a damaged index may be any.
            let own = self.retained(at).saturating_sub(children);
            if own >= least {
                if self.holds_whatever_there_is(at)? {
                    found.extend(self.groups_below(at, least, sites));
                } else {
                    found.push(FoundSuspect {
                        kind: SuspectKind::Object,
                        nodes: vec![at],
                        own,
                    });
                }
            }
            waiting.extend(large);
        }
        Ok(found)
    }

    /// Follows the only large object below, down to the last one; returns that and the large ones below it.
    fn descend(&self, start: Node, least: u64) -> (Node, Vec<Node>) {
        let mut at = start;
        let mut classes: HashMap<u32, (Node, u32)> = HashMap::default();
        loop {
            let retained = self.retained(at);
            let large: Vec<Node> = self
                .dominators
                .children(at)
                .filter(|&child| self.retained(child) >= least)
                .collect();
            let [only] = large[..] else {
                return (at, large);
            };
            // Most of it is not below.
            if at != TOP && retained.saturating_sub(self.retained(only)) >= least {
                return (at, large);
            }
            let class = self.objects.class(self.dominators.object(only));
            let (first, count) = classes.entry(class).or_insert((only, 0));
            *count += 1;
            if *count == REPEATS {
                return (*first, Vec::new());
            }
            at = only;
        }
    }

    /// Returns `true` for class loaders, with the lists of their classes, and for the roots together, which keep
    /// unrelated objects alive.
    fn holds_whatever_there_is(&self, node: Node) -> Result<bool, Error> {
        let is_loader =
            |node: Node| node != TOP && self.is_a(self.dominators.object(node), Known::ClassLoader);
        if node == TOP || is_loader(node) {
            return Ok(true);
        }
        let list = self.dominators.above(node);
        if list == TOP || !is_loader(self.dominators.above(list)) {
            return Ok(false);
        }
        let loader = self.dominators.object(self.dominators.above(list));
        let classes = self.field(loader, "classes")?;
        let list = ObjectId(self.objects.ids.id(self.dominators.object(list)));
        Ok(classes == Some(Value::Object(list)))
    }

    /// Returns groups of objects of one class, or of one stack that allocated several classes, that together keep
    /// enough alive. Each object is in one group, the largest of those it fits.
    fn groups_below(&self, node: Node, least: u64, sites: &mut OwnSites<'_>) -> Vec<FoundSuspect> {
        let mut groups: HashMap<Common, FoundSuspect> = HashMap::default();
        for child in self.dominators.children(node) {
            let retained = self.retained(child);
            if retained >= least {
                continue;
            }
            for common in self.common(child, sites) {
                let group = groups.entry(common).or_insert_with(|| FoundSuspect {
                    kind: common.kind(),
                    nodes: Vec::new(),
                    own: 0,
                });
                group.nodes.push(child);
                group.own += retained;
            }
        }
        let mut large: Vec<(Common, FoundSuspect)> = groups
            .into_iter()
            .filter(|(_, group)| group.own >= least)
            .collect();
        // A group by site counts if it has more than those by class, which come before it.
        large.sort_by_key(|&(common, ref group)| (std::cmp::Reverse(group.own), common));
        let mut taken = HashSet::default();
        let mut found = Vec::new();
        for (_, mut group) in large {
            group.nodes.retain(|node| !taken.contains(node));
            let members = group.nodes.iter();
            group.own = members.map(|&node| self.retained(node)).sum();
            if group.own < least {
                continue;
            }
            taken.extend(group.nodes.iter().copied());
            group
                .nodes
                .sort_by_key(|&node| (std::cmp::Reverse(self.retained(node)), node));
            if group.nodes.len() == 1 {
                group.kind = SuspectKind::Object;
            }
            found.push(group);
        }
        found
    }

    /// Returns the properties that an object may have in common with others.
    fn common(&self, node: Node, sites: &mut OwnSites<'_>) -> impl Iterator<Item = Common> + use<> {
        let object = self.dominators.object(node);
        let site = self.objects.sites.get(self.objects.site(object));
        let trace = Some(site.trace).filter(|&trace| self.dump.has_stack(trace));
        let class = std::iter::once(Common::Class(site.class));
        let site = trace.and_then(|trace| sites.of(self, trace));
        class.chain(site.map(Common::Site))
    }

    /// Returns the objects below a suspect: by class, and by the stack that allocated them.
    fn below(
        &self,
        suspect: &FoundSuspect,
        own: Option<IsOwn<'_>>,
        births: Option<&Births>,
        (growing, turning): (&mut GrowingSites, &TurningSites),
    ) -> Below {
        let mut made = births.map(|_| MadeWhen::default());
        let mut sites: HashMap<u32, (u64, u64)> = HashMap::default();
        for &node in &suspect.nodes {
            self.dominators.walk(node, |step| {
                if let Step::Enter(_, object) = step {
                    let (objects, shallow) = sites.entry(self.objects.site(object)).or_default();
                    *objects += 1;
                    *shallow += self.objects.size(object);
                    if let (Some(births), Some(made)) = (births, &mut made) {
                        births.add_to(made, self.objects.ids.id(object), self.objects.size(object));
                    }
                }
            });
        }
        let piling = growing.below(&sites);
        let by_name = sites.iter().map(|(&site, &(_, shallow))| {
            let site = self.objects.sites.get(site);
            let class = Arc::clone(&self.classes.get(site.class).name);
            ((class, site.trace), shallow)
        });
        let turnover = turning.below(by_name);
        let mut classes: HashMap<u32, (u64, u64)> = HashMap::default();
        for (&site, &(objects, shallow)) in &sites {
            let sum = classes
                .entry(self.objects.sites.get(site).class)
                .or_default();
            sum.0 += objects;
            sum.1 += shallow;
        }
        let (largest_classes, kept_else) = largest(&classes);
        let kept = largest_classes
            .into_iter()
            .map(|(class, objects, shallow)| Kept {
                class: Arc::clone(&self.classes.get(class).name),
                objects,
                shallow,
            });
        let mut without_stack = Rest::default();
        sites.retain(|&site, &mut sum| {
            let has_stack = self.dump.has_stack(self.objects.sites.get(site).trace);
            if !has_stack {
                without_stack.add(sum);
            }
            has_stack
        });
        let (allocated, allocated_else) = match own {
            Some(is_own) => self.allocated_by_own(&sites, is_own),
            None => {
                let (largest, rest) = largest(&sites);
                let rows = largest.into_iter();
                let rows =
                    rows.map(|(site, objects, shallow)| self.allocated(site, objects, shallow));
                (rows.collect(), rest)
            }
        };
        Below {
            made,
            piling,
            turnover,
            kept: kept.collect(),
            kept_else,
            allocated,
            allocated_else,
            without_stack,
        }
    }
}

/// Returns the last part of the program on a path.
pub(crate) fn holder(path: &Path) -> Option<Holder> {
    let found = path.steps.windows(2).rev().find_map(|pair| {
        let from = || pair[0].object.clone();
        match pair[1].reference.as_ref()? {
            Reference::Static(field) => Some(Holder::Static {
                class: from(),
                field: Arc::clone(field),
            }),
            Reference::Field(name)
                if matches!(&**name, "threadLocals" | "inheritableThreadLocals") =>
            {
                Some(Holder::ThreadLocal(from()))
            }
            Reference::Local(frame) => Some(Holder::Local {
                frame: frame.clone(),
                thread: from(),
            }),
            _ => None,
        }
    });
    found.or_else(|| {
        Some(Holder::Root {
            object: path.steps.first()?.object.clone(),
            root: path.root.clone(),
        })
    })
}
