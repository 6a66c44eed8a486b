//! The signals that a recording waits for.

use std::fs;
use std::io;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use hprof_os::signals::not_ignored;
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals as Iterator;

use crate::interrupts;

/// The signals that this process has received.
pub struct Signals {
    received: Receiver<i32>,
}

/// The event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A child has ended, or changed its state.
    Child,
    /// Somebody wants an end, or with SIGQUIT a dump.
    Request(i32),
    /// Nothing, for the time that was given.
    Nothing,
}

impl Signals {
    /// Catches those that ask for an end, and those of children. One that this process was started to ignore (`nohup`, a
    /// shell's background) stays ignored, here and in its children.
    pub fn catch() -> io::Result<Self> {
        Self::catch_with(|_| {})
    }

    /// As [`Signals::catch`], for a command without a child: the first signal that asks for an end interrupts what it waits
    /// for, and the second ends it at once.
    pub fn catch_and_count() -> io::Result<Self> {
        interrupts::are_counted();
        Self::catch_with(|signal| {
            if signal != SIGCHLD {
                interrupts::count(signal);
            }
        })
    }

    fn catch_with(take: impl Fn(i32) + Send + 'static) -> io::Result<Self> {
        let caught = not_ignored(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT]);
        let mut signals = Iterator::new(caught.chain([SIGCHLD]))?;
        let (send, received) = mpsc::channel();
        let wait = move || {
            for signal in signals.forever() {
                take(signal);
                if send.send(signal).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(wait)?;
        Ok(Self { received })
    }

    /// Waits for the next signal.
    pub fn next(&self, longest: Duration) -> Event {
        match self.received.recv_timeout(longest) {
            Ok(SIGCHLD) => Event::Child,
            Ok(signal) => Event::Request(signal),
            Err(_) => Event::Nothing,
        }
    }
}

/// Passes a signal on to a child that has not been waited for. A key of the terminal (Ctrl-C, Ctrl-\) reaches the child
/// without that, because it belongs to the same group of processes.
pub fn pass_on(signal: i32, child: u32) {
    if [SIGINT, SIGQUIT].contains(&signal) && is_in_foreground() {
        return;
    }
    let named = match signal {
        SIGINT => Signal::INT,
        SIGQUIT => Signal::QUIT,
        SIGHUP => Signal::HUP,
        _ => Signal::TERM,
    };
    let child = i32::try_from(child).ok().and_then(Pid::from_raw);
    if let Some(child) = child {
        // One that has ended needs none.
        let _ = kill_process(child, named);
    }
}

/// Returns `true` if the keys of a terminal send signals to this process.
fn is_in_foreground() -> bool {
    let terminal = fs::File::open("/dev/tty");
    let group = terminal.and_then(|terminal| tcgetpgrp(terminal).map_err(io::Error::from));
    group.is_ok_and(|group| group == getpgrp())
}
