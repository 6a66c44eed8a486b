//! Encodes records and writes the bytes to the file or the receiver, on a thread of its own.
//!
//! A thread that has records encodes them under the lock of [`Records`]; full buffers go to the writer thread through a
//! queue that holds [`QUEUED`] bytes, so memory is bounded and a slow disk slows the profile instead of filling the
//! memory. Every [`FLUSH_INTERVAL`] the thread also fetches what is in the buffer. It only tries the lock of `Records`
//! and never waits for it, because the holder may be waiting for the thread.
//!
//! [`Writer::without_thread`] writes full buffers itself, for an output that is written where there may be no more
//! threads.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hprof_format::{Encoder, Micros, Millis, MonitorRecord, Record, Timing};

use super::Sink;
use crate::console;
use crate::lock_order::{Condvar, Mutex, MutexGuard, rank};
use crate::memory::SystemThread;

/// The size at which a buffer is handed to the thread, in bytes.
const BUFFER: usize = 64 * 1024;
/// The most bytes in the queue before further ones have to wait: about what a CPU's cache holds, which speeds up heap
/// dumps.
const QUEUED: usize = 512 * 1024;
/// The number of written buffers that are kept for reuse, so that a heap dump does not keep asking for new memory.
const SPARE: usize = 4;
/// The longest that a record stays unwritten, as long as the disk keeps up.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Returns the time by the system's clock.
pub fn now() -> Millis {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX))
}

/// The output of one run.
pub struct Writer {
    records: Arc<Mutex<Records, rank::Records>>,
    thread: Mutex<Option<SystemThread>, rank::WriterThread>,
    is_ending: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
}

/// Takes records, in the order in which they appear in the file.
pub struct Records {
    encoder: Box<dyn Encoder>,
    buffer: Vec<u8>,
    /// Set when no further records are taken.
    is_closed: bool,
    way: Way,
    failed: Arc<AtomicBool>,
    /// The time stamp of the file.
    time: Millis,
    start: Instant,
}

/// The way of full buffers to the sink.
enum Way {
    /// Through a queue, which the writer thread empties.
    Queue(Arc<Queue>),
    /// Written at once, by whoever has filled the buffer.
    Direct(Output),
}

impl Writer {
    /// Starts the thread, and begins the file with the encoder's header and the time stamp.
    pub fn start(encoder: Box<dyn Encoder>, sink: Box<dyn Sink>, time: Millis) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let output = Output::new(sink);
        let (is_ending, bytes) = (output.is_ending.clone(), output.written.clone());
        let failed = output.failed.clone();
        let way = Way::Queue(queue.clone());
        let records = Arc::new(Mutex::new(Records::new(encoder, time, failed, way)));
        let to_flush = records.clone();
        let thread = SystemThread::start(c"HPROF writer", move || {
            Drain {
                queue,
                output,
                to_flush,
            }
            .run()
        })?;
        Ok(Self {
            records,
            thread: Mutex::new(Some(thread)),
            is_ending,
            bytes,
        })
    }

    /// As [`Writer::start`], but whoever writes records writes the file, too.
    pub fn without_thread(encoder: Box<dyn Encoder>, sink: Box<dyn Sink>, time: Millis) -> Self {
        Self::since(encoder, sink, time, Instant::now())
    }

    /// As [`Writer::without_thread`], for an output about what began at `start`, which was `time`.
    pub fn since(
        encoder: Box<dyn Encoder>,
        sink: Box<dyn Sink>,
        time: Millis,
        start: Instant,
    ) -> Self {
        let output = Output::new(sink);
        let (is_ending, bytes) = (output.is_ending.clone(), output.written.clone());
        let failed = output.failed.clone();
        let mut records = Records::new(encoder, time, failed, Way::Direct(output));
        records.start = start;
        Self {
            records: Arc::new(Mutex::new(records)),
            thread: Mutex::new(None),
            is_ending,
            bytes,
        }
    }

    /// Locks the encoder. Records written under one lock are not mixed with others.
    pub fn records(&self) -> MutexGuard<'_, Records, rank::Records> {
        self.records.lock()
    }

    /// Prepares for the end of the program: from now on a slow reader is waited for less long.
    pub fn hurry(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Writes out everything so far, and waits for that. Later records are dropped.
    pub fn close(&self) {
        self.hurry();
        {
            let mut records = self.records.lock();
            records.flush();
            records.is_closed = true;
            match &mut records.way {
                Way::Queue(queue) => queue.close(),
                Way::Direct(output) => output.finish(),
            }
        }
        if let Some(thread) = self.thread.lock().take() {
            thread.join();
        }
    }

    /// Waits until everything so far has been written, or has failed to be.
    pub fn drain(&self) {
        let queue = {
            let mut records = self.records.lock();
            records.flush();
            match &records.way {
                Way::Queue(queue) => queue.clone(),
                Way::Direct(_) => return,
            }
        };
        queue.wait_until_empty();
    }

    /// Writes out everything so far, and makes sure that it survives a failure of the system. Only for a writer without
    /// a thread; another one does nothing.
    pub fn sync(&self) {
        let mut records = self.records.lock();
        records.flush();
        if let Way::Direct(output) = &mut records.way {
            output.sync();
        }
    }

    /// Returns the number of bytes written.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns `true` if everything so far could be written.
    pub fn is_sound(&self) -> bool {
        !self.records.lock().failed.load(Ordering::Relaxed)
    }
}

