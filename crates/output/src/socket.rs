//! The connection to the receiver of the profile.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Sink;
use super::slow_reader::{SendWait, Timeouts};
use super::socket_send::{prepare, send_some};

/// The longest that each of the receiver's addresses is tried.
const CONNECT: Duration = Duration::from_secs(10);
/// A connection to a receiver. Writing never raises SIGPIPE: the standard library sends with `MSG_NOSIGNAL`.
pub struct SocketSink {
    stream: TcpStream,
    name: String,
    timeout: Timeouts,
}

impl SocketSink {
    /// Connects to the first address of `host` that accepts.
    pub fn connect(host: &str, port: u16) -> io::Result<Self> {
        let mut answer = Err(io::Error::new(
            ErrorKind::NotFound,
            "the host has no address",
        ));
        for address in (host, port).to_socket_addrs()? {
            answer = TcpStream::connect_timeout(&address, CONNECT);
            if answer.is_ok() {
                break;
            }
        }
        Self::new(answer?, Timeouts::new("the receiver"))
    }

    fn new(stream: TcpStream, timeout: Timeouts) -> io::Result<Self> {
        prepare(&stream)?;
        // The answer to a command must not be delayed until more data follows.
        stream.set_nodelay(true)?;
        let name = stream.peer_addr()?.to_string();
        Ok(Self {
            stream,
            name,
            timeout,
        })
    }

    /// Returns the same connection, for reading the receiver's commands.
    pub fn commands(&self) -> io::Result<TcpStream> {
        self.stream.try_clone()
    }
}

impl Sink for SocketSink {
    fn name(&self) -> String {
        self.name.clone()
    }

    /// Writes a piece. On failure a part of it may have been sent: the receiver then sees the connection end.
    fn write(&mut self, mut piece: &[u8], is_ending: &AtomicBool) -> io::Result<()> {
        let mut waiting = SendWait::default();
        while !piece.is_empty() {
            match send_some(&mut self.stream, piece) {
                Ok(Some(0)) => return Err(ErrorKind::WriteZero.into()),
                Ok(Some(count)) => {
                    piece = &piece[count..];
                    waiting = SendWait::default();
                }
                Ok(None) => waiting.go_on(self.timeout, is_ending.load(Ordering::Relaxed))?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &AtomicBool) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// More than the system's buffers at both ends hold.
    const MUCH: usize = 32 << 20;

    fn pair(timeout: Timeouts) -> (SocketSink, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let stream = TcpStream::connect(address).expect("it listens");
        let sink = SocketSink::new(stream, timeout).expect("a connection");
        (sink, listener.accept().expect("a connection").0)
    }

    fn timeout(running: u64, ending: u64) -> Timeouts {
        Timeouts {
            running: Duration::from_secs(running),
            ending: Duration::from_secs(ending),
            ..Timeouts::new("the receiver")
        }
    }

    #[test]
    fn a_slow_receiver_gets_everything() {
        let (mut sink, mut receiver) = pair(timeout(600, 600));
        let reader = thread::spawn(move || {
            let (mut piece, mut count) = (vec![0; 1 << 20], 0);
            loop {
                match receiver.read(&mut piece).expect("a connection") {
                    0 => return count,
                    some => count += some,
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let is_ending = AtomicBool::new(true);
        sink.write(&vec![7; MUCH], &is_ending).expect("all of it");
        sink.finish(&is_ending).expect("a connection");
        assert_eq!(reader.join().expect("no panic"), MUCH);
    }

    #[test]
    fn a_receiver_that_takes_nothing_is_given_up() {
        let (mut sink, _receiver) = pair(timeout(1, 600));
        let error = sink
            .write(&vec![7; MUCH], &AtomicBool::new(false))
            .expect_err("nobody reads");
        assert_eq!(error.to_string(), "the receiver has taken nothing for 1 s");
    }

    #[test]
    fn it_is_given_up_sooner_when_the_program_ends() {
        let (mut sink, _receiver) = pair(timeout(600, 1));
        let error = sink
            .write(&vec![7; MUCH], &AtomicBool::new(true))
            .expect_err("nobody reads");
        assert_eq!(error.to_string(), "the receiver has taken nothing for 1 s");
    }

    #[test]
    fn a_receiver_that_leaves_is_an_error_and_no_signal() {
        let (mut sink, receiver) = pair(timeout(600, 600));
        drop(receiver);
        let error = sink
            .write(&vec![7; MUCH], &AtomicBool::new(false))
            .expect_err("nobody is there");
        assert!(
            matches!(
                error.kind(),
                ErrorKind::BrokenPipe
                    | ErrorKind::ConnectionReset
                    // The word of Windows.
                    | ErrorKind::ConnectionAborted
            ),
            "{error}"
        );
    }
}
