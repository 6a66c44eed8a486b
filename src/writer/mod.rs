//! Records to bytes to the file, on a thread of its own.
//!
//! Whoever has records encodes them under the lock of [`Records`]; full buffers go to the writer thread through a
//! channel that holds [`QUEUED`] of them, so memory is bounded and a slow disk slows the profile instead of filling the
//! memory. Every [`FLUSH_INTERVAL`] the thread also fetches what is in the buffer. It never takes the lock of `Records`
//! while it could be held by somebody who waits for the thread: it only tries.

mod file;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use hprof_format::{Encoder, Micros, Millis, Record, Timing};
use parking_lot::{Mutex, MutexGuard};

use crate::console;

pub use file::{FileSink, exists_already};

/// Bytes after which a buffer goes to the thread.
const BUFFER: usize = 64 * 1024;
/// Buffers that wait for the thread at the most.
const QUEUED: usize = 16;
/// How old an unwritten record gets at the most, while the disk keeps up.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The output of one run.
pub struct Writer {
    records: Arc<Mutex<Records>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Takes records, in the order in which they are to stand in the file.
pub struct Records {
    encoder: Box<dyn Encoder>,
    buffer: Vec<u8>,
    /// `None` once the output is closed.
    queue: Option<Sender<Vec<u8>>>,
    failed: Arc<AtomicBool>,
    start: Instant,
}

impl Writer {
    /// Starts the thread, and the file with the encoder's head and the time stamp.
    pub fn start(mut encoder: Box<dyn Encoder>, sink: FileSink, time: Millis) -> io::Result<Self> {
        let (queue, pieces) = bounded(QUEUED);
        let failed = Arc::new(AtomicBool::new(false));
        let mut buffer = Vec::with_capacity(BUFFER);
        encoder.start(time, &mut buffer);
        let records = Arc::new(Mutex::new(Records {
            encoder,
            buffer,
            queue: Some(queue),
            failed: failed.clone(),
            start: Instant::now(),
        }));
        let to_flush = records.clone();
        let thread = thread::Builder::new()
            .name("HPROF writer".to_owned())
            .spawn(move || {
                Drain {
                    pieces,
                    sink,
                    failed,
                    to_flush,
                }
                .run()
            })?;
        Ok(Self {
            records,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The place to put records. Records written under one lock stand together.
    pub fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock()
    }

    /// Writes out what there is, and waits for it. Records that come later are dropped.
    pub fn close(&self) {
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

    /// Hands the buffer to the thread; waits while the thread is behind.
    pub fn flush(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(BUFFER));
        if let Some(queue) = &self.queue {
            // The thread drops its end only after this one: the queue takes everything.
            let _ = queue.send(full);
        }
    }
}

/// What the thread owns.
struct Drain {
    pieces: Receiver<Vec<u8>>,
    sink: FileSink,
    failed: Arc<AtomicBool>,
    to_flush: Arc<Mutex<Records>>,
}

impl Drain {
    fn run(mut self) {
        loop {
            match self.pieces.recv_timeout(FLUSH_INTERVAL) {
                Ok(piece) => self.write(&piece),
                Err(RecvTimeoutError::Timeout) => self.fetch(),
                Err(RecvTimeoutError::Disconnected) => return,
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
        drop(records);
        self.write(&piece);
    }

    /// After a failure pieces are still taken, and dropped, so that nobody waits for room in the queue.
    fn write(&mut self, piece: &[u8]) {
        if piece.is_empty() || self.failed.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = self.sink.write(piece) {
            self.failed.store(true, Ordering::Relaxed);
            let path = self.sink.path().display();
            console::line(format_args!(
                "{path}: {error}; the profile ends here, the program goes on"
            ));
        }
    }
}
