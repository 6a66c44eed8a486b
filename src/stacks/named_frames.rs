//! Maps the native frames that walks see to the frames of the tables; each is named once, for all threads.

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

/// Enough shards that two threads rarely contend for one.
const SHARDS: usize = 16;
/// The most frames in one shard, 60 bytes each. A full shard is emptied, since code that is compiled again and again
/// produces new frames without end.
const MOST: usize = 1 << 15;

/// The frames that have been named, by their keys from a walk. A key is never reused for another frame, so an entry
/// stays valid.
#[derive(Default)]
pub(super) struct NamedFrames([Shard; SHARDS]);

type Shard = Mutex<HashMap<u64, Methods, FixedState>, rank::NamedFrames>;

/// The methods that a native frame stands for, innermost first.
enum Methods {
    One(NamedMethod),
    Inlined(Box<[NamedMethod]>),
}

/// A method and a position in it.
#[derive(Clone, Copy)]
pub(super) struct NamedMethod {
    pub(super) frame: FrameId,
    /// The hash of the VM's description of it.
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

/// A stack as frames of the tables, which continues from the previous one. It may have more frames than are requested, so
/// that it need not begin anew when the stack grows and shrinks.
#[derive(Default)]
pub(super) struct NamedStack {
    /// The number of methods on the stack outside of the first frame.
    before: usize,
    /// Outermost first.
    frames: Vec<FrameId>,
    /// For each frame, the hash of the VM's description of the frames up to and including it.
    hashes: Vec<SequenceHash>,
    chunks: StackChunks,
    /// The index of the first requested frame.
    from: usize,
}

impl NamedStack {
    /// Keeps the stack's outermost `methods` methods and forgets the rest.
    pub(super) fn keep(&mut self, methods: usize) {
        let frames = methods.saturating_sub(self.before);
        self.before = self.before.min(methods);
        self.frames.truncate(frames);
        self.hashes.truncate(frames);
        self.chunks.keep(frames);
    }

    /// Begins anew, inside of `before` methods.
    pub(super) fn begin(&mut self, before: usize) {
        self.keep(0);
        self.before = before;
    }

    /// Returns `true` if the requested frames, the first of them inside of `from` methods, can be added to these: at most
    /// `most` methods that are not requested are missing between the two.
    pub(super) fn reaches(&self, from: usize, most: usize) -> bool {
        self.before <= from && from <= self.methods() + most
    }

    /// The number of methods on the stack outside of the next one to be added.
    pub(super) fn methods(&self) -> usize {
        self.before + self.frames.len()
    }

    /// Requests only the methods inside of the outermost `methods`.
    pub(super) fn cut(&mut self, methods: usize) {
        self.from = methods.saturating_sub(self.before);
    }

    /// Returns the trace of the requested frames.
    pub(super) fn trace(&mut self, stacks: &Stacks, thread: ThreadSerial) -> TraceId {
        stacks.trace_from(&mut self.chunks, thread, (&self.frames, self.from))
    }

    /// Returns the hash of the requested frames; see [`hash_of`].
    pub(super) fn hash(&self) -> SequenceHash {
        let hash_up_to = |frames: usize| match frames.checked_sub(1) {
            Some(last) => self.hashes[last],
            None => SequenceHash::default(),
        };
        let length = self.frames.len();
        hash_up_to(length).without(hash_up_to(self.from), length - self.from)
    }

    /// Adds the methods of a frame; returns `false` if they are unknown, or not as many as were named under the key.
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

/// Returns the hash of the VM's description of a stack, innermost frame first.
pub(super) fn hash_of(frames: &[FrameInfo]) -> SequenceHash {
    let hashes = frames.iter().rev().map(method_hash);
    hashes.fold(SequenceHash::default(), SequenceHash::with)
}

/// Returns the hash of the VM's description of one frame.
pub(super) fn method_hash(frame: &FrameInfo) -> u64 {
    FixedState::default().hash_one(frame)
}
