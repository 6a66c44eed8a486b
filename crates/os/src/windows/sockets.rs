//! Sockets.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// One end of a stream between two threads, which can be waited for together with sockets.
pub type Waker = TcpStream;

/// Returns the two ends of such a stream.
///
/// # Errors
/// If there are no more sockets.
pub fn wakers() -> io::Result<(Waker, Waker)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let wake = TcpStream::connect(listener.local_addr()?)?;
    let own = wake.local_addr()?;
    loop {
        // Any program of this machine can connect.
        let (woken, caller) = listener.accept()?;
        if caller == own {
            wake.set_nodelay(true)?;
            return Ok((wake, woken));
        }
    }
}

/// Returns the number of sockets that this process may have. The system has no limit but its memory.
#[must_use]
pub fn allow_many() -> u64 {
    u64::MAX
}
