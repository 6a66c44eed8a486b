//! The engine of `heap=sites`: tracks allocations, and reports them by site.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hprof_format::StandardErrors;

use super::budget::{Costs, EstimateErrors, Steps, regulate};
use super::buffer_flags::BufferFlags;
use super::cache::{AllocatingThread, TrackedThreads};
use super::counts::{AllThreadsCounts, Compilers};
use super::late_attach::LateStart;
use super::liveness::{LiveObjects, SWEEP_TIMEOUT, Sweep};
use super::report::{
    self, HeapState, Precision, ReportedUnseen, SitesRequest, Unseen, heap_totals,
};
use super::report_plan::ReportPlan;
use super::sites::{Amount, Sites};
use super::state::TrackerState;
use crate::engines::gc::cannot_gc_at_vm_death;
use crate::engines::worker::Worker;
use crate::engines::{
    Context, Engine, Moment, Report, Reporter, ReporterWithoutVm, Requirement, Totals,
};
use jvmti::{
    AgentThreads, Allocation, BoolFlag, Capability, Env, Event, GcPause, Interval, Jni, JvmtiError,
    OutsideGate, VmFlags, WeakSlots,
};
use locks::{Mutex, rank};
use names::class::ClassId;
use names::thread::ThreadSerial;
use options::{Options, Sort};
use output::Journal;
use output::console;

/// The longest that a report without the VM waits for threads in an allocation event, and for the sweeper.
const SHORT_TIMEOUT: Duration = Duration::from_millis(500);

/// The longest that a report waits for the ages of objects.
const AGES_TIMEOUT: Duration = Duration::from_secs(5);

/// The VM's default sampling interval.
const VM_INTERVAL: Interval = Interval::Bytes(512 * 1024);

/// Tracks allocations and the lives of the objects.
pub struct AllocationTracker {
    agent_threads: Arc<AgentThreads>,
    sweeper: Worker,
    regulator: Worker,
    pub(super) shared: Arc<TrackerState>,
    plan: ReportPlan,
    /// `false` if the VM does not report every allocation of the profile.
    sees_all: AtomicBool,
    /// The result of [`AllocationTracker::settle`] at VMDeath, after which nothing changes any more.
    settled_at_death: OnceLock<bool>,
    /// The objects that [`AllocationTracker::before_dump`] has counted, for the sites that follow.
    unseen_before_dump: Mutex<Option<Vec<(ClassId, Amount)>>, rank::UnseenBeforeDump>,
    /// The untracked objects that previous outputs have reported.
    reported_unseen: Mutex<ReportedUnseen, rank::ReportedUnseen>,
}

/// Returns the capabilities that `heap=` needs.
pub(in crate::engines) fn requirement(options: &Options) -> Option<Requirement> {
    options.heap.map(|heap| Requirement {
        option: heap.option(),
        capabilities: &[
            Capability::AllocationEvents,
            Capability::GarbageCollectionEvents,
            Capability::HeapWalk,
        ],
    })
}

/// Prepares the VM to send allocation events. Returns `false` if some allocations will send none.
fn prepare(env: Env, interval: Interval, buffer_flags: &BufferFlags) -> Result<bool, JvmtiError> {
    env.set_allocation_interval(interval)?;
    let kind = env.vm_kind();
    if kind.has_value_objects() && !env.can_support_value_objects() {
        return Ok(false);
    }
    if !kind.loses_allocations_without_buffers() {
        return Ok(true);
    }
    // A VM that is already up gets its flags when the tracker starts.
    let must_keep_none = kind.loses_allocations_outside_buffers() && env.is_loading();
    let tells = env.flags().is_some_and(reports_without_buffers);
    Ok(tells && (!must_keep_none || buffer_flags.keep_no_buffer(env)))
}

/// Returns `true` if the VM sends events without allocation buffers. With `-XX:-UseTLAB`, under two garbage collectors,
/// compiled code allocates directly in the heap, without an event.
fn reports_without_buffers(flags: VmFlags) -> bool {
    let is_silent = flags.is_on(BoolFlag::UseSerialGc) || flags.is_on(BoolFlag::UseParallelGc);
    flags.is_on(BoolFlag::UseTlab) || !is_silent
}