impl Records {
    /// Begins the file with the encoder's header and the time stamp.
    fn new(mut encoder: Box<dyn Encoder>, time: Millis, failed: Arc<AtomicBool>, way: Way) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER);
        encoder.start(time, &mut buffer);
        Self {
            encoder,
            buffer,
            is_closed: false,
            way,
            failed,
            time,
            start: Instant::now(),
        }
    }

    /// Returns the time stamp of the file.
    pub fn time(&self) -> Millis {
        self.time
    }

    /// Appends a record.
    pub fn write(&mut self, record: &Record<'_>) {
        self.append(|encoder, time, buffer| encoder.record(time, record, buffer));
    }

    /// Appends a record about monitors; returns `false` if the format has none.
    pub(super) fn write_monitor(&mut self, record: &MonitorRecord<'_>) -> bool {
        let mut is_written = true;
        self.append(|encoder, time, buffer| is_written = encoder.monitor(time, record, buffer));
        is_written
    }

    /// Appends the result of timing methods.
    pub fn write_timing(&mut self, timing: &Timing<'_>) {
        self.append(|encoder, time, buffer| encoder.timing(time, timing, buffer));
    }

    fn append(&mut self, encode: impl FnOnce(&mut dyn Encoder, Micros, &mut Vec<u8>)) {
        if self.is_closed || self.failed.load(Ordering::Relaxed) {
            return;
        }
        let time = Micros(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX));
        encode(&mut *self.encoder, time, &mut self.buffer);
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    /// Returns `true` if further records still reach the file.
    pub fn is_sound(&self) -> bool {
        !self.is_closed && !self.failed.load(Ordering::Relaxed)
    }

    /// Hands the buffer to the thread, and waits if the thread is behind; without a thread, writes it.
    pub fn flush(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        match &mut self.way {
            Way::Queue(queue) => {
                let empty = queue.spare();
                let empty = empty.unwrap_or_else(|| Vec::with_capacity(BUFFER));
                let full = std::mem::replace(&mut self.buffer, empty);
                if !self.is_closed {
                    queue.put(full);
                }
            }
            Way::Direct(output) => {
                if !self.is_closed {
                    output.write(&self.buffer);
                }
                self.buffer.clear();
            }
        }
    }
}

/// Buffers on their way to the thread, and empty ones on their way back. Library channels allocate memory for each
/// thread that sends, and end the process if there is none.
#[derive(Default)]
struct Queue {
    state: Mutex<QueueState, rank::QueuedBytes>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    pieces: VecDeque<Vec<u8>>,
    /// The bytes that have entered and not left.
    bytes: usize,
    spare: Vec<Vec<u8>>,
    /// Set when nothing further enters.
    is_closed: bool,
    /// Set when the thread has ended: nothing leaves any more.
    is_dead: bool,
}

/// An item that the thread takes from the queue.
enum Next {
    Piece(Vec<u8>),
    /// Nothing has arrived for a while.
    Nothing,
    /// The queue is closed and empty.
    End,
}

