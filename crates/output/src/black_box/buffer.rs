//! The buffer in which a snapshot is encoded.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hprof_format::BLACK_BOX_BYTES;

use crate::sink::Sink;
use locks::{Mutex, rank};

/// Bytes in memory, and how many there would be without a limit. Clones share them.
#[derive(Clone, Default)]
pub struct SnapshotBuffer(Arc<Mutex<Kept, rank::SnapshotBytes>>);

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl SnapshotBuffer {
    /// Takes what has been written; `None` if that was too much for a snapshot.
    pub fn take(&self) -> Option<Vec<u8>> {
        let Kept { bytes, is_cut } = std::mem::take(&mut *self.0.lock());
        (!is_cut).then_some(bytes)
    }
}

impl Sink for SnapshotBuffer {
    fn name(&self) -> String {
        "a snapshot".to_owned()
    }

    /// Keeps a piece if there is room for it. What comes after one that is left out is of no use.
    fn write(&mut self, piece: &[u8], _: &AtomicBool) -> io::Result<()> {
        let mut kept = self.0.lock();
        kept.is_cut |= (kept.bytes.len() + piece.len()) as u64 > BLACK_BOX_BYTES / 2;
        if !kept.is_cut {
            kept.bytes.extend_from_slice(piece);
        }
        Ok(())
    }

    fn finish(&mut self, _: &AtomicBool) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_has_a_limit() {
        let buffer = SnapshotBuffer::default();
        let half = usize::try_from(BLACK_BOX_BYTES / 2).expect("it fits");
        let is_ending = AtomicBool::new(false);
        let write = |bytes: &[u8]| buffer.clone().write(bytes, &is_ending).expect("memory");
        write(&vec![1; half]);
        assert_eq!(buffer.take().map(|bytes| bytes.len()), Some(half));
        for length in [half, 1, 1] {
            write(&vec![1; length]);
        }
        assert_eq!(buffer.take(), None);
        assert_eq!(buffer.take().map(|bytes| bytes.len()), Some(0));
    }
}