impl AllocationTracker {
    /// Creates a tracker of all allocations, or of a sample of them; `None` if the options do not request `heap=`.
    pub(in crate::engines) fn new(context: &Context) -> Option<Self> {
        let (env, options) = (context.env, &context.options);
        let heap = options.heap?;
        let interval = options.sample.map_or(Interval::Every, Interval::Bytes);
        let buffer_flags = BufferFlags::default();
        // A VM that refuses the interval sends events for only some allocations.
        let sees_all = prepare(env, interval, &buffer_flags).unwrap_or(false);
        if !sees_all {
            console::line(format_args!(
                "this VM cannot be made to report all allocations; some will be missing"
            ));
        }
        let sweeper = Worker::default();
        let shared = TrackerState {
            env,
            registered: context.registered.clone(),
            tables: context.tables.clone(),
            sites: Sites::default(),
            stacks: context.stacks.clone(),
            top_frames: context.top_frames.clone(),
            steps: Steps::new(interval, options.budget.is_some()),
            errors: EstimateErrors::default(),
            costs: options.budget.map(|_| Costs::new()),
            live: LiveObjects::new(sweeper.clone(), options.every),
            slots: OnceLock::new(),
            late: (!env.is_loading()).then(LateStart::default),
            buffer_flags,
            compilers: Compilers::default(),
            all_threads_counts: AllThreadsCounts::default(),
            session: env.session(),
            threads: TrackedThreads::default(),
            has_ended: AtomicBool::new(false),
            cached: Arc::default(),
        };
        Some(Self {
            agent_threads: context.agent_threads.clone(),
            sweeper,
            regulator: Worker::default(),
            shared: Arc::new(shared),
            plan: ReportPlan {
                sites: heap.has_sites(),
                cutoff: options.cutoff,
                lifetimes: options.lifetimes,
                folded: context.folded(),
                by_allocation: options.sort == Sort::Allocated,
                // A snapshot must not stop the program.
                collect: options.collect && options.live.is_none(),
                counts_unseen: options.live.is_none(),
                sampled: options.sample,
                budget: options.budget,
            },
            sees_all: AtomicBool::new(sees_all),
            settled_at_death: OnceLock::new(),
            unseen_before_dump: Mutex::default(),
            reported_unseen: Mutex::default(),
        })
    }

    /// Records an allocation of the current thread; returns `false` if the thread does not know a tracker.
    #[inline]
    pub fn track_on_known_thread(_: OutsideGate, jni: Jni<'_>, allocation: Allocation<'_>) -> bool {
        AllocatingThread::track_current(jni, allocation)
    }

    /// Records an allocation of the current thread, which may not know this tracker yet.
    pub fn track(&self, jni: Jni<'_>, allocation: Allocation<'_>) {
        AllocatingThread::with(&self.shared, |local| {
            local.track(jni, allocation);
        });
    }

    /// Runs `body` without tracking the current thread's allocations during it: they are the agent's.
    pub fn untracked<T>(&self, body: impl FnOnce() -> T) -> T {
        AllocatingThread::with(&self.shared, |local| local.set_muted(true));
        let answer = body();
        AllocatingThread::with(&self.shared, |local| local.set_muted(false));
        answer
    }

    /// Called when a collection is over.
    pub fn gc_finished(&self, pause: GcPause<'_>) {
        if let Some(late) = &self.shared.late {
            late.gc_finished(pause);
        }
        self.shared.live.clock().pause_ended();
        self.shared.live.collected();
    }

    /// Tracks allocations again after [`AllocationTracker::pause`]; objects allocated in between are treated like those
    /// older than the agent.
    pub fn resume(&self) -> Result<(), JvmtiError> {
        let env = self.shared.env;
        env.enable(Event::Allocation)?;
        env.force_garbage_collection()
    }

    /// Stops tracking new allocations; objects tracked so far stay tracked.
    pub fn pause(&self) -> Result<(), JvmtiError> {
        self.shared.env.disable(Event::Allocation)
    }

