//! Frames of the system, as walks know them, and the frames of the tables that they stand for: named once, for all threads.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::Stacks;
use crate::jvmti::{FrameInfo, SequenceHash};
use crate::lock_order::{Mutex, rank};
use crate::memory;
use crate::names::frame::FrameId;
use crate::names::thread::ThreadSerial;
use crate::names::trace::{StackChunks, TraceId};

/// Enough that two threads rarely meet in one.
const SHARDS: usize = 16;
/// Frames that one shard holds, 60 bytes each; one that is full starts anew, since code that is compiled again and again has new
/// frames without end.
const MOST: usize = 1 << 15;

/// The frames that have been named, by what a walk knows them by: that is never given to others, so an entry is right for good.
#[derive(Default)]
pub(super) struct NamedFrames([Shard; SHARDS]);

type Shard = Mutex<HashMap<u64, Methods, FixedState>, rank::NamedFrames>;

/// The methods that a frame stands for, innermost first.
enum Methods {
    One(NamedMethod),
    Inlined(Box<[NamedMethod]>),
}

/// A method and a place in it.
#[derive(Clone, Copy)]
pub(super) struct NamedMethod {
    pub(super) frame: FrameId,
    /// Of what the VM says of it.
    pub(super) hash: u64,
}

impl NamedFrames {
    fn shard(&self, key: u64) -> &Shard {
        &self.0[(key >> 32) as usize % SHARDS]
    }

    pub(super) fn knows(&self, key: u64) -> bool {
        self.shard(key).lock().contains_key(&key)
    }

    pub(super) fn add(&self, key: u64, methods: &[NamedMethod]) {
        let methods = match methods {
            [one] => Methods::One(*one),
            inlined => Methods::Inlined(inlined.into()),
        };
        let mut shard = self.shard(key).lock();
        if shard.len() >= MOST {
            shard.clear();
        }
        memory::need_to_hash(shard.len(), shard.capacity(), size_of::<(u64, Methods)>());
        shard.insert(key, methods);
    }
}

impl Methods {
    fn as_slice(&self) -> &[NamedMethod] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Inlined(methods) => methods,
        }
    }
}

/// A stack in the tables' frames, which goes on from the one before it. It may have more frames than are wanted, so that it need
/// not begin anew where the stack grows and shrinks.
#[derive(Default)]
pub(super) struct NamedStack {
    /// How many methods stand on the stack before the first frame.
    before: usize,
    /// Outermost first.
    frames: Vec<FrameId>,
    /// Of what the VM says of the frames up to each.
    hashes: Vec<SequenceHash>,
    chunks: StackChunks,
    /// The first frame that is wanted.
    from: usize,
}

impl NamedStack {
    /// Forgets all but so many of the stack's outermost methods.
    pub(super) fn keep(&mut self, methods: usize) {
        let frames = methods.saturating_sub(self.before);
        self.before = self.before.min(methods);
        self.frames.truncate(frames);
        self.hashes.truncate(frames);
        self.chunks.keep(frames);
    }

    /// Begins anew, behind so many methods.
    pub(super) fn begin(&mut self, before: usize) {
        self.keep(0);
        self.before = before;
    }

    /// Whether the frames that are wanted, the first of them behind so many methods, may be added to these: not many methods that are
    /// not wanted are missing before them.
    pub(super) fn reaches(&self, from: usize, most: usize) -> bool {
        self.before <= from && from <= self.methods() + most
    }

    /// How many methods stand on the stack before the next one to be added.
    pub(super) fn methods(&self) -> usize {
        self.before + self.frames.len()
    }

    /// From now on only the methods behind so many are wanted.
    pub(super) fn cut(&mut self, methods: usize) {
        self.from = methods.saturating_sub(self.before);
    }

    /// The trace of the frames that are wanted.
    pub(super) fn trace(&mut self, stacks: &Stacks, thread: ThreadSerial) -> TraceId {
        stacks.trace_from(&mut self.chunks, thread, (&self.frames, self.from))
    }

    /// Of the frames that are wanted; see [`hash_of`].
    pub(super) fn hash(&self) -> SequenceHash {
        let hash_up_to = |frames: usize| match frames.checked_sub(1) {
            Some(last) => self.hashes[last],
            None => SequenceHash::default(),
        };
        let length = self.frames.len();
        hash_up_to(length).without(hash_up_to(self.from), length - self.from)
    }

    /// Adds the methods of a frame; `false` where they are not those that the key was seen to stand for, or not known.
    pub(super) fn add(&mut self, named: &NamedFrames, key: u64, methods: usize) -> bool {
        let shard = named.shard(key).lock();
        let Some(found) = shard.get(&key).map(Methods::as_slice) else {
            return false;
        };
        if found.len() != methods {
            return false;
        }
        let mut hash = self.hashes.last().copied().unwrap_or_default();
        for method in found.iter().rev() {
            let length = self.frames.len();
            memory::need_to_grow(length, self.frames.capacity(), size_of::<FrameId>());
            memory::need_to_grow(length, self.hashes.capacity(), size_of::<SequenceHash>());
            hash = hash.with(method.hash);
            self.hashes.push(hash);
            self.frames.push(method.frame);
        }
        true
    }
}

/// The hash of what the VM says of a stack, innermost frame first.
pub(super) fn hash_of(frames: &[FrameInfo]) -> SequenceHash {
    let hashes = frames.iter().rev().map(method_hash);
    hashes.fold(SequenceHash::default(), SequenceHash::with)
}

/// The hash of what the VM says of one frame.
pub(super) fn method_hash(frame: &FrameInfo) -> u64 {
    FixedState::default().hash_one(frame)
}
