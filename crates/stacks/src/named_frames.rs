//! Maps the native frames that walks see to the frames of the tables; each is named once, for all threads.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use jvmti::{FrameInfo, SequenceHash};
use locks::{Mutex, rank};
use memory::{List, Map, OrStop};
use names::frame::FrameId;
use names::trace::OuterPart;

/// Enough shards that two threads rarely contend for one.
const SHARDS: usize = 16;
/// The most frames in one shard, 60 bytes each. A full shard is emptied, since code that is compiled again and again
/// produces new frames without end.
const MOST: usize = 1 << 15;

/// The frames that have been named, by their keys from a walk. A key is never reused for another frame, so an entry
/// stays valid.
#[derive(Default)]
pub(super) struct NamedFrames([Shard; SHARDS]);

type Shard = Mutex<Map<u64, Methods>, rank::NamedFrames>;

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
        shard.insert(key, methods).or_stop();
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

/// A stack as frames of the tables, which shares its outer part with the previous stack.
#[derive(Default)]
pub(super) struct NamedStack {
    /// Outermost first.
    frames: List<FrameId>,
    /// For each frame, the hash of the VM's description of the frames up to it.
    hashes: List<SequenceHash>,
    outer: OuterPart,
}

impl NamedStack {
    /// Keeps the outermost `frames` frames and forgets the rest.
    pub(super) fn keep(&mut self, frames: usize) {
        self.frames.truncate(frames);
        self.hashes.truncate(frames);
        self.outer.keep(frames);
    }

    pub(super) fn frames(&self) -> &[FrameId] {
        &self.frames
    }

    /// Returns the frames, and the part of their trace that is known.
    pub(super) fn parts(&mut self) -> (&mut OuterPart, &[FrameId]) {
        (&mut self.outer, &self.frames)
    }

    /// Returns the hash of the whole stack; see [`hash_of`].
    pub(super) fn hash(&self) -> SequenceHash {
        self.hashes.last().copied().unwrap_or_default()
    }

    /// Adds the methods of a frame except for some of the outermost; returns `false` if they are unknown, or not those
    /// that the key stood for before.
    pub(super) fn add(
        &mut self,
        named: &NamedFrames,
        key: u64,
        methods: usize,
        skip: usize,
    ) -> bool {
        let shard = named.shard(key).lock();
        let Some(found) = shard.get(&key).map(Methods::as_slice) else {
            return false;
        };
        if found.len() != methods {
            return false;
        }
        for method in found.iter().rev().skip(skip) {
            // Both or none.
            self.frames.reserve(1).or_stop();
            self.hashes.push(self.hash().with(method.hash)).or_stop();
            self.frames.push(method.frame).or_stop();
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
