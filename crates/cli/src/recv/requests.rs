//! Requests to the loop that serves all agents.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use hprof_os::signals;
use hprof_os::sockets::{self, Waker};

use super::forward::Sent;

/// A request.
pub enum Request {
    /// A line was typed.
    Line(String),
    /// Forwarding a file has ended.
    Sent(Sent),
    /// The receiver should end.
    Stop,
}

/// Sends requests from other threads.
pub struct Asker {
    requests: Sender<Request>,
    wake: Waker,
}

impl Asker {
    /// Sends a request; returns `false` if the loop has ended.
    pub fn ask(&self, request: Request) -> bool {
        // A full stream wakes it too.
        self.requests.send(request).is_ok() && (&self.wake).write_all(&[0]).is_ok()
    }

    /// As [`Asker::ask`], ignoring whether the loop has ended.
    pub fn send(&self, request: Request) {
        let _ = self.ask(request);
    }

    fn another(&self) -> io::Result<Asker> {
        Ok(Asker {
            requests: self.requests.clone(),
            wake: self.wake.try_clone()?,
        })
    }
}

/// Returns the requests from typed lines, interrupts and other threads; a byte arrives in the stream for each.
pub fn requests() -> io::Result<(Receiver<Request>, Waker, Asker)> {
    let (requests, received) = channel();
    let (wake, woken) = sockets::wakers()?;
    woken.set_nonblocking(true)?;
    let asker = Asker { requests, wake };
    let typed = asker.another()?;
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if !typed.ask(Request::Line(line)) {
                return;
            }
        }
    });
    let interrupt = asker.another()?;
    signals::each_time_asked_to_end(move || interrupt.send(Request::Stop))
        .map_err(|error| io::Error::other(format!("cannot wait for an interrupt: {error}")))?;
    Ok((received, woken, asker))
}
