//! Forwards agents' files to an OpenTelemetry collector and writes recordings of them, one after another, on a thread of its
//! own.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::written::WrittenFile;
use crate::export;
use crate::failure::Failure;
use crate::profile;
use crate::push::{Pushed, Target};

/// The most files that wait; further ones are not sent.
const WAITING: usize = 10_000;

/// A finished file.
pub struct Finished {
    pub agent: u64,
    pub peer: IpAddr,
    pub file: WrittenFile,
}

/// What is done with finished files.
pub struct Forwarding {
    /// The OpenTelemetry collector that they are sent to.
    pub target: Option<Target>,
    /// Set if a recording of the JDK Flight Recorder is written next to each.
    pub recordings: bool,
}

/// The results of forwarding a file; `None` for what was not asked for.
pub struct Sent {
    pub agent: u64,
    pub pushed: Option<Result<Pushed, String>>,
    /// The path of the recording, if it was written.
    pub recording: Option<Result<PathBuf, String>>,
}

/// Forwards files.
pub struct Forwarder {
    files: SyncSender<Finished>,
    /// Agents whose files are being forwarded, and the files' names.
    waiting: BTreeMap<u64, String>,
}

impl Forwarder {
    /// Forwards files; `told` is called with the results of each.
    pub fn start(forwarding: Arc<Forwarding>, told: impl Fn(Sent) + Send + 'static) -> Forwarder {
        let (files, finished) = sync_channel(WAITING);
        thread::spawn(move || forwarding.forward_all(&finished, told));
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

impl Forwarding {
    /// Returns `true` if there is something to do.
    pub fn is_wanted(&self) -> bool {
        self.target.is_some() || self.recordings
    }

    fn forward_all(&self, finished: &Receiver<Finished>, told: impl Fn(Sent)) {
        let message = |failure: Failure| failure.message().unwrap_or_default().to_owned();
        for Finished { agent, peer, file } in finished {
            told(Sent {
                agent,
                pushed: self.push(peer, &file).map(|sent| sent.map_err(message)),
                recording: self.record(&file).map(|written| written.map_err(message)),
            });
        }
    }

    /// Sends a file to the collector, as far as it can be read.
    pub fn push(&self, peer: IpAddr, file: &WrittenFile) -> Option<Result<Pushed, Failure>> {
        let target = self.target.as_ref()?;
        Some(send(target, peer, file))
    }

    /// Writes a recording next to a file, as far as it can be read.
    pub fn record(&self, file: &WrittenFile) -> Option<Result<PathBuf, Failure>> {
        self.recordings.then(|| {
            // Not in place of another ending: two files may differ in nothing else.
            let mut recording = file.path().as_os_str().to_owned();
            recording.push(".jfr");
            let recording = PathBuf::from(recording);
            let opened = profile::open_file(file.open()?, file.path())?;
            export::write_recording(opened, file.path(), &recording, false)?;
            Ok(recording)
        })
    }
}

fn send(target: &Target, peer: IpAddr, file: &WrittenFile) -> Result<Pushed, Failure> {
    let opened = profile::open_file(file.open()?, file.path())?;
    opened.metric(file.path(), None)?;
    let known = [("network.peer.address", peer.to_string())];
    // A truncated file has been reported already.
    target.push(&opened.into_parts().0, &known)
}
