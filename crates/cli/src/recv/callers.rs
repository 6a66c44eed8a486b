//! Incoming connections: the first one that begins like an agent's is the agent.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use flate2::read::MultiGzDecoder;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::watch::GZIP;

/// The beginnings of a profile: the two formats' first words; the old prof format of `cpu=old` has no header.
const BEGINNINGS: [&[u8]; 2] = [b"JAVA PROFILE ", b"count callee caller time\n"];
/// The most bytes from which a caller must be identified.
const LONGEST: usize = 4096;
/// The most silent callers at a time; the oldest one is closed when there is another.
const MOST: usize = 64;

/// The agent.
pub struct Arrival {
    /// Its connection.
    pub stream: TcpStream,
    /// The bytes received so far.
    pub beginning: Vec<u8>,
}

/// A caller that has not been identified yet.
pub struct Caller {
    pub stream: TcpStream,
    pub address: SocketAddr,
    pub said: Vec<u8>,
}

/// The judgment about a caller.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// It begins like a profile.
    Agent,
    /// It does not.
    Stranger,
    /// More bytes are needed.
    Open,
}

/// Waits for the agent; others are sent away, and silent ones keep nobody out.
pub fn wait(listener: &TcpListener) -> io::Result<Arrival> {
    listener.set_nonblocking(true)?;
    let mut callers = Vec::new();
    loop {
        wait_for_any(listener, &callers)?;
        let mut index = 0;
        while let Some(caller) = callers.get_mut(index) {
            match listen(caller) {
                Verdict::Open => index += 1,
                Verdict::Stranger => refuse(callers.remove(index)),
                Verdict::Agent => {
                    let Caller { stream, said, .. } = callers.remove(index);
                    callers.into_iter().for_each(refuse);
                    stream.set_nonblocking(false)?;
                    let beginning = said;
                    return Ok(Arrival { stream, beginning });
                }
            }
        }
        // One at a time: a caller that has sent enough is judged before others are accepted.
        if let Some(caller) = accept(listener)? {
            if callers.len() == MOST {
                refuse(callers.remove(0));
            }
            callers.push(caller);
        }
    }
}

fn wait_for_any(listener: &TcpListener, callers: &[Caller]) -> io::Result<()> {
    let streams = callers.iter().map(|caller| &caller.stream);
    let mut all = vec![PollFd::new(listener, PollFlags::IN)];
    all.extend(streams.map(|stream| PollFd::new(stream, PollFlags::IN)));
    match poll(&mut all, None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Accepts the next caller, if there is one that is still connected.
pub fn accept(listener: &TcpListener) -> io::Result<Option<Caller>> {
    let (stream, address) = match listener.accept() {
        Ok(accepted) => accepted,
        Err(error) => {
            return match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {
                    Ok(None)
                }
                _ => Err(error),
            };
        }
    };
    stream.set_nonblocking(true)?;
    Ok(Some(Caller {
        stream,
        address,
        said: Vec::new(),
    }))
}

/// Reads from a caller and judges it.
pub fn listen(caller: &mut Caller) -> Verdict {
    let mut piece = [0; LONGEST];
    match caller.stream.read(&mut piece) {
        Ok(count @ 1..) => {
            caller.said.extend_from_slice(&piece[..count]);
            judge(&caller.said)
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Verdict::Open
        }
        // The caller has disconnected.
        _ => Verdict::Stranger,
    }
}

fn judge(said: &[u8]) -> Verdict {
    let verdict = match said.first() {
        Some(&GZIP) => {
            let longest = BEGINNINGS.map(<[u8]>::len).into_iter().max();
            let mut content = MultiGzDecoder::new(said).take(longest.unwrap_or_default() as u64);
            let mut text = Vec::new();
            match content.read_to_end(&mut text) {
                Err(error) if error.kind() != ErrorKind::UnexpectedEof => Verdict::Stranger,
                _ => judge_text(&text),
            }
        }
        _ => judge_text(said),
    };
    match verdict {
        Verdict::Open if said.len() >= LONGEST => Verdict::Stranger,
        verdict => verdict,
    }
}

fn judge_text(text: &[u8]) -> Verdict {
    if BEGINNINGS.iter().any(|begin| text.starts_with(begin)) {
        return Verdict::Agent;
    }
    if BEGINNINGS.iter().any(|begin| begin.starts_with(text)) {
        return Verdict::Open;
    }
    Verdict::Stranger
}

fn refuse(caller: Caller) {
    let address = caller.address;
    let _ = writeln!(
        io::stderr(),
        "hprof: {address} has sent no profile: it is no agent, and its connection is closed"
    );
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn an_agent_is_known_by_what_it_sends_first() {
        let binary = b"JAVA PROFILE 1.0.2\0\0\0\0\x08";
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(binary).expect("memory takes all");
        gzip.flush().expect("memory takes all");
        let gzip = gzip.get_ref().as_slice();
        let old = b"count callee caller time\n7 a b 3\n";
        for whole in [&binary[..], gzip, old] {
            assert_eq!(judge(whole), Verdict::Agent);
            // Never a stranger at any point before.
            for length in 0..whole.len() {
                assert_ne!(judge(&whole[..length]), Verdict::Stranger, "{length}");
            }
        }
        assert_eq!(judge(b"JAVA PROFILE"), Verdict::Open);
    }

    #[test]
    fn who_sends_something_else_is_a_stranger() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(b"GET / HTTP/1.1\r\n")
            .expect("memory takes all");
        let gzip = gzip.finish().expect("memory takes all");
        let endless_head = [&b"\x1f\x8b\x08\x08\0\0\0\0\0\0"[..], &[b'x'; LONGEST]].concat();
        for said in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"JAVA PROFIT",
            b"\x1f is no gzip",
            &gzip,
            &endless_head,
        ] {
            assert_eq!(judge(said), Verdict::Stranger);
        }
    }
}