impl Queue {
    /// Returns an empty buffer for reuse, if there is one.
    fn spare(&self) -> Option<Vec<u8>> {
        self.state.lock().spare.pop()
    }

    /// Adds a buffer. Waits until there is room; a single buffer always fits.
    fn put(&self, piece: Vec<u8>) {
        let mut state = self.state.lock();
        self.changed
            .wait_while(&mut state, |state| state.bytes >= QUEUED && !state.is_dead);
        if !state.is_dead {
            state.bytes += piece.len();
            state.pieces.push_back(piece);
            self.changed.notify_all();
        }
    }

    fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Waits until the queue is empty; buffers that enter in the meantime are waited for too.
    fn wait_until_empty(&self) {
        let mut state = self.state.lock();
        self.changed
            .wait_while(&mut state, |state| state.bytes > 0 && !state.is_dead);
    }

    /// Returns the next buffer. It counts as in the queue until [`Queue::left`].
    fn next(&self, timeout: Duration) -> Next {
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
    fn enter_if_empty(&self, bytes: usize) -> bool {
        let mut state = self.state.lock();
        let is_empty = state.pieces.is_empty();
        if is_empty {
            state.bytes += bytes;
        }
        is_empty
    }

    fn left(&self, bytes: usize) {
        self.state.lock().bytes -= bytes;
        self.changed.notify_all();
    }

    /// As [`Queue::left`], and keeps the buffer for reuse. Surplus buffers are freed.
    fn left_behind(&self, mut piece: Vec<u8>) {
        self.left(piece.len());
        piece.clear();
        let mut state = self.state.lock();
        if state.spare.len() < SPARE {
            state.spare.push(piece);
        }
    }

    /// Marks the thread as ended and wakes everyone who waits.
    fn die(&self) {
        self.state.lock().is_dead = true;
        self.changed.notify_all();
    }
}

/// The state of the writer thread.
struct Drain {
    queue: Arc<Queue>,
    output: Output,
    to_flush: Arc<Mutex<Records, rank::Records>>,
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.queue.die();
    }
}

impl Drain {
    fn run(mut self) {
        loop {
            match self.queue.next(FLUSH_INTERVAL) {
                Next::Piece(piece) => {
                    self.output.write(&piece);
                    self.queue.left_behind(piece);
                }
                Next::Nothing => self.fetch(),
                Next::End => return self.output.finish(),
            }
        }
    }

    /// Writes the buffered records, if nobody holds the lock; the queue is empty, so the order is kept.
    fn fetch(&mut self) {
        let Some(mut records) = self.to_flush.try_lock() else {
            return;
        };
        let length = records.buffer.len();
        // The queue is empty, so there is room.
        if !self.queue.enter_if_empty(length) {
            return;
        }
        let piece = std::mem::take(&mut records.buffer);
        drop(records);
        self.output.write(&piece);
        self.queue.left(length);
    }
}

/// The sink, and how it fares.
struct Output {
    sink: Box<dyn Sink>,
    failed: Arc<AtomicBool>,
    is_ending: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
}

impl Output {
    fn new(sink: Box<dyn Sink>) -> Self {
        Self {
            sink,
            failed: Arc::default(),
            is_ending: Arc::default(),
            written: Arc::default(),
        }
    }

    /// Writes a piece. After a failure pieces are still taken, and dropped, so that nobody waits for room in the queue.
    fn write(&mut self, piece: &[u8]) {
        if piece.is_empty() || self.failed.load(Ordering::Relaxed) {
            return;
        }
        match self.sink.write(piece, &self.is_ending) {
            Ok(()) => {
                let length = piece.len() as u64;
                self.written.fetch_add(length, Ordering::Relaxed);
            }
            Err(error) => self.fail(&error),
        }
    }

    fn sync(&mut self) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = self.sink.sync() {
            self.fail(&error);
        }
    }

    fn finish(&mut self) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = self.sink.finish(&self.is_ending) {
            self.fail(&error);
        }
    }

    fn fail(&self, error: &io::Error) {
        self.failed.store(true, Ordering::Relaxed);
        let name = self.sink.name();
        console::line(format_args!(
            "{name}: {error}; the profile ends here, the program goes on"
        ));
    }
}
