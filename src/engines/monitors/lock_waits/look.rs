//! One look at all threads that wait for locks, and at those that hold the locks.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::table::LockWaitKey;
use super::{LockWaitState, Parks};
use crate::engines::live_threads::LiveThread;
use foldhash::fast::FixedState;
use jvmti::{FrameInfo, Jni, LocalRef, Object, RunMark};
use memory::{List, Map, OrStop, Set};
use names::class::ClassId;
use names::thread::ThreadSerial;
use names::trace::TraceId;
use stacks::StackBuffer;

/// The least limit on the frames of a stack. `depth=` is 4 unless given, and the innermost four frames of a thread that
/// is parked for a lock are all the JDK's.
const LEAST_DEPTH: usize = 64;
/// The most locks whose holders one look asks for; each question about a monitor stops the VM.
const MOST_QUESTIONS: usize = 64;
/// The number of times that the VM is asked about a monitor whose holder is not known.
const QUESTIONS_ABOUT_MONITOR: u32 = 2;
/// The most virtual threads whose stacks stand for all that are parked for one lock.
const MOST_VIRTUAL: usize = 16;
/// The number of stacks of virtual threads that one look takes, about. They are taken each time: that a virtual thread has
/// not run since, no clock shows.
const VIRTUAL_STACKS: usize = 512;
/// The most locks that are told apart by their identity: the table must not grow with the number of locks.
const MOST_IDENTITIES: usize = 1_000;

/// The results of a look that the next ones need.
#[derive(Default)]
pub(super) struct Looks {
    threads: List<Arc<LiveThread>>,
    /// The stacks of the threads that were parked for a lock at the last look.
    parked: Map<ThreadSerial, StoodStack>,
    /// The holders of the locks that threads waited for at the last look, as far as they are known.
    held: Map<(u32, ClassId), KnownHolder>,
    identities: Set<u32>,
    /// The rows of the threads that waited at the last look, with their number.
    waited: Vec<(LockWaitKey, u64)>,
    stack: StackBuffer,
    stops: StopTimes,
}

/// The times that the last questions took for which the VM stopped all threads.
#[derive(Default)]
struct StopTimes {
    last: VecDeque<Duration>,
}

impl StopTimes {
    /// The most times that are kept.
    const MOST: usize = 16;

    /// Notes how long a question took.
    fn took(&mut self, time: Duration) {
        if self.last.len() == Self::MOST {
            self.last.pop_front();
        }
        self.last.push_back(time);
    }

    /// Returns the least of the times: in the others, the VM has also waited for a CPU.
    fn least(&self) -> Duration {
        self.last.iter().min().copied().unwrap_or_default()
    }
}

/// The stack of a thread that may not have run since.
#[derive(Clone, Copy)]
struct StoodStack {
    /// The thread's clock before its stack was taken. While it stays as it was, the thread has that stack.
    mark: RunMark,
    trace: TraceId,
}

/// The holder of a lock. While it does not run it keeps the lock, and the VM need not be asked.
struct KnownHolder {
    thread: Arc<LiveThread>,
    stack: StoodStack,
}

/// A lock that threads wait for.
struct WantedLock<'j> {
    lock: LocalRef<'j>,
    identity: u32,
    class: ClassId,
    is_monitor: bool,
    waiting: Vec<(ThreadSerial, TraceId)>,
    /// The number of virtual threads that are parked for it, and some of them.
    virtual_count: u64,
    some_virtual: Vec<LocalRef<'j>>,
}

/// The locks that threads wait for, each once.
struct WantedLocks<'j> {
    jni: Jni<'j>,
    all: Vec<WantedLock<'j>>,
    /// The positions in `all` of locks with the same identity.
    by_identity: Map<u32, Vec<usize>>,
}

