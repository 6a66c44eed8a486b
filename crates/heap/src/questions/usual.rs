//! The answers to the usual questions, for an index: later questions take no pass over all objects.

use foldhash::HashMap;

use crate::data::classes::ClassIndex;
use crate::data::dominators::TOP;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::usual::{ClassPaths, USUAL_PATHS, Usual, UsualPath};
use crate::questions::areas::Area;
use crate::questions::groups::By;
use crate::questions::summary::Largest;

/// The largest objects that are known.
const LARGEST: usize = 10_000;

impl Heap<'_> {
    /// Returns the answers to the usual questions. They are found once.
    pub(crate) fn usual(&self) -> Result<&Usual, Error> {
        if let Some(usual) = self.usual.get() {
            return Ok(usual);
        }
        let groupings = By::ALL.map(|by| self.grouping(by));
        let mut largest = Largest::new(LARGEST);
        let groups = self.tallies(
            groupings.each_ref(),
            |_| true,
            |node, retained| largest.add(node, retained),
        );
        let usual = Usual {
            groups: groups.map(|tallies| tallies.iter().map(|tally| tally.sum()).collect()),
            bytes: self.all_bytes(),
            largest: largest.finish(),
            threads: self.thread_nodes(),
            suspects: self.usual_suspects()?,
            areas: self.areas_below(TOP, Area::USUAL),
            paths: self.usual_paths()?,
        };
        Ok(self.usual.get_or_init(|| usual))
    }

    fn usual_paths(&self) -> Result<Vec<ClassPaths>, Error> {
        let mut classes: HashMap<ClassIndex, Vec<UsualPath>> = HashMap::default();
        for path in self.find_paths(None)? {
            let class = self.objects.class(path.object);
            classes.entry(class).or_default().push(path);
        }
        let classes = classes.into_iter();
        let mut classes: Vec<ClassPaths> = classes
            .map(|(class, mut paths)| {
                paths.sort_unstable();
                paths.truncate(USUAL_PATHS);
                ClassPaths { class, paths }
            })
            .collect();
        classes.sort_unstable_by_key(|paths| paths.class);
        Ok(classes)
    }
}
