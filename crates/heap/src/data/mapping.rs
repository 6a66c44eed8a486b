//! Mapped files: the dump, and tables that do not fit into memory. The only unsafe code of this crate.
//!
//! Reading a mapped page beyond the end of its file raises SIGBUS, which ends a process. A file can be truncated at any
//! time by anyone who may write to it, so mappings of such files are watched: the first signal replaces the missing
//! part by zeros, and from then on [`Mapped::is_whole`] reports that the bytes are not the file's.

#![allow(unsafe_code)]

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;
use libc::{c_int, c_void, sigaction, siginfo_t};
use memmap2::{Advice, Mmap, MmapMut, UncheckedAdvice};

/// The number of bytes that distinguish one HPROF file from another, because they include the first record's time.
const HEAD: usize = 64;
/// The most bytes that the kernel maps where one is read: a large folio of its page cache, which has a multiple of its size
/// as its place in the file.
const MAPPED_AT_ONCE: usize = 2 << 20;

/// A file that is mapped for reading.
#[derive(Debug)]
pub(crate) struct Mapped {
    // The first field is dropped first: an address is watched only while it belongs to this mapping.
    watch: Watch,
    bytes: Mmap,
    file: File,
    /// The facts about the file when it was mapped.
    facts: Metadata,
    head: Vec<u8>,
}

impl Mapped {
    /// Maps a file.
    pub(crate) fn of(file: &File) -> io::Result<Mapped> {
        let file = file.try_clone()?;
        let facts = file.metadata()?;
        let head = head_of(&file)?;
        // SAFETY: the bytes are only ever read as `u8`, for which every value is valid, and no decision about memory
        // depends on reading a byte twice: each length is checked against the slice it indexes at the place of use. So
        // a file that is written to concurrently gives wrong numbers or an error, but no access outside the mapping. A
        // truncated one gives zeros, see `on_bus_error`.
        let bytes = unsafe { Mmap::map(&file)? };
        Ok(Mapped {
            watch: Watch::over(&bytes)?,
            bytes,
            file,
            facts,
            head,
        })
    }

    /// Returns the facts about the file when it was mapped.
    pub(crate) fn facts(&self) -> &Metadata {
        &self.facts
    }

    /// Returns `true` if nobody has written to the file since it was mapped, or changed anything else about it.
    pub(crate) fn is_untouched(&self) -> bool {
        self.file.metadata().is_ok_and(|found| {
            let times = |facts: &Metadata| {
                (
                    facts.mtime(),
                    facts.mtime_nsec(),
                    facts.ctime(),
                    facts.ctime_nsec(),
                )
            };
            times(&found) == times(&self.facts) && found.len() == self.facts.len()
        })
    }

    /// Announces that pages will be read here and there, so that those between need not be read.
    pub(crate) fn expect_single_pages(&self) {
        // It is advice.
        let _ = self.bytes.advise(Advice::Random);
    }

    /// Gives the memory of pages back that have been read. They are mapped again when they are needed.
    pub(crate) fn release(&self) {
        self.release_part(0..self.bytes.len());
    }

