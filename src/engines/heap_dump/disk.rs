//! The room on the disk for a dump, looked at before it is made: a disk that is full stops other programs, too.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::DumpError;
use crate::os::free_space;
use jvmti::{Env, HeapSize};
use memory::SystemThread;
use options::Options;

/// The bytes that must be left for the sites after the dump, and for others.
const SPARE: u64 = 4 << 20;

/// The longest that a file system may take to say how much is free. As long as the writer waits when the program ends.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Compares what a dump takes with what is free.
pub(super) struct Disk {
    heap: Option<HeapSize>,
    folder: PathBuf,
    /// The copies of the heap that the output takes on this disk: none if it is compressed, a pipe or a receiver.
    output: u64,
    /// Set while a thread waits for the file system's answer.
    is_asked: Arc<AtomicBool>,
}

impl Disk {
    /// Watches the disk of `folder`, for the output at `path`.
    pub(super) fn new(env: Env, options: &Options, path: &Path, folder: PathBuf) -> Self {
        let by_name = || path.extension().is_some_and(|suffix| suffix == "gz");
        let is_compressed = options.compress.unwrap_or_else(by_name);
        let is_file = options.net.is_none() && path.is_file();
        Self {
            heap: HeapSize::find(env),
            folder,
            output: u64::from(is_file && !is_compressed),
            is_asked: Arc::default(),
        }
    }

    /// Returns an error if there is no room for the output and so many temporary copies of it. A dump is about as large
    /// as what is in use of the Java heap, of which some may be garbage.
    pub(super) fn check(&self, temporary: u64) -> Result<(), DumpError> {
        let copies = self.output + temporary;
        let (Some(heap), Some(free)) = (self.heap, self.ask()?) else {
            return Ok(());
        };
        let needed = heap.fill().used.saturating_mul(copies);
        match copies == 0 || needed.saturating_add(SPARE) <= free {
            true => Ok(()),
            false => Err(DumpError::Disk {
                needed,
                free,
                folder: self.folder.clone(),
            }),
        }
    }
    /// Asks the file system, on a thread of its own: the kernel may keep one that asks a hanging file system for good. Returns
    /// `None` if it does not know.
    fn ask(&self) -> Result<Option<u64>, DumpError> {
        let silent = || DumpError::Silent {
            folder: self.folder.clone(),
        };
        // One thread waits at a time, however often a dump is requested.
        if self.is_asked.swap(true, Ordering::Acquire) {
            return Err(silent());
        }
        let (answer, answered) = mpsc::channel();
        let (folder, is_asked) = (self.folder.clone(), self.is_asked.clone());
        let started = SystemThread::start(c"HPROF disk", move || {
            let found = free_space(&folder);
            is_asked.store(false, Ordering::Release);
            // Whoever asked may have left.
            let _ = answer.send(found);
        });
        if let Err(error) = started {
            self.is_asked.store(false, Ordering::Release);
            return Err(error.into());
        }
        answered.recv_timeout(TIMEOUT).map_err(|_| silent())
    }
}
