//! This process.

/// The size from which a block goes back to the system as soon as it is freed, in bytes: glibc's own at the start.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 128 << 10;

/// Has glibc map every large block for itself. Otherwise it raises the size from which it does so with each one that is
/// freed, up to 32 MB, and keeps smaller ones for the thread that had them: a large part of what a question about a dump
/// needs for a short time.
#[cfg(target_env = "gnu")]
pub fn map_large_blocks() {
    // SAFETY: `mallopt` takes two numbers. It sets words that threads may read meanwhile, and each of their values is right.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}

/// Other allocators do not keep large blocks.
#[cfg(not(target_env = "gnu"))]
pub fn map_large_blocks() {}

/// Writes a line to the standard error, and ends the process with status 1. It takes neither memory nor locks, and runs no
/// handlers, which might.
pub fn end_with(line: &[u8]) -> ! {
    // SAFETY: the pointer and the length are those of bytes that outlive the call; neither call needs memory.
    unsafe {
        libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
        libc::_exit(1)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_env = "gnu")]
    #[test]
    fn large_blocks_are_mapped_whatever_was_freed_before() {
        super::map_large_blocks();
        drop(vec![1_u8; 30 << 20]);
        let block = vec![1_u8; 1 << 20];
        // A mapping begins with two words of glibc's, an arena with more.
        assert_eq!(block.as_ptr().addr() % 4096, 2 * size_of::<usize>());
    }
}
