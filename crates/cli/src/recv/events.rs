//! The events of a receiver for many agents: a line of JSON for each.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

/// The most lines that wait for a reader; a reader that is too slow loses some, and delays nobody.
const QUEUED: usize = 10_000;
/// The longest that the last lines may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which the queue is checked for room for the last line.
const PAUSE: Duration = Duration::from_millis(10);

/// The kinds of events.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ReceiverEvent {
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
    /// An OpenTelemetry collector has accepted an agent's profile.
    Forwarded {
        agent: u64,
        file: String,
        requests: u64,
        samples: u64,
    },
    /// It has not, or not all of it; the file is kept.
    NotForwarded {
        agent: u64,
        file: String,
        error: String,
    },
    /// A recording of the JDK Flight Recorder was written next to an agent's file.
    Recorded {
        agent: u64,
        file: String,
        recording: String,
    },
    /// It could not be written.
    NotRecorded {
        agent: u64,
        file: String,
        error: String,
    },
    /// A caller was sent away.
    Refused { peer: String, reason: AgentRefusal },
    /// A file could not be written properly.
    Failed {
        agent: Option<u64>,
        peer: Option<String>,
        error: String,
    },
    /// A command was sent to that many agents.
    Sent { command: String, agents: usize },
    /// The receiver has ended.
    Stopped { agents: u64, bytes: u64 },
}

/// The reason a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The agent has ended its profile, or its program has ended.
    Agent,
    /// The connection broke.
    Connection,
    /// The agent has sent as much as it may.
    Limit,
    /// All agents together have.
    LimitOfAll,
    /// Its file cannot be written.
    File,
    /// The receiver was stopped.
    Stopped,
}

/// The reason a caller was sent away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRefusal {
    /// It sends something other than a profile.
    NoAgent,
    /// It sends nothing.
    Silent,
    /// There are as many agents as allowed.
    TooMany,
    /// There are as many agents of this origin as allowed.
    TooManyOfOrigin,
    /// All agents together have sent as much as they may.
    LimitOfAll,
    /// No file could be created for it.
    NoFile,
}

#[derive(Serialize)]
struct EventLine {
    /// Milliseconds since 1970.
    time: u64,
    /// The number of lines before this one that were dropped.
    #[serde(skip_serializing_if = "is_zero")]
    lost: u64,
    #[serde(flatten)]
    event: ReceiverEvent,
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

    /// Queues an event, unless too many are waiting to be read.
    pub fn say(&self, event: ReceiverEvent) {
        let _ = self.try_to_say(event);
    }

    /// Writes the last event. Waits for the reader for a limited time.
    pub fn end(mut self, mut last: ReceiverEvent) {
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

    fn try_to_say(&self, event: ReceiverEvent) -> Result<(), ReceiverEvent> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let millis = now.unwrap_or_default().as_millis();
        let line = EventLine {
            time: u64::try_from(millis).unwrap_or(u64::MAX),
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
        // Everything in it can be represented as JSON.
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
