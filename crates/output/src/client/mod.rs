//! The connection to `hprof live`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::Sink;

/// The longest that a client may take nothing of a snapshot; nobody but the client waits meanwhile.
const TAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which a thread that waits for a request checks whether the session continues.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The longest that a client may ask for nothing. One that is stopped (SIGSTOP) keeps its connection.
const ASK_TIMEOUT: Duration = Duration::from_secs(60);

/// Sends snapshots. A client that has gone is no error: the session ends with it, and takes what is still written.
pub struct ClientSink {
    stream: UnixStream,
    name: String,
    has_gone: bool,
}

/// The requests of a client: each byte asks for a snapshot.
pub struct ClientRequests {
    stream: UnixStream,
}

impl ClientSink {
    /// Connects to a client that listens on this socket. Returns its requests, too.
    pub fn connect(socket: &Path) -> io::Result<(Self, ClientRequests)> {
        let stream = UnixStream::connect(socket)?;
        stream.set_write_timeout(Some(TAKE_TIMEOUT))?;
        stream.set_read_timeout(Some(POLL_INTERVAL))?;
        let requests = ClientRequests {
            stream: stream.try_clone()?,
        };
        let sink = Self {
            stream,
            name: socket.display().to_string(),
            has_gone: false,
        };
        Ok((sink, requests))
    }
}

impl Sink for ClientSink {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn write(&mut self, piece: &[u8], _is_ending: &AtomicBool) -> io::Result<()> {
        if !self.has_gone && self.stream.write_all(piece).is_err() {
            self.has_gone = true;
            // What the client has of a snapshot is of no use without the rest. The reader learns of the end by this.
            let _ = self.stream.shutdown(Shutdown::Both);
        }
        Ok(())
    }

    fn finish(&mut self, _is_ending: &AtomicBool) -> io::Result<()> {
        // It fails if the client has gone.
        let _ = self.stream.shutdown(Shutdown::Both);
        Ok(())
    }
}

impl ClientRequests {
    /// Waits for a request. Returns `false` if there will be no other, because the client has gone or `goes_on` answers
    /// `false`.
    pub fn wait(&mut self, goes_on: impl Fn() -> bool) -> bool {
        let end = Instant::now() + ASK_TIMEOUT;
        loop {
            match self.stream.read(&mut [0]) {
                Ok(count) => return count > 0,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !goes_on() || Instant::now() >= end {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use tempfile::TempDir;

    use super::*;

    fn connected() -> (ClientSink, ClientRequests, UnixStream) {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a socket");
        let (sink, requests) = ClientSink::connect(&path).expect("it listens");
        (sink, requests, listener.accept().expect("a connection").0)
    }

    #[test]
    fn every_byte_is_a_request_and_the_end_is_none() {
        let (_sink, mut requests, mut client) = connected();
        client.write_all(b"xy").expect("a connection");
        drop(client);
        let answers = [(); 3].map(|()| requests.wait(|| true));
        assert_eq!(answers, [true, true, false]);
    }

    #[test]
    fn a_session_that_is_over_waits_for_no_request() {
        let (_sink, mut requests, _client) = connected();
        assert!(!requests.wait(|| false));
    }

    #[test]
    fn a_client_that_has_gone_is_no_error() {
        let (mut sink, mut requests, client) = connected();
        drop(client);
        let is_ending = AtomicBool::new(false);
        for _ in 0..2 {
            let written = sink.write(&vec![7; 1 << 20], &is_ending);
            written.expect("nobody misses it");
        }
        sink.finish(&is_ending).expect("nobody misses it");
        assert!(!requests.wait(|| true));
    }
}
