//! Takes the innermost frames of the current thread: by walking the stack where the VM's layout is known, and otherwise
//! by asking the VM.
//!
//! A new stack is composed from the names of its frames if each has been seen in other stacks: the methods that a frame
//! stands for do not depend on its neighbors. The VM is asked only for the innermost frames down to the last one that
//! is new.
//!
//! Walked and composed stacks are checked against the VM: the first few hundred, and one in a thousand after that. A
//! difference that no redefined class explains ends the walks for the session.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldhash::fast::FixedState;

use super::named_frames::{NamedFrames, NamedMethod, NamedStack, hash_of, method_hash};
use super::{StackBuffer, Stacks};
use jvmti::{Env, FrameInfo, Jni, SequenceHash, StackWalker, WalkCache, Walked};
use memory::{List, OrStop};
use names::thread::ThreadSerial;
use names::trace::TraceId;

/// The number of recognized stacks that are checked at first, all threads together.
const TRIAL: u64 = 256;
/// After that, each thread checks one recognized stack in this many.
const CHECKED: u32 = 1_024;

/// If a method is not known, the VM is asked for this many times the frames that would be needed.
const MORE: usize = 4;

/// The method of taking stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackMethod {
    /// By walks where they work, with occasional checks.
    Walk,
    /// By walks that are all checked.
    CheckedWalk,
    /// By asking the VM each time.
    Vm,
}

/// Takes the innermost frames of threads.
pub struct TopFrames {
    env: Env,
    way: StackMethod,
    walker: OnceLock<Option<StackWalker>>,
    is_refuted: AtomicBool,
    tally: WalkCounters,
    named: NamedFrames,
    /// Called on a difference that nothing explains.
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

/// Counters of the methods by which stacks were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopFramesTally {
    /// Stacks that a walk recognized; up to a thousand recent ones per thread are not counted yet.
    pub known: u64,
    /// New stacks whose frames were all known.
    pub composed: u64,
    /// Stacks that the VM was asked for, because they were new or could not be walked.
    pub asked: u64,
    /// Recognized stacks that were checked.
    pub checked: u64,
    /// Checked stacks that differed from what the VM returned.
    pub differences: u64,
}

/// The stack that one thread currently looks at.
#[derive(Default)]
pub struct StackTop {
    buffer: StackBuffer,
    cache: WalkCache,
    depth: usize,
    walked: Option<Walked>,
    /// The number of innermost frames that the VM was asked for and that `buffer` holds.
    asked: Option<usize>,
    named: NamedStack,
    /// The number of methods on the stack inside the first in `named`.
    named_from: usize,
    /// Recognized stacks that the tally does not include yet.
    known: u32,
}

/// Identifies a stack. With 64 bits, the chance that any two among a million collide is one in ten million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackKey(pub u64);

/// A mark of the frames after a [`StackKey`], by which a change in them is recognized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramesMark(u32);

impl TopFrames {
    /// Creates an instance. `refuted` is called once if the walks turn out to be wrong.
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

    /// Tries walks, now that the VM is up. Called on a platform thread of the VM.
    pub fn start(&self, jni: Jni<'_>) {
        self.walker.get_or_init(|| {
            if self.way == StackMethod::Vm {
                return None;
            }
            let thread = self.env.current_thread(jni).ok()??;
            StackWalker::find(self.env, jni, thread.object())
        });
    }

    /// Returns the counters; `None` if the VM was asked for every stack.
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

    /// Returns `true` if there are no frames: the thread runs no Java, or the depth is 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        match self.walked {
            Some(walked) => walked.frames == 0,
            None => self.given().is_empty(),
        }
    }

    /// Returns `true` if the last stack looked at is the one remembered under its key. Nearly always this is decided
    /// without calling `mark`.
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

    /// Names an unknown stack and returns its key, which may have changed.
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

    /// Asks the VM for the frames that the walk could not identify, and walks again.
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

    /// Asks the VM for the innermost frames, unless it has been asked for that many.
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

    /// Names the stack that was walked; returns `false` if the VM sees a different one.
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

    /// Stores the frames of the walked stack in the cache; returns `false` if that is not possible.
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

    /// Composes the stack from frames that were named before. An error holds the number of innermost methods that must
    /// be asked for: the outermost of them belongs to a frame without a name.
    fn compose(&mut self, top: &TopFrames) -> Result<(), usize> {
        let all = self.cache.methods();
        let from = all.saturating_sub(self.depth);
        let unchanged = match from == self.named_from {
            true => self.cache.unchanged().saturating_sub(from),
            false => 0,
        };
        self.named_from = from;
        self.named.keep(unchanged);
        let done = from + self.named.frames().len();
        let (first, frames) = self.cache.frames_from(done);
        let mut before = self.cache.methods_before(first);
        for frame in frames.filter(|frame| frame.methods > 0) {
            let methods = usize::from(frame.methods);
            // Only in the first one can some methods be unwanted.
            let skip = done.saturating_sub(before);
            if !self.named.add(&top.named, frame.key, methods, skip) {
                return Err(all - before);
            }
            before += methods;
        }
        self.cache.settle();
        Ok(())
    }

    /// Names the frames for that many innermost methods, for which the VM was asked; returns `false` if it returned
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
                let ids = stacks.own_frame_ids(jni, own).into_iter();
                let named = ids.zip(own).map(|(frame, method)| NamedMethod {
                    frame,
                    hash: method_hash(method),
                });
                top.named.add(frame.key, &List::collect(named).or_stop());
            }
        }
        true
    }

    fn add_known(&mut self, top: &TopFrames) {
        let known = u64::from(std::mem::take(&mut self.known));
        top.tally.walks.fetch_add(known, Ordering::Relaxed);
    }

    /// Returns the VM's frames of the last stack looked at.
    fn given(&self) -> &[FrameInfo] {
        let given = self.buffer.frames();
        &given[..given.len().min(self.depth)]
    }

    /// Returns the trace of the last resolved stack, for the thread of this number.
    pub fn trace(&mut self, stacks: &Stacks, jni: Jni<'_>, thread: ThreadSerial) -> TraceId {
        match self.walked {
            Some(_) => {
                let (outer, frames) = self.named.parts();
                stacks.trace_onto(outer, thread, frames)
            }
            None => stacks.own_trace(jni, thread, self.given()),
        }
    }

    /// Returns the mark to remember for the last resolved stack.
    pub fn mark(&self) -> FramesMark {
        match self.walked {
            Some(_) => FramesMark::of(self.named.hash()),
            None => FramesMark::of(hash_of(self.given())),
        }
    }
}

impl FramesMark {
    fn of(hash: SequenceHash) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the hash has 61 bits")]
        let number = (hash.number() >> 29) as u32;
        Self(number)
    }
}
