//! Writing to a pipe, which must not wait for ever: its reader may have stopped reading without having gone away.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::slow_reader::{POLL_INTERVAL, SendWait, Timeouts};

/// A pipe that can be written to takes as many bytes at once (`PIPE_BUF`). The flag that would let it take more without
/// waiting belongs to all who have the pipe open, so it is left alone.
const AT_ONCE: usize = 4096;

/// Writes all of `piece`.
pub(super) fn write(
    mut pipe: &File,
    piece: &[u8],
    timeout: Timeouts,
    is_ending: &AtomicBool,
) -> io::Result<()> {
    let interval = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(POLL_INTERVAL.subsec_nanos()),
    };
    for part in piece.chunks(AT_ONCE) {
        let mut waiting = SendWait::default();
        loop {
            match poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(&interval)) {
                Ok(0) => waiting.go_on(timeout, is_ending.load(Ordering::Relaxed))?,
                // Without a reader the write fails.
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        pipe.write_all(part)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// More than a pipe holds.
    const MUCH: usize = 4 << 20;

    fn pair() -> (io::PipeReader, File) {
        let (reader, writer) = io::pipe().expect("a pipe");
        (reader, File::from(std::os::fd::OwnedFd::from(writer)))
    }

    fn timeout(running: u64, ending: u64) -> Timeouts {
        Timeouts {
            running: Duration::from_secs(running),
            ending: Duration::from_secs(ending),
            ..Timeouts::new("the reader")
        }
    }

    #[test]
    fn a_slow_reader_gets_everything() {
        let (mut reader, pipe) = pair();
        let taken = thread::spawn(move || {
            let (mut piece, mut taken) = (vec![0; 100_000], Vec::new());
            loop {
                match reader.read(&mut piece).expect("a pipe") {
                    0 => return taken,
                    count => taken.extend_from_slice(&piece[..count]),
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        let content: Vec<u8> = (0..MUCH).map(|at| (at / 1000) as u8).collect();
        let is_ending = AtomicBool::new(true);
        write(&pipe, &content, timeout(600, 600), &is_ending).expect("all of it");
        drop(pipe);
        assert_eq!(taken.join().expect("no panic"), content);
    }

    #[test]
    fn a_reader_that_takes_nothing_is_given_up() {
        let (_reader, pipe) = pair();
        for (timeout, is_ending) in [(timeout(1, 600), false), (timeout(600, 1), true)] {
            let error = write(&pipe, &vec![7; MUCH], timeout, &AtomicBool::new(is_ending))
                .expect_err("nobody reads");
            assert_eq!(error.to_string(), "the reader has taken nothing for 1 s");
        }
    }

    #[test]
    fn a_reader_that_leaves_is_an_error() {
        let (reader, pipe) = pair();
        drop(reader);
        let error = write(&pipe, &[7; 100], timeout(600, 600), &AtomicBool::new(false));
        let error = error.expect_err("nobody is there");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