    /// Does the same for the pages of a range within the file, and for those that the system has mapped around them.
    fn release_part(&self, range: Range<usize>) {
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

    /// Returns a range of the file as numbers; `None` if it is not within the file, or not whole numbers at a place
    /// where such numbers can be.
    pub(crate) fn part<T: Pod>(file: &Arc<Mapped>, range: Range<usize>) -> Option<MappedPart<T>> {
        let entries: &[T] = bytemuck::try_cast_slice(file.get(range.clone())?).ok()?;
        Some(MappedPart {
            entries: NonNull::from(entries),
            start: range.start,
            file: Arc::clone(file),
        })
    }

    /// Returns `true` if everything read so far was the file's content: it has been neither truncated nor overwritten.
    pub(crate) fn is_whole(&self) -> bool {
        let length = self.file.metadata().map(|found| found.len());
        !self.watch.has_lost()
            && length.is_ok_and(|length| length >= self.bytes.len() as u64)
            && head_of(&self.file).is_ok_and(|head| head == self.head)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Numbers in a mapped file, which stays mapped as long as they are used.
#[derive(Debug)]
pub(crate) struct MappedPart<T: Pod> {
    entries: NonNull<[T]>,
    /// The place of the first one in the file, in bytes.
    start: usize,
    file: Arc<Mapped>,
}

impl<T: Pod> MappedPart<T> {
    /// Gives the memory of numbers back that have been read, as [`Mapped::release`] does.
    pub(crate) fn release(&self, range: Range<usize>) {
        let place = |index: usize| self.start + index.min(self.len()) * size_of::<T>();
        self.file.release_part(place(range.start)..place(range.end));
    }
}

// SAFETY: it gives out nothing but shared references to numbers in memory that no code of this process writes to, like
// the slice of a `Mapped`, which may be sent and shared.
unsafe impl<T: Pod> Send for MappedPart<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for MappedPart<T> {}

impl<T: Pod> Deref for MappedPart<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the pointer is that of a slice within the bytes of `file`, which was checked to be aligned and is
        // valid as numbers whatever is in it. The mapping does not move and lasts at least as long as this value, which
        // is longer than the reference.
        unsafe { self.entries.as_ref() }
    }
}

/// Reads the beginning of the file.
fn head_of(file: &File) -> io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD];
    let mut filled = 0;
    while filled < HEAD {
        match file.read_at(&mut head[filled..], filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    head.truncate(filled);
    Ok(head)
}

/// Maps a new temporary file of `length` bytes, all zero, which has no name and disappears with the mapping.
///
/// Its blocks are reserved first, so that a full disk is an error here instead of a signal later.
pub(crate) fn scratch(folder: &Path, length: u64) -> io::Result<MmapMut> {
    let file = ScratchFile::new(folder)?;
    rustix::fs::fallocate(&file.0, rustix::fs::FallocateFlags::empty(), 0, length)?;
    file.map()
}

/// A temporary file without a name that is written first, and mapped when it is complete.
#[derive(Debug)]
pub(crate) struct ScratchFile(File);

impl ScratchFile {
    pub(crate) fn new(folder: &Path) -> io::Result<ScratchFile> {
        tempfile::tempfile_in(folder).map(ScratchFile)
    }

    /// Adds bytes at its end.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    pub(crate) fn map(self) -> io::Result<MmapMut> {
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
            // and which is private to `Mapped`, that gives out nothing but `&[u8]`; `page` is not before the mapping's
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(content).expect("there is room");
        file
    }

    #[test]
    fn what_a_file_has_lost_is_zero_and_the_mapping_says_so() {
        let content: Vec<u8> = (0..100_000_u32).map(|at| (at % 251 + 1) as u8).collect();
        let (cut, other) = (file(&content), file(&content));
        let (mapped, untouched) = (
            Mapped::of(&cut).expect("a mapping"),
            Mapped::of(&other).expect("a mapping"),
        );
        assert!(mapped.is_whole());
        cut.set_len(10).expect("it is ours");
        // Other threads read at the same time.
        let sums = std::thread::scope(|scope| {
            let all = [0, 4096, 50_000, 99_999].map(|from| {
                let mapped = &mapped;
                scope.spawn(move || {
                    mapped[from..]
                        .iter()
                        .map(|&byte| u64::from(byte))
                        .sum::<u64>()
                })
            });
            all.map(|sum| sum.join().expect("no panic"))
        });
        let kept: u64 = content[..10].iter().map(|&byte| u64::from(byte)).sum();
        assert_eq!(sums, [kept, 0, 0, 0]);
        assert!(!mapped.is_whole());
        assert!(untouched.is_whole());
        // It grows again, which does not restore its content.
        cut.set_len(100_000).expect("it is ours");
        assert!(!mapped.is_whole());
        assert_eq!(mapped[50_000], 0);
    }

    #[test]
    fn a_file_that_is_written_anew_is_another() {
        let mut changed = file(&[7; 10_000]);
        let mapped = Mapped::of(&changed).expect("a mapping");
        changed.write_all(b"more").expect("there is room");
        assert!(mapped.is_whole(), "what is appended changes nothing");
        changed.write_all_at(b"other", 0).expect("it is ours");
        assert!(!mapped.is_whole());
    }

    #[test]
    fn an_empty_file_is_an_error_or_nothing() {
        let mapped = Mapped::of(&file(b""));
        assert!(mapped.is_ok_and(|mapped| mapped.is_empty() && mapped.is_whole()));
    }
}
