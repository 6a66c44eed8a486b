//! What is called in place of the functions that allocate and free.
//!
//! A hook may be called by any thread, attached to the VM or not, at any time: before, in and after a session, while the
//! entries are put back, in a forked child, and with locks of the VM or of a library held. So these rules hold:
//!
//! - it calls the allocator's own function first or last, with the arguments as they are, returns what that returns, and leaves
//!   `errno` as that left it;
//! - it takes no lock and waits for nobody, allocates nothing, and asks the VM nothing;
//! - it cannot panic: no indexing that is checked, no arithmetic that is, no formatting;
//! - the agent's library is never unloaded, so a thread may be in a hook for as long as it likes. Programs keep the
//!   addresses of hooks where they have read them from an entry (as tables of functions for a library do), and those are called
//!   after the session's end, too.
//!
//! The functions are not for signal handlers, and neither are the hooks; one that interrupts a hook and allocates all the
//! same finds it in order, because each step leaves the tables whole.
//!
//! `dlsym` is the function that a program calls after it has loaded a library and before it calls the library. Its hook has
//! the new library's allocations sampled, for which it waits for the linker and allocates: `dlsym` does the one itself, and no
//! code in the linker's care calls it.

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::countdown::is_due;
use super::{look_for_libraries, sample, tracked};

/// A function that allocates, as it is seen in a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Function {
    #[default]
    Malloc,
    Calloc,
    Realloc,
    ReallocArray,
    PosixMemalign,
    AlignedAlloc,
    Memalign,
    Mmap,
    Mmap64,
    Free,
    Munmap,
}

/// A function that is replaced.
pub(super) struct Hook {
    pub(super) name: &'static CStr,
    /// The agent's function.
    pub(super) hook: *const c_void,
    /// The allocator's function; null until it has been looked up.
    pub(super) original: AtomicPtr<c_void>,
}

// SAFETY: the pointers are to functions.
unsafe impl Sync for Hook {}

impl Hook {
    const fn new(name: &'static CStr, hook: *const c_void) -> Self {
        Self {
            name,
            hook,
            original: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns `true` if it maps or unmaps pages.
    pub(super) fn is_of_pages(&self) -> bool {
        [c"mmap", c"mmap64", c"munmap"].contains(&self.name)
    }
}

/// The place of `dlsym` among the hooks.
const DLSYM: usize = 11;

/// The functions, in the order of [`Function`], and `dlsym`.
pub(super) static HOOKS: [Hook; DLSYM + 1] = [
    Hook::new(c"malloc", malloc as *const c_void),
    Hook::new(c"calloc", calloc as *const c_void),
    Hook::new(c"realloc", realloc as *const c_void),
    Hook::new(c"reallocarray", reallocarray as *const c_void),
    Hook::new(c"posix_memalign", posix_memalign as *const c_void),
    Hook::new(c"aligned_alloc", aligned_alloc as *const c_void),
    Hook::new(c"memalign", memalign as *const c_void),
    Hook::new(c"mmap", mmap as *const c_void),
    Hook::new(c"mmap64", mmap64 as *const c_void),
    Hook::new(c"free", free as *const c_void),
    Hook::new(c"munmap", munmap as *const c_void),
    Hook::new(c"dlsym", dlsym as *const c_void),
];

impl Function {
    /// Returns the name of the function.
    pub(super) fn name(self) -> &'static str {
        HOOKS[self as usize].name.to_str().unwrap_or_default()
    }

    /// Returns `true` if it maps pages.
    pub(super) fn maps(self) -> bool {
        matches!(self, Self::Mmap | Self::Mmap64)
    }

    /// Returns the allocator's function, as one of type `F`.
    ///
    /// # Safety
    /// `F` is the type of the function.
    #[inline(always)]
    unsafe fn original<F: Copy>(self) -> F {
        // SAFETY: there is a hook for each function.
        let original = unsafe { &*HOOKS.as_ptr().add(self as usize) };
        let original = original.original.load(Ordering::Relaxed);
        // SAFETY: no entry leads to a hook before its original is known; the type is the caller's promise.
        unsafe { mem::transmute_copy::<*mut c_void, F>(&original) }
    }
}

#[inline(always)]
fn allocated(function: Function, block: *mut c_void, bytes: usize) {
    if !block.is_null() && is_due(bytes) {
        sample(function, block.addr(), bytes);
    }
}

unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: the caller's arguments, here and below, for the function that it wanted to call.
    let block =
        unsafe { Function::Malloc.original::<unsafe extern "C" fn(usize) -> *mut c_void>()(bytes) };
    allocated(Function::Malloc, block, bytes);
    block
}

unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: as above.
    let block = unsafe {
        Function::Calloc.original::<unsafe extern "C" fn(usize, usize) -> *mut c_void>()(
            count, bytes,
        )
    };
    // The product fits, as there is a block.
    allocated(Function::Calloc, block, count.wrapping_mul(bytes));
    block
}

unsafe extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    let removed = tracked::remove(block.addr());
    // SAFETY: as above.
    let new = unsafe {
        Function::Realloc.original::<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>()(
            block, bytes,
        )
    };
    resized(Function::Realloc, removed, new, bytes);
    new
}

unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    type ReallocArray = unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
    let removed = tracked::remove(block.addr());
    // SAFETY: as above.
    let new = unsafe { Function::ReallocArray.original::<ReallocArray>()(block, count, bytes) };
    let bytes = count.saturating_mul(bytes);
    resized(Function::ReallocArray, removed, new, bytes);
    new
}

#[inline(always)]
fn resized(function: Function, removed: Option<tracked::Removed>, new: *mut c_void, bytes: usize) {
    match removed {
        // It was too much, and the block is what it was. (A block is freed by a new size of 0.)
        Some(removed) if new.is_null() && bytes > 0 => removed.put_back(),
        _ => allocated(function, new, bytes),
    }
}

unsafe extern "C" fn posix_memalign(
    place: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
) -> c_int {
    type PosixMemalign = unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int;
    // SAFETY: as above.
    let status =
        unsafe { Function::PosixMemalign.original::<PosixMemalign>()(place, alignment, bytes) };
    if status == 0 {
        // SAFETY: the function has put a block there.
        allocated(Function::PosixMemalign, unsafe { *place }, bytes);
    }
    status
}

unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: as above.
    let block = unsafe {
        Function::AlignedAlloc.original::<unsafe extern "C" fn(usize, usize) -> *mut c_void>()(
            alignment, bytes,
        )
    };
    allocated(Function::AlignedAlloc, block, bytes);
    block
}

unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: as above.
    let block = unsafe {
        Function::Memalign.original::<unsafe extern "C" fn(usize, usize) -> *mut c_void>()(
            alignment, bytes,
        )
    };
    allocated(Function::Memalign, block, bytes);
    block
}

unsafe extern "C" fn free(block: *mut c_void) {
    // Before it is freed: its address may be another block's right after.
    tracked::remove(block.addr());
    // SAFETY: as above.
    unsafe { Function::Free.original::<unsafe extern "C" fn(*mut c_void)>()(block) }
}

/// The arguments of `mmap`.
#[derive(Clone, Copy)]
struct MapRequest {
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
}

unsafe extern "C" fn mmap(
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let request = MapRequest {
        address,
        bytes,
        protection,
        flags,
        file,
        offset,
    };
    // SAFETY: as above.
    unsafe { map(Function::Mmap, request) }
}

unsafe extern "C" fn mmap64(
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let request = MapRequest {
        address,
        bytes,
        protection,
        flags,
        file,
        offset,
    };
    // SAFETY: as above.
    unsafe { map(Function::Mmap64, request) }
}

/// # Safety
/// As for `mmap`.
#[inline(always)]
unsafe fn map(function: Function, request: MapRequest) -> *mut c_void {
    type Mmap =
        unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, libc::off_t) -> *mut c_void;
    let MapRequest {
        address,
        bytes,
        protection,
        flags,
        file,
        offset,
    } = request;
    if flags & libc::MAP_FIXED != 0 {
        // It replaces what was there.
        tracked::remove_mapped(address.addr(), bytes);
    }
    // SAFETY: as above.
    let mapped =
        unsafe { function.original::<Mmap>()(address, bytes, protection, flags, file, offset) };
    // What cannot be accessed is only a reservation of addresses.
    if mapped != libc::MAP_FAILED && protection != libc::PROT_NONE {
        allocated(function, mapped, bytes);
    }
    mapped
}

unsafe extern "C" fn munmap(address: *mut c_void, bytes: usize) -> c_int {
    tracked::remove_mapped(address.addr(), bytes);
    // SAFETY: as above.
    unsafe {
        Function::Munmap.original::<unsafe extern "C" fn(*mut c_void, usize) -> c_int>()(
            address, bytes,
        )
    }
}

/// Has new libraries looked at, and returns the linker's `dlsym`.
extern "C" fn before_dlsym() -> *const c_void {
    look_for_libraries();
    HOOKS[DLSYM].original.load(Ordering::Relaxed)
}

/// Jumps to the linker's `dlsym`, which asks which library calls it.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        before = sym before_dlsym
    )
}

/// Jumps to the linker's `dlsym`, which asks which library calls it.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "bl {before}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        before = sym before_dlsym
    )
}
