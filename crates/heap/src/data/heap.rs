//! A dump with its graph.

use std::io;
use std::sync::{Arc, OnceLock};

use fixedbitset::FixedBitSet;
use hprof_format::Root;

use crate::data::assumed_roots::assumed_roots;
use crate::data::classes::Classes;
use crate::data::counts::Counts;
use crate::data::dominators::{Dominators, Node, TOP};
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::find_layout::layout_of;
use crate::data::findings::{JointSizes, WasteFound};
use crate::data::first_pass::FirstPass;
use crate::data::graph::Graph;
use crate::data::layout::Layout;
use crate::data::memory::Memory;
use crate::data::numbers::ObjectNumber;
use crate::data::objects::Objects;
use crate::data::progress::{Progress, Stage};
use crate::data::record_offsets::RecordOffsets;
use crate::data::reference_pass::{ReferencePass, SecondPass};
use crate::data::references::Excluded;
use crate::data::shortest_paths::{ShortestPaths, Through};
use crate::data::usual::{Usual, UsualSuspect};
use crate::data::waiting::Waiting;
use crate::data::zones::SearchZones;

/// The objects of a piece, which one thread looks at.
const PIECE: usize = 1 << 20;
/// The objects whose kinds are looked up together. A branch for each one would often be mispredicted.
const TOGETHER: usize = u64::BITS as usize;

/// The options for reading a dump.
#[derive(Clone, Debug)]
pub struct Options {
    /// The VM's object layout; `None` to determine it from the dump.
    pub layout: Option<Layout>,
    /// References that do not keep their target alive.
    pub excluded: Excluded,
    /// The memory for large tables.
    pub memory: Memory,
}

/// A dump with its graph.
pub struct Heap<'a> {
    pub(crate) dump: &'a Dump,
    pub(crate) memory: Memory,
    pub(crate) layout: Layout,
    pub(crate) excluded: Excluded,
    pub(crate) classes: Classes,
    pub(crate) objects: Objects,
    pub(crate) graph: Graph,
    /// The roots as the dump has them: ids, with their reasons.
    pub(crate) roots: Vec<(u64, Root)>,
    pub(crate) record_offsets: RecordOffsets,
    /// The counts of its objects; `None` if they take a pass of their own.
    pub(crate) counts: Option<Counts>,
    pub(crate) dominators: Dominators,
    /// Computed when first needed.
    pub(crate) shortest_paths: OnceLock<Arc<ShortestPaths>>,
    /// Computed when first needed.
    pub(crate) waste: OnceLock<WasteFound>,
    pub(crate) joint_sizes: JointSizes,
    /// The suspects for the usual question, computed when first needed.
    pub(crate) usual_suspects: OnceLock<Vec<UsualSuspect>>,
    /// Computed for an index.
    pub(crate) usual: OnceLock<Usual>,
    /// Computed for an index.
    pub(crate) zones: OnceLock<SearchZones>,
    /// The classes of which there may be many callbacks, found when first needed.
    pub(crate) callback_classes: OnceLock<FixedBitSet>,
}

/// An object that another directly dominates.
pub(crate) struct Child {
    pub(crate) node: Node,
    pub(crate) object: ObjectNumber,
    /// The bytes that would be freed with it.
    pub(crate) retained: u64,
}

/// What the passes over a dump have found.
struct BothPasses {
    roots: Vec<(u64, Root)>,
    record_offsets: RecordOffsets,
    layout: Layout,
    second: SecondPass,
}

impl BothPasses {
    /// Makes the passes. Of a dump that lacks roots its classes are roots, too, and of any the objects with the `assumed` ids.
    fn of(
        dump: &Dump,
        options: &Options,
        assumed: &[u64],
        progress: &dyn Progress,
    ) -> Result<BothPasses, Error> {
        let FirstPass {
            ids,
            mut classes,
            mut roots,
            record_offsets,
        } = FirstPass::of(dump, options.excluded, progress)?;
        if dump.completeness().lacks_roots() {
            roots.extend(classes.dumped().map(|class| (class.id, Root::Unknown)));
        }
        roots.extend(assumed.iter().map(|&id| (id, Root::Unknown)));
        let layout = match options.layout {
            Some(layout) => layout,
            None => layout_of(dump, &mut classes)?,
        };
        classes.lay_out(&layout);
        let objects = Objects::new(ids, &options.memory)?;
        let pass = ReferencePass::new(dump, objects, classes, &roots, &layout);
        let second = pass.read(&record_offsets, &options.memory, progress)?;
        Ok(BothPasses {
            roots,
            record_offsets,
            layout,
            second,
        })
    }
}