impl Looks {
    /// Looks, and charges the rounds since the last look: half of each to what was seen then, half to what is seen now. The
    /// rounds that are skipped follow a question, and thus the beginning of a hold. Returns the time for which the VM stopped for it.
    pub(super) fn look(&mut self, shared: &LockWaitState, jni: Jni<'_>, rounds: u64) -> Duration {
        let mut wanted = WantedLocks {
            jni,
            all: Vec::new(),
            by_identity: Map::default(),
        };
        wanted.add_monitors(shared);
        if let Some(Some(parks)) = shared.parks.get() {
            self.add_parked(shared, parks, &mut wanted);
            wanted.add_virtual(shared, parks);
        }
        if rounds == 0 {
            return Duration::ZERO;
        }
        // Others come first each time.
        let first = match wanted.all.len() {
            0 => 0,
            count => usize::try_from(shared.clock.round()).unwrap_or(0) % count,
        };
        wanted.all.rotate_left(first);
        let round = shared.clock.round();
        let period =
            [round.saturating_sub(rounds), round].map(|round| shared.clock.start_of(round));
        for (key, count) in self.waited.drain(..) {
            shared.table.add(key, rounds * count, period);
        }
        let (mut questions, mut stops) = (0, 0);
        let mut held = Map::default();
        // Where there are too many stacks, one lock in `alike` is looked at, a different one each time, and stands for the others.
        let stacks: usize = wanted.all.iter().map(|lock| lock.some_virtual.len()).sum();
        let alike = stacks.div_ceil(VIRTUAL_STACKS).max(1) as u64;
        let mut of_many = 0_u64;
        for lock in &wanted.all {
            let before = self.held.remove(&(lock.identity, lock.class));
            let stood = before.filter(|before| {
                let now = before.thread.mark();
                let stood = now.is_some_and(|now| now.is_as_at(before.stack.mark));
                stood && before.thread.ended().is_none()
            });
            let holder = match stood {
                Some(known) => {
                    let holder = (known.thread.serial, known.stack.trace);
                    held.insert((lock.identity, lock.class), known).or_stop();
                    Some(holder)
                }
                None if questions < MOST_QUESTIONS => {
                    questions += 1;
                    stops += if lock.is_monitor {
                        QUESTIONS_ABOUT_MONITOR
                    } else {
                        0
                    };
                    self.ask_for_holder(shared, jni, lock, &mut held)
                }
                None => None,
            };
            let identity = self.identity(lock.identity);
            of_many += u64::from(lock.virtual_count > 0);
            let of_virtual = match lock.virtual_count > 0 && of_many.is_multiple_of(alike) {
                true => self.of_virtual(shared, jni, lock, alike),
                false => Vec::new(),
            };
            // A platform thread that owns the lock has got it since it was seen waiting.
            let is_waiting = |thread| holder.is_none_or(|(owner, _)| owner != thread);
            let waiting = lock
                .waiting
                .iter()
                .filter(|(thread, _)| is_waiting(*thread));
            let of_platform = waiting.map(|&(_, trace)| (trace, 1));
            for (trace, count) in of_platform.chain(of_virtual) {
                let key = LockWaitKey {
                    trace,
                    holder: holder.map(|(_, trace)| trace),
                    class: lock.class,
                    identity,
                };
                shared.table.add(key, rounds * count, period);
                self.waited.push((key, count));
            }
        }
        self.held = held;
        self.stops.least() * stops
    }

    /// Adds the locks for which platform threads are parked.
    fn add_parked(&mut self, shared: &LockWaitState, parks: &Parks, wanted: &mut WantedLocks<'_>) {
        let jni = wanted.jni;
        self.threads.extend(shared.threads.take_new()).or_stop();
        self.threads.retain(|thread| thread.ended().is_none());
        let mut parked = Map::default();
        for thread in &self.threads {
            let object = thread.thread.object();
            let Some(lock) = parks.blockers.lock_wanted_by(jni, object) else {
                continue;
            };
            let Some(mark) = thread.mark() else {
                continue;
            };
            let before = self.parked.get(&thread.serial).copied();
            let stack = match before.filter(|before| mark.is_as_at(before.mark)) {
                Some(before) => before,
                None => {
                    let stack = &mut self.stack;
                    let trace = take(stack, shared, jni, thread.serial, object);
                    StoodStack { mark, trace }
                }
            };
            parked.insert(thread.serial, stack).or_stop();
            let waiting = (thread.serial, stack.trace);
            wanted.add(shared, lock, false, waiting, |lock| {
                class_of(shared, jni, lock)
            });
        }
        self.parked = parked;
    }

