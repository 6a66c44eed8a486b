//! The state of all threads and of all monitors that they want or wait for.

use std::thread;
use std::time::Duration;

use hprof_format::{MonitorState, ThreadState, ThreadStatus};

use super::MonitorWatch;
use jvmti::{
    ClassesSeen, FrameInfo, Jni, JvmtiError, LocalRef, MonitorUsage, Object, ThreadStack,
    ThreadStateFlags,
};
use memory::{Map, OrStop};
use names::thread::ThreadSerial;
use names::trace::TraceId;
use output::serials;
use stacks::StackBuffer;

/// The most frames of a stack that is not considered deep.
const SHALLOW: usize = 1_024;

/// The number of times the owner is asked for if a wanted monitor seems to be free.
const ATTEMPTS: usize = 5;

/// Returns the serial number of a thread; `None` for one of the agent's.
type Number<'f> = &'f dyn Fn(Object<'_>) -> Option<ThreadSerial>;

/// All threads, and all monitors that they want or wait for.
#[derive(Debug)]
pub struct MonitorStates {
    /// The threads, by their numbers.
    pub threads: Vec<ThreadState>,
    /// The stacks that `threads` name.
    pub traces: Vec<TraceId>,
    /// The monitors.
    pub monitors: Vec<MonitorState>,
}

/// The state collected so far.
struct SnapshotBuilder<'w, 'j, 'f> {
    watch: &'w MonitorWatch,
    jni: Jni<'j>,
    number: Number<'f>,
    /// What was known before the stacks were taken.
    seen: ClassesSeen,
    threads: Vec<(TraceId, ThreadState)>,
    virtual_threads: Vec<(ThreadSerial, LocalRef<'j>)>,
    wanted: Vec<WantedMonitor<'j>>,
    /// The positions in `wanted` of monitors with the same hash.
    by_identity: Map<i32, Vec<usize>>,
    /// The monitors that virtual threads own; determined when first needed.
    owned: Option<Vec<(ThreadSerial, Vec<LocalRef<'j>>)>>,
}

/// A monitor, and the virtual threads that want it or wait in it, which the VM may omit.
struct WantedMonitor<'j> {
    monitor: LocalRef<'j>,
    entering: Vec<ThreadSerial>,
    waiting: Vec<ThreadSerial>,
}

/// Collects the state of all threads first, and that of the monitors then. Each step shows one moment, the whole does
/// not: a thread may have acquired its monitor in between.
pub(super) fn snapshot(
    watch: &MonitorWatch,
    jni: Jni<'_>,
    number: Number<'_>,
) -> Result<MonitorStates, JvmtiError> {
    // Keeps the classes of the threads' methods until these have names.
    let _loaded = watch.env.loaded_classes(jni)?;
    let mut snapshot = SnapshotBuilder {
        watch,
        jni,
        number,
        seen: watch.stacks.classes_seen_if_watched(jni),
        threads: Vec::new(),
        virtual_threads: Vec::new(),
        wanted: Vec::new(),
        by_identity: Map::default(),
        owned: None,
    };
    snapshot.platform_threads()?;
    snapshot.virtual_threads();
    snapshot.waits();
    memory::sort_by_numbers(&mut snapshot.threads, |(_, state)| {
        [state.thread.0.into(), 0]
    });
    let mut monitors = Vec::new();
    for wanted in std::mem::take(&mut snapshot.wanted) {
        let state = snapshot.monitor(wanted)?;
        // Nobody wants it any more.
        if !state.entering.is_empty() || !state.waiting.is_empty() {
            monitors.push(state);
        }
    }
    let (traces, threads) = snapshot.threads.into_iter().unzip();
    Ok(MonitorStates {
        threads,
        traces,
        monitors,
    })
}

impl<'j> SnapshotBuilder<'_, 'j, '_> {
    fn platform_threads(&mut self) -> Result<(), JvmtiError> {
        let (env, jni) = (self.watch.env, self.jni);
        // The numbers come first: a thread that ends meanwhile could no longer be asked for its number.
        let threads: Vec<(ThreadSerial, LocalRef<'j>)> = env
            .all_threads(jni)?
            .into_iter()
            .filter_map(|thread| Some(((self.number)(thread.object())?, thread)))
            .filter(|(serial, _)| *serial != ThreadSerial::UNKNOWN)
            .collect();
        let objects: Vec<Object<'_>> = threads.iter().map(|(_, thread)| thread.object()).collect();
        for ((serial, thread), stack) in threads.iter().zip(self.stacks(&objects)?) {
            let thread = thread.object();
            self.thread(*serial, thread, stack.state, &stack.frames);
            self.want(thread, stack.state, None);
            // A virtual thread that is running now may never have waited for a monitor, and yet own one.
            if let Some(virtual_threads) = self.watch.virtual_threads
                && let Ok(Some(mounted)) = virtual_threads.mounted_on(jni, thread)
            {
                (self.number)(mounted.object());
            }
        }
        Ok(())
    }

    /// Returns the stacks of platform threads. The VM allocates memory for `depth` frames for each, so deep stacks are
    /// requested individually, a moment later.
    fn stacks(&self, threads: &[Object<'_>]) -> Result<Vec<ThreadStack>, JvmtiError> {
        let (env, depth) = (self.watch.env, self.watch.stacks.depth());
        let mut stacks = env.stacks(threads, depth.min(SHALLOW))?;
        if depth <= SHALLOW {
            return Ok(stacks);
        }
        for (&thread, stack) in threads.iter().zip(&mut stacks) {
            if stack.frames.len() == SHALLOW
                && let Some(whole) = env.stacks(&[thread], depth)?.pop()
            {
                *stack = whole;
            }
        }
        Ok(stacks)
    }

    fn virtual_threads(&mut self) {
        let env = self.watch.env;
        let mut stack = StackBuffer::default();
        for (serial, thread) in self.watch.known.all(self.jni) {
            // A thread that has ended in the meantime has no state.
            let Ok(state) = env.thread_state(thread.object()) else {
                continue;
            };
            if !state.is_alive() {
                continue;
            }
            stack.take(self.watch.stacks.depth(), |frames| {
                env.stack_trace(Some(thread.object()), frames).unwrap_or(0)
            });
            self.thread(serial, thread.object(), state, stack.frames());
            self.want(thread.object(), state, Some(serial));
            self.virtual_threads.push((serial, thread));
        }
    }

    fn thread(
        &mut self,
        serial: ThreadSerial,
        thread: Object<'_>,
        state: ThreadStateFlags,
        frames: &[FrameInfo],
    ) {
        let trace = match frames {
            [] => TraceId::EMPTY,
            frames => {
                let stacks = &self.watch.stacks;
                stacks.trace(self.jni, serial, frames, self.seen)
            }
        };
        // A thread that is ending has no name any more.
        let info = self.watch.env.thread_info(self.jni, thread);
        let state = ThreadState {
            thread: serials::thread(serial),
            name: info.map(|info| info.name).unwrap_or_default(),
            trace: serials::trace(trace),
            status: status(state),
            suspended: state.is_suspended(),
            interrupted: state.is_interrupted(),
            in_native: state.is_in_native(),
        };
        self.threads.push((trace, state));
    }

    /// Adds the monitor that a thread wants or waits for, and the thread itself if it is virtual.
    fn want(
        &mut self,
        thread: Object<'_>,
        state: ThreadStateFlags,
        virtual_thread: Option<ThreadSerial>,
    ) {
        if !state.is_entering() && !state.is_in_object_wait() {
            return;
        }
        let Ok(Some(monitor)) = self.watch.env.contended_monitor(self.jni, thread) else {
            return;
        };
        let wanted = self.wanted(monitor);
        match virtual_thread {
            Some(serial) if state.is_entering() => wanted.entering.push(serial),
            Some(serial) => wanted.waiting.push(serial),
            None => {}
        }
    }

    /// Adds the monitors in which threads wait to be notified, as far as the agent saw the waits begin: a VM of JDK 23
    /// or later does not report them.
    fn waits(&mut self) {
        for (serial, monitor) in self.watch.pending_waits.waited_for() {
            let Some(monitor) = monitor.upgrade(self.jni) else {
                continue;
            };
            // They are sorted by number.
            let is_virtual = self
                .virtual_threads
                .binary_search_by_key(&serial, |&(thread, _)| thread)
                .is_ok();
            let wanted = self.wanted(monitor);
            if is_virtual {
                wanted.waiting.push(serial);
            }
        }
    }

    /// Returns the entry of a monitor.
    fn wanted(&mut self, monitor: LocalRef<'j>) -> &mut WantedMonitor<'j> {
        let identity = self.watch.env.identity_hash(monitor.object()).unwrap_or(0);
        let alike = self.by_identity.get_or_default(identity).or_stop();
        let known = alike.iter().copied().find(|&index| {
            let known = self.wanted[index].monitor.object();
            self.jni.is_same(known, monitor.object())
        });
        let index = known.unwrap_or_else(|| {
            alike.push(self.wanted.len());
            self.wanted.push(WantedMonitor {
                monitor,
                entering: Vec::new(),
                waiting: Vec::new(),
            });
            self.wanted.len() - 1
        });
        &mut self.wanted[index]
    }

    fn monitor(&mut self, wanted: WantedMonitor<'j>) -> Result<MonitorState, JvmtiError> {
        let monitor = wanted.monitor.object();
        let usage = self.settled_usage(monitor)?;
        let mut waiting = self.serials(&usage.waiting);
        add_missing(&mut waiting, &wanted.waiting);
        let mut entering = self.serials(&usage.entering);
        add_missing(&mut entering, &wanted.entering);
        entering.retain(|serial| !waiting.contains(serial));
        let owner = match &usage.owner {
            Some(owner) => {
                let owner = (self.number)(owner.object()).unwrap_or(ThreadSerial::UNKNOWN);
                Some((owner, usage.entries))
            }
            // Nor does the VM report how often a virtual thread has entered.
            None if self.watch.hides_virtual_threads && !entering.is_empty() => {
                let owner = self.virtual_owner(monitor);
                Some((owner.unwrap_or(ThreadSerial::UNKNOWN), 1))
            }
            None => None,
        };
        Ok(MonitorState {
            signature: self.watch.signature(self.jni, monitor)?,
            owner: owner.map(|(thread, entries)| (serials::thread(thread), entries)),
            entering: entering.into_iter().map(serials::thread).collect(),
            waiting: waiting.into_iter().map(serials::thread).collect(),
        })
    }

    /// Returns the usage of a monitor. One that is wanted is free for a moment only; if it repeatedly seems free, it
    /// belongs to a virtual thread, which the VM does not report.
    fn settled_usage(&self, monitor: Object<'_>) -> Result<MonitorUsage<'j>, JvmtiError> {
        let mut usage = self.watch.env.monitor_usage(self.jni, monitor)?;
        for _ in 0..ATTEMPTS {
            let settled = usage.owner.is_some() || usage.entering.is_empty();
            if settled || !self.watch.hides_virtual_threads {
                break;
            }
            thread::sleep(Duration::from_millis(1));
            usage = self.watch.env.monitor_usage(self.jni, monitor)?;
        }
        Ok(usage)
    }

    fn serials(&self, threads: &[LocalRef<'_>]) -> Vec<ThreadSerial> {
        threads
            .iter()
            .filter_map(|thread| (self.number)(thread.object()))
            .collect()
    }

    fn virtual_owner(&mut self, monitor: Object<'_>) -> Option<ThreadSerial> {
        let (env, jni) = (self.watch.env, self.jni);
        let virtual_threads = &self.virtual_threads;
        let owned = self.owned.get_or_insert_with(|| {
            let owned = |&(serial, ref thread): &(ThreadSerial, LocalRef<'j>)| {
                (
                    serial,
                    env.owned_monitors(jni, thread.object()).unwrap_or_default(),
                )
            };
            virtual_threads.iter().map(owned).collect()
        });
        let owner = owned.iter().find(|(_, monitors)| {
            monitors
                .iter()
                .any(|owned| jni.is_same(owned.object(), monitor))
        });
        owner.map(|&(serial, _)| serial)
    }
}

fn add_missing(serials: &mut Vec<ThreadSerial>, more: &[ThreadSerial]) {
    for &serial in more {
        if !serials.contains(&serial) {
            serials.push(serial);
        }
    }
}

fn status(state: ThreadStateFlags) -> ThreadStatus {
    if !state.is_alive() {
        return match state.is_terminated() {
            true => ThreadStatus::Ended,
            false => ThreadStatus::NotStarted,
        };
    }
    if state.is_sleeping() {
        ThreadStatus::Sleeping
    } else if state.is_entering() {
        ThreadStatus::Entering
    } else if state.is_waiting() {
        ThreadStatus::Waiting
    } else if state.is_runnable() {
        ThreadStatus::Runnable
    } else {
        ThreadStatus::Unknown
    }
}