    /// Counts from zero: existing objects no longer belong to any site.
    pub fn clear(&self, jni: Jni<'_>) {
        let sweep = self.shared.look_at_all(jni);
        self.shared.live.clear(&self.shared.sites, sweep);
        self.shared.errors.restart();
    }

    /// Finds out which objects are alive, collecting garbage if `gc=` is on. Returns `false` if this is only known as
    /// of the last collection.
    pub fn settle(&self, jni: Jni<'_>, moment: Moment) -> bool {
        self.settle_with(jni, moment, self.plan.collect)
    }

    /// As [`AllocationTracker::settle`]; `collect` permits a garbage collection.
    pub fn settle_with(&self, jni: Jni<'_>, moment: Moment, collect: bool) -> bool {
        let settle = || {
            self.try_to_settle(jni, moment, collect)
                .unwrap_or_else(|error| {
                    console::line(format_args!(
                        "{error}; live objects are those of the last count"
                    ));
                    false
                })
        };
        match moment {
            Moment::Running | Moment::Exhausted => settle(),
            Moment::Death => *self.settled_at_death.get_or_init(settle),
        }
    }

    fn try_to_settle(
        &self,
        jni: Jni<'_>,
        moment: Moment,
        collect: bool,
    ) -> Result<bool, JvmtiError> {
        let env = self.shared.env;
        let can_collect = match moment {
            Moment::Running => true,
            Moment::Death => !cannot_gc_at_vm_death(env),
            Moment::Exhausted => false,
        };
        let collects = collect && can_collect;
        let clock = self.shared.live.clock();
        let mut ended = clock.ended();
        if collects {
            env.force_garbage_collection()?;
            clock.forced(ended);
            ended += 1;
        }
        let sweep = self.shared.look_at_all(jni);
        let is_swept = self.shared.live.sweep_all(sweep, ended, SWEEP_TIMEOUT);
        Ok(collects && is_swept)
    }

    /// Counts untracked objects before the heap is dumped and its sites are reported: the dump itself leaves garbage
    /// and fillers after, which would be counted otherwise.
    pub fn before_dump(&self, jni: Jni<'_>) {
        if self.plan.sites {
            let unseen = self.look_for_unseen(jni);
            *self.unseen_before_dump.lock() = Some(unseen);
        }
    }

    fn look_for_unseen(&self, jni: Jni<'_>) -> Vec<(ClassId, Amount)> {
        self.unseen(jni).unwrap_or_else(|error| {
            console::line(format_args!(
                "{error}; objects whose allocation was not seen are left out"
            ));
            Vec::new()
        })
    }

    /// Reports the sites as they are; `collected` is the result of [`AllocationTracker::settle`].
    pub fn report_sites(
        &self,
        jni: Jni<'_>,
        journal: &Journal,
        request: SitesRequest,
        collected: bool,
    ) {
        let before_dump = self.unseen_before_dump.lock().take();
        let unseen = before_dump.unwrap_or_else(|| self.look_for_unseen(jni));
        self.report_sites_and(unseen, journal, request, collected);
    }

    /// Reports the sites, and for each class the objects that were allocated before the agent could see them.
    fn report_sites_and(
        &self,
        unseen: Vec<(ClassId, Amount)>,
        journal: &Journal,
        request: SitesRequest,
        collected: bool,
    ) {
        let made = self.shared.without_identity();
        let reported = &self.reported_unseen;
        let unseen = reported.lock().new_of(unseen, &made, request.is_last);
        self.report_table(&unseen, journal, request, collected);
        if self.plan.lifetimes && !request.incremental {
            self.report_lifetimes(journal, request, &unseen);
        }
        if request.is_last {
            self.shared.errors.restart();
        }
    }

    fn report_table(
        &self,
        unseen: &[Unseen],
        journal: &Journal,
        request: SitesRequest,
        collected: bool,
    ) {
        let shared = &self.shared;
        let has_changed = shared.steps.has_changed();
        let is_estimated = !shared.steps.begin_exact() || has_changed;
        let note = report::precision(Precision {
            sampled: self.plan.sampled,
            exceeded: self.plan.budget.filter(|_| has_changed),
            has_value_objects: shared.env.vm_kind().has_value_objects(),
            collected,
        });
        let state = HeapState {
            collected,
            unseen,
            // Without frames, all traces are the same.
            unseen_last: self.shared.late.is_some() && self.shared.stacks.depth() > 0,
            note: note.as_deref(),
            errors: is_estimated.then(|| standard_errors(&shared.errors)),
        };
        report::sites(journal, &shared.sites, request, state);
    }

