//! Sends to somebody who may take nothing for a while. After a send with a time limit of its own (`SO_SNDTIMEO`) has failed, Windows
//! does not say how much was sent.

use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::os::windows::io::AsRawSocket;
use std::time::Duration;

use windows_sys::Win32::Networking::WinSock::{POLLOUT, SOCKET, SOCKET_ERROR, WSAPOLLFD, WSAPoll};

/// Sends some of these bytes; returns their number, `None` if there was no room for any within `time`. A read of the same
/// connection in another thread may report that it would block.
///
/// # Errors
/// If the connection has ended.
pub fn send_some(
    stream: &mut TcpStream,
    bytes: &[u8],
    time: Duration,
) -> io::Result<Option<usize>> {
    let mut asked = WSAPOLLFD {
        fd: stream.as_raw_socket() as SOCKET,
        events: POLLOUT,
        revents: 0,
    };
    let millis = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: there is one structure, which receives the answer; the socket stays open meanwhile.
    match unsafe { WSAPoll(&mut asked, 1, millis) } {
        SOCKET_ERROR => return Err(io::Error::last_os_error()),
        0 => return Ok(None),
        // Otherwise there is room, or an error that the send reports.
        _ => {}
    }
    stream.set_nonblocking(true)?;
    let sent = stream.write(bytes);
    stream.set_nonblocking(false)?;
    match sent {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        sent => sent.map(Some),
    }
}
