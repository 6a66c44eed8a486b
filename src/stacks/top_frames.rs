//! The innermost frames of the current thread: recognized by a walk over the stack where the VM's layout is known, otherwise
//! asked of the VM.
//!
//! A new stack is put together from the names of its frames, where each has been seen in other stacks: what a frame stands for
//! does not depend on those around it. The VM is asked for the innermost frames down to the one that is new.
//!
//! What a walk says, and what is put together, is checked against the VM: the first times, and one time in a thousand after that. A difference that no
//! redefined class explains ends it for the session.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldhash::fast::FixedState;

use super::named_frames::{NamedFrames, NamedMethod, NamedStack, hash_of, method_hash};
use super::{StackBuffer, Stacks};
use crate::jvmti::{Env, FrameInfo, Jni, SequenceHash, StackWalker, WalkCache, Walked};
use crate::names::thread::ThreadSerial;
use crate::names::trace::TraceId;

/// So many stacks that were known again are checked at first, all threads together.
const TRIAL: u64 = 256;
/// After that each thread checks one in so many.
const CHECKED: u32 = 1_024;

/// Where a method is not known, the VM is asked for so many times as many as would do.
const MORE: usize = 4;

/// How stacks are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackMethod {
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
    way: StackMethod,
    walker: OnceLock<Option<StackWalker>>,
    is_refuted: AtomicBool,
    tally: WalkCounters,
    named: NamedFrames,
    /// Told of a difference that nothing explains.
    refuted: fn(),
}

#[derive(Default)]
struct WalkCounters {
    walks: AtomicU64,
    composed: AtomicU64,
    asked: AtomicU64,
    checked: AtomicU64,
    differences: AtomicU64,
}

