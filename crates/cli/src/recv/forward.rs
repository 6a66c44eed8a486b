//! Files of agents on their way to an OpenTelemetry collector, one after the other, on a thread of its own.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::failure::Failure;
use crate::profile;
use crate::push::{Pushed, Target};

/// Files that wait; more are not sent.
const WAITING: usize = 10_000;

/// A finished file.
pub struct Finished {
    pub agent: u64,
    pub peer: IpAddr,
    pub path: PathBuf,
}

/// What came of a file.
pub struct Sent {
    pub agent: u64,
    pub result: Result<Pushed, String>,
}

/// The way to the collector.
pub struct Forwarder {
    files: SyncSender<Finished>,
    /// Agents whose files are on their way, and the files' names.
    waiting: BTreeMap<u64, String>,
}

impl Forwarder {
    /// Sends files to `target`; `told` gets what came of each.
    pub fn start(target: Target, told: impl Fn(Sent) + Send + 'static) -> Forwarder {
        let (files, finished) = sync_channel(WAITING);
        thread::spawn(move || send_all(&target, &finished, told));
        Forwarder {
            files,
            waiting: BTreeMap::new(),
        }
    }

    /// Puts a file on its way; `false` where too many wait.
    pub fn take(&mut self, file: Finished, name: String) -> bool {
        let agent = file.agent;
        let is_taken = self.files.try_send(file).is_ok();
        if is_taken {
            self.waiting.insert(agent, name);
        }
        is_taken
    }

    /// The name of a file that has arrived, or never will.
    pub fn arrived(&mut self, agent: u64) -> Option<String> {
        self.waiting.remove(&agent)
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Agents whose files are not there yet, and the files' names.
    pub fn into_waiting(self) -> BTreeMap<u64, String> {
        self.waiting
    }
}

fn send_all(target: &Target, finished: &Receiver<Finished>, told: impl Fn(Sent)) {
    for Finished { agent, peer, path } in finished {
        let result = send(target, peer, &path).map_err(|failure| {
            let message = failure.message().unwrap_or_default();
            message.to_owned()
        });
        told(Sent { agent, result });
    }
}

/// Sends a file, as far as it can be read.
pub fn send(target: &Target, peer: IpAddr, path: &Path) -> Result<Pushed, Failure> {
    let opened = profile::open(path, None)?;
    opened.metric(path, None)?;
    let known = [("network.peer.address", peer.to_string())];
    // What was cut off is told of the file itself.
    target.push(&opened.into_parts().0, &known)
}
