//! What `malloc` of glibc has in use, as it counts itself.

/// The blocks of all arenas, and those that are mappings of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MallocUse {
    /// The bytes of blocks that have not been freed; those in the caches of threads count.
    pub used: u64,
    /// The bytes of free blocks in arenas. The system may have their pages back.
    pub free: u64,
}

/// Asks `malloc`; `None` if the C library has no such counts. This takes the lock of each arena in turn, for as long as it takes to
/// go through the arena's free blocks.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[must_use]
pub fn malloc_use() -> Option<MallocUse> {
    // It exists from glibc 2.33 on, and the agent must load in older ones.
    // SAFETY: the name is a C string; looking it up has no other condition.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr()) };
    if symbol.is_null() {
        return None;
    }
    // SAFETY: malloc.h declares the function of this name so, and it is not null.
    let mallinfo2: unsafe extern "C" fn() -> libc::mallinfo2 =
        unsafe { std::mem::transmute(symbol) };
    // SAFETY: it may be called at any time, by any thread, outside signal handlers.
    let counts = unsafe { mallinfo2() };
    Some(MallocUse {
        used: (counts.uordblks + counts.hblkhd) as u64,
        free: counts.fordblks as u64,
    })
}

/// See above.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
#[must_use]
pub fn malloc_use() -> Option<MallocUse> {
    None
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_between_two_blocks_is_free() {
        const SIZE: usize = 2_000;
        const COUNT: usize = 5_000;
        // SAFETY: any size may be requested.
        let blocks: Vec<*mut libc::c_void> =
            (0..COUNT).map(|_| unsafe { libc::malloc(SIZE) }).collect();
        let (last, others) = blocks.split_last().expect("blocks");
        let Some(before) = malloc_use() else {
            return;
        };
        for &block in others {
            // SAFETY: it is from malloc, and freed once.
            unsafe { libc::free(block) };
        }
        let after = malloc_use().expect("counts");
        // Other tests allocate, too.
        let freed = (SIZE * COUNT) as u64;
        assert!(after.free > before.free + freed / 2, "{before:?} {after:?}");
        assert!(after.used + freed / 2 < before.used, "{before:?} {after:?}");
        // SAFETY: as above.
        unsafe { libc::free(*last) };
    }
}
