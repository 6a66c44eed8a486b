//! Encodes records and writes the bytes to the file or the receiver, on a thread of its own.
//!
//! A thread that has records encodes them under the lock of [`Records`]; full buffers go to the writer thread through a
//! queue. Before a thread takes that lock it waits while the queue is full, so memory is bounded and a slow disk slows the profile
//! instead of filling the memory. A disk that takes nothing must not stop the program: an event waits for a moment and is
//! taken anyway, those after it do not wait, and after too many of them the profile ends (`queue`). Every [`FLUSH_INTERVAL`] the thread also fetches what is in the buffer. It only tries the lock of `Records`
//! and never waits for it, because the holder may be waiting for the thread.
//!
//! [`Writer::without_thread`] writes full buffers itself, for an output that is written where there may be no more
//! threads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hprof_format::{Encoder, Micros, Millis, MonitorRecord, Record, Timing};

use super::Sink;
use super::queue::{Next, Queue, QueueState};
use crate::console;
use locks::{Mutex, MutexGuard, rank};
use memory::SystemThread;

/// The size at which a buffer is handed to the thread, in bytes.
const BUFFER: usize = 64 * 1024;
/// The longest that a record stays unwritten, as long as the disk keeps up.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Returns the time by the system's clock.
pub fn now() -> Millis {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX))
}

/// The interval at which a waiting thread looks whether the program is ending.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The longest that the thread may write nothing, unless `block=y`: the program may be stopped meanwhile, for a heap dump.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The same once the program is ending, whatever `block=` is.
const LAST_TIMEOUT: Duration = Duration::from_secs(20);

/// The output of one run.
pub struct Writer {
    name: String,
    /// `None` without a thread.
    queue: Option<Arc<Queue>>,
    /// `block=y`.
    blocks: bool,
    records: Arc<Mutex<Records, rank::Records>>,
    failed: Arc<AtomicBool>,
    thread: Mutex<Option<SystemThread>, rank::WriterThread>,
    is_ending: Arc<AtomicBool>,
    /// Set once the thread was waited for in vain.
    is_given_up: AtomicBool,
    bytes: Arc<AtomicU64>,
}

