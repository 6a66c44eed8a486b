//! The profile of some threads alone.

use crate::metric::Metric;
use crate::model::Profile;

impl Profile {
    /// Returns how many threads with costs have the name; 0 where the file does not tell threads.
    #[must_use]
    pub fn threads_named(&self, name: &str) -> u32 {
        let mut named = self.threads_named.iter();
        let found = named.find(|(of, _)| self.names.text(**of) == name);
        found.map_or(0, |(_, &count)| count)
    }

    /// Removes the samples of other threads than those of these names; returns how much they had of each metric, or `None`,
    /// with nothing removed, if no sample names its thread.
    pub fn keep_threads(&mut self, is_wanted: impl Fn(&str) -> bool) -> Option<Vec<(Metric, u64)>> {
        let threads: Vec<Option<bool>> = self
            .label_sets()
            .map(|labels| Some(is_wanted(self.names.text(labels.thread?))))
            .collect();
        if threads.iter().all(Option::is_none) {
            return None;
        }
        let is_kept = |labels: usize| threads[labels] == Some(true);
        let mut removed = Vec::new();
        for table in &mut self.tables {
            removed.extend(table.retain(|_, labels| is_kept(labels.0 as usize)));
        }
        for timeline in &mut self.timelines {
            timeline.retain(|_, labels| is_kept(labels.0 as usize));
        }
        Some(removed)
    }
}