/// How stacks were taken so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopFramesTally {
    /// Stacks that were known again by a walk, but for the last thousand of each thread.
    pub known: u64,
    /// New stacks of frames that were all known.
    pub composed: u64,
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
    /// So many of the innermost frames the VM was asked for; `buffer` holds them.
    asked: Option<usize>,
    named: NamedStack,
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
    pub fn new(env: Env, way: StackMethod, refuted: fn()) -> Self {
        Self {
            env,
            way,
            walker: OnceLock::new(),
            is_refuted: AtomicBool::new(false),
            tally: WalkCounters::default(),
            named: NamedFrames::default(),
            refuted,
        }
    }

    /// The VM is up: from here on walks are tried. Called on a thread of the VM that is no virtual one.
    pub fn start(&self, jni: Jni<'_>) {
        self.walker.get_or_init(|| {
            if self.way == StackMethod::Vm {
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
            composed: number(&self.tally.composed),
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
            StackMethod::CheckedWalk => false,
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
        self.asked = None;
        self.walked = match top.walker() {
            Some(walker) => walker.walk(jni, depth, &mut self.cache, &[]),
            None => None,
        };
        match self.walked {
            Some(walked) => StackKey(walked.key),
            None => self.walk_or_ask(top, jni),
        }
    }

    /// Whether there are no frames: no Java runs on the thread, or the depth is 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        match self.walked {
            Some(walked) => walked.frames == 0,
            None => self.given().is_empty(),
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
        let is_due = self.known >= CHECKED || top.way == StackMethod::CheckedWalk;
        if !is_due && top.tally.checked.load(Ordering::Relaxed) >= TRIAL {
            return true;
        }
        self.check(top, mark())
    }

    #[cold]
    fn check(&mut self, top: &TopFrames, mark: FramesMark) -> bool {
        self.add_known(top);
        top.tally.checked.fetch_add(1, Ordering::Relaxed);
        self.ask_vm(top, self.depth);
        if FramesMark::of(hash_of(self.given())) == mark {
            return true;
        }
        top.differs(self.given());
        self.walked = None;
        false
    }

    /// The stack is not known: it is named. The key may be another one now.
    pub fn resolve(&mut self, top: &TopFrames, stacks: &Stacks, jni: Jni<'_>) -> StackKey {
        if self.walked.is_some() && !self.name(top, stacks, jni) {
            self.walked = None;
        }
        if self.walked.is_none() {
            self.ask(top, self.depth);
        }
        self.key()
    }

    fn key(&self) -> StackKey {
        let hash = || FixedState::default().hash_one(self.given());
        StackKey(self.walked.map_or_else(hash, |walked| walked.key))
    }

    /// Asks the VM for what the walk could not tell, and walks again.
    #[cold]
    fn walk_or_ask(&mut self, top: &TopFrames, jni: Jni<'_>) -> StackKey {
        while let (Some(walker), Some(unknown)) = (top.walker(), self.cache.unknown()) {
            // Where one method is unknown, others often are.
            let wanted = self.depth.min(MORE * unknown);
            if self.asked.is_some_and(|asked| asked >= wanted) {
                break;
            }
            self.ask(top, wanted);
            let given = self.buffer.frames();
            self.walked = walker.walk(jni, self.depth, &mut self.cache, given);
            if self.walked.is_some() {
                return self.key();
            }
        }
        self.ask(top, self.depth);
        self.key()
    }

    fn ask(&mut self, top: &TopFrames, methods: usize) {
        if top.walker().is_some() {
            self.add_known(top);
            top.tally.asked.fetch_add(1, Ordering::Relaxed);
        }
        self.ask_vm(top, methods);
    }

    /// Has the VM tell the innermost frames, unless it has.
    fn ask_vm(&mut self, top: &TopFrames, methods: usize) {
        if self.asked.is_some_and(|asked| asked >= methods) {
            return;
        }
        self.asked = Some(methods);
        self.buffer.take(methods, |frames| {
            if frames.is_empty() {
                return 0;
            }
            top.env.stack_trace(None, frames).unwrap_or(0)
        });
    }

    /// Names the stack that was walked over; `false` where the VM sees another one.
    fn name(&mut self, top: &TopFrames, stacks: &Stacks, jni: Jni<'_>) -> bool {
        if !self.remember(top, jni) {
            return false;
        }
        if let Err(methods) = self.compose(top) {
            self.ask(top, methods);
            if !self.name_given(top, stacks, jni, methods) || self.compose(top).is_err() {
                return false;
            }
        } else if self.asked.is_none() {
            top.tally.composed.fetch_add(1, Ordering::Relaxed);
        }
        if self.asked.is_some_and(|asked| asked >= self.depth) {
            return true;
        }
        let mark = self.mark();
        self.is(top, || mark)
    }

    /// Has the cache hold the frames of the stack that was walked over; `false` where that cannot be done.
    fn remember(&mut self, top: &TopFrames, jni: Jni<'_>) -> bool {
        let (Some(walker), Some(walked)) = (top.walker(), self.walked) else {
            return false;
        };
        let given = match self.asked {
            Some(_) => self.buffer.frames(),
            None => &[],
        };
        walker.remember(jni, (self.depth, walked), &mut self.cache, given)
    }

    /// Puts the stack together from frames that were named before. An error says how many of the innermost methods have to be told:
    /// the outermost one of them belongs to a frame that has no names.
    fn compose(&mut self, top: &TopFrames) -> Result<(), usize> {
        let all = self.cache.methods();
        let from = all.saturating_sub(self.depth);
        self.named.keep(self.cache.unchanged());
        if !self.named.reaches(from, self.depth) {
            // A stack that has shrunk often goes on to shrink, so it is named from further out than is wanted.
            let (first, _) = self.cache.frames_from(from.saturating_sub(self.depth));
            self.named.begin(self.cache.methods_before(first));
        }
        let (_, frames) = self.cache.frames_from(self.named.methods());
        let mut before = self.named.methods();
        for frame in frames.filter(|frame| frame.methods > 0) {
            let methods = usize::from(frame.methods);
            let is_named = self.named.add(&top.named, frame.key, methods);
            let end = before + methods;
            match (is_named, end <= from) {
                (true, _) => {}
                (false, true) => self.named.begin(end),
                (false, false) => return Err(all - before),
            }
            before = end;
        }
        self.named.cut(from);
        self.cache.settle();
        Ok(())
    }

    /// Names the frames that stand for so many of the innermost methods, which the VM was asked for; `false` where it has told of
    /// fewer.
    fn name_given(&self, top: &TopFrames, stacks: &Stacks, jni: Jni<'_>, methods: usize) -> bool {
        let mut given = self.buffer.frames();
        let (_, frames) = self.cache.frames_from(self.cache.methods() - methods);
        for frame in frames.rev().filter(|frame| frame.methods > 0) {
            let Some((own, outer)) = given.split_at_checked(usize::from(frame.methods)) else {
                return false;
            };
            given = outer;
            if !top.named.knows(frame.key) {
                let ids = stacks.frame_ids(jni, own).into_iter();
                let named = ids.zip(own).map(|(frame, method)| NamedMethod {
                    frame,
                    hash: method_hash(method),
                });
                top.named.add(frame.key, &named.collect::<Vec<_>>());
            }
        }
        true
    }

    fn add_known(&mut self, top: &TopFrames) {
        let known = u64::from(std::mem::take(&mut self.known));
        top.tally.walks.fetch_add(known, Ordering::Relaxed);
    }

    /// What the VM has told of the stack that was looked at.
    fn given(&self) -> &[FrameInfo] {
        let given = self.buffer.frames();
        &given[..given.len().min(self.depth)]
    }

    /// The trace of the stack that was resolved last, which the thread of this number has.
    pub fn trace(&mut self, stacks: &Stacks, jni: Jni<'_>, thread: ThreadSerial) -> TraceId {
        match self.walked {
            Some(_) => self.named.trace(stacks, thread),
            None => stacks.trace(jni, thread, self.given()),
        }
    }

    /// What to remember of the stack that was resolved last.
    pub fn mark(&self) -> FramesMark {
        match self.walked {
            Some(_) => FramesMark::of(self.named.hash()),
            None => FramesMark::of(hash_of(self.given())),
        }
    }
}

impl FramesMark {
    fn of(hash: SequenceHash) -> Self {
        // The hash has 61 bits.
        Self((hash.number() >> 29) as u32)
    }
}
