//! `heap=sites|dump|all`: every object the program makes, where it was made, and whether it is alive.
//!
//! The VM tells of each allocation on the thread that makes it. A cache of that thread finds the site by the top of the
//! stack; the object is remembered by a weak reference in the thread's nursery. After a collection a thread of ours looks
//! which of them have died.

mod late_attach;
mod live_objects;
pub mod report;
mod sample_weight;
mod thread_sites;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use parking_lot::Mutex;

use crate::engines::heap_dump::TrackedObjects;
use crate::engines::worker::Worker;
use crate::jvmti::{
    AgentThreads, Allocation, Env, Event, Interval, Jni, JvmtiError, Object, VmFlags,
};
use crate::names::Tables;
use crate::names::class::ClassId;
use crate::names::site::Amount;
use crate::names::thread::ThreadSerial;
use crate::names::trace::TraceId;
use crate::stacks::{Stacks, TopFrames};

use late_attach::LateStart;
use live_objects::LiveObjects;
use sample_weight::Scale;
use thread_sites::{Cache, Local};

/// How often the sweeper looks up when no collection wakes it, and how often it looks for unloaded classes.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The interval of a VM that nobody has told another.
const VM_INTERVAL: Interval = Interval::Bytes(512 * 1024);

/// How many trackers there were.
static TRACKERS: AtomicU64 = AtomicU64::new(0);

/// Tracks allocations and what became of them.
pub struct AllocationTracker {
    agent_threads: Arc<AgentThreads>,
    sweeper: Worker,
    shared: Arc<Shared>,
}

/// What the events and the sweeper share.
struct Shared {
    env: Env,
    tables: Arc<Tables>,
    stacks: Arc<Stacks>,
    top_frames: Box<dyn TopFrames>,
    scale: Scale,
    live: LiveObjects,
    /// `Some` where the VM was up before the tracker.
    late: Option<LateStart>,
    /// Tells this tracker from those that were before it: threads outlive them.
    number: u64,
    /// The caches of all threads; they go with their threads, or with the tracker.
    caches: Mutex<Vec<Weak<Mutex<Cache>>>>,
    /// Entries in them.
    cached: Arc<AtomicUsize>,
}

/// When the heap is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The program goes on.
    Running,
    /// VMDeath: some collectors can no longer be asked to collect.
    Death,
}

/// Prepares the VM to tell of allocations. `false` where it will not tell of all of them.
pub fn prepare(env: Env, interval: Interval) -> Result<bool, JvmtiError> {
    env.set_allocation_interval(interval)?;
    let version = env.vm_version().unwrap_or(u32::MAX);
    if version >= 21 {
        return Ok(true);
    }
    // A VM that is up is made to keep no buffers when the tracker starts.
    let keeps_none = |flags| version >= 16 || !env.is_loading() || keep_no_buffer(flags);
    let loses_nothing = |flags: VmFlags| tells_without_buffers(flags) && keeps_none(flags);
    Ok(env.flags().is_some_and(loses_nothing))
}

/// With `-XX:-UseTLAB` compiled code takes memory straight from the heap of these two collectors, and tells nobody.
fn tells_without_buffers(flags: VmFlags) -> bool {
    let is_silent = flags.is_on(c"UseSerialGC") || flags.is_on(c"UseParallelGC");
    flags.is_on(c"UseTLAB") || !is_silent
}

/// JDK 11 loses events: where an object does not fit into what is left of a thread's allocation buffer, and the buffer is
/// worth keeping, it is made outside, and what is made in the rest of the buffer goes untold
/// (`MemAllocator::notify_allocation_jvmti_sampler`; JDK 16 has it mended). A buffer is worth keeping when it has more left
/// than its size over `TLABRefillWasteFraction`: with 1, and buffers of one size for good, none ever is.
fn keep_no_buffer(flags: VmFlags) -> bool {
    flags.set(c"TLABRefillWasteFraction", 1) && flags.switch_off(c"ResizeTLAB")
}

