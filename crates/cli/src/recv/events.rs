//! What a receiver for many agents says: a line of JSON for each event.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

/// Lines that wait for a reader; who reads nothing loses some, and holds up nobody.
const QUEUED: usize = 10_000;
/// How long the last lines may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often it is looked whether there is room for the last one.
const PAUSE: Duration = Duration::from_millis(10);

/// What has happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The receiver waits for agents.
    Listening { address: String, dir: String },
    /// An agent has begun to send its profile.
    Begun {
        agent: u64,
        peer: String,
        file: String,
    },
    /// The file of an agent is finished.
    Ended {
        agent: u64,
        peer: String,
        file: String,
        bytes: u64,
        records: Option<u64>,
        whole: bool,
        reason: Reason,
    },
    /// A collector of OpenTelemetry's has taken what an agent sent.
    Forwarded {
        agent: u64,
        file: String,
        requests: u64,
        samples: u64,
    },
    /// It has not, or not all; the file is there.
    NotForwarded {
        agent: u64,
        file: String,
        error: String,
    },
    /// Somebody was sent away.
    Refused { peer: String, reason: AgentRefusal },
    /// A file could not be written as it should.
    Failed {
        agent: Option<u64>,
        peer: Option<String>,
        error: String,
    },
    /// A command was sent to so many agents.
    Sent { command: String, agents: usize },
    /// The receiver has ended.
    Stopped { agents: u64, bytes: u64 },
}

/// Why a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The agent has ended its profile, or its program has ended.
    Agent,
    /// The connection broke.
    Connection,
    /// It has sent as much as it may.
    Limit,
    /// All of them have.
    LimitOfAll,
    /// Its file cannot be written.
    File,
    /// The receiver was stopped.
    Stopped,
}

/// Why somebody was sent away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRefusal {
    /// What it sends is no profile.
    NoAgent,
    /// It says nothing.
    Silent,
    /// There are as many agents as there may be.
    TooMany,
    /// There are as many from there as there may be.
    TooManyOfOrigin,
    /// All of them have sent as much as they may.
    LimitOfAll,
    /// No file could be made for it.
    NoFile,
}

#[derive(Serialize)]
struct EventLine {
    /// Milliseconds since 1970.
    time: u64,
    /// Lines before this one that nobody took.
    #[serde(skip_serializing_if = "is_zero")]
    lost: u64,
    #[serde(flatten)]
    event: Event,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Writes events to the standard output, on a thread of its own.
pub struct Events {
    queue: Option<SyncSender<EventLine>>,
    lost: AtomicU64,
    ended: Receiver<()>,
}

impl Events {
    pub fn new() -> Events {
        let (queue, lines) = sync_channel(QUEUED);
        let (end, ended) = channel();
        thread::spawn(move || {
            write(&lines);
            let _ = end.send(());
        });
        Events {
            queue: Some(queue),
            lost: AtomicU64::new(0),
            ended,
        }
    }

    /// Says it, unless too much waits to be read.
    pub fn say(&self, event: Event) {
        let _ = self.try_to_say(event);
    }

    /// Says the last thing. Waits for a reader, but not for ever for one who does not read.
    pub fn end(mut self, mut last: Event) {
        let timeout = Instant::now() + TIMEOUT;
        while let Err(event) = self.try_to_say(last) {
            self.lost.fetch_sub(1, Ordering::Relaxed);
            last = event;
            if Instant::now() >= timeout {
                return;
            }
            thread::sleep(PAUSE);
        }
        self.queue = None;
        let _ = self.ended.recv_timeout(TIMEOUT);
    }

    fn try_to_say(&self, event: Event) -> Result<(), Event> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let line = EventLine {
            time: now.unwrap_or_default().as_millis() as u64,
            lost: self.lost.swap(0, Ordering::Relaxed),
            event,
        };
        let Some(queue) = &self.queue else {
            return Ok(());
        };
        queue.try_send(line).map_err(|error| {
            let (TrySendError::Full(line) | TrySendError::Disconnected(line)) = error;
            self.lost.fetch_add(line.lost + 1, Ordering::Relaxed);
            line.event
        })
    }
}

fn write(lines: &Receiver<EventLine>) {
    for line in lines {
        // All that it holds can be JSON.
        let Ok(mut text) = serde_json::to_vec(&line) else {
            continue;
        };
        text.push(b'\n');
        let mut out = io::stdout();
        if out.write_all(&text).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}
