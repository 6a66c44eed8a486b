//! Mapped files.
//!
//! Reading a mapped page beyond the end of its file raises SIGBUS, which ends a process. A file can be truncated at any
//! time by anyone who may write to it, so mappings are watched: the first signal replaces the missing part by zeros, and
//! from then on [`Mapping::has_lost`] reports that the bytes are not the file's.

use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use libc::{c_int, c_void, sigaction, siginfo_t};
use memmap2::{Advice, Mmap, MmapMut, UncheckedAdvice};

/// The most bytes that the kernel maps where one is read: a large folio of its page cache, which has a multiple of its size
/// as its place in the file.
const MAPPED_AT_ONCE: usize = 2 << 20;

/// The bytes of a file, which is mapped for reading.
#[derive(Debug)]
pub struct Mapping {
    // The first field is dropped first: an address is watched only while it belongs to this mapping.
    watch: Watch,
    bytes: Mmap,
}

impl Mapping {
    /// Maps a file.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn of(file: &File) -> io::Result<Mapping> {
        // SAFETY: the bytes are only ever read as `u8`, or as numbers for which every value is valid, and whoever reads them
        // lets no decision about memory depend on reading a byte twice: each length is checked against the slice it indexes
        // at the place of use. So a file that is written to concurrently gives wrong numbers or an error, but no access
        // outside the mapping. A truncated one gives zeros, see `on_bus_error`.
        let bytes = unsafe { Mmap::map(file)? };
        Ok(Mapping {
            watch: Watch::over(&bytes)?,
            bytes,
        })
    }

    /// Announces that pages will be read here and there, so that those between need not be read.
    pub fn expect_single_pages(&self) {
        // It is advice.
        let _ = self.bytes.advise(Advice::Random);
    }

    /// Gives the memory of the pages of a range back that have been read, and of those that the system has mapped around
    /// them. They are mapped again when they are needed.
    pub fn release(&self, range: Range<usize>) {
        let advice = UncheckedAdvice::DontNeed;
        let start = range.start / MAPPED_AT_ONCE * MAPPED_AT_ONCE;
        let end = range.end.next_multiple_of(MAPPED_AT_ONCE);
        let range = start..end.min(self.bytes.len());
        // SAFETY: the mapping is that of a file and is never written to, so every page comes back with the content of the
        // file, as if it had not been read before; one that an error has replaced by zeros stays a page of zeros.
        let advised = unsafe {
            self.bytes
                .unchecked_advise_range(advice, range.start, range.len())
        };
        // It is advice.
        let _ = advised;
    }

    /// Returns `true` if a part that was read was no longer in the file.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.watch.has_lost()
    }
}

impl Deref for Mapping {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Maps a new temporary file of `length` bytes, all zero, which has no name and disappears with the mapping.
///
/// Its blocks are reserved first, so that a full disk is an error here instead of a signal later.
///
/// # Errors
/// If the disk has no room for it.
pub fn scratch(folder: &Path, length: u64) -> io::Result<MmapMut> {
    let file = ScratchFile::new(folder)?;
    super::files::reserve(&file.0, length)?;
    file.map()
}

/// A temporary file without a name that is written first, and mapped when it is complete.
#[derive(Debug)]
pub struct ScratchFile(File);

impl ScratchFile {
    /// Creates one.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn new(folder: &Path) -> io::Result<ScratchFile> {
        tempfile::tempfile_in(folder).map(ScratchFile)
    }

    /// Adds bytes at its end.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Maps it.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn map(self) -> io::Result<MmapMut> {
        // SAFETY: the file was created here with access for its owner alone and has no name, so nobody else can open
        // it, and the only handle is dropped when this function returns: nothing but this mapping can change or
        // truncate it.
        unsafe { MmapMut::map_mut(&self.0) }
    }
}

/// Registers a mapping with [`on_bus_error`].
#[derive(Debug)]
struct Watch(&'static Watched);

/// The address range of a mapping. It is in a list that only grows and is never freed, because a handler may be reading
/// it at any time; that is 40 bytes for each file that the process maps.
#[derive(Debug)]
struct Watched {
    /// 0 once the mapping is gone.
    start: AtomicUsize,
    length: usize,
    has_lost: AtomicBool,
    next: *const Watched,
}

// SAFETY: `next` is written before the value is shared and never again, and leads to a value that lives for ever; the
// rest is atomic or never written.
unsafe impl Sync for Watched {}

/// The first of the list.
static WATCHED: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());

