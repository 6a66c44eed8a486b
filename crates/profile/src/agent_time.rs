//! The time that the agent itself spent, in addition to that of the program.

use crate::metric::Metric;
use crate::model::{Profile, StackId};
use crate::number::number;

/// The innermost frame of what the agent spent on a thread of the program, and the only one of its own threads.
const AGENT: &str = "<HPROF>";

impl Profile {
    /// Returns the profile without what the agent itself spent; [`Profile::left_out`] says how much that was.
    #[must_use]
    pub fn without_agent(mut self) -> Profile {
        let is_own: Vec<bool> = (0..number(self.stacks.len()))
            .map(|stack| self.is_of_agent(StackId(stack)))
            .collect();
        let mut left_out = Vec::new();
        for table in &mut self.tables {
            left_out.extend(table.retain(|stack, _| !is_own[stack.0 as usize]));
        }
        for timeline in &mut self.timelines {
            timeline.retain(|stack, _| !is_own[stack.0 as usize]);
        }
        self.left_out = left_out;
        self
    }

    /// Returns the agent's own part of a metric that [`Profile::without_agent`] left out.
    #[must_use]
    pub fn left_out(&self, metric: Metric) -> u64 {
        let of_metric = self.left_out.iter().filter(|(of, _)| *of == metric);
        of_metric.fold(0, |sum: u64, (_, value)| sum.saturating_add(*value))
    }

    fn is_of_agent(&self, stack: StackId) -> bool {
        let innermost = self.stacks.frames(stack).first();
        innermost.is_some_and(|&frame| {
            let frame = self.frame(frame);
            self.is_stand_in(frame) && self.names.text(frame.method) == AGENT
        })
    }
}
