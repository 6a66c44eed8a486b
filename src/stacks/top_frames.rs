//! The innermost frames of the current thread: recognized by a walk over the stack where the VM's layout is known, otherwise
//! asked of the VM.
//!
//! What a walk says is checked against the VM: the first times, and one time in a thousand after that. A difference that no
//! redefined class explains ends it for the session.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldhash::fast::FixedState;

use super::StackBuffer;
use crate::jvmti::{Env, FrameInfo, Jni, StackWalker, WalkCache, Walked};

/// So many stacks that were known again are checked at first, all threads together.
const TRIAL: u64 = 256;
/// After that each thread checks one in so many.
const CHECKED: u32 = 1_024;

/// How stacks are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackWay {
    /// By walks where they are right, checked now and then.
    Walk,
    /// By walks that are all checked.
    CheckedWalk,
    /// The VM is asked each time.
    Vm,
}

/// Looks at the innermost frames of threads.
pub struct TopFrames {
    env: Env,
    way: StackWay,
    walker: OnceLock<Option<StackWalker>>,
    is_refuted: AtomicBool,
    tally: WalkCounters,
    /// Told of a difference that nothing explains.
    refuted: fn(),
}

#[derive(Default)]
struct WalkCounters {
    walks: AtomicU64,
    asked: AtomicU64,
    checked: AtomicU64,
    differences: AtomicU64,
}

/// How stacks were taken so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopFramesTally {
    /// Stacks that were known again by a walk, but for the last thousand of each thread.
    pub known: u64,
    /// Stacks that the VM was asked for, because they were new or could not be walked over.
    pub asked: u64,
    /// Stacks that were known again and checked.
    pub checked: u64,
    /// Of these, stacks that the VM says are others.
    pub differences: u64,
}

/// The stack that one thread of the system looks at.
#[derive(Default)]
pub struct StackTop {
    buffer: StackBuffer,
    cache: WalkCache,
    depth: usize,
    walked: Option<Walked>,
    /// Whether `buffer` holds this stack.
    is_asked: bool,
    /// Stacks known again that the tally does not have yet.
    known: u32,
}

/// What tells stacks apart: 64 bits do so among a million with a chance of one in ten million that two meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackKey(pub u64);

/// What is remembered of the frames behind a [`StackKey`], to know whether they have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramesMark(u32);

impl TopFrames {
    /// `refuted` is called once where the walks turn out to be wrong.
    pub fn new(env: Env, way: StackWay, refuted: fn()) -> Self {
        Self {
            env,
            way,
            walker: OnceLock::new(),
            is_refuted: AtomicBool::new(false),
            tally: WalkCounters::default(),
            refuted,
        }
    }

    /// The VM is up: from here on walks are tried. Called on a thread of the VM that is no virtual one.
    pub fn start(&self, jni: Jni<'_>) {
        self.walker.get_or_init(|| {
            if self.way == StackWay::Vm {
                return None;
            }
            let thread = self.env.current_thread(jni).ok()??;
            StackWalker::find(self.env, jni, thread.object())
        });
    }

    /// How stacks were taken so far; `None` where the VM was asked for all.
    pub fn tally(&self) -> Option<TopFramesTally> {
        self.walker.get()?.as_ref()?;
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Some(TopFramesTally {
            known: number(&self.tally.walks),
            asked: number(&self.tally.asked),
            checked: number(&self.tally.checked),
            differences: number(&self.tally.differences),
        })
    }

    #[inline]
    fn walker(&self) -> Option<&StackWalker> {
        let walker = self.walker.get()?.as_ref()?;
        (!self.is_refuted.load(Ordering::Relaxed)).then_some(walker)
    }

    fn differs(&self, frames: &[FrameInfo]) {
        if frames
            .iter()
            .any(|frame| self.env.is_obsolete(frame.method))
        {
            return;
        }
        self.tally.differences.fetch_add(1, Ordering::Relaxed);
        let is_first = match self.way {
            StackWay::CheckedWalk => false,
            _ => !self.is_refuted.swap(true, Ordering::Relaxed),
        };
        if is_first {
            (self.refuted)();
        }
    }
}

impl StackTop {
    /// Looks at the current thread's innermost `depth` frames.
    #[inline]
    pub fn look(&mut self, top: &TopFrames, jni: Jni<'_>, depth: usize) -> StackKey {
        self.depth = depth;
        self.is_asked = false;
        self.walked = match top.walker() {
            Some(walker) => walker.walk(jni, depth, &mut self.cache, &[]),
            None => None,
        };
        match self.walked {
            Some(walked) => StackKey(walked.key),
            None => self.ask(top, jni),
        }
    }

    /// Whether there are no frames: no Java runs on the thread, or the depth is 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        match self.walked {
            Some(walked) => walked.frames == 0,
            None => self.buffer.frames().is_empty(),
        }
    }

    /// Whether the stack that was looked at last is the one that is remembered under its key. Nearly always the answer is yes
    /// without a look at the mark.
    #[inline]
    pub fn is(&mut self, top: &TopFrames, mark: impl FnOnce() -> FramesMark) -> bool {
        if self.walked.is_none() {
            return true;
        }
        self.known += 1;
        let is_due = self.known >= CHECKED || top.way == StackWay::CheckedWalk;
        if !is_due && top.tally.checked.load(Ordering::Relaxed) >= TRIAL {
            return true;
        }
        self.check(top, mark())
    }

    #[cold]
    fn check(&mut self, top: &TopFrames, mark: FramesMark) -> bool {
        self.add_known(top);
        top.tally.checked.fetch_add(1, Ordering::Relaxed);
        if !self.is_asked {
            self.ask_vm(top);
        }
        if self.mark() == mark {
            return true;
        }
        top.differs(self.buffer.frames());
        self.walked = None;
        false
    }

    /// The stack is not known: its frames are asked for. The key may be another one now.
    pub fn resolve(&mut self, top: &TopFrames, jni: Jni<'_>) -> StackKey {
        if !self.is_asked {
            return self.ask(top, jni);
        }
        self.key()
    }

    fn key(&self) -> StackKey {
        StackKey(self.walked.map_or_else(|| self.hash(), |walked| walked.key))
    }

    /// Asks the VM, and walks again with what it says. A walk that covers other frames tells nothing.
    fn ask(&mut self, top: &TopFrames, jni: Jni<'_>) -> StackKey {
        self.ask_vm(top);
        self.walked = None;
        if let Some(walker) = top.walker() {
            self.add_known(top);
            top.tally.asked.fetch_add(1, Ordering::Relaxed);
            let frames = self.buffer.frames();
            let walked = walker.walk(jni, self.depth, &mut self.cache, frames);
            self.walked = walked.filter(|walked| walked.frames == frames.len());
        }
        self.key()
    }

    fn ask_vm(&mut self, top: &TopFrames) {
        self.buffer.take(self.depth, |frames| {
            if frames.is_empty() {
                return 0;
            }
            top.env.stack_trace(None, frames).unwrap_or(0)
        });
        self.is_asked = true;
    }

    fn add_known(&mut self, top: &TopFrames) {
        let known = u64::from(std::mem::take(&mut self.known));
        top.tally.walks.fetch_add(known, Ordering::Relaxed);
    }

    /// The frames of the stack that was resolved last, innermost first.
    pub fn frames(&self) -> &[FrameInfo] {
        self.buffer.frames()
    }

    /// What to remember of the stack that was resolved last.
    pub fn mark(&self) -> FramesMark {
        FramesMark((self.hash() >> 32) as u32)
    }

    fn hash(&self) -> u64 {
        FixedState::default().hash_one(self.buffer.frames())
    }
}