impl Watch {
    fn over(bytes: &[u8]) -> io::Result<Watch> {
        handle_bus_errors()?;
        let watched = Box::leak(Box::new(Watched {
            start: AtomicUsize::new(bytes.as_ptr().addr()),
            length: bytes.len(),
            has_lost: AtomicBool::new(false),
            next: WATCHED.load(Ordering::Acquire),
        }));
        while let Err(first) = WATCHED.compare_exchange(
            watched.next.cast_mut(),
            watched,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            watched.next = first;
        }
        Ok(Watch(watched))
    }

    fn has_lost(&self) -> bool {
        self.0.has_lost.load(Ordering::Acquire)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.start.store(0, Ordering::Release);
    }
}

/// The previous action for SIGBUS, used if no watched mapping is concerned, and the size of a page.
struct Before {
    action: sigaction,
    page: usize,
}

static BEFORE: OnceLock<Before> = OnceLock::new();

/// Installs [`on_bus_error`] for the life of the process.
fn handle_bus_errors() -> io::Result<()> {
    if BEFORE.get().is_some() {
        return Ok(());
    }
    let mut before = MaybeUninit::<sigaction>::zeroed();
    // SAFETY: without a new action, the call only writes the one that is in force to the place it is given.
    let known = unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) };
    if known != 0 {
        return Err(io::Error::last_os_error());
    }
    let before = Before {
        // SAFETY: all zero is a valid `sigaction`, and the call has filled it.
        action: unsafe { before.assume_init() },
        page: rustix::param::page_size(),
    };
    // The handler finds it from its first call on. If two threads come here at once, one of them sets it; both install
    // the same handler.
    let _ = BEFORE.set(before);
    let mut action = MaybeUninit::<sigaction>::zeroed();
    // SAFETY: `action` is zeroed, which is a valid value of all its fields, and its mask is set by `sigemptyset`. The
    // handler calls only what may be called in one.
    let installed = unsafe {
        let action = action.assume_init_mut();
        action.sa_sigaction = on_bus_error as *const () as usize;
        // The alternate stack is where the standard library detects a stack overflow.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, action, ptr::null_mut())
    };
    match installed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Replaces the rest of a watched mapping by zeros, from the page that was read, if its file no longer reaches that
/// far; the read then continues. All other signals are passed to the previous handler.
///
/// It runs on the reading thread, at any instruction that reads a mapping: it allocates nothing and takes no lock.
extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the system hands over a `siginfo_t` with SA_SIGINFO, and one of SIGBUS by a fault has an address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    let Some(before) = BEFORE.get() else { return };
    if code == libc::BUS_ADRERR && replace_from(address & !(before.page - 1), address) {
        return;
    }
    // SAFETY: `before.action` is what this very call has given out earlier. The instruction is tried again when the
    // handler returns and then meets that action; a signal that somebody sent (its code is not above 0) is sent once
    // more, since nothing would bring it back.
    unsafe {
        libc::sigaction(signal, &raw const before.action, ptr::null_mut());
        if code <= 0 {
            libc::raise(signal);
        }
    }
}

/// Returns `true` if a watched mapping has the address; it now has zeros from the page on.
fn replace_from(page: usize, address: usize) -> bool {
    let mut next = WATCHED.load(Ordering::Acquire).cast_const();
    // SAFETY: the list's values are never freed, and nothing but their atomics changes once they are in it.
    while let Some(watched) = unsafe { next.as_ref() } {
        let start = watched.start.load(Ordering::Acquire);
        if start != 0 && (start..start + watched.length).contains(&address) {
            let length = start + watched.length - page;
            // SAFETY: the address is in a mapping of this process which is in use, as a thread is reading it just now,
            // and which is private to `Mapping`, that gives out nothing but `&[u8]`; `page` is not before the mapping's
            // start, a multiple of the page's size itself. So the call replaces pages of that mapping alone, up to the
            // end of its last one, and reads of them find bytes, as before. `mmap` is one system call. It may change
            // `errno`, which the code that reads memory has no use for.
            let put = unsafe {
                libc::mmap(
                    page as *mut c_void,
                    length,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };
            watched.has_lost.store(true, Ordering::Release);
            return put != libc::MAP_FAILED;
        }
        next = watched.next;
    }
    false
}
