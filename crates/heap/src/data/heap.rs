//! A dump with its graph.

use crate::data::classes::Classes;
use crate::data::dominators::Dominators;
use crate::data::dump::Dump;
use crate::data::error::Error;
use crate::data::find_layout::layout_of;
use crate::data::graph::Graph;
use crate::data::index::Index;
use crate::data::layout::Layout;
use crate::data::memory::Memory;
use crate::data::objects::Objects;
use crate::data::places::Places;
use crate::data::progress::{Progress, Stage};
use crate::data::references::Excluded;

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
    pub(crate) places: Places,
    pub(crate) dominators: Dominators,
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
        let mut index = Index::of(dump, options.excluded, progress)?;
        let layout = match options.layout {
            Some(layout) => layout,
            None => layout_of(dump, &mut index.classes)?,
        };
        index.classes.lay_out(&layout);
        let (graph, objects, classes, places) =
            Graph::of(dump, index, &layout, &options.memory, progress)?;
        progress.at(Stage::Dominators, 0, 1);
        let dominators = Dominators::of(&graph, &objects, &options.memory)?;
        Ok(Heap {
            dump,
            memory: options.memory.clone(),
            layout,
            excluded: options.excluded,
            classes,
            objects,
            graph,
            places,
            dominators,
        })
    }
}
