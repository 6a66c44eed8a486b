//! The file of `blackbox=`, of which there is none on Windows.

mod buffer;
mod error;

use std::io;
use std::path::Path;

use hprof_format::Snapshot;

pub use buffer::SnapshotBuffer;
pub use error::NoBlackBox;

/// There is none.
pub enum BlackBoxFile {}

#[allow(missing_docs, reason = "there is no value that has these methods")]
impl BlackBoxFile {
    /// Returns the reason why there is none.
    pub fn create(_: &Path, _: &Path) -> Result<Self, NoBlackBox> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "Windows has none").into())
    }

    pub fn write(&self, _: &Snapshot<'_>) -> io::Result<bool> {
        match *self {}
    }

    pub fn remove(&self) {
        match *self {}
    }

    pub fn path(&self) -> &Path {
        match *self {}
    }
}