/// Takes records, in the order in which they appear in the file.
pub struct Records {
    encoder: Box<dyn Encoder>,
    buffer: Vec<u8>,
    /// Set when no further records are taken.
    is_closed: bool,
    /// Set when the profile has ended early, because the thread was too far behind.
    is_cut: bool,
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
    /// Starts the thread, and begins the file with the encoder's header and the time stamp. If it `blocks`, events wait for a
    /// slow destination as long as it takes.
    pub fn start(
        encoder: Box<dyn Encoder>,
        sink: Box<dyn Sink>,
        time: Millis,
        blocks: bool,
    ) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let name = sink.name();
        let output = Output::new(sink);
        let (is_ending, bytes) = (output.is_ending.clone(), output.written.clone());
        let failed = output.failed.clone();
        let way = Way::Queue(queue.clone());
        let records = Records::new(encoder, time, failed.clone(), way);
        let records = Arc::new(Mutex::new(records));
        let to_flush = records.clone();
        let filled = queue.clone();
        let thread = SystemThread::start(c"HPROF writer", move || {
            Drain {
                queue: filled,
                output,
                to_flush,
            }
            .run()
        })?;
        Ok(Self {
            name,
            queue: Some(queue),
            blocks,
            records,
            failed,
            thread: Mutex::new(Some(thread)),
            is_ending,
            is_given_up: AtomicBool::new(false),
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
        let name = sink.name();
        let output = Output::new(sink);
        let (is_ending, bytes) = (output.is_ending.clone(), output.written.clone());
        let failed = output.failed.clone();
        let mut records = Records::new(encoder, time, failed.clone(), Way::Direct(output));
        records.start = start;
        Self {
            name,
            queue: None,
            blocks: false,
            failed,
            records: Arc::new(Mutex::new(records)),
            thread: Mutex::new(None),
            is_ending,
            is_given_up: AtomicBool::new(false),
            bytes,
        }
    }

    /// Waits until the thread has caught up: for threads of the agent, and those on which the program ends. They hold no lock
    /// that others wait for.
    pub fn wait_for_room(&self) {
        if let Some(queue) = &self.queue {
            self.wait_until(queue, QueueState::has_room);
        }
    }

    /// As [`Writer::wait_for_room`], for an event on a thread of the program, which continues after a moment. Returns `true` if too
    /// many did: the profile must end.
    pub fn wait_for_room_briefly(&self) -> bool {
        match &self.queue {
            Some(queue) if !self.blocks => queue.is_overfull(),
            _ => {
                self.wait_for_room();
                false
            }
        }
    }

    /// Says that the profile has ended early.
    pub fn report_cut(&self, why: &str) {
        let name = &self.name;
        console::line(format_args!(
            "{name}: {why}; the profile ends here, the program continues (block=y makes it wait)"
        ));
    }

    /// Waits until the queue is in a state, or until the thread has made no progress for so long that the profile ends. It is
    /// waited for in vain once: a file system that hangs may keep it in the kernel for good.
    fn wait_until(&self, queue: &Queue, is_over: impl Fn(&QueueState) -> bool) {
        if self.is_given_up.load(Ordering::Relaxed) {
            return;
        }
        let mut seen = (queue.progress(), Instant::now());
        while !queue.wait_for(POLL_INTERVAL, &is_over) {
            let progress = queue.progress();
            if progress != seen.0 {
                seen = (progress, Instant::now());
            }
            if let Some(limit) = self.limit().filter(|&limit| seen.1.elapsed() >= limit) {
                return self.give_up(limit);
            }
        }
    }

    /// Returns the longest that the thread may write nothing.
    fn limit(&self) -> Option<Duration> {
        match self.is_ending.load(Ordering::Relaxed) {
            true => Some(LAST_TIMEOUT),
            false => Some(TIMEOUT).filter(|_| !self.blocks),
        }
    }

    /// Ends the profile because nothing can be written any more.
    fn give_up(&self, limit: Duration) {
        self.is_given_up.store(true, Ordering::Relaxed);
        if !self.failed.swap(true, Ordering::Relaxed) {
            let (name, seconds) = (&self.name, limit.as_secs());
            console::line(format_args!(
                "{name}: nothing could be written for {seconds} s; the profile ends here"
            ));
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
        let thread = self.thread.lock().take();
        if let Some(queue) = &self.queue {
            self.wait_until(queue, |state| state.is_dead);
            if !queue.is_dead() {
                // It continues on its own, if it ever does.
                return;
            }
        }
        if let Some(thread) = thread {
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
        self.wait_until(&queue, |state| state.bytes == 0 || state.is_dead);
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
        !self.failed.load(Ordering::Relaxed) && !self.records.lock().is_cut
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
            is_cut: false,
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

    /// Ends the profile early: no further records are taken.
    pub(super) fn cut(&mut self) {
        self.flush();
        self.is_cut = true;
    }

    /// Appends the result of timing methods.
    pub fn write_timing(&mut self, timing: &Timing<'_>) {
        self.append(|encoder, time, buffer| encoder.timing(time, timing, buffer));
    }

    fn append(&mut self, encode: impl FnOnce(&mut dyn Encoder, Micros, &mut Vec<u8>)) {
        if !self.is_sound() {
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
        !self.is_closed && !self.is_cut && !self.failed.load(Ordering::Relaxed)
    }

    /// Hands the buffer to the thread; without a thread, writes it.
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
        // Otherwise the end of the program did not wait any longer, and has said so.
        if self.failed.swap(true, Ordering::Relaxed) {
            return;
        }
        let name = self.sink.name();
        console::line(format_args!(
            "{name}: {error}; the profile ends here, the program continues"
        ));
    }
}