impl AllocationTracker {
    /// A tracker of every allocation, or of a part of them.
    pub fn new(
        env: Env,
        agent_threads: Arc<AgentThreads>,
        stacks: Arc<Stacks>,
        top_frames: Box<dyn TopFrames>,
        tables: Arc<Tables>,
        interval: Interval,
    ) -> Self {
        let sweeper = Worker::default();
        let shared = Shared {
            env,
            tables,
            stacks,
            top_frames,
            scale: Scale::of(interval),
            live: LiveObjects::new(sweeper.clone()),
            late: (!env.is_loading()).then(LateStart::default),
            number: TRACKERS.fetch_add(1, Ordering::Relaxed),
            caches: Mutex::default(),
            cached: Arc::default(),
        };
        Self {
            agent_threads,
            sweeper,
            shared: Arc::new(shared),
        }
    }

    /// Begins; called once, when the VM is up. `false` where threads that were there before will not tell at once.
    pub fn start(&self, jni: Jni<'_>) -> Result<bool, JvmtiError> {
        let Shared { env, scale, .. } = *self.shared;
        let shared = self.shared.clone();
        self.sweeper.start(
            &self.agent_threads,
            env,
            jni,
            c"HPROF sweeper",
            move |jni, worker| shared.run(jni, worker),
        )?;
        if let (Some(late), Scale::Exact) = (&self.shared.late, scale) {
            return late.exact(env, jni, &self.agent_threads, collects_concurrently(env));
        }
        env.enable(Event::GarbageCollection)?;
        env.enable(Event::Allocation)?;
        // A collection takes the threads' allocation buffers away: those were handed out before the event was on.
        env.force_garbage_collection()?;
        Ok(true)
    }

    /// Whether the VM was up before the tracker.
    pub fn is_late(&self) -> bool {
        self.shared.late.is_some()
    }

    /// The current thread has been given its number.
    pub fn thread_started(&self, serial: ThreadSerial) {
        Local::with(&self.shared, |local| local.set_serial(serial));
    }

    /// The current thread has made an object.
    pub fn allocated(&self, jni: Jni<'_>, allocation: Allocation<'_>) {
        Local::with(&self.shared, |local| {
            local.allocated(&self.shared, jni, allocation)
        });
    }

    /// Runs `body`, and leaves out of the profile what the current thread allocates meanwhile: it is the agent's.
    pub fn untracked<T>(&self, body: impl FnOnce() -> T) -> T {
        Local::with(&self.shared, |local| local.set_muted(true));
        let answer = body();
        Local::with(&self.shared, |local| local.set_muted(false));
        answer
    }

    /// A collection is over.
    pub fn gc_finished(&self) {
        if let Some(late) = &self.shared.late {
            late.gc_finished();
        }
        self.shared.live.collected();
    }

    /// Tracks allocations again after [`AllocationTracker::pause`]; those of the meantime have been made before the agent
    /// could see them.
    pub fn resume(&self) -> Result<(), JvmtiError> {
        let env = self.shared.env;
        env.enable(Event::Allocation)?;
        env.force_garbage_collection()
    }

    /// Tracks no allocation any more; what has been tracked goes on being so.
    pub fn pause(&self) -> Result<(), JvmtiError> {
        self.shared.env.disable(Event::Allocation)
    }

    /// Counts from nothing: what is there belongs to no site any more.
    pub fn clear(&self, jni: Jni<'_>) {
        let Shared {
            ref live,
            ref tables,
            scale,
            ..
        } = *self.shared;
        live.clear(jni, tables, scale);
    }

    /// Ends the sweeper. Objects are no longer tracked when it returns.
    pub fn stop(&self) {
        let _ = self.shared.env.disable(Event::Allocation);
        self.sweeper.stop();
    }

    /// Gives the references to the program's objects back to a VM that goes on; nothing is tracked from here on.
    pub fn give_back(&self, jni: Jni<'_>) {
        let _ = self.shared.env.set_allocation_interval(VM_INTERVAL);
        if let Some(late) = &self.shared.late {
            late.give_back();
        }
        self.shared.live.give_back(jni);
        for cache in std::mem::take(&mut *self.shared.caches.lock()) {
            if let Some(cache) = cache.upgrade() {
                cache.lock().forget();
            }
        }
    }

