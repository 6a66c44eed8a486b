//! One of many agents, and its profile.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use hprof_format::Command;

use super::callers::Caller;
use super::events::Reason;
use super::names::PartFile;
use super::watch::{GZIP, Watch};

/// The most bytes that an agent may send in a turn, chosen so that compressed ones become no more than a few megabytes.
pub const TURN: usize = 64 * 1024;
const COMPRESSED_TURN: usize = 16 * 1024;
/// The most bytes of commands that wait for an agent; further ones are not sent.
const WAITING: usize = 64 * 1024;

/// An agent that sends its profile.
pub struct Agent {
    pub number: u64,
    pub peer: SocketAddr,
    pub stream: TcpStream,
    pub file: PartFile,
    pub watch: Watch,
    is_compressed: bool,
    /// The data that has not been sent to it yet.
    pub outgoing: Vec<u8>,
    serial: u32,
    /// The error in writing its file.
    pub error: Option<io::Error>,
}

impl Agent {
    /// Turns a caller that has begun to send a profile into an agent; also returns the bytes received so far, which
    /// must still be processed.
    pub fn new(number: u64, caller: Caller, file: PartFile) -> (Agent, Vec<u8>) {
        let Caller {
            stream,
            address,
            said,
        } = caller;
        let agent = Agent {
            number,
            peer: address,
            stream,
            file,
            watch: Watch::default(),
            is_compressed: said.first() == Some(&GZIP),
            outgoing: Vec::new(),
            serial: 0,
            error: None,
        };
        (agent, said)
    }

    /// Reads what the agent has sent, at most one turn; returns a reason if the profile has ended.
    pub fn take_turn(&mut self, piece: &mut [u8]) -> Option<Reason> {
        let turn = if self.is_compressed {
            COMPRESSED_TURN
        } else {
            TURN
        };
        match self.stream.read(&mut piece[..turn]) {
            Ok(0) => Some(Reason::Agent),
            Ok(count) => self.take(&piece[..count]),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => None,
                _ => Some(Reason::Connection),
            },
        }
    }

    pub fn take(&mut self, piece: &[u8]) -> Option<Reason> {
        if let Err(error) = self.file.file.write_all(piece) {
            self.error = Some(error);
            return Some(Reason::File);
        }
        self.watch.see(piece);
        None
    }

    /// Queues a command for the agent; returns `false` if too many are waiting.
    pub fn queue(&mut self, command: Command) -> bool {
        let bytes = command.encode(self.serial + 1);
        if self.outgoing.len() + bytes.len() > WAITING {
            return false;
        }
        self.serial += 1;
        self.outgoing.extend_from_slice(&bytes);
        true
    }

    /// Sends as much as the agent accepts. A lost connection is noticed when it is read.
    pub fn send(&mut self) {
        while !self.outgoing.is_empty() {
            match self.stream.write(&self.outgoing) {
                Ok(count @ 1..) => drop(self.outgoing.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                _ => return self.outgoing.clear(),
            }
        }
    }
}
