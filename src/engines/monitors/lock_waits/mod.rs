//! Waits for locks, and the holders of the locks meanwhile: monitors and locks of `java.util.concurrent`.
//!
//! A thread of the agent looks at an interval which threads wait, and asks the VM for the owners and for their stacks
//! (`look`). A program that never waits for a lock is not stopped, and a free lock costs nothing. Looks take a share of
//! one CPU at most ([`SHARE`]): when that is used up the next rounds are skipped, and charged to what is seen before and after.

mod look;
mod parked_virtual;
mod table;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::contentions::Contentions;
use super::pending::PendingWaits;
use crate::engines::interval_clock::IntervalClock;
use crate::engines::live_threads::{LiveThread, LiveThreads};
use crate::engines::{Context, Report, Worker};
use jvmti::{
    AgentThreads, Env, GlobalRef, Jni, JvmtiError, Object, ParkBlockers, RegisteredThreads,
    SystemThreads, cost_clock,
};
use names::thread::ThreadSerial;
use output::Journal;
use output::console;
use stacks::Stacks;

use look::Looks;
use parked_virtual::ParkedVirtualThreads;
use table::{LockSections, LockTable};

/// The time between two looks.
const INTERVAL: Duration = Duration::from_millis(10);
/// The share of one CPU that looks may take: one in this many.
const SHARE: u32 = 100;
/// The CPU time that looks may use in advance, at first and after times without waits, so that waits of short programs,
/// and the beginning of waits, are not missed.
const ADVANCE: Duration = Duration::from_millis(300);
/// The longest time without a look.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The interval at which unloaded classes are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The sampler of locks that threads wait for.
pub(super) struct LockWaits {
    agent_threads: Arc<AgentThreads>,
    worker: Worker,
    shared: Arc<LockWaitState>,
}

/// The state that the agent's thread and the events share.
struct LockWaitState {
    env: Env,
    stacks: Arc<Stacks>,
    registered: Arc<RegisteredThreads>,
    contentions: Arc<Contentions>,
    pending_waits: Arc<PendingWaits>,
    clock: IntervalClock,
    /// `None` in a VM in which only monitors are looked at.
    parks: OnceLock<Option<Parks>>,
    /// The platform threads, each of which may be parked.
    threads: LiveThreads,
    parked_virtual: ParkedVirtualThreads,
    table: LockTable,
}

/// The ways to threads that are parked.
struct Parks {
    blockers: ParkBlockers,
    system_threads: SystemThreads,
}

impl LockWaits {
    pub(super) fn new(
        context: &Context,
        contentions: Arc<Contentions>,
        pending_waits: Arc<PendingWaits>,
    ) -> Self {
        let shared = LockWaitState {
            env: context.env,
            stacks: context.stacks.clone(),
            registered: context.registered.clone(),
            contentions,
            pending_waits,
            clock: IntervalClock::new(INTERVAL),
            parks: OnceLock::new(),
            threads: LiveThreads::default(),
            parked_virtual: ParkedVirtualThreads::default(),
            table: LockTable::new(context.keeps_times()),
        };
        Self {
            agent_threads: context.agent_threads.clone(),
            worker: Worker::default(),
            shared: Arc::new(shared),
        }
    }

    pub(super) fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        let shared = self.shared.clone();
        shared.parks(jni);
        shared.clock.begin();
        let run = move |jni: Jni<'_>, worker: &Worker| shared.run(jni, worker);
        self.worker.start(
            &self.agent_threads,
            self.shared.env,
            jni,
            "HPROF lock sampler",
            run,
        )
    }

    pub(super) fn stop(&self) {
        self.worker.stop();
        self.shared.threads.close();
    }

    pub(super) fn thread_registered(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        let Some(parks) = self.shared.parks(jni) else {
            return;
        };
        // Otherwise it has ended in the meantime.
        if let Some(tid) = parks.system_threads.tid(jni, thread)
            && let Some(global) = GlobalRef::new(jni, thread)
        {
            let round = self.shared.clock.round();
            let thread = LiveThread::new(serial, tid, global, false, round);
            self.shared.threads.add(thread);
        }
    }

    pub(super) fn thread_ended(&self, serial: ThreadSerial) {
        let round = self.shared.clock.round();
        self.shared.threads.remove(serial, round);
    }

    /// Called on a virtual thread that is about to leave its carrier.
    pub(super) fn virtual_thread_unmounted(&self, jni: Jni<'_>, thread: Object<'_>) {
        if let Some(Some(parks)) = self.shared.parks.get() {
            let parked = &self.shared.parked_virtual;
            parked.unmounted(jni, &parks.blockers, thread);
        }
    }

    /// Called on a virtual thread that has a carrier again.
    pub(super) fn virtual_thread_mounted(&self, jni: Jni<'_>, thread: Object<'_>) {
        if let Some(Some(parks)) = self.shared.parks.get() {
            let parked = &self.shared.parked_virtual;
            parked.mounted(jni, &parks.blockers, thread);
        }
    }

    pub(super) fn report(&self, report: &Report<'_>, cutoff: f64) {
        let samples = self.shared.table.samples(report.totals);
        let sections = LockSections {
            interval: INTERVAL,
            cutoff,
            is_snapshot: false,
        };
        sections.write(report.journal, samples);
    }

    pub(super) fn report_known(&self, journal: &Journal, cutoff: f64) {
        let samples = self.shared.table.samples(crate::engines::Totals::Keep);
        let sections = LockSections {
            interval: INTERVAL,
            cutoff,
            is_snapshot: true,
        };
        sections.write(journal, samples);
    }

    pub(super) fn give_back(&self) {
        self.shared.threads.close();
        self.shared.parked_virtual.clear();
    }
}

