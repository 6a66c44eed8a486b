//! Numbers on threads, for which any thread may ask.
//!
//! JVMTI has a place for them, the thread-local storage, but HotSpot's is safe for the current thread alone:
//! `GetThreadLocalStorage` and `SetThreadLocalStorage` follow what the VM keeps of the other thread without a lock, while
//! that thread may be ending and frees it. A JDK 21 that was asked about threads which came and went was ended by a
//! SIGSEGV within seconds. So the numbers stand here, and a thread's own storage only spares it the way.

use hashbrown::HashTable;
use parking_lot::Mutex;

use super::env::Env;
use super::jni::{Jni, Object, Weak};

/// Threads that are known before the dead ones are looked for the first time.
const FIRST_SWEEP: usize = 1024;

/// What is known of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadMark {
    /// Nothing yet.
    None,
    /// Its number.
    Number(u32),
    /// It is ending or has ended.
    Ended,
}

/// The numbers of threads. One that has ended is known as such for as long as anybody can ask about it: until its object
/// is collected.
pub struct ThreadMarks {
    env: Env,
    /// Held while the VM compares references, and alone.
    marked: Mutex<Marked>,
}

struct Marked {
    threads: HashTable<MarkedThread>,
    next_sweep: usize,
}

struct MarkedThread {
    /// Of its object.
    identity: i32,
    thread: Weak,
    mark: ThreadMark,
}

/// A live thread that has no mark; whoever has this may give it one.
pub struct Unmarked {
    identity: i32,
    thread: Weak,
}

impl ThreadMarks {
    /// Knows no thread.
    pub fn new(env: Env) -> Self {
        let marked = Mutex::new(Marked {
            threads: HashTable::new(),
            next_sweep: FIRST_SWEEP,
        });
        Self { env, marked }
    }

    /// The mark of any thread.
    pub fn of(&self, jni: Jni<'_>, thread: Object<'_>) -> ThreadMark {
        match self.env.identity_hash(thread) {
            Ok(identity) => self.marked.lock().of(jni, thread, identity),
            Err(_) => ThreadMark::Ended,
        }
    }

    /// The mark of the current thread, or of the virtual thread that it carries.
    pub fn own(&self, jni: Jni<'_>) -> ThreadMark {
        if let Some(number) = self.remembered() {
            return ThreadMark::Number(number);
        }
        match self.env.current_thread(jni) {
            Ok(Some(thread)) => self.of(jni, thread.object()),
            _ => ThreadMark::None,
        }
    }

    /// The number of the current thread, if it has been left there.
    pub fn remembered(&self) -> Option<u32> {
        let number = self.env.own_mark(None).ok()?;
        (number != 0).then_some(number)
    }

    /// Leaves its number with the current thread, from where it is had sooner.
    pub fn remember_own(&self, thread: Object<'_>, number: u32) {
        // Without it that takes longer.
        let _ = self.env.set_own_mark(thread, number);
    }

    /// Prepares to mark a thread; `None` for one that has a mark, or is not alive.
    pub fn unmarked(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<Unmarked> {
        if self.of(jni, thread) != ThreadMark::None || !self.env.is_alive(thread) {
            return None;
        }
        Some(Unmarked {
            identity: self.env.identity_hash(thread).ok()?,
            thread: Weak::new(jni, thread)?,
        })
    }

    /// Gives a thread its number. Nobody else may mark threads since [`ThreadMarks::unmarked`].
    pub fn mark(&self, jni: Jni<'_>, thread: Unmarked, number: u32) {
        self.marked
            .lock()
            .add(jni, thread, ThreadMark::Number(number));
    }

    /// The current thread is about to end. Answers its mark so far.
    pub fn end(&self, jni: Jni<'_>, thread: Object<'_>) -> ThreadMark {
        let Ok(identity) = self.env.identity_hash(thread) else {
            return ThreadMark::None;
        };
        let mut marked = self.marked.lock();
        if let Some(known) = marked.find_mut(jni, thread, identity) {
            return std::mem::replace(&mut known.mark, ThreadMark::Ended);
        }
        if let Some(thread) = Weak::new(jni, thread) {
            marked.add(jni, Unmarked { identity, thread }, ThreadMark::Ended);
        }
        ThreadMark::None
    }

    /// Forgets all threads, and gives back the references to them.
    pub fn clear(&self) {
        let threads = std::mem::take(&mut self.marked.lock().threads);
        drop(threads);
    }
}

impl Marked {
    fn of(&self, jni: Jni<'_>, thread: Object<'_>, identity: i32) -> ThreadMark {
        let is_it =
            |known: &MarkedThread| known.identity == identity && known.thread.is(jni, thread);
        let known = self.threads.find(hash(identity), is_it);
        known.map_or(ThreadMark::None, |known| known.mark)
    }

    fn find_mut(
        &mut self,
        jni: Jni<'_>,
        thread: Object<'_>,
        identity: i32,
    ) -> Option<&mut MarkedThread> {
        self.threads.find_mut(hash(identity), |known| {
            known.identity == identity && known.thread.is(jni, thread)
        })
    }

    fn add(&mut self, jni: Jni<'_>, thread: Unmarked, mark: ThreadMark) {
        if self.threads.len() >= self.next_sweep {
            self.threads.retain(|known| !known.thread.is_dead(jni));
            self.next_sweep = (2 * self.threads.len()).max(FIRST_SWEEP);
        }
        let Unmarked { identity, thread } = thread;
        let marked = MarkedThread {
            identity,
            thread,
            mark,
        };
        self.threads
            .insert_unique(hash(identity), marked, |known| hash(known.identity));
    }
}

/// HotSpot's identity hashes fill 31 bits or fewer; the table wants all 64.
fn hash(identity: i32) -> u64 {
    (identity as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
