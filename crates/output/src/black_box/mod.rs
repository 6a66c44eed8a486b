//! The file of `blackbox=`, which keeps what is known next to the profile, and the buffer in which that is encoded.
//!
//! The file is written with plain writes and never mapped. A page fault of a mapping on a disk that hangs would hold a
//! lock of the whole process, for which the program's threads wait for memory; a file that somebody cuts short would
//! end the VM. A write holds up only the thread that makes it, and an error costs only the file. The system has what was
//! written as soon as the call returns, whatever becomes of the process.

mod buffer;
mod error;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use hprof_format::{BLACK_BOX_BYTES, Snapshot, black_box_head, is_black_box, snapshot_offset};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::open;

pub use buffer::SnapshotBuffer;
pub use error::NoBlackBox;

/// The number of bytes that are written at once where a file cannot be preallocated otherwise.
const PIECE: usize = 64 * 1024;

/// The file of one session. Its snapshots are written by one thread, and it is removed by the one that ends the session.
pub struct BlackBoxFile {
    file: File,
    path: PathBuf,
    /// The file's device and inode numbers, by which it is recognized.
    id: (u64, u64),
}

impl BlackBoxFile {
    /// Creates the file with all of its blocks. One that a killed program has left gets the name `old`, instead of one
    /// that is there.
    pub fn create(path: &Path, old: &Path) -> Result<Self, NoBlackBox> {
        let opened = match open::create_new(path) {
            Err(error) if error.exists_already() => {
                set_aside(path, old)?;
                open::create_new(path)?
            }
            created => created?,
        };
        let found = opened.file.metadata()?;
        let created = Self {
            file: opened.file,
            path: path.to_owned(),
            id: (found.dev(), found.ino()),
        };
        if let Err(error) = created.begin() {
            created.remove();
            return Err(error.into());
        }
        Ok(created)
    }

    fn begin(&self) -> io::Result<()> {
        match fallocate(&self.file, FallocateFlags::empty(), 0, BLACK_BOX_BYTES) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.fill()?,
            answer => answer?,
        }
        self.file.write_all_at(black_box_head(), 0)
    }

    /// Writes zeros: not every file system can preallocate.
    fn fill(&self) -> io::Result<()> {
        let zeros = [0; PIECE];
        let mut place = 0;
        while place < BLACK_BOX_BYTES {
            let count = zeros
                .len()
                .min(usize::try_from(BLACK_BOX_BYTES - place).unwrap_or(PIECE));
            self.file.write_all_at(&zeros[..count], place)?;
            place += count as u64;
        }
        Ok(())
    }

    /// Writes a snapshot over the one before the last; `false` if there is no room for it in the file.
    pub fn write(&self, snapshot: &Snapshot<'_>) -> io::Result<bool> {
        let Some(bytes) = snapshot.encode() else {
            return Ok(false);
        };
        let place = snapshot_offset(snapshot.sequence);
        self.file.write_all_at(&bytes, place)?;
        Ok(true)
    }

    /// Removes the file, unless somebody has put another in its place.
    pub fn remove(&self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.id) {
            // If the folder does not allow it, the file stays, and is of no use.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Renames a black box, and lets another one go for it.
fn set_aside(path: &Path, old: &Path) -> Result<(), NoBlackBox> {
    let may_go = |path: &Path| open::may_be_replaced(path, is_black_box);
    if !may_go(path)? || !may_go(old)? {
        return Err(NoBlackBox::Taken);
    }
    Ok(fs::rename(path, old)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use hprof_format::{BlackBox, Millis};

    use super::*;

    fn snapshot(sequence: u64, profile: &[u8]) -> Snapshot<'_> {
        Snapshot {
            sequence,
            time: Millis(1),
            swept: None,
            growth: &[],
            profile,
            memory: &[],
        }
    }

    fn profile(path: &Path) -> Vec<u8> {
        let mut file = File::open(path).expect("a file");
        BlackBox::read(&mut file).expect("a snapshot").profile
    }

    #[test]
    fn snapshots_follow_one_another_in_a_private_file_of_one_size() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.blackbox");
        let old = folder.path().join("x.old.blackbox");
        let file = BlackBoxFile::create(&path, &old).expect("a new file");
        for sequence in 1..=5 {
            let text = sequence.to_string();
            let written = file.write(&snapshot(sequence, text.as_bytes()));
            assert!(written.expect("there is room"));
            assert_eq!(profile(&path), text.as_bytes());
            let found = fs::metadata(&path).expect("a file");
            assert_eq!(found.len(), BLACK_BOX_BYTES);
            assert!(found.blocks() * 512 >= BLACK_BOX_BYTES, "it has its blocks");
            assert_eq!(found.permissions().mode() & 0o777, 0o600);
        }
        let large = vec![0; usize::try_from(BLACK_BOX_BYTES).expect("it fits")];
        let written = file.write(&snapshot(6, &large));
        assert!(!written.expect("nothing was written"));
        assert_eq!(profile(&path), b"5");
        file.remove();
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_program_has_left_is_kept_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.blackbox");
        let old = folder.path().join("x.old.blackbox");
        for run in 1_u8..=3 {
            let file = BlackBoxFile::create(&path, &old).expect("a new file");
            file.write(&snapshot(1, &[run])).expect("there is room");
            if run > 1 {
                assert_eq!(profile(&old), [run - 1]);
            }
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }

    #[test]
    fn files_of_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.blackbox");
        let old = folder.path().join("x.old.blackbox");
        let refused = || match BlackBoxFile::create(&path, &old) {
            Ok(_) => panic!("it was replaced"),
            Err(error) => error.to_string(),
        };
        fs::write(&path, "mine").expect("a file");
        assert!(refused().contains("is no black box"));
        fs::remove_file(&path).expect("a file");
        std::os::unix::fs::symlink("elsewhere", &path).expect("a link");
        assert!(refused().contains("is no black box"));
        fs::remove_file(&path).expect("a link");
        let file = BlackBoxFile::create(&path, &old).expect("a new file");
        fs::write(&old, "mine, too").expect("a file");
        assert!(refused().contains("is no black box"));
        fs::rename(&old, &path).expect("it is replaced");
        file.remove();
        assert_eq!(fs::read(&path).expect("a file"), b"mine, too");
    }
}
