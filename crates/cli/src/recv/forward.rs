//! Forwards agents' files to an OpenTelemetry collector, one after another, on a thread of its own.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::failure::Failure;
use crate::profile;
use crate::push::{Pushed, Target};

/// The most files that wait; further ones are not sent.
const WAITING: usize = 10_000;

/// A finished file.
pub struct Finished {
    pub agent: u64,
    pub peer: IpAddr,
    pub path: PathBuf,
}

/// The result of forwarding a file.
pub struct Sent {
    pub agent: u64,
    pub result: Result<Pushed, String>,
}

/// Forwards files to the collector.
pub struct Forwarder {
    files: SyncSender<Finished>,
    /// Agents whose files are being forwarded, and the files' names.
    waiting: BTreeMap<u64, String>,
}

impl Forwarder {
    /// Forwards files to `target`; `told` is called with each result.
    pub fn start(target: Target, told: impl Fn(Sent) + Send + 'static) -> Forwarder {
        let (files, finished) = sync_channel(WAITING);
        thread::spawn(move || send_all(&target, &finished, told));
        Forwarder {
            files,
            waiting: BTreeMap::new(),
        }
    }

    /// Queues a file; returns `false` if too many are waiting.
    pub fn take(&mut self, file: Finished, name: String) -> bool {
        let agent = file.agent;
        let is_taken = self.files.try_send(file).is_ok();
        if is_taken {
            self.waiting.insert(agent, name);
        }
        is_taken
    }

    /// Removes a file whose forwarding has ended, and returns its name.
    pub fn arrived(&mut self, agent: u64) -> Option<String> {
        self.waiting.remove(&agent)
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the agents whose files have not been forwarded yet, and the files' names.
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
    // A truncated file has been reported already.
    target.push(&opened.into_parts().0, &known)
}
