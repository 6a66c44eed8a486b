//! Waits for locks: who waited, for which lock, and who held it.

use foldhash::HashMap;

use crate::group::{NO_HOLDER, UNKNOWN_TYPE};
use crate::metric::Metric;
use crate::model::{FrameId, Labels, LabelsId, Profile, Sample, StackId};
use crate::own_code::OwnCode;

/// The most methods by which a holder is shown: the innermost one is often a mere helper.
pub const HOLDER_METHODS: usize = 3;

/// Time that threads waited in one method for one lock, while another thread held it in one method.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wait {
    /// The method of the threads that waited: the innermost one that is not of the JDK or a well-known library.
    pub waiter: String,
    /// The lock, as `Desk@1b2c3d`, or its class if it is not told apart from others.
    pub lock: String,
    /// The method of the thread that held the lock, chosen in the same way, and those that called it, at most
    /// [`HOLDER_METHODS`]; empty if no holder was seen.
    pub holder: Vec<String>,
    /// The time, in nanoseconds.
    pub nanos: u64,
}

impl Wait {
    /// Returns the row in words: `A.put, while B.flush held Desk@1b2c3d`.
    #[must_use]
    pub fn text(&self) -> String {
        let holder = holder_text(&self.holder);
        format!("{}, while {holder} held {}", self.waiter, self.lock)
    }
}

impl Profile {
    /// Returns the waits for locks, the longest first.
    #[must_use]
    pub fn waits(&self) -> Vec<Wait> {
        self.waits_of_samples(self.samples(Metric::LockWait))
    }

    /// As [`Profile::waits`], of some samples of [`Metric::LockWait`].
    #[must_use]
    pub fn waits_of_samples(&self, samples: impl IntoIterator<Item = Sample>) -> Vec<Wait> {
        let mut sums: HashMap<Wait, u64> = HashMap::default();
        for sample in samples {
            let sum = sums
                .entry(self.wait(sample.stack, sample.labels))
                .or_default();
            *sum = sum.saturating_add(sample.value);
        }
        let waits = sums.into_iter().filter(|&(_, nanos)| nanos > 0);
        let mut waits: Vec<Wait> = waits.map(|(wait, nanos)| Wait { nanos, ..wait }).collect();
        waits.sort_unstable_by(|a, b| {
            let key = |wait: &Wait| (wait.waiter.clone(), wait.lock.clone(), wait.holder.clone());
            b.nanos.cmp(&a.nanos).then_with(|| key(a).cmp(&key(b)))
        });
        waits
    }

    /// Returns the wait of a stack and labels, without its time.
    #[must_use]
    pub fn wait(&self, stack: StackId, labels: LabelsId) -> Wait {
        let labels = self.labels(labels);
        Wait {
            waiter: self.own_methods(stack, 1).pop().unwrap_or_default(),
            lock: self.lock(labels).unwrap_or(UNKNOWN_TYPE).to_owned(),
            holder: self.holder_methods(labels),
            nanos: 0,
        }
    }

    /// Returns the name of the lock that was waited for; only that of its class if it is not told apart from others.
    pub(crate) fn lock(&self, labels: &Labels) -> Option<&str> {
        let name = labels.lock.or(labels.class)?;
        Some(self.names.text(name))
    }

    /// Returns the method in which the lock was held, with its callers, as one text.
    pub(crate) fn holder(&self, labels: &Labels) -> Option<String> {
        labels.holder?;
        Some(holder_text(&self.holder_methods(labels)))
    }

    fn holder_methods(&self, labels: &Labels) -> Vec<String> {
        let methods = |holder| self.own_methods(holder, HOLDER_METHODS);
        labels.holder.map_or(Vec::new(), methods)
    }

    /// Returns the innermost methods of a stack that are not of the JDK or a well-known library, at most so many; if there
    /// are none, its innermost one.
    fn own_methods(&self, stack: StackId, most: usize) -> Vec<String> {
        let own = OwnCode::default();
        let frames = self.stacks.frames(stack);
        let is_own = |frame: &&FrameId| {
            let class = self.names.text(self.frame(**frame).class);
            !class.is_empty() && !class.contains("$$Lambda") && own.has_class(class)
        };
        let methods = frames.iter().filter(is_own).take(most);
        let methods: Vec<String> = methods.map(|&frame| self.method(frame)).collect();
        match (methods.is_empty(), frames.first()) {
            (true, Some(&innermost)) => vec![self.method(innermost)],
            _ => methods,
        }
    }
}

fn holder_text(methods: &[String]) -> String {
    match methods {
        [] => NO_HOLDER.to_owned(),
        [method] => method.clone(),
        [method, callers @ ..] => format!("{method} (called by {})", callers.join(", ")),
    }
}