    fn report_lifetimes(&self, journal: &Journal, request: SitesRequest, unseen: &[Unseen]) {
        let TrackerState {
            live, sites, steps, ..
        } = &*self.shared;
        match live.ages(steps, AGES_TIMEOUT) {
            Some(ages) => {
                report::lifetimes(journal, sites, &ages, unseen, request);
                report::course(journal, sites, &ages);
            }
            None => console::line(format_args!(
                "another thread is examining the objects; the lifetimes of sites and the course are left out"
            )),
        }
    }

    /// Collects garbage and writes HEAP SUMMARY alone.
    pub fn report_heap(&self, jni: Jni<'_>, journal: &Journal) -> Result<(), JvmtiError> {
        self.try_to_settle(jni, Moment::Running, true)?;
        let unseen = self.unseen(jni)?;
        let unseen = unseen.iter().map(|&(_, amount)| amount);
        let unseen = unseen.fold(Amount::default(), |sum, amount| sum + amount);
        report::heap_summary(journal, &self.shared.sites, unseen);
        Ok(())
    }

    /// Returns an upper bound for the number of tracked objects.
    pub fn tracked(&self) -> usize {
        self.shared.live.len()
    }

    /// Starts the thread that keeps the costs within the budget, if there is one.
    fn start_regulator(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        let Some(percentage) = self.plan.budget else {
            return Ok(());
        };
        let (env, shared) = (self.shared.env, self.shared.clone());
        self.regulator.start(
            &self.agent_threads,
            env,
            jni,
            "HPROF budget",
            move |_, worker| {
                if let Some(costs) = &shared.costs {
                    regulate(env, percentage, costs, &shared.steps, worker);
                }
            },
        )
    }

    /// Returns `true` if no allocation of the program is estimated, and none is missed.
    pub(super) fn counts_exactly(&self) -> bool {
        let has_value_objects = self.shared.env.vm_kind().has_value_objects();
        self.tracks_each() && self.sees_all.load(Ordering::Relaxed) && !has_value_objects
    }

    /// Returns `true` if nothing is estimated.
    fn tracks_each(&self) -> bool {
        self.shared.steps.begin_exact() && !self.shared.steps.has_changed()
    }

    /// Counts by class the objects in the heap that the site table does not cover, because they were allocated before
    /// the agent could see them.
    fn unseen(&self, jni: Jni<'_>) -> Result<Vec<(ClassId, Amount)>, JvmtiError> {
        self.shared.stacks.sweep(jni);
        // With an estimate, such objects cannot be told apart.
        match self.tracks_each() && self.plan.counts_unseen {
            true => self.shared.unseen(jni),
            false => Ok(Vec::new()),
        }
    }
}

fn standard_errors(errors: &EstimateErrors) -> StandardErrors {
    let [live, allocated] = errors.live_and_allocated();
    let variances = [live.bytes, live.objects, allocated.bytes, allocated.objects];
    StandardErrors::of_variances(variances)
}

/// Answers a receiver's request for sites in a run that tracks nothing.
pub fn report_no_sites(journal: &Journal, request: SitesRequest) {
    let nothing = HeapState {
        collected: false,
        unseen: &[],
        unseen_last: false,
        note: None,
        errors: None,
    };
    report::sites(journal, &Sites::default(), request, nothing);
}

/// Answers a receiver's request for the heap's size in a run that tracks nothing.
pub fn report_heap_untracked(env: Env, journal: &Journal) -> Result<(), JvmtiError> {
    let live = heap_totals::live(env)?;
    report::heap_summary(journal, &Sites::default(), live);
    Ok(())
}

