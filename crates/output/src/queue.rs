//! The queue between the threads that have records and the one that writes them.

use std::collections::VecDeque;
use std::time::Duration;

use locks::{Condvar, Mutex, rank};

/// The number of bytes in the queue from which on threads have to wait: about what a CPU's cache holds, which speeds up heap
/// dumps.
const QUEUED: usize = 512 * 1024;
/// The number of written buffers that are kept for reuse, so that a heap dump does not keep asking for new memory.
const SPARE: usize = 4;
/// The longest that an event waits for the thread, unless `block=y`.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The number of events, about 200 bytes each, that are taken while the thread is behind.
const MOST_OVERDUE: u32 = 64 * 1024;

/// Buffers on their way to the thread, and empty ones on their way back. Library channels allocate memory for each
/// thread that sends, and end the process if there is none.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<QueueState, rank::QueuedBytes>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct QueueState {
    pieces: VecDeque<Vec<u8>>,
    /// The bytes that have entered and not left.
    pub(super) bytes: usize,
    spare: Vec<Vec<u8>>,
    /// Set when nothing further enters.
    is_closed: bool,
    /// Set when the thread has ended: nothing leaves any more.
    pub(super) is_dead: bool,
    /// The number of buffers that have left.
    left: u64,
    /// The number of events that were taken since an event waited in vain.
    overdue: u32,
}

impl QueueState {
    pub(super) fn has_room(&self) -> bool {
        self.bytes < QUEUED || self.is_dead
    }
}

/// An item that the thread takes from the queue.
pub(super) enum Next {
    Piece(Vec<u8>),
    /// Nothing has arrived for a while.
    Nothing,
    /// The queue is closed and empty.
    End,
}

impl Queue {
    /// Returns an empty buffer for reuse, if there is one.
    pub(super) fn spare(&self) -> Option<Vec<u8>> {
        self.state.lock().spare.pop()
    }

    /// Adds a buffer. Never waits, because others wait for the lock of the records that the caller holds.
    pub(super) fn put(&self, piece: Vec<u8>) {
        let mut state = self.state.lock();
        if !state.is_dead {
            state.bytes += piece.len();
            state.pieces.push_back(piece);
            self.changed.notify_all();
        }
    }

    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Waits until the queue is in a state, or `timeout` has passed; returns `true` if it is.
    pub(super) fn wait_for(
        &self,
        timeout: Duration,
        is_over: impl Fn(&QueueState) -> bool,
    ) -> bool {
        let mut state = self.state.lock();
        self.changed
            .wait_while_for(&mut state, |state| !is_over(state), timeout);
        is_over(&state)
    }

    /// Waits for a moment until there is room, unless another thread has done so in vain. Returns `true` if too many events were
    /// taken without room.
    pub(super) fn is_overfull(&self) -> bool {
        let mut state = self.state.lock();
        if state.overdue == 0 {
            let is_full = |state: &mut QueueState| !state.has_room();
            self.changed
                .wait_while_for(&mut state, is_full, LONGEST_WAIT);
        }
        state.overdue = match state.has_room() {
            true => 0,
            false => state.overdue.saturating_add(1),
        };
        state.overdue > MOST_OVERDUE
    }

    pub(super) fn progress(&self) -> u64 {
        self.state.lock().left
    }

    pub(super) fn is_dead(&self) -> bool {
        self.state.lock().is_dead
    }

    /// Returns the next buffer. It counts as in the queue until [`Queue::left`].
    pub(super) fn next(&self, timeout: Duration) -> Next {
        let mut state = self.state.lock();
        let nothing = |state: &mut QueueState| state.pieces.is_empty() && !state.is_closed;
        self.changed.wait_while_for(&mut state, nothing, timeout);
        match state.pieces.pop_front() {
            Some(piece) => Next::Piece(piece),
            None if state.is_closed => Next::End,
            None => Next::Nothing,
        }
    }

    /// Counts bytes that bypass the queue, if it is empty; otherwise returns `false`.
    pub(super) fn enter_if_empty(&self, bytes: usize) -> bool {
        let mut state = self.state.lock();
        let is_empty = state.pieces.is_empty();
        if is_empty {
            state.bytes += bytes;
        }
        is_empty
    }

    pub(super) fn left(&self, bytes: usize) {
        {
            let mut state = self.state.lock();
            state.bytes -= bytes;
            state.left += 1;
        }
        self.changed.notify_all();
    }

    /// As [`Queue::left`], and keeps the buffer for reuse. Surplus buffers are freed.
    pub(super) fn left_behind(&self, mut piece: Vec<u8>) {
        self.left(piece.len());
        piece.clear();
        let mut state = self.state.lock();
        if state.spare.len() < SPARE {
            state.spare.push(piece);
        }
    }

    /// Marks the thread as ended and wakes everyone who waits.
    pub(super) fn die(&self) {
        self.state.lock().is_dead = true;
        self.changed.notify_all();
    }
}
