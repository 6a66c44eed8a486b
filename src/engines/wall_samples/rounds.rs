//! The rounds: in each, threads are looked at, and the time since they were last looked at is charged to stacks.
//!
//! A thread whose CPU clock does not move has not run, so it still has the stack that was taken of it: it is charged
//! again, and not touched. A thread that has not run for several rounds rests: only some of those are looked at in one
//! round, in turn ([`RESTING_LOOKS`]), and the rounds in between are charged when their clocks prove where they were.
//! The others are looked at in every round, as long as the round does not use more than its share of the CPU
//! ([`SHARE`]); those that are left come first in the next round.
//!
//! Every round of a thread is charged, whenever it is looked at. If it ran, it is not known what it did in rounds in
//! which nobody looked: half of them are charged to its previous stack, half to the new one.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::WallSamplerState;
use super::state::{PINNED, WallState};
use crate::engines::live_threads::LiveThread;
use crate::os::{CpuShare, SystemState};
use jvmti::{FrameInfo, Jni, LocalRef, Object, RunMark, ThreadStack, cost_clock};
use names::trace::TraceId;
use stacks::WholeStack;

/// The number of looks that find a thread where it was, after which it rests.
const LOOKS_BEFORE_REST: u32 = 8;
/// The number of looks at resting threads in a second. Each takes 0.5 to 3 us: the more threads, the longer.
const RESTING_LOOKS: u64 = 3_200;
/// The share of the interval that a round may cost in CPU time: one in this many.
const SHARE: u64 = 50;
/// The number of stacks that are taken at once where all threads stop for it.
const BATCH: usize = 64;

/// The reasons why the time of a thread has no stack: it ended before it was looked at, or was not looked at yet.
const IN_ENDED_THREAD: &str = "in a thread that ended";
const IN_THREAD_NOT_SEEN: &str = "in a thread that had not been looked at";

/// The threads that are sampled, in the order in which they are looked at.
#[derive(Default)]
pub(super) struct Rounds {
    /// Those that ran lately: all are looked at in every round.
    active: VecDeque<WatchedThread>,
    resting: VecDeque<WatchedThread>,
    /// The CPU time by which the last round exceeded its share, in nanoseconds.
    overrun: u64,
}

/// A thread that is sampled.
struct WatchedThread {
    thread: Arc<LiveThread>,
    /// The last round that has been charged.
    charged: u64,
    /// The number of looks since it last ran.
    stood: u32,
    /// The result of the first look after it last ran; `None` before the first look.
    seen: Option<Seen>,
    share: CpuShare,
}

/// The result of a look.
#[derive(Clone, Copy)]
struct Seen {
    /// The thread's clock before its stack was taken. While it stays as it was, the thread has that stack.
    mark: RunMark,
    trace: TraceId,
}

/// A thread that has run since the last look.
struct Due {
    watched: WatchedThread,
    mark: RunMark,
}

/// The state and the stack of a thread.
struct TakenStack {
    stack: ThreadStack,
    /// `true` if they are those of a virtual thread, with the frames of its carrier below its own.
    is_mounted: bool,
}

/// The result of comparing a thread's clock with that of the last look.
enum Look {
    Stood,
    Ran(RunMark),
    Ended,
}

/// The looks that a round may still make.
struct Budget {
    /// The number of looks at resting threads.
    resting: usize,
    /// `true` once there was another look: a round has at least one.
    has_looked: bool,
    /// The moment on [`cost_clock`] at which no more are made.
    end: u64,
}

impl Budget {
    fn begin(shared: &WallSamplerState, overrun: u64) -> Self {
        let nanos = shared.clock.nanos();
        let resting = nanos.saturating_mul(RESTING_LOOKS).div_ceil(1_000_000_000);
        Self {
            resting: usize::try_from(resting).unwrap_or(usize::MAX),
            has_looked: false,
            end: cost_clock() + (nanos / SHARE).saturating_sub(overrun),
        }
    }

    fn allows_more(&mut self) -> bool {
        !std::mem::replace(&mut self.has_looked, true) || cost_clock() < self.end
    }

    fn overrun(&self) -> u64 {
        cost_clock().saturating_sub(self.end)
    }
}

impl WatchedThread {
    fn new(thread: Arc<LiveThread>) -> Self {
        Self {
            charged: thread.since,
            thread,
            stood: 0,
            seen: None,
            share: CpuShare::default(),
        }
    }

    fn look(&self) -> Look {
        if self.thread.ended().is_some() {
            return Look::Ended;
        }
        match (self.thread.mark(), self.seen) {
            (None, _) => Look::Ended,
            (Some(now), Some(seen)) if now.is_as_at(seen.mark) => Look::Stood,
            (Some(now), _) => Look::Ran(now),
        }
    }

    /// Returns the rounds that have not been charged, and takes them for charged.
    fn take_rounds(&mut self, now: u64) -> Range<u64> {
        let rounds = self.charged..self.charged.max(now);
        self.charged = rounds.end;
        rounds
    }

