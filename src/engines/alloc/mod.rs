//! `heap=sites`: every object the program makes, where it was made, and whether it is alive.
//!
//! The VM tells of each allocation on the thread that makes it. A cache of that thread finds the site by the top of the
//! stack; the object is remembered by a weak reference in the thread's nursery. After a collection a thread of ours looks
//! which of them have died.

mod live;
mod local;
mod weigh;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::engines::stack::{Stacks, TopFrames};
use crate::engines::worker::Worker;
use crate::jvmti::{
    AgentThreads, Allocation, Env, Event, Interval, Jni, JvmtiError, Object, VmFlags,
};
use crate::tables::Tables;
use crate::tables::class::ClassId;
use crate::tables::site::Amount;
use crate::tables::thread::ThreadSerial;

use live::LiveObjects;
use local::Local;
use weigh::Scale;

/// How often the sweeper looks up when no collection wakes it, and how often it looks for unloaded classes.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

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
    /// Entries in the caches of all threads.
    cached: Arc<AtomicUsize>,
}

/// When sites are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The program goes on.
    Running,
    /// VMDeath: some collectors can no longer be asked to collect.
    Death,
}

/// What the site table cannot say.
#[derive(Default)]
pub struct Report {
    /// Whether garbage was collected just before, so that what is live is alive.
    pub collected: bool,
    /// What is in the heap and was made before the agent could see it, by class.
    pub unseen: Vec<(ClassId, Amount)>,
}

/// Prepares the VM, in `Agent_OnLoad`, to tell of allocations. `false` where it will not tell of all of them.
pub fn prepare(env: Env, interval: Interval) -> Result<bool, JvmtiError> {
    env.set_allocation_interval(interval)?;
    let version = env.vm_version().unwrap_or(u32::MAX);
    if version >= 21 {
        return Ok(true);
    }
    let loses_nothing =
        |flags: VmFlags| tells_without_buffers(flags) && (version >= 16 || keep_no_buffer(flags));
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
            cached: Arc::default(),
        };
        Self {
            agent_threads,
            sweeper,
            shared: Arc::new(shared),
        }
    }

    /// Begins; called once, when the VM is up.
    pub fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        let Shared { env, .. } = *self.shared;
        let shared = self.shared.clone();
        self.sweeper.start(
            &self.agent_threads,
            env,
            jni,
            c"HPROF sweeper",
            move |jni, worker| shared.run(jni, worker),
        )?;
        env.enable(Event::GarbageCollection)?;
        env.enable(Event::Allocation)?;
        // A collection takes the threads' allocation buffers away: those were handed out before the event was on.
        env.force_garbage_collection()
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

    /// A collection is over.
    pub fn gc_finished(&self) {
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

    /// Brings the site table up to date; `collect` says whether garbage may be collected for it.
    pub fn report(
        &self,
        jni: Jni<'_>,
        moment: Moment,
        collect: bool,
    ) -> Result<Report, JvmtiError> {
        let Shared {
            env,
            ref live,
            ref tables,
            scale,
            ..
        } = *self.shared;
        let collected = collect && (moment == Moment::Running || !collects_concurrently(env));
        if collected {
            env.force_garbage_collection()?;
        }
        live.sweep_all(jni, tables, scale);
        self.shared.stacks.sweep(jni);
        let unseen = match scale {
            Scale::Exact => self.shared.unseen(jni)?,
            // An estimate cannot be told from what it leaves out.
            Scale::Sampled(_) => Vec::new(),
        };
        Ok(Report { collected, unseen })
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
fn collects_concurrently(env: Env) -> bool {
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