    /// Looks which objects are alive; `collect` says whether garbage may be collected for it. Answers whether it was, so
    /// that what is live is alive.
    pub fn settle(&self, jni: Jni<'_>, moment: Moment, collect: bool) -> Result<bool, JvmtiError> {
        let Shared {
            env,
            ref live,
            ref tables,
            scale,
            ..
        } = *self.shared;
        let collects = collect && (moment == Moment::Running || !collects_concurrently(env));
        if collects {
            env.force_garbage_collection()?;
        }
        live.sweep_all(jni, tables, scale);
        Ok(collects)
    }

    /// What the site table cannot say: what is in the heap and was made before the agent could see it, by class.
    pub fn unseen(&self, jni: Jni<'_>) -> Result<Vec<(ClassId, Amount)>, JvmtiError> {
        self.shared.stacks.sweep(jni);
        match self.shared.scale {
            Scale::Exact => self.shared.unseen(jni),
            // An estimate cannot be told from what it leaves out.
            Scale::Sampled(_) => Ok(Vec::new()),
        }
    }
}

impl TrackedObjects for AllocationTracker {
    fn len(&self) -> usize {
        self.shared.live.len()
    }

    fn for_each(&self, _: Jni<'_>, look: &mut dyn FnMut(Object<'_>, TraceId)) {
        let sites = &self.shared.tables.sites;
        self.shared
            .live
            .for_each(&mut |object, site| look(object, sites.key(site).trace));
    }
}

/// The VM fills gaps in the heap with these; nobody made them, and no program can see them.
fn is_filler(class: &str) -> bool {
    matches!(
        class,
        "jdk.internal.vm.FillerElement[]" | "jdk.internal.vm.FillerObject"
    )
}

/// Forcing a collection in VMDeath never returns with these collectors.
pub(super) fn collects_concurrently(env: Env) -> bool {
    let flags = env.flags();
    // A VM whose flags cannot be read is not to be risked.
    flags.is_none_or(|flags| flags.is_on(c"UseZGC") || flags.is_on(c"UseShenandoahGC"))
}

impl Shared {
    /// What the sweeper does: objects after every collection, classes less often.
    fn run(&self, jni: Jni<'_>, worker: &Worker) {
        let mut next_class_sweep = Instant::now() + SWEEP_INTERVAL;
        while worker.sleep_until(Instant::now() + SWEEP_INTERVAL) {
            self.sweep(jni);
            if Instant::now() >= next_class_sweep {
                self.stacks.sweep(jni);
                next_class_sweep = Instant::now() + SWEEP_INTERVAL;
            }
        }
    }

    fn sweep(&self, jni: Jni<'_>) {
        self.caches.lock().retain(|cache| cache.strong_count() > 0);
        if self.live.is_overfull() {
            // Nothing of what piled up can be told from garbage but by the collector.
            let _ = self.env.force_garbage_collection();
        }
        self.live.sweep(jni, &self.tables, self.scale);
    }

    /// What the heap holds beyond what is tracked.
    fn unseen(&self, jni: Jni<'_>) -> Result<Vec<(ClassId, Amount)>, JvmtiError> {
        let mut tracked = HashMap::<ClassId, Amount, FixedState>::default();
        for (key, site) in self.tables.sites.iter() {
            let live = site.live();
            let tracked = tracked.entry(key.class).or_default();
            tracked.instances += live.instances;
            tracked.bytes += live.bytes;
        }
        let classes = self.env.loaded_classes(jni)?;
        let objects: Vec<Object<'_>> = classes.iter().map(|class| class.object()).collect();
        let counts = self.env.class_histogram(&objects)?;
        let mut unseen = Vec::new();
        for (&class, count) in objects
            .iter()
            .zip(&counts)
            .filter(|(_, count)| count.instances > 0)
        {
            let id = self.stacks.class(jni, class)?;
            if is_filler(self.tables.strings.get(self.tables.classes.get(id).name)) {
                continue;
            }
            let tracked = tracked.get(&id).copied().unwrap_or_default();
            let amount = Amount {
                instances: count.instances.saturating_sub(tracked.instances),
                bytes: count.bytes.saturating_sub(tracked.bytes),
            };
            if amount.instances > 0 {
                unseen.push((id, amount));
            }
        }
        Ok(unseen)
    }
}
