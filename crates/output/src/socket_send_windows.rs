//! Sends to a receiver that may take nothing for a while.

use std::io;
use std::net::TcpStream;

use hprof_os::slow_send;

use super::slow_reader::POLL_INTERVAL;

/// Succeeds: nothing is needed.
pub(super) fn prepare(_: &TcpStream) -> io::Result<()> {
    Ok(())
}

/// Sends some of these bytes; returns their number, `None` if the receiver has taken none within [`POLL_INTERVAL`].
pub(super) fn send_some(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<Option<usize>> {
    slow_send::send_some(stream, bytes, POLL_INTERVAL)
}
