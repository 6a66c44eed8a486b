//! The connection on which the receiver of a profile sends commands.

use std::fmt::Display;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use locks::{Mutex, rank};
use output::console;

/// The most complaints about commands that are printed; more would let a confused receiver fill the program's stderr.
const COMPLAINTS: u32 = 10;
/// The interval at which the thread that reads checks whether the profile is over.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The time the receiver has to close its end once the profile is over; shorter than the time a stop waits for the
/// thread.
const LINGER: Duration = Duration::from_secs(3);

/// The state of the conversation with a receiver.
pub struct Listener {
    /// Taken by the thread.
    source: Mutex<Option<TcpStream>, rank::CommandSource>,
    pub(super) may_exit: bool,
    pub(super) exiting: AtomicBool,
    complaints: AtomicU32,
    /// Set when the profile is over: the moment until which data from the receiver is still read.
    last_moment: OnceLock<Instant>,
}

/// The bytes from the receiver, as a reader that ends when the profile is over.
pub(super) struct CommandStream {
    stream: TcpStream,
    listener: Arc<Listener>,
}

impl Listener {
    /// `commands` is the connection that they are read from, `may_exit` whether one may make the VM exit.
    pub(super) fn new(commands: TcpStream, may_exit: bool) -> Self {
        Self {
            source: Mutex::new(Some(commands)),
            may_exit,
            exiting: AtomicBool::new(false),
            complaints: AtomicU32::new(0),
            last_moment: OnceLock::new(),
        }
    }

    /// Returns what the receiver sends, the first time that it is called. It ends with the connection, or [`LINGER`]
    /// after [`Listener::finish`].
    pub(super) fn stream(self: &Arc<Self>) -> Option<CommandStream> {
        let stream = self.source.lock().take()?;
        // Without the timeout the thread would live as long as the receiver's connection; it would do no other harm.
        let _ = stream.set_read_timeout(Some(POLL_INTERVAL));
        Some(CommandStream {
            stream,
            listener: self.clone(),
        })
    }

    /// Marks the profile as written. Further commands are read but not carried out: the system resets a connection that
    /// is closed with unread data, and the receiver would lose the end of the profile.
    pub(super) fn finish(&self) {
        let _ = self.last_moment.set(Instant::now() + LINGER);
    }

    fn is_over(&self) -> bool {
        let last_moment = self.last_moment.get();
        last_moment.is_some_and(|&moment| Instant::now() >= moment)
    }

    pub(super) fn complain(&self, complaint: impl Display) {
        match self.complaints.fetch_add(1, Ordering::Relaxed) {
            0..COMPLAINTS => console::line(format_args!("from the receiver: {complaint}")),
            COMPLAINTS => console::line(format_args!(
                "from the receiver: more messages of this kind are not shown"
            )),
            // The counter must not wrap.
            _ => self.complaints.store(COMPLAINTS + 1, Ordering::Relaxed),
        }
    }
}

impl Read for CommandStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error) if is_timeout(&error) && !self.listener.is_over() => {}
                Ok(_) if self.listener.is_over() => return Ok(0),
                answer => return answer,
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