impl<'a> Heap<'a> {
    /// Returns the dump.
    #[must_use]
    pub fn dump(&self) -> &'a Dump {
        self.dump
    }

    /// Reads the graph of a dump.
    ///
    /// # Errors
    /// [`Error`], with the offset, if the dump is damaged; or if a temporary file cannot be created.
    pub fn of(
        dump: &'a Dump,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Heap<'a>, Error> {
        dump.unless_changed(|| Heap::read(dump, options, progress))
    }

    fn read(dump: &'a Dump, options: &Options, progress: &dyn Progress) -> Result<Heap<'a>, Error> {
        let mut assumed = Vec::new();
        if dump.completeness().is_cut() {
            let found = BothPasses::of(dump, options, &assumed, progress)?.second;
            assumed = assumed_roots(&found.graph, &found.objects, &found.classes);
        }
        let BothPasses {
            roots,
            record_offsets,
            layout,
            second:
                SecondPass {
                    mut graph,
                    objects,
                    classes,
                    tallies,
                    finalizers,
                },
        } = BothPasses::of(dump, options, &assumed, progress)?;
        let counts = tallies.counts(&objects.sites, &classes, layout, dump)?;
        progress.at(Stage::Dominators, 0, 1);
        let resources = (&options.memory, dump.threads());
        let mut dominators = Dominators::of(&graph, &objects, resources, progress)?;
        let is_live = |object| dominators.retained_of(object, &objects).is_some();
        let waiting = finalizers
            .into_iter()
            .filter(|&[from, to]| is_live(from) && !is_live(to));
        let references: Vec<_> = waiting.collect();
        // Few dumps have some, and the others are searched only once.
        if !references.is_empty() {
            let bytes = dominators.retained(TOP, &objects);
            graph.add_waiting(Waiting {
                references,
                bytes: 0,
            });
            dominators = Dominators::of(&graph, &objects, resources, progress)?;
            graph.waiting.bytes = dominators.retained(TOP, &objects) - bytes;
        }
        Ok(Heap {
            dump,
            memory: options.memory.clone(),
            layout,
            excluded: options.excluded,
            classes,
            objects,
            graph,
            roots,
            record_offsets,
            counts,
            dominators,
            shortest_paths: OnceLock::new(),
            waste: OnceLock::new(),
            joint_sizes: JointSizes::default(),
            usual_suspects: OnceLock::new(),
            usual: OnceLock::new(),
            zones: OnceLock::new(),
            callback_classes: OnceLock::new(),
        })
    }

    /// Returns the bytes that would be freed with the object at a node of the dominator tree; for the top, all live
    /// bytes.
    #[inline]
    pub(crate) fn retained(&self, node: Node) -> u64 {
        self.dominators.retained(node, &self.objects)
    }

    /// Returns the same for an object; `None` if no root reaches it.
    #[inline]
    pub(crate) fn retained_of(&self, object: ObjectNumber) -> Option<u64> {
        self.dominators.retained_of(object, &self.objects)
    }

    /// Iterates over what a node directly dominates, which takes less time than looking the nodes up one by one.
    pub(crate) fn children(&self, node: Node) -> impl Iterator<Item = Child> {
        let mut sizes = self.dominators.retained_near();
        let children = self.dominators.children_with_objects(node);
        children.map(move |(node, object)| Child {
            node,
            object,
            retained: sizes.get(object, &self.objects).unwrap_or_default(),
        })
    }

    /// Returns how many pieces the objects have, for threads that each look at one at a time.
    pub(crate) fn pieces(&self) -> usize {
        (self.objects.count() as usize).div_ceil(PIECE)
    }

    /// Calls `visit` with the objects of a piece that are of some kinds and that roots reach, in their order, and with what
    /// they retain.
    pub(crate) fn each_live_in(
        &self,
        piece: usize,
        kinds: &FixedBitSet,
        mut visit: impl FnMut(ObjectNumber, u64),
    ) {
        let all = self.objects.count();
        let mut sizes = self.dominators.retained_near();
        let at = |piece: usize| (piece * PIECE).min(all as usize) as u32;
        for first in (at(piece)..at(piece + 1)).step_by(TOGETHER) {
            let objects = first..all.min(first.saturating_add(TOGETHER as u32));
            let unused = TOGETHER - objects.len();
            let mut wanted = 0_u64;
            self.objects.each_kind(objects, |kind| {
                wanted = wanted >> 1 | u64::from(kinds.contains(kind)) << (TOGETHER - 1);
            });
            wanted >>= unused;
            while wanted != 0 {
                let object = ObjectNumber(first + wanted.trailing_zeros());
                wanted &= wanted - 1;
                if let Some(retained) = sizes.get(object, &self.objects) {
                    visit(object, retained);
                }
            }
        }
    }

    /// Returns the node of an object; `None` if no root reaches it.
    pub(crate) fn node(&self, object: ObjectNumber) -> Option<Node> {
        let zones = self.zones.get().map(|zones| &zones.nodes);
        self.dominators.node(object, (self.dump.threads(), zones))
    }

    /// Returns what makes searches faster. It is found once.
    pub(crate) fn zones(&self) -> io::Result<&SearchZones> {
        if let Some(zones) = self.zones.get() {
            return Ok(zones);
        }
        let (threads, memory) = (self.dump.threads(), &self.memory);
        let count = self.objects.count();
        let zones = SearchZones {
            rows: self.graph.zones(threads, memory)?,
            nodes: self.dominators.zones(count, threads, memory)?,
        };
        Ok(self.zones.get_or_init(|| zones))
    }

    /// Returns the shortest paths from roots to all objects. They are searched once.
    pub(crate) fn shortest_paths(&self) -> Result<&Arc<ShortestPaths>, Error> {
        if let Some(shortest_paths) = self.shortest_paths.get() {
            return Ok(shortest_paths);
        }
        let shortest_paths = ShortestPaths::of(&self.graph, &self.objects, &self.memory)?;
        Ok(self.shortest_paths.get_or_init(|| Arc::new(shortest_paths)))
    }

    /// Returns the shortest paths from roots to these objects. If those to all objects are not known, the search ends as
    /// soon as these are found, and is made again the next time.
    pub(crate) fn shortest_paths_to(
        &self,
        objects: &[ObjectNumber],
    ) -> Result<Arc<ShortestPaths>, Error> {
        if let Some(shortest_paths) = self.shortest_paths.get() {
            return Ok(Arc::clone(shortest_paths));
        }
        let graph = (&self.graph, &self.objects);
        let shortest_paths = ShortestPaths::to_wanted(objects, Through::All, graph, &self.memory)?;
        Ok(Arc::new(shortest_paths))
    }

    /// Returns the paths to those of some objects that a local variable holds on the shortest one, if something else holds them,
    /// too: that is there when the call is over.
    pub(crate) fn lasting_paths_to(
        &self,
        objects: &[ObjectNumber],
        shortest_paths: &ShortestPaths,
    ) -> Result<Option<ShortestPaths>, Error> {
        let is_local = |&&object: &&ObjectNumber| match shortest_paths.to(object)[..] {
            [first, second, ..] => {
                let mut locals = self.graph.roots.locals_of(first).iter();
                locals.any(|local| local.object == second)
            }
            _ => false,
        };
        let held: Vec<ObjectNumber> = objects.iter().filter(is_local).copied().collect();
        if held.is_empty() {
            return Ok(None);
        }
        let graph = (&self.graph, &self.objects);
        let paths = ShortestPaths::to_wanted(&held, Through::Lasting, graph, &self.memory)?;
        Ok(Some(paths))
    }
}