    /// Charges everything up to this round to the stack that the thread has, or had when it was last looked at.
    fn charge_last(&mut self, shared: &WallSamplerState, now: u64) {
        let rounds = self.take_rounds(now);
        if !rounds.is_empty() && shared.stacks.depth() > 0 {
            let unseen = || {
                let reason = match self.thread.ended() {
                    Some(_) => IN_ENDED_THREAD,
                    None => IN_THREAD_NOT_SEEN,
                };
                shared.stacks.unsampled_trace(self.thread.serial, reason)
            };
            let trace = self.seen.map_or_else(unseen, |seen| seen.trace);
            shared.charge(trace, rounds);
        }
    }

    /// Charges the rounds since the last look to the stack it had then and to the one it has now.
    fn charge_both(&mut self, shared: &WallSamplerState, seen: Seen, now: u64) {
        let rounds = self.take_rounds(now);
        let middle = match self.seen {
            Some(before) => {
                let middle = rounds.start + (rounds.end - rounds.start) / 2;
                shared.charge(before.trace, rounds.start..middle);
                middle
            }
            None => {
                shared.one_more_thread();
                rounds.start
            }
        };
        shared.charge(seen.trace, middle..rounds.end);
        self.seen = Some(seen);
        self.stood = 0;
    }

    /// Charges the last rounds of a thread that has ended.
    fn end(mut self, shared: &WallSamplerState, now: u64) {
        let ended = self.thread.ended().unwrap_or(now);
        shared.threads.remove(self.thread.serial, ended);
        self.charge_last(shared, ended.min(now));
    }
}

impl Rounds {
    /// Looks at threads, in the round `now`.
    pub(super) fn look(&mut self, shared: &WallSamplerState, jni: Jni<'_>, now: u64) {
        let threads = self.active.len() + self.resting.len() + shared.threads.count();
        memory::need(threads * 2 * size_of::<WatchedThread>());
        let new = shared.threads.take_new();
        self.active.extend(new.into_iter().map(WatchedThread::new));
        let batch = if shared.stops_all { BATCH } else { 1 };
        let mut budget = Budget::begin(shared, self.overrun);
        let mut due = Vec::new();
        // The looks alone may use up the share: without a batch in every round no stack would ever be taken.
        let mut has_stacks = false;
        for _ in 0..self.active.len() {
            if !budget.allows_more() {
                break;
            }
            if let Some(watched) = self.active.pop_front() {
                self.look_at(watched, shared, now, &mut due);
            }
            if due.len() == batch {
                self.take_stacks(std::mem::take(&mut due), shared, jni, now);
                has_stacks = true;
            }
        }
        for _ in 0..self.resting.len().min(budget.resting) {
            if let Some(watched) = self.resting.pop_front() {
                self.look_at(watched, shared, now, &mut due);
            }
        }
        while !due.is_empty() && (!has_stacks || budget.allows_more()) {
            has_stacks = true;
            let some = due.drain(..batch.min(due.len())).collect();
            self.take_stacks(some, shared, jni, now);
        }
        // The others come first in the next round.
        for Due { watched, .. } in due.into_iter().rev() {
            self.active.push_front(watched);
        }
        self.overrun = budget.overrun();
    }

    fn look_at(
        &mut self,
        mut watched: WatchedThread,
        shared: &WallSamplerState,
        now: u64,
        due: &mut Vec<Due>,
    ) {
        // It began in this round.
        if watched.charged >= now {
            return self.active.push_back(watched);
        }
        match watched.look() {
            Look::Stood => {
                watched.charge_last(shared, now);
                watched.stood += 1;
                match watched.stood < LOOKS_BEFORE_REST {
                    true => self.active.push_back(watched),
                    false => self.resting.push_back(watched),
                }
            }
            Look::Ran(mark) => due.push(Due { watched, mark }),
            Look::Ended => watched.end(shared, now),
        }
    }

    fn take_stacks(&mut self, due: Vec<Due>, shared: &WallSamplerState, jni: Jni<'_>, now: u64) {
        let depth = shared.stacks.depth();
        // Without frames there is nothing to charge.
        if depth == 0 {
            let watched = due.into_iter().map(|due| due.watched);
            return self.active.extend(watched.map(|mut watched| {
                watched.take_rounds(now);
                watched
            }));
        }
        let systems: Vec<Option<SystemState>> = due
            .iter()
            .map(|due| system_state(shared, jni, &due.watched.thread))
            .collect();
        let seen = shared.stacks.classes_seen(jni);
        let stacks = stacks(shared, jni, &due, depth);
        for (index, (due, system)) in due.into_iter().zip(systems).enumerate() {
            let Due { mut watched, mark } = due;
            let taken = stacks.get(index);
            let taken = taken.filter(|taken| taken.stack.state.is_alive());
            let Some(TakenStack { stack, is_mounted }) = taken else {
                match has_ended(shared, &watched.thread) {
                    true => watched.end(shared, now),
                    false => self.active.push_back(watched),
                }
                continue;
            };
            let ThreadStack { state, frames } = stack;
            let time = shared.clock.length_of(now.saturating_sub(watched.charged));
            let asked = (system.as_ref(), &mut watched.share);
            let state = WallState::of(*state, frames, asked, time);
            let names = [state.frame(), PINNED];
            let names = &names[..1 + usize::from(*is_mounted && state.waits())];
            let names = &names[..names.len().min(depth)];
            let frames = &frames[..frames.len().min(depth - names.len())];
            let serial = watched.thread.serial;
            let trace = shared.stacks.trace_below(jni, serial, names, frames, seen);
            watched.charge_both(shared, Seen { mark, trace }, now);
            self.active.push_back(watched);
        }
    }

