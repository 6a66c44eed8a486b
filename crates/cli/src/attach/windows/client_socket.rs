//! Windows has no sockets of `hprof live`: values of these types cannot be made.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use super::error::Error;
use super::process::Process;

/// A connection to the agent.
pub struct Connection(Infallible);

impl Read for Connection {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

impl Write for Connection {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

/// A socket to which the agent connects.
pub struct ClientSocket(Infallible);

impl ClientSocket {
    pub(super) fn create(process: &Process) -> Result<Self, Error> {
        Err(Error::Broken {
            pid: process.pid(),
            error: io::ErrorKind::Unsupported.into(),
        })
    }

    /// Returns the path as the program sees it.
    pub fn own_path(&self) -> PathBuf {
        match self.0 {}
    }

    /// Returns the connection of the program's agent.
    pub(super) fn accept(self, _: &Process) -> Result<Connection, Error> {
        match self.0 {}
    }
}
