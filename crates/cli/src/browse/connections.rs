//! Connections whose requests are being read, all on one thread.
//!
//! Any program on this machine can connect. A request is read for a limited time and in a limited number of
//! connections; if there are too many, those without the token are closed first.

use std::io::{self, ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::request::{AccessRule, LONGEST, PageRequest, RequestRefusal};
use super::{Answer, Asked};

/// The longest that the head of a request may take to arrive, and an answer to be read.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most connections that are read at once; a browser opens about six.
const MOST: usize = 256;
/// The pause in accepting connections if there are no more descriptors.
const PAUSE: Duration = Duration::from_millis(50);
/// The interval at which slow connections are looked for.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
/// The number of bytes that are read at once.
const PIECE: usize = 4096;

/// The open connections.
pub struct Connections {
    gate: AccessRule,
    asked: SyncSender<Asked>,
    reading: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    head: Vec<u8>,
    since: Instant,
    has_token: bool,
}

/// The state of a connection.
enum Progress {
    /// More data must come.
    Open,
    Asked(Result<PageRequest, RequestRefusal>),
    Gone,
}

impl Connections {
    pub fn new(gate: AccessRule, asked: SyncSender<Asked>) -> Connections {
        Connections {
            gate,
            asked,
            reading: Vec::new(),
        }
    }

    /// Accepts connections and reads their requests; returns only with an error that waiting cannot fix.
    pub fn serve(mut self, listener: &TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        loop {
            self.wait(listener)?;
            // Data that has arrived is read before another connection can take its place.
            self.read();
            self.close_late(Instant::now());
            self.accept(listener);
        }
    }

    fn wait(&self, listener: &TcpListener) -> io::Result<()> {
        let mut all = vec![PollFd::new(listener, PollFlags::IN)];
        let streams = self.reading.iter().map(|connection| &connection.stream);
        all.extend(streams.map(|stream| PollFd::new(stream, PollFlags::IN)));
        let timeout = (!self.reading.is_empty()).then_some(&POLL_INTERVAL);
        match poll(&mut all, timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&mut self) {
        let mut index = 0;
        while let Some(connection) = self.reading.get_mut(index) {
            match connection.read(&self.gate) {
                Progress::Open => index += 1,
                Progress::Gone => drop(self.reading.remove(index)),
                Progress::Asked(judged) => {
                    let connection = self.reading.remove(index);
                    // A client that goes away now is forgotten.
                    let _ = self.pass_on(connection.stream, judged);
                }
            }
        }
    }

    /// Passes a request on to be answered, or refuses it.
    fn pass_on(
        &self,
        mut stream: TcpStream,
        judged: Result<PageRequest, RequestRefusal>,
    ) -> io::Result<()> {
        let refusal = match judged {
            Ok(request) => {
                stream.set_nonblocking(false)?;
                stream.set_write_timeout(Some(TIMEOUT))?;
                match self.asked.try_send((request, stream)) {
                    Err(TrySendError::Full((_, busy))) => {
                        stream = busy;
                        RequestRefusal(503, "too many requests wait for an answer")
                    }
                    // The thread that answers may have ended.
                    _ => return Ok(()),
                }
            }
            Err(refusal) => refusal,
        };
        let RequestRefusal(status, why) = refusal;
        Answer::plain(status, why).send(&mut stream, false)
    }

    /// Closes connections whose requests take too long, even if data keeps arriving.
    fn close_late(&mut self, now: Instant) {
        self.reading
            .retain(|connection| now.duration_since(connection.since) < TIMEOUT);
    }

    /// Accepts one connection: those that are being read have their turn before the next one.
    fn accept(&mut self, listener: &TcpListener) {
        match listener.accept() {
            Ok((stream, _)) => {
                if self.reading.len() >= MOST {
                    self.close_one();
                }
                if stream.set_nonblocking(true).is_ok() {
                    self.reading.push(Connection::new(stream));
                }
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                // There may be no more descriptors.
                _ if self.close_one() => {}
                _ => thread::sleep(PAUSE),
            },
        }
    }

    /// Closes the oldest of the connections without the token, or the oldest of all; returns `false` if there is none.
    fn close_one(&mut self) -> bool {
        let mut all = self.reading.iter();
        let index = all.position(|connection| !connection.has_token);
        let is_any = !self.reading.is_empty();
        if is_any {
            self.reading.remove(index.unwrap_or(0));
        }
        is_any
    }
}

impl Connection {
    fn new(stream: TcpStream) -> Connection {
        Connection {
            stream,
            head: Vec::new(),
            since: Instant::now(),
            has_token: false,
        }
    }

    fn read(&mut self, gate: &AccessRule) -> Progress {
        let mut piece = [0; PIECE];
        let count = match self.stream.read(&mut piece) {
            Ok(0) => return Progress::Gone,
            Ok(count) => count,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::Interrupted => Progress::Open,
                    _ => Progress::Gone,
                };
            }
        };
        // The end of the head may have begun in earlier data.
        let unseen = self.head.len().saturating_sub(3);
        self.head.extend_from_slice(&piece[..count]);
        if self.head[unseen..]
            .windows(4)
            .any(|bytes| bytes == b"\r\n\r\n")
        {
            return Progress::Asked(gate.judge(&self.head));
        }
        if self.head.len() > LONGEST {
            let refusal = RequestRefusal(431, "the head of the request is too long");
            return Progress::Asked(Err(refusal));
        }
        self.has_token = self.has_token || gate.knows(&self.head);
        Progress::Open
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc::{Receiver, sync_channel};

    use super::*;

    struct Fixture {
        listener: TcpListener,
        connections: Connections,
        _answers: Receiver<Asked>,
    }

    fn fixture() -> Fixture {
        let (asked, answers) = sync_channel(1);
        let gate = AccessRule::new("t0k3n".to_owned(), 7000);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        Fixture {
            listener,
            connections: Connections::new(gate, asked),
            _answers: answers,
        }
    }

    impl Fixture {
        /// Creates a client that has sent this text, which has been read.
        fn client(&mut self, said: &str) -> TcpStream {
            let address = self.listener.local_addr().expect("an address");
            let mut client = TcpStream::connect(address).expect("it listens");
            client.write_all(said.as_bytes()).expect("it reads");
            self.connections.accept(&self.listener);
            let last = self.connections.reading.last_mut().expect("it came");
            while last.head.len() < said.len() {
                last.read(&self.connections.gate);
            }
            client
        }

        fn heads(&self) -> Vec<String> {
            let heads = self.connections.reading.iter();
            heads
                .map(|connection| String::from_utf8_lossy(&connection.head).into_owned())
                .collect()
        }
    }

    #[test]
    fn who_has_no_token_goes_first() {
        let mut fixture = fixture();
        let said = ["GET /t0k3n/ HTTP/1.1\r\n", "GET /x/", "", "HEAD /t0k3n/a"];
        let _clients = said.map(|said| fixture.client(said));
        assert!(fixture.connections.close_one());
        assert_eq!(fixture.heads(), [said[0], said[2], said[3]]);
        assert!(fixture.connections.close_one());
        assert_eq!(fixture.heads(), [said[0], said[3]]);
        assert!(fixture.connections.close_one());
        assert!(fixture.connections.close_one());
        assert!(!fixture.connections.close_one());
    }

    #[test]
    fn a_request_has_so_long_whatever_comes_of_it() {
        let mut fixture = fixture();
        let mut client = fixture.client("GET /t0k3n/");
        fixture.connections.close_late(Instant::now());
        client.write_all(b"x").expect("it reads");
        fixture.connections.read();
        assert_eq!(fixture.heads().len(), 1);
        fixture.connections.close_late(Instant::now() + TIMEOUT);
        assert_eq!(fixture.heads().len(), 0);
    }
}