    /// Returns the stacks of virtual threads that are parked for a lock, with the number of threads that each stands for. The
    /// lock stands for as many as `alike`.
    fn of_virtual(
        &mut self,
        shared: &LockWaitState,
        jni: Jni<'_>,
        lock: &WantedLock<'_>,
        alike: u64,
    ) -> Vec<(TraceId, u64)> {
        let Some(Some(parks)) = shared.parks.get() else {
            return Vec::new();
        };
        let mut stacks = Vec::new();
        for thread in &lock.some_virtual {
            let thread = thread.object();
            let trace = take(&mut self.stack, shared, jni, ThreadSerial::UNKNOWN, thread);
            // If it has gone on, the stack may be from another place.
            let wanted = parks.blockers.lock_wanted_by(jni, thread);
            let still_waits = wanted.is_some_and(|w| jni.is_same(w.object(), lock.lock.object()));
            if trace != TraceId::EMPTY && still_waits {
                stacks.push((trace, 0));
            }
        }
        let (all, each) = (lock.virtual_count * alike, stacks.len() as u64);
        for (index, (_, count)) in (0..).zip(&mut stacks) {
            *count = all / each + u64::from(index < all % each);
        }
        stacks
    }

    /// Returns the thread that holds a lock, and its stack; `None` if the lock is free or shared, or changes hands.
    fn ask_for_holder(
        &mut self,
        shared: &LockWaitState,
        jni: Jni<'_>,
        lock: &WantedLock<'_>,
        held: &mut Map<(u32, ClassId), KnownHolder>,
    ) -> Option<(ThreadSerial, TraceId)> {
        let owner = self.owner(shared, jni, lock)?;
        let object = owner.object();
        let serial = shared.registered.serial(jni, object).map(ThreadSerial);
        let serial = serial.unwrap_or(ThreadSerial::UNKNOWN);
        let thread = shared.threads.get(serial);
        let mark = thread.as_ref().and_then(|thread| thread.mark());
        let trace = take(&mut self.stack, shared, jni, serial, object);
        // If the lock has changed hands, the stack may be that of a thread that has gone on.
        let now = self.owner(shared, jni, lock)?;
        if trace == TraceId::EMPTY || !jni.is_same(now.object(), object) {
            return None;
        }
        if let (Some(thread), Some(mark)) = (thread, mark) {
            let stack = StoodStack { mark, trace };
            let holder = KnownHolder { thread, stack };
            held.insert((lock.identity, lock.class), holder).or_stop();
        }
        Some((serial, trace))
    }

    /// Returns the owner of a lock, and notes how long the VM stopped for it.
    fn owner<'j>(
        &mut self,
        shared: &LockWaitState,
        jni: Jni<'j>,
        lock: &WantedLock<'_>,
    ) -> Option<LocalRef<'j>> {
        let began = Instant::now();
        let owner = owner(shared, jni, lock);
        if lock.is_monitor {
            self.stops.took(began.elapsed());
        }
        owner
    }

    /// Returns the identity by which a lock is told apart from others of its class, if it is.
    fn identity(&mut self, identity: u32) -> Option<u32> {
        if self.identities.len() < MOST_IDENTITIES {
            self.identities.insert(identity).or_stop();
        }
        self.identities.contains(&identity).then_some(identity)
    }
}

impl<'j> WantedLocks<'j> {
    /// Adds the monitors that threads wait to enter.
    fn add_monitors(&mut self, shared: &LockWaitState) {
        for (thread, place, monitor) in shared.pending_waits.wanted() {
            if let Some(monitor) = monitor.upgrade(self.jni) {
                let key = shared.contentions.key(place);
                self.add(shared, monitor, true, (thread, key.trace), |_| {
                    Some(key.class)
                });
            }
        }
    }

