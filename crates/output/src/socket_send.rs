//! Sends to a receiver that may take nothing for a while.

use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;

use super::slow_reader::POLL_INTERVAL;

/// Has `send_some` wait no longer than [`POLL_INTERVAL`].
pub(super) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_write_timeout(Some(POLL_INTERVAL))
}

/// Sends some of these bytes; returns their number, `None` if the receiver has taken none within [`POLL_INTERVAL`].
pub(super) fn send_some(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<Option<usize>> {
    match stream.write(bytes) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        sent => sent.map(Some),
    }
}