impl Engine for AllocationTracker {
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        let env = self.shared.env;
        self.shared.top_frames.start(jni);
        if self.plan.lifetimes && self.plan.sites {
            self.shared.live.clock().start(env);
        }
        let shared = self.shared.clone();
        self.sweeper.start(
            &self.agent_threads,
            env,
            jni,
            "HPROF sweeper",
            move |jni, worker| shared.run(jni, worker),
        )?;
        env.enable(Event::GarbageCollection)?;
        self.shared.slots.get_or_init(|| WeakSlots::find(env, jni));
        if let (Some(late), true) = (&self.shared.late, self.shared.steps.begin_exact()) {
            let is_concurrent = cannot_gc_at_vm_death(env);
            let flags = &self.shared.buffer_flags;
            if !late.exact(env, jni, &self.agent_threads, flags, is_concurrent)? {
                console::line(format_args!(
                    "threads that are already running may each allocate half a megabyte before it is seen"
                ));
                self.sees_all.store(false, Ordering::Relaxed);
            }
            return self.start_regulator(jni);
        }
        env.enable(Event::Allocation)?;
        self.start_regulator(jni)?;
        // A collection retires the threads' allocation buffers, which were handed out before the event was enabled. An
        // estimate can do without what threads that run already still put into theirs.
        match self.shared.late.is_none() || self.plan.collect {
            true => env.force_garbage_collection(),
            false => Ok(()),
        }
    }

    /// Ends the sweeper. Objects are no longer tracked once this returns.
    fn stop(&self, _jni: Jni<'_>) {
        let shared = &self.shared;
        self.regulator.stop();
        let _ = shared.env.disable(Event::Allocation);
        shared.live.add(shared.threads.end());
        shared.has_ended.store(true, Ordering::Relaxed);
        self.sweeper.stop();
    }

    /// Frees the references to the program's objects; nothing is tracked from here on.
    fn give_back(&self, jni: Jni<'_>) {
        let _ = self.shared.env.set_allocation_interval(VM_INTERVAL);
        self.shared.buffer_flags.give_back();
        self.shared.compilers.give_back();
        self.shared.live.give_back(jni);
    }
}

impl Reporter for AllocationTracker {
    fn section(&self) -> Option<&'static str> {
        self.plan.sites.then_some("allocation sites")
    }

    fn report(&self, jni: Jni<'_>, report: &Report<'_>) {
        // A heap dump before this takes a while: the program has gone on since, unless it has ended.
        let collected = self.settle(jni, report.moment);
        let request = self.plan.request(report.totals);
        self.report_sites(jni, report.journal, request, collected);
    }

    fn unknown_without_vm(&self) -> Option<&'static str> {
        self.plan.sites.then_some(
            "live objects are those of the last garbage collection, without what was made before the profile began",
        )
    }
}

impl ReporterWithoutVm for AllocationTracker {
    fn report_without_vm(&self, report: &Report<'_>) {
        let shared = &self.shared;
        self.regulator.ask_to_stop();
        shared.live.add(shared.threads.end_within(SHORT_TIMEOUT));
        shared.has_ended.store(true, Ordering::Relaxed);
        let sweep = Sweep::new(
            None,
            shared.slots(),
            &shared.sites,
            &shared.steps,
            &shared.errors,
            shared.live.clock(),
        );
        shared.live.sweep_all_within(sweep, SHORT_TIMEOUT);
        let before_dump = self.unseen_before_dump.lock().take();
        let unseen = before_dump.unwrap_or_default();
        let request = self.plan.request(report.totals);
        self.report_sites_and(unseen, report.journal, request, false);
    }

    /// The sites are those of the last sweep or count: they change at no other time. The ages of objects are left out, because that
    /// takes a look at each object.
    fn report_known(&self, journal: &Journal, least: f64) {
        let plan = self.plan.request(Totals::Keep);
        let request = SitesRequest {
            cutoff: plan.cutoff.max(least),
            folded: None,
            ..plan
        };
        self.report_table(&[], journal, request, false);
    }
}

impl AllocationTracker {
    /// Follows the current thread, which is new, from its first allocation on.
    pub fn current_thread_started(&self, serial: ThreadSerial) {
        AllocatingThread::with(&self.shared, |local| {
            local.start(serial, self.shared.steps.current());
        });
    }
}
