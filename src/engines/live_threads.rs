//! The threads that are alive, as events tell of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jvmti::{GlobalRef, RunMark, ThreadCpuClock};
use locks::{Mutex, rank};
use memory::{Map, OrStop};
use names::thread::ThreadSerial;

/// The threads that are alive.
#[derive(Default)]
pub(super) struct LiveThreads(Mutex<Live, rank::LiveThreads>);

#[derive(Default)]
struct Live {
    by_serial: Map<ThreadSerial, Arc<LiveThread>>,
    by_tid: Map<i32, ThreadSerial>,
    /// Those that have not been taken yet.
    new: Vec<Arc<LiveThread>>,
    /// `true` if no more are taken.
    closed: bool,
}

/// A platform thread.
pub(super) struct LiveThread {
    pub(super) serial: ThreadSerial,
    pub(super) tid: i32,
    pub(super) thread: GlobalRef,
    /// `true` if virtual threads may run on it.
    pub(super) is_carrier: bool,
    /// The round in which it was registered.
    pub(super) since: u64,
    /// The round in which it ended, [`ALIVE`] until then.
    ended: AtomicU64,
}

const ALIVE: u64 = u64::MAX;

/// The number of threads not yet taken above which those that have ended are dropped, unless even more are alive. Each keeps
/// its object alive.
const MOST_NEW: usize = 10_000;

impl LiveThread {
    pub(super) fn new(
        serial: ThreadSerial,
        tid: i32,
        thread: GlobalRef,
        is_carrier: bool,
        since: u64,
    ) -> Self {
        Self {
            serial,
            tid,
            thread,
            is_carrier,
            since,
            ended: AtomicU64::new(ALIVE),
        }
    }

    /// Returns the round in which it ended; `None` if it is alive, as far as is known.
    pub(super) fn ended(&self) -> Option<u64> {
        Some(self.ended.load(Ordering::Relaxed)).filter(|&round| round != ALIVE)
    }

    /// Returns what tells later whether it has run since; `None` if it has ended.
    pub(super) fn mark(&self) -> Option<RunMark> {
        ThreadCpuClock::of_thread(self.tid).mark()
    }

    fn end(&self, round: u64) {
        self.ended.store(round, Ordering::Relaxed);
    }
}

impl LiveThreads {
    /// Adds a thread.
    pub(super) fn add(&self, thread: LiveThread) {
        let thread = Arc::new(thread);
        let mut live = self.0.lock();
        if live.closed {
            return;
        }
        // The previous thread with this system id has ended without an event.
        let before = live.by_tid.insert(thread.tid, thread.serial).or_stop();
        let before = before.and_then(|before| live.by_serial.remove(&before));
        if let Some(before) = &before {
            before.end(thread.since);
        }
        live.new.push(thread.clone());
        live.by_serial.insert(thread.serial, thread).or_stop();
        // They are taken in each round, unless the thread that does so has come to an end, or the rounds are very long.
        let most = MOST_NEW.max(2 * live.by_serial.len());
        let gone: Vec<Arc<LiveThread>> = match live.new.len() > most {
            true => live
                .new
                .extract_if(.., |thread| thread.ended().is_some())
                .collect(),
            false => Vec::new(),
        };
        // The references are freed without the lock.
        drop(live);
        drop((before, gone));
    }

    /// Removes a thread that ends in this round.
    pub(super) fn remove(&self, serial: ThreadSerial, round: u64) {
        let mut live = self.0.lock();
        let thread = live.by_serial.remove(&serial);
        if let Some(thread) = &thread {
            thread.end(round);
            if live.by_tid.get(&thread.tid) == Some(&serial) {
                live.by_tid.remove(&thread.tid);
            }
        }
        // The reference is freed without the lock.
        drop(live);
        drop(thread);
    }

    /// Takes the threads that have been added since the last call.
    pub(super) fn take_new(&self) -> Vec<Arc<LiveThread>> {
        std::mem::take(&mut self.0.lock().new)
    }

    /// Returns a thread that is alive.
    pub(super) fn get(&self, serial: ThreadSerial) -> Option<Arc<LiveThread>> {
        self.0.lock().by_serial.get(&serial).cloned()
    }

    /// Returns the number of threads that are alive.
    pub(super) fn count(&self) -> usize {
        self.0.lock().by_serial.len()
    }

    /// Forgets all threads, and takes no more.
    pub(super) fn close(&self) {
        let all = {
            let mut live = self.0.lock();
            std::mem::replace(
                &mut *live,
                Live {
                    closed: true,
                    ..Live::default()
                },
            )
        };
        drop(all);
    }
}
