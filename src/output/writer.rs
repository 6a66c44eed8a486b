//! Records to bytes to the file or the collector, on a thread of its own.
//!
//! A thread that has records encodes them under the lock of [`Records`]; full buffers go to the writer thread through a
//! channel that holds [`QUEUED`] bytes, so memory is bounded and a slow disk slows the profile instead of filling the
//! memory. Every [`FLUSH_INTERVAL`] the thread also fetches what is in the buffer. It never takes the lock of `Records`
//! while it could be held by somebody who waits for the thread: it only tries.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use hprof_format::{Encoder, Micros, Millis, MonitorRecord, Record, Timing};

use super::Sink;
use crate::console;
use crate::lock_order::{Condvar, Mutex, MutexGuard, rank};

/// Bytes after which a buffer goes to the thread.
const BUFFER: usize = 64 * 1024;
/// Bytes that wait for the thread before more have to wait: as much as stays in a CPU's cache, for the sake of heap dumps.
const QUEUED: usize = 512 * 1024;
/// Written buffers that are kept for the next records, so that a heap dump does not ask for new memory all the time.
const SPARE: usize = 4;
/// How old an unwritten record gets at the most, while the disk keeps up.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The output of one run.
pub struct Writer {
    records: Arc<Mutex<Records, rank::Records>>,
    thread: Mutex<Option<JoinHandle<()>>, rank::WriterThread>,
    is_ending: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
}

/// Takes records, in the order in which they are to stand in the file.
pub struct Records {
    encoder: Box<dyn Encoder>,
    buffer: Vec<u8>,
    /// `None` once the output is closed.
    queue: Option<Sender<Vec<u8>>>,
    flow: Arc<Flow>,
    spare: Receiver<Vec<u8>>,
    failed: Arc<AtomicBool>,
    start: Instant,
}

