//! Sockets.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::process::{Resource, getrlimit, setrlimit};

/// One end of a stream between two threads, which can be waited for together with sockets.
pub type Waker = UnixStream;

/// Returns the two ends of such a stream.
///
/// # Errors
/// If there are no more descriptors.
pub fn wakers() -> io::Result<(Waker, Waker)> {
    UnixStream::pair()
}

/// Allows this process as many descriptors as it may have, and returns their number.
#[must_use]
pub fn allow_many() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With fewer descriptors there is room for fewer sockets.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
