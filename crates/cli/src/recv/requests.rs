//! What others ask of the loop that serves all agents.

use std::io::{self, BufRead, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::forward::Sent;

/// What is asked.
pub enum Request {
    /// A line was typed.
    EventLine(String),
    /// A file is on its way no more.
    Sent(Sent),
    /// The receiver is to end.
    Stop,
}

/// How threads ask.
pub struct Asker {
    requests: Sender<Request>,
    wake: UnixStream,
}

impl Asker {
    /// Whether there is still somebody to ask.
    pub fn ask(&self, request: Request) -> bool {
        // A stream that is full wakes too.
        self.requests.send(request).is_ok() && (&self.wake).write_all(&[0]).is_ok()
    }

    /// The same, where it is no matter whether there is somebody.
    pub fn tell(&self, request: Request) {
        let _ = self.ask(request);
    }

    fn another(&self) -> io::Result<Asker> {
        Ok(Asker {
            requests: self.requests.clone(),
            wake: self.wake.try_clone()?,
        })
    }
}

/// What is typed, interrupts, and what else is asked; a byte comes out of the stream for each.
pub fn requests() -> io::Result<(Receiver<Request>, UnixStream, Asker)> {
    let (requests, received) = channel();
    let (wake, woken) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    let asker = Asker { requests, wake };
    let typed = asker.another()?;
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if !typed.ask(Request::EventLine(line)) {
                return;
            }
        }
    });
    let interrupt = asker.another()?;
    ctrlc::set_handler(move || interrupt.tell(Request::Stop))
        .map_err(|error| io::Error::other(format!("cannot wait for an interrupt: {error}")))?;
    Ok((received, woken, asker))
}