    /// Charges the rounds up to `now` of all threads that are known to be where they were; at the end, of all threads.
    pub(super) fn settle(&mut self, shared: &WallSamplerState, now: u64, is_end: bool) {
        for watched in self.active.iter_mut().chain(&mut self.resting) {
            if is_end || matches!(watched.look(), Look::Stood) {
                // A thread at rest may have ended some rounds ago.
                let ended = watched.thread.ended().unwrap_or(now);
                watched.charge_last(shared, ended.min(now));
            }
        }
    }

    /// Forgets all threads.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Returns `true` for a thread that has ended, as the VM says: its id may be another thread's by now.
fn has_ended(shared: &WallSamplerState, thread: &LiveThread) -> bool {
    let state = shared.env.thread_state(thread.thread.object());
    state.is_ok_and(|state| !state.is_alive())
}

/// Asks the system about a thread that the VM says is runnable, or that carries a virtual thread; the others do what the
/// VM says.
fn system_state(
    shared: &WallSamplerState,
    jni: Jni<'_>,
    thread: &LiveThread,
) -> Option<SystemState> {
    let object = thread.thread.object();
    let is_runnable = || {
        shared
            .env
            .thread_state(object)
            .is_ok_and(|state| state.is_runnable())
    };
    let may_run = mounted_on(shared, jni, thread).is_some() || is_runnable();
    may_run.then(|| SystemState::of(thread.tid)).flatten()
}

fn mounted_on<'a>(
    shared: &WallSamplerState,
    jni: Jni<'a>,
    thread: &LiveThread,
) -> Option<LocalRef<'a>> {
    // Each question to the VM takes time in proportion to the number of threads.
    let virtual_threads = shared.virtual_threads.filter(|_| thread.is_carrier)?;
    virtual_threads
        .mounted_on(jni, thread.thread.object())
        .ok()?
}

/// Returns the states and stacks of threads, in their order; none if the VM does not tell.
fn stacks(shared: &WallSamplerState, jni: Jni<'_>, due: &[Due], depth: usize) -> Vec<TakenStack> {
    let taken = |stack: ThreadStack, is_mounted: bool| TakenStack { stack, is_mounted };
    let depth = depth.min(WholeStack::MOST);
    let threads = due.iter().map(|due| &*due.watched.thread);
    if shared.stops_all {
        let threads: Vec<Object<'_>> = threads.map(|thread| thread.thread.object()).collect();
        let stacks = shared.env.stacks(&threads, depth).unwrap_or_default();
        // Virtual threads came later than the VMs that do so.
        return stacks
            .into_iter()
            .map(|stack| taken(stack, false))
            .collect();
    }
    let stack = |thread: &LiveThread| {
        if let Some(stack) = mounted(shared, jni, thread, depth) {
            return Some(taken(stack, true));
        }
        let mut frames = Vec::new();
        append_stack(shared, thread.thread.object(), &mut frames, depth)?;
        let state = shared.env.thread_state(thread.thread.object()).ok()?;
        Some(taken(ThreadStack { state, frames }, false))
    };
    threads.map_while(stack).collect()
}

/// Returns the state of the virtual thread that a thread carries, and its stack, followed by the carrier's own; `None`
/// if it carries none.
fn mounted(
    shared: &WallSamplerState,
    jni: Jni<'_>,
    carrier: &LiveThread,
    depth: usize,
) -> Option<ThreadStack> {
    let mounted = mounted_on(shared, jni, carrier)?;
    let mut frames = Vec::new();
    append_stack(shared, mounted.object(), &mut frames, depth)?;
    let state = shared.env.thread_state(mounted.object()).ok()?;
    append_stack(shared, carrier.thread.object(), &mut frames, depth)?;
    // If it has been unmounted by now, the stack is not the carrier's.
    let now = mounted_on(shared, jni, carrier)?;
    jni.is_same(now.object(), mounted.object())
        .then_some(ThreadStack { state, frames })
}

/// Appends the frames of a thread, up to `depth` in all; `None` if it has ended. Asked in this way, the VM neither stops
/// other threads, nor goes through the list of all of them.
fn append_stack(
    shared: &WallSamplerState,
    thread: Object<'_>,
    frames: &mut Vec<FrameInfo>,
    depth: usize,
) -> Option<()> {
    let before = frames.len();
    frames.resize(depth, FrameInfo::default());
    let room = &mut frames[before..];
    let count = match room {
        [] => 0,
        room => shared.env.stack_trace(Some(thread), room).ok()?,
    };
    frames.truncate(before + count);
    Some(())
}