impl LockWaitState {
    /// Returns the ways to threads that are parked; `None` in a VM where there are none, which is said once.
    fn parks(&self, jni: Jni<'_>) -> Option<&Parks> {
        let find = || {
            let system_threads = SystemThreads::find(self.env)?;
            let blockers = ParkBlockers::find(jni)
                .ok_or("its class library does not tell for what a thread is parked")?;
            Ok(Parks {
                blockers,
                system_threads,
            })
        };
        let parks = self.parks.get_or_init(|| {
            let parks: Result<Parks, &str> = find();
            if let Err(reason) = parks {
                console::line(format_args!(
                    "monitor=y: LOCK WAITS will have monitors only, not locks of java.util.concurrent: {reason}"
                ));
            }
            parks.ok()
        });
        parks.as_ref()
    }

    fn run(&self, jni: Jni<'_>, worker: &Worker) {
        let mut looks = Looks::default();
        let mut looked = self.clock.round();
        let mut next = looked + 1;
        let mut next_sweep = Instant::now() + SWEEP_INTERVAL;
        let mut credit = Credit::new(Instant::now());
        while worker.sleep_until(self.clock.moment_in(next)) {
            let round = self.clock.round();
            let began = cost_clock();
            let stopped = looks.look(self, jni, round.saturating_sub(looked));
            looked = round;
            let cost = Duration::from_nanos(cost_clock().saturating_sub(began)) + stopped;
            let now = Instant::now();
            next = self.clock.round() + 1 + self.rounds_to_skip(credit.pause_after(cost, now));
            if now >= next_sweep {
                self.stacks.sweep(jni);
                next_sweep = now + SWEEP_INTERVAL;
            }
        }
    }

    /// Returns the number of rounds without a look in a pause.
    fn rounds_to_skip(&self, pause: Duration) -> u64 {
        let rounds = pause.as_nanos() / u128::from(self.clock.nanos());
        u64::try_from(rounds).unwrap_or(u64::MAX)
    }
}

/// The CPU time that looks may still use.
struct Credit {
    rest: Duration,
    /// The CPU time that they have used beyond it.
    debt: Duration,
    /// The time of the last look.
    since: Instant,
}

impl Credit {
    fn new(now: Instant) -> Self {
        Self {
            rest: ADVANCE,
            debt: Duration::ZERO,
            since: now,
        }
    }

    /// Takes the cost of a look from the credit; returns the time until the next look that keeps to [`SHARE`].
    fn pause_after(&mut self, cost: Duration, now: Instant) -> Duration {
        let earned = now.saturating_duration_since(self.since) / SHARE;
        self.since = now;
        let rest = self.rest.saturating_add(earned);
        let have = rest.saturating_sub(self.debt).min(ADVANCE);
        let owe = self.debt.saturating_sub(rest) + cost;
        self.rest = have.saturating_sub(owe);
        self.debt = owe.saturating_sub(have);
        self.debt.saturating_mul(SHARE).min(LONGEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_use_their_share_and_some_time_in_advance() {
        let mut now = Instant::now();
        let mut credit = Credit::new(now);
        let (mut used, mut paused) = (Duration::ZERO, Duration::ZERO);
        let cost = Duration::from_millis(2);
        while paused < Duration::from_secs(100) {
            now += INTERVAL;
            let pause = credit.pause_after(cost, now);
            assert!(pause <= LONGEST_PAUSE);
            used += cost;
            assert!(pause.is_zero() || used > ADVANCE);
            now += pause;
            paused += pause + INTERVAL;
        }
        let most = ADVANCE + paused / SHARE;
        assert!(used <= most + 2 * cost && used * 10 >= most * 9, "{used:?}");
        // After a long rest there is an advance again, and no more.
        now += 100 * ADVANCE * SHARE;
        assert_eq!(credit.pause_after(ADVANCE, now), Duration::ZERO);
        assert!(!credit.pause_after(cost, now).is_zero());
    }
}
