//! The answer to an attach command. The VM returns only a number to the client, so a command may name a file for the
//! text.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::os::open_for_reply;

/// The file for the answer.
pub struct Reply(File);

impl Reply {
    /// Opens the file if it exists and is regular and empty, as the sender of the command creates it: a mistake in its
    /// name must not cost the user another file, nor make the program wait for the reader of a pipe.
    pub fn open(path: &Path) -> Option<Self> {
        let file = open_for_reply(path).ok()?;
        let metadata = file.metadata().ok()?;
        (metadata.is_file() && metadata.len() == 0).then_some(Self(file))
    }

    /// Writes that the command was carried out; returns `false` if that failed.
    pub fn done(self, text: &str) -> bool {
        self.send("done", &text)
    }

    /// Writes that the command was not carried out; returns `false` if that failed.
    pub fn refused(self, reason: &dyn Display) -> bool {
        self.send("refused", reason)
    }

    fn send(mut self, outcome: &str, text: &dyn Display) -> bool {
        self.0
            .write_all(format!("{outcome}\n{text}").as_bytes())
            .is_ok()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_words_go_into_a_file_that_waits_for_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("reply");
        fs::write(&path, "").expect("a file");
        assert!(
            Reply::open(&path)
                .expect("it waits")
                .refused(&"no such thing")
        );
        let written = fs::read_to_string(&path).expect("the reply");
        assert_eq!(written, "refused\nno such thing");
    }

    #[test]
    fn no_other_file_is_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("full"), "mine").expect("a file");
        fs::write(path("empty"), "").expect("a file");
        symlink(path("empty"), path("link")).expect("a link");
        for name in ["full", "link", "missing", "."] {
            assert!(Reply::open(&path(name)).is_none(), "{name}");
        }
        assert!(!path("missing").exists());
    }
}
