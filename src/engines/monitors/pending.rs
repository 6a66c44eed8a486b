//! Waits that have begun but not ended: to enter a monitor, and to be notified.

use std::sync::Arc;
use std::time::Instant;

use super::contentions::ContentionId;
use jvmti::WeakRef;
use locks::{Mutex, rank};
use memory::{Map, OrStop};
use names::thread::ThreadSerial;

/// Enough shards that two threads rarely contend for one.
const SHARDS: usize = 64;

/// The pending waits, with an entry only for threads that are waiting now.
pub(super) struct PendingWaits([Shard; SHARDS]);

/// A lock with a cache line of its own (two, because some CPUs fetch them in pairs).
#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<Map<ThreadSerial, Waits>, rank::PendingWaits>);

/// A thread may do both: when `Object.wait` is over, it wants the monitor back.
#[derive(Default)]
struct Waits {
    entering: Option<WantedMonitor>,
    notified: Option<PendingWait>,
}

/// A pending wait to enter a monitor.
struct WantedMonitor {
    place: ContentionId,
    since: Instant,
    /// The monitor; `None` if nobody asks for it, or the VM was out of memory.
    monitor: Option<Arc<WeakRef>>,
}

/// A pending wait to be notified.
pub(super) struct PendingWait {
    /// The time at which it began.
    pub(super) since: Instant,
    /// The monitor; `None` if the VM was out of memory. From JDK 23 on the VM no longer reports it.
    pub(super) monitor: Option<Arc<WeakRef>>,
}

impl Default for PendingWaits {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Shard::default()))
    }
}

impl PendingWaits {
    /// Notes that the thread now wants a monitor. An earlier one must have been acquired unnoticed.
    pub(super) fn entering(
        &self,
        thread: ThreadSerial,
        place: ContentionId,
        monitor: Option<WeakRef>,
    ) {
        let monitor = monitor.map(Arc::new);
        let mut shard = self.shard(thread).lock();
        let waits = shard.get_or_default(thread).or_stop();
        let before = waits.entering.replace(WantedMonitor {
            place,
            since: Instant::now(),
            monitor,
        });
        // References are freed without the lock.
        drop(shard);
        drop(before);
    }

    /// Notes that the thread has acquired it; returns where it waited and since when.
    pub(super) fn entered(&self, thread: ThreadSerial) -> Option<(ContentionId, Instant)> {
        let wanted = self.end(thread, |waits| waits.entering.take())?;
        Some((wanted.place, wanted.since))
    }

    /// Notes that the thread now waits to be notified.
    pub(super) fn waiting(&self, thread: ThreadSerial, monitor: Option<WeakRef>) {
        let monitor = monitor.map(Arc::new);
        let mut shard = self.shard(thread).lock();
        let since = Instant::now();
        let before = shard
            .get_or_default(thread)
            .or_stop()
            .notified
            .replace(PendingWait { since, monitor });
        // References are freed without the lock.
        drop(shard);
        drop(before);
    }

    /// Notes that the wait is over, and returns it.
    pub(super) fn waited(&self, thread: ThreadSerial) -> Option<PendingWait> {
        self.end(thread, |waits| waits.notified.take())
    }

    /// Returns the monitors that threads wait to enter, and where they do.
    pub(super) fn wanted(&self) -> Vec<(ThreadSerial, ContentionId, Arc<WeakRef>)> {
        let mut all = Vec::new();
        for shard in &self.0 {
            let shard = shard.0.lock();
            all.extend(shard.iter().filter_map(|(&thread, waits)| {
                let wanted = waits.entering.as_ref()?;
                Some((thread, wanted.place, wanted.monitor.clone()?))
            }));
        }
        all
    }

    /// Returns the monitors in which threads wait to be notified.
    pub(super) fn waited_for(&self) -> Vec<(ThreadSerial, Arc<WeakRef>)> {
        let mut all = Vec::new();
        for shard in &self.0 {
            let shard = shard.0.lock();
            let monitors = shard.iter().filter_map(|(&thread, waits)| {
                let monitor = waits.notified.as_ref()?.monitor.clone()?;
                Some((thread, monitor))
            });
            all.extend(monitors);
        }
        memory::sort_by_numbers(&mut all, |&(thread, _)| [thread.0.into(), 0]);
        all
    }

    /// Removes a thread that has ended.
    pub(super) fn forget(&self, thread: ThreadSerial) {
        let gone = self.shard(thread).lock().remove(&thread);
        drop(gone);
    }

    /// Removes all threads.
    pub(super) fn clear(&self) {
        for shard in &self.0 {
            let gone = std::mem::take(&mut *shard.0.lock());
            drop(gone);
        }
    }

    fn end<T>(
        &self,
        thread: ThreadSerial,
        take: impl FnOnce(&mut Waits) -> Option<T>,
    ) -> Option<T> {
        let mut shard = self.shard(thread).lock();
        let waits = shard.get_mut(&thread)?;
        let taken = take(waits);
        if waits.entering.is_none() && waits.notified.is_none() {
            shard.remove(&thread);
        }
        taken
    }

    fn shard(&self, thread: ThreadSerial) -> &Mutex<Map<ThreadSerial, Waits>, rank::PendingWaits> {
        &self.0[thread.0 as usize % SHARDS].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::monitors::contentions::{ContentionKey, Contentions};
    use names::class::ClassId;
    use names::trace::TraceId;

    const THREAD: ThreadSerial = ThreadSerial(200_001);
    const OTHER: ThreadSerial = ThreadSerial(200_001 + SHARDS as u32);

    fn place() -> ContentionId {
        let tables = names::Tables::default();
        let name = tables.strings.intern("a");
        let loader = tables.loaders.add();
        let class: ClassId = tables
            .classes
            .intern(loader, name, || tables.objects.add())
            .id();
        let trace = TraceId::EMPTY;
        Contentions::default().intern(ContentionKey { trace, class })
    }

    fn is_empty(pending_waits: &PendingWaits) -> bool {
        pending_waits
            .0
            .iter()
            .all(|shard| shard.0.lock().is_empty())
    }

    #[test]
    fn what_has_ended_leaves_nothing_behind() {
        let pending_waits = PendingWaits::default();
        pending_waits.waiting(THREAD, None);
        pending_waits.entering(THREAD, place(), None);
        pending_waits.entering(OTHER, place(), None);
        assert!(pending_waits.waited(THREAD).is_some() && pending_waits.waited(THREAD).is_none());
        assert!(pending_waits.entered(THREAD).is_some() && pending_waits.entered(THREAD).is_none());
        assert!(
            pending_waits.waited(OTHER).is_none(),
            "it has not begun that"
        );
        assert!(pending_waits.entered(OTHER).is_some());
        assert!(is_empty(&pending_waits));
    }

    #[test]
    fn a_thread_that_is_gone_is_forgotten() {
        let pending_waits = PendingWaits::default();
        pending_waits.waiting(THREAD, None);
        pending_waits.waiting(OTHER, None);
        pending_waits.forget(THREAD);
        assert!(pending_waits.waited(THREAD).is_none() && pending_waits.waited(OTHER).is_some());
        pending_waits.waiting(THREAD, None);
        pending_waits.clear();
        assert!(is_empty(&pending_waits));
    }
}