    /// Adds the locks for which virtual threads are parked.
    fn add_virtual(&mut self, shared: &LockWaitState, parks: &Parks) {
        let jni = self.jni;
        let round = shared.clock.round();
        shared.parked_virtual.each(jni, |thread| {
            let Some(lock) = parks.blockers.lock_wanted_by(jni, thread.object()) else {
                return;
            };
            let Some(lock) = self.find(shared, lock, false, |lock| class_of(shared, jni, lock))
            else {
                return;
            };
            // Each has the same chance to be among them.
            let chance = FixedState::default().hash_one((round, lock.virtual_count));
            lock.virtual_count += 1;
            let place = usize::try_from(chance % lock.virtual_count).unwrap_or(usize::MAX);
            if lock.some_virtual.len() < MOST_VIRTUAL {
                lock.some_virtual.push(thread);
            } else if let Some(kept) = lock.some_virtual.get_mut(place) {
                *kept = thread;
            }
        });
    }

    /// Adds a thread that waits for a lock. `class` names the lock's class if the lock is new.
    fn add(
        &mut self,
        shared: &LockWaitState,
        lock: LocalRef<'j>,
        is_monitor: bool,
        waiting: (ThreadSerial, TraceId),
        class: impl FnOnce(Object<'_>) -> Option<ClassId>,
    ) {
        if let Some(lock) = self.find(shared, lock, is_monitor, class) {
            lock.waiting.push(waiting);
        }
    }

    /// Returns a lock that threads wait for, which may be new; `None` if the VM does not tell what it is.
    fn find(
        &mut self,
        shared: &LockWaitState,
        lock: LocalRef<'j>,
        is_monitor: bool,
        class: impl FnOnce(Object<'_>) -> Option<ClassId>,
    ) -> Option<&mut WantedLock<'j>> {
        let identity = shared.env.identity_hash(lock.object()).ok()?;
        let identity = identity.cast_unsigned();
        let alike = self.by_identity.get_or_default(identity).or_stop();
        let known = alike.iter().copied().find(|&index| {
            let known = self.all[index].lock.object();
            self.jni.is_same(known, lock.object())
        });
        if let Some(known) = known {
            return self.all.get_mut(known);
        }
        let class = class(lock.object())?;
        alike.push(self.all.len());
        self.all.push(WantedLock {
            lock,
            identity,
            class,
            is_monitor,
            waiting: Vec::new(),
            virtual_count: 0,
            some_virtual: Vec::new(),
        });
        // Each is a reference that the thread holds until the look is over.
        self.jni.announce_locals(self.all.len());
        self.all.last_mut()
    }
}

fn class_of(shared: &LockWaitState, jni: Jni<'_>, lock: Object<'_>) -> Option<ClassId> {
    let class = jni.class_of(lock)?;
    shared.stacks.class(jni, class.object()).ok()
}

fn owner<'j>(
    shared: &LockWaitState,
    jni: Jni<'j>,
    wanted: &WantedLock<'_>,
) -> Option<LocalRef<'j>> {
    let lock = wanted.lock.object();
    if wanted.is_monitor {
        return shared.env.monitor_usage(jni, lock).ok()?.owner;
    }
    let parks = shared.parks.get()?.as_ref()?;
    parks.blockers.owner(jni, lock)
}

/// Takes the stack of a thread; without frames if it has ended.
fn take(
    stack: &mut StackBuffer,
    shared: &LockWaitState,
    jni: Jni<'_>,
    serial: ThreadSerial,
    thread: Object<'_>,
) -> TraceId {
    let depth = shared.stacks.depth().max(LEAST_DEPTH);
    let seen = shared.stacks.classes_seen(jni);
    let look = |frames: &mut [FrameInfo]| shared.env.stack_trace(Some(thread), frames);
    stack.take(depth, |frames| look(frames).unwrap_or(0));
    match stack.frames() {
        [] => TraceId::EMPTY,
        frames => shared.stacks.trace(jni, serial, frames, seen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_costs_what_the_last_ones_took_where_nothing_else_was_waited_for() {
        let mut stops = StopTimes::default();
        assert_eq!(stops.least(), Duration::ZERO);
        for micros in [30, 900, 40] {
            stops.took(Duration::from_micros(micros));
        }
        assert_eq!(stops.least(), Duration::from_micros(30));
        for _ in 0..StopTimes::MOST {
            stops.took(Duration::from_micros(200));
        }
        assert_eq!(stops.least(), Duration::from_micros(200));
    }
}
