//! Saves the index of a dump.

use std::path::Path;

use crate::data::counts::Counts;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::layout::Known;
use crate::data::progress::{Progress, Stage};
use crate::data::saved;

/// The steps that the progress is told in: counts, waste, answers, writing.
const STEPS: u64 = 4;

impl Heap<'_> {
    /// Writes an index of the dump, from which [`Saved`](crate::Saved) answers the same questions without a pass over the
    /// dump. It is published whole, for its owner alone, and replaces the one before. Returns its length.
    ///
    /// # Errors
    /// If the file cannot be written; then there is none, or the one before. A file that is not an index is left alone.
    pub fn save_index(&self, index: &Path, progress: &dyn Progress) -> Result<u64, Error> {
        self.dump.unless_changed(|| {
            let layout = Some(self.layout).filter(|layout| layout.known == Known::Given);
            let layout = Counts::layout_of(self.dump, layout)?;
            let known = self.counts.clone();
            let known = known.filter(|counts| counts.layout.is_same(&layout));
            let counts = match known {
                Some(counts) => Counts { layout, ..counts },
                None => Counts::of(self.dump, None, Some(layout), progress)?,
            };
            let at = |step| progress.at(Stage::Saving, step, STEPS);
            at(1);
            if !self.record_offsets.ascending {
                self.strides()?;
            }
            // Each of the two has tables of its own, which would be too much at the same time.
            let waste = self.known_waste()?;
            at(2);
            let usual = self.usual()?;
            at(3);
            let paths = self.shortest_paths()?;
            saved::write(self, (&counts, paths, waste, usual), index)
        })
    }
}