impl Writer {
    /// Starts the thread, and the file with the encoder's head and the time stamp.
    pub fn start(
        mut encoder: Box<dyn Encoder>,
        sink: Box<dyn Sink>,
        time: Millis,
    ) -> io::Result<Self> {
        let (queue, pieces) = unbounded();
        let flow = Arc::new(Flow::default());
        let (used, spare) = bounded(SPARE);
        let failed = Arc::new(AtomicBool::new(false));
        let mut buffer = Vec::with_capacity(BUFFER);
        encoder.start(time, &mut buffer);
        let records = Arc::new(Mutex::new(Records {
            encoder,
            buffer,
            queue: Some(queue),
            flow: flow.clone(),
            spare,
            failed: failed.clone(),
            start: Instant::now(),
        }));
        let to_flush = records.clone();
        let is_ending = Arc::new(AtomicBool::new(false));
        let for_the_sink = is_ending.clone();
        let bytes = Arc::new(AtomicU64::new(0));
        let written = bytes.clone();
        let thread = thread::Builder::new()
            .name("HPROF writer".to_owned())
            .spawn(move || {
                Drain {
                    pieces,
                    used,
                    flow,
                    sink,
                    failed,
                    to_flush,
                    is_ending: for_the_sink,
                    written,
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

    /// Access to the encoder. Records written under one lock stand together.
    pub fn records(&self) -> MutexGuard<'_, Records, rank::Records> {
        self.records.lock()
    }

    /// The program is ending: from now on a slow reader is waited for less long.
    pub fn hurry(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Writes out what there is, and waits for it. Records that come later are dropped.
    pub fn close(&self) {
        self.hurry();
        {
            let mut records = self.records.lock();
            records.flush();
            records.queue = None;
        }
        if let Some(thread) = self.thread.lock().take() {
            // A panic of the thread has cost the profile already; there is nobody left to tell.
            let _ = thread.join();
        }
    }

    /// Waits until what there is has been written, or could not be.
    pub fn drain(&self) {
        let flow = {
            let mut records = self.records.lock();
            records.flush();
            records.flow.clone()
        };
        flow.wait_until_empty();
    }

    /// How much has been written.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether everything so far could be written.
    pub fn is_sound(&self) -> bool {
        !self.records.lock().failed.load(Ordering::Relaxed)
    }
}

impl Records {
    /// Appends a record.
    pub fn write(&mut self, record: &Record<'_>) {
        self.append(|encoder, time, buffer| encoder.record(time, record, buffer));
    }

    /// Appends a record about monitors, where the format has such.
    pub fn write_monitor(&mut self, record: &MonitorRecord<'_>) {
        self.append(|encoder, time, buffer| encoder.monitor(time, record, buffer));
    }

    /// Appends the result of timing methods.
    pub fn write_timing(&mut self, timing: &Timing<'_>) {
        self.append(|encoder, time, buffer| encoder.timing(time, timing, buffer));
    }

    fn append(&mut self, encode: impl FnOnce(&mut dyn Encoder, Micros, &mut Vec<u8>)) {
        if self.queue.is_none() || self.failed.load(Ordering::Relaxed) {
            return;
        }
        let time = Micros(self.start.elapsed().as_micros() as u64);
        encode(&mut *self.encoder, time, &mut self.buffer);
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    /// Whether what is written still gets to the file.
    pub fn is_sound(&self) -> bool {
        self.queue.is_some() && !self.failed.load(Ordering::Relaxed)
    }

    /// Hands the buffer to the thread; waits while the thread is behind.
    pub fn flush(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        let empty = self.spare.try_recv();
        let empty = empty.unwrap_or_else(|_| Vec::with_capacity(BUFFER));
        let full = std::mem::replace(&mut self.buffer, empty);
        if let Some(queue) = &self.queue {
            self.flow.enter(full.len());
            // The thread drops its end only after this one: the queue takes everything.
            let _ = queue.send(full);
        }
    }
}

/// The bytes in the queue.
#[derive(Default)]
struct Flow {
    level: Mutex<Level, rank::QueuedBytes>,
    changed: Condvar,
}

#[derive(Default)]
struct Level {
    bytes: usize,
    /// Whether the thread has ended.
    is_open: bool,
}

impl Flow {
    /// Waits until there is room, which there always is for one piece.
    fn enter(&self, length: usize) {
        let mut level = self.level.lock();
        self.changed
            .wait_while(&mut level, |level| level.bytes >= QUEUED && !level.is_open);
        level.bytes += length;
    }

    /// Waits until all that has entered has left; what enters meanwhile is waited for too.
    fn wait_until_empty(&self) {
        let mut level = self.level.lock();
        self.changed
            .wait_while(&mut level, |level| level.bytes > 0 && !level.is_open);
    }

    fn leave(&self, length: usize) {
        self.level.lock().bytes -= length;
        self.changed.notify_all();
    }

    /// Wakes all who wait, and lets nobody wait any more.
    fn open(&self) {
        self.level.lock().is_open = true;
        self.changed.notify_all();
    }
}

/// What the thread owns.
struct Drain {
    pieces: Receiver<Vec<u8>>,
    used: Sender<Vec<u8>>,
    flow: Arc<Flow>,
    sink: Box<dyn Sink>,
    failed: Arc<AtomicBool>,
    to_flush: Arc<Mutex<Records, rank::Records>>,
    is_ending: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.flow.open();
    }
}

impl Drain {
    fn run(mut self) {
        loop {
            match self.pieces.recv_timeout(FLUSH_INTERVAL) {
                Ok(mut piece) => {
                    self.write(&piece);
                    self.flow.leave(piece.len());
                    piece.clear();
                    // More than are wanted are given back to the system.
                    let _ = self.used.try_send(piece);
                }
                Err(RecvTimeoutError::Timeout) => self.fetch(),
                Err(RecvTimeoutError::Disconnected) => return self.finish(),
            }
        }
    }

    /// Writes what is in the buffer, if nobody holds it; the queue is empty, so order is kept.
    fn fetch(&mut self) {
        let Some(mut records) = self.to_flush.try_lock() else {
            return;
        };
        if !self.pieces.is_empty() {
            return;
        }
        let piece = std::mem::take(&mut records.buffer);
        // The queue is empty, so there is room.
        self.flow.enter(piece.len());
        drop(records);
        self.write(&piece);
        self.flow.leave(piece.len());
    }

    /// After a failure pieces are still taken, and dropped, so that nobody waits for room in the queue.
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
