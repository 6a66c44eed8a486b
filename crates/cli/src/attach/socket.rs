//! Sockets whose other end need not answer.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::error::Error;
use super::limit::Limit;

/// The time between two looks for a signal.
const LOOK: Duration = Duration::from_millis(100);
/// The longest that a program may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(15);

/// Writes a request and reads the answer to its end; `None` if it has more than `longest` bytes.
pub fn ask(
    limit: &Limit,
    stream: &mut UnixStream,
    request: &[u8],
    longest: u64,
) -> Result<Option<String>, Error> {
    let pid = limit.process();
    let broken = |error| Error::Broken { pid, error };
    stream.set_read_timeout(Some(LOOK)).map_err(broken)?;
    stream.set_write_timeout(Some(LOOK)).map_err(broken)?;
    let mut left = request;
    while !left.is_empty() {
        if let Some(count) = pass(limit, stream.write(left))? {
            left = &left[count..];
        }
    }
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    while said.len() as u64 <= longest {
        match pass(limit, stream.read(&mut piece))? {
            Some(0) => return Ok(Some(String::from_utf8_lossy(&said).into_owned())),
            Some(count) => said.extend_from_slice(&piece[..count]),
            None => {}
        }
    }
    Ok(None)
}

/// Returns `None` for what is to be tried again.
fn pass(limit: &Limit, done: io::Result<usize>) -> Result<Option<usize>, Error> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if is_in_vain(&error) => limit.check().map(|()| None),
        Err(error) => Err(Error::Broken {
            pid: limit.process(),
            error,
        }),
    }
}

fn is_in_vain(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// Connects to a socket. One whose owner accepts nothing would be waited for without a limit, so that is done on another
/// thread.
pub fn connect(path: PathBuf) -> io::Result<UnixStream> {
    let (send, connected) = mpsc::channel();
    let connect = move || {
        // If nobody waits any more, the connection is closed.
        let _ = send.send(UnixStream::connect(path));
    };
    thread::Builder::new()
        .name("connection".to_owned())
        .spawn(connect)?;
    connected
        .recv_timeout(CONNECT)
        .unwrap_or(Err(ErrorKind::TimedOut.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_silent_or_takes_nothing_is_not_waited_for() {
        let (mut ours, theirs) = UnixStream::pair().expect("sockets");
        let limit = || Limit::start(7, Duration::from_millis(1));
        let answer = ask(&limit(), &mut ours, b"1", 10);
        assert!(matches!(answer, Err(Error::NoAnswer { pid: 7, .. })));
        let answer = ask(&limit(), &mut ours, &[0; 16 << 20], 10);
        assert!(matches!(answer, Err(Error::NoAnswer { pid: 7, .. })));
        drop(theirs);
        let answer = ask(&limit(), &mut ours, b"1", 10);
        assert!(matches!(answer, Err(Error::Broken { pid: 7, .. })));
    }

    #[test]
    fn an_answer_is_read_to_its_end_or_to_the_most() {
        for (longest, expected) in [(6, Some("answer")), (5, None)] {
            let (mut ours, mut theirs) = UnixStream::pair().expect("sockets");
            theirs.write_all(b"answer").expect("room");
            theirs
                .shutdown(std::net::Shutdown::Write)
                .expect("a connection");
            let limit = Limit::start(7, Duration::from_secs(60));
            let answer = ask(&limit, &mut ours, b"1", longest).expect("it comes");
            assert_eq!(answer.as_deref(), expected);
        }
    }
}
