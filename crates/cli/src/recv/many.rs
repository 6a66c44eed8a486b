//! A receiver for any number of agents, with a file for each in one folder.
//!
//! One thread serves all of them. All get equal turns, and none can block it: data for an agent waits in memory up to a
//! limit, and events are written on a thread of their own.

use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime};

use hprof_format::Command;
use hprof_os::sockets::{self, Waker};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::agent::{Agent, TURN};
use super::callers::{self, Caller};
use super::command;
use super::events::{AgentRefusal, Events, Reason, ReceiverEvent};
use super::forward::{Finished, Forwarder, Forwarding, Sent};
use super::names::{AgentFacts, PartFile, Pattern};
use super::requests::{Request, requests};
use super::waiting::{Received, Waiting, origin};
use super::written::WrittenFile;
use crate::failure::Failure;
use crate::push::Pushed;

/// The number of descriptors of the receiver itself, and of files that it forwards.
const OWN_DESCRIPTORS: u64 = 20;
/// The number of descriptors per agent: its connection and its file.
const DESCRIPTORS: u64 = 2;
/// The divisor of the part of the places, rounded down, that one origin cannot take from the others.
const KEPT_PART: usize = 8;
/// The pause in accepting connections after an error: there may be no more descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest that files may take to be forwarded when the receiver ends.
const LAST_FILES: Duration = Duration::from_secs(10);

/// The limits of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most agents at a time.
    pub agents: usize,
    /// The most bytes of each.
    pub bytes: Option<u64>,
    /// The most bytes of all of them together, as long as the receiver runs.
    pub all_bytes: Option<u64>,
}

/// The parameters of a receiver.
pub struct Wanted {
    /// The folder for the files.
    pub folder: PathBuf,
    /// The pattern of their names.
    pub pattern: Pattern,
    /// The limits.
    pub limits: Limits,
    /// The commands sent to each agent when it begins.
    pub commands: Vec<Command>,
    /// What is done with finished files.
    pub forwarding: Arc<Forwarding>,
}

/// The state of the receiver.
struct Server {
    wanted: Wanted,
    forwarder: Option<Forwarder>,
    events: Events,
    waiting: Waiting,
    agents: Vec<Agent>,
    /// The number of connections that there are descriptors for.
    connections: usize,
    /// The number of agents so far.
    count: u64,
    /// The number of bytes so far.
    bytes: u64,
    /// The time until which no connection is accepted.
    pause: Option<Instant>,
}

/// Receives until it is interrupted.
pub fn collect(listener: &TcpListener, wanted: Wanted) -> Result<(), Failure> {
    let address = listener.local_addr().map_err(broken)?;
    listener.set_nonblocking(true).map_err(broken)?;
    let connections = allow_many_connections();
    let (requests, woken, asker) = requests().map_err(broken)?;
    let forwarder = wanted.forwarding.is_wanted().then(|| {
        let told = move |sent| asker.send(Request::Sent(sent));
        Forwarder::start(wanted.forwarding.clone(), told)
    });
    let events = Events::new();
    events.say(ReceiverEvent::Listening {
        address: address.to_string(),
        dir: wanted.folder.display().to_string(),
    });
    let mut receiver = Server {
        wanted,
        forwarder,
        events,
        waiting: Waiting::default(),
        agents: Vec::new(),
        connections,
        count: 0,
        bytes: 0,
        pause: None,
    };
    let ended = receiver.run(listener, &requests, &woken);
    receiver.stop(&requests);
    ended.map_err(broken)
}

fn broken(error: io::Error) -> Failure {
    Failure::Message(format!("the receiver cannot continue: {error}"))
}

/// Raises the limit of descriptors, and returns the number of connections for which they suffice.
fn allow_many_connections() -> usize {
    let connections = sockets::allow_many().saturating_sub(OWN_DESCRIPTORS) / DESCRIPTORS;
    usize::try_from(connections).unwrap_or(usize::MAX)
}

impl Server {
    fn run(
        &mut self,
        listener: &TcpListener,
        requests: &Receiver<Request>,
        woken: &Waker,
    ) -> io::Result<()> {
        loop {
            let ready = self.wait(listener, woken)?;
            let _ = (&*woken).read(&mut [0; 64]);
            for request in requests.try_iter() {
                match request {
                    Request::Stop => return Ok(()),
                    Request::Line(line) => self.obey(&line),
                    Request::Sent(sent) => self.arrived(sent),
                }
            }
            self.serve(&ready.agents);
            self.listen();
            if ready.listener {
                self.accept(listener);
            }
        }
    }

    /// Waits for data or a connection, or for the end of a timeout.
    fn wait(&self, listener: &TcpListener, woken: &Waker) -> io::Result<Ready> {
        let paused = self.pause.is_some_and(|end| Instant::now() < end);
        let mut all = Vec::with_capacity(self.agents.len() + self.waiting.len() + 2);
        all.push(PollFd::new(woken, PollFlags::IN));
        let open = if paused {
            PollFlags::empty()
        } else {
            PollFlags::IN
        };
        all.push(PollFd::new(listener, open));
        for agent in &self.agents {
            let wanted = match agent.outgoing.is_empty() {
                true => PollFlags::IN,
                false => PollFlags::IN | PollFlags::OUT,
            };
            all.push(PollFd::new(&agent.stream, wanted));
        }
        let waiting = self.waiting.streams();
        all.extend(waiting.map(|stream| PollFd::new(stream, PollFlags::IN)));
        let timeout = match (paused, self.waiting.is_empty()) {
            (true, _) => Some(PAUSE),
            (false, false) => Some(Duration::from_secs(1)),
            (false, true) => None,
        };
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut all, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let agents = all[2..2 + self.agents.len()].iter().map(is_ready);
        Ok(Ready {
            listener: is_ready(&all[1]),
            agents: agents.collect(),
        })
    }

    /// Gives a turn to each agent that has sent something, or can be written to.
    fn serve(&mut self, ready: &[bool]) {
        let mut piece = vec![0; TURN];
        let mut ended = Vec::new();
        for (index, agent) in self.agents.iter_mut().enumerate() {
            if !ready.get(index).copied().unwrap_or(false) {
                continue;
            }
            agent.send();
            let Limits {
                bytes, all_bytes, ..
            } = self.wanted.limits;
            let before = agent.watch.bytes();
            let mut end = agent.take_turn(&mut piece);
            self.bytes += agent.watch.bytes() - before;
            if end.is_none() && bytes.is_some_and(|most| agent.watch.bytes() >= most) {
                end = Some(Reason::Limit);
            }
            if end.is_none() && all_bytes.is_some_and(|most| self.bytes >= most) {
                end = Some(Reason::LimitOfAll);
            }
            if let Some(reason) = end {
                ended.push((index, reason));
            }
        }
        for (index, reason) in ended.into_iter().rev() {
            let agent = self.agents.swap_remove(index);
            self.finish(agent, reason);
        }
    }

    /// Reads from callers that have not been identified.
    fn listen(&mut self) {
        for (caller, received) in self.waiting.read_from_all() {
            self.admit(caller, received);
        }
    }

    fn admit(&mut self, caller: Caller, received: Received) {
        match received {
            Received::Agent => self.begin(caller),
            Received::Stranger => self.refuse(caller.address, AgentRefusal::NoAgent),
            Received::Silent => self.refuse(caller.address, AgentRefusal::Silent),
        }
    }

    /// Closes a waiting caller to make room for another; returns `false` if none is waiting.
    fn make_room(&mut self) -> bool {
        let taken = self.waiting.take_one();
        let is_taken = taken.is_some();
        if let Some((caller, received)) = taken {
            self.admit(caller, received);
        }
        is_taken
    }

    fn accept(&mut self, listener: &TcpListener) {
        loop {
            match callers::accept(listener) {
                Ok(Some(caller)) => self.let_in(caller),
                Ok(None) => return,
                // There may be no more descriptors.
                Err(_) if self.make_room() => {}
                Err(error) => {
                    self.pause = Some(Instant::now() + PAUSE);
                    let error = error.to_string();
                    return self.events.say(ReceiverEvent::Failed {
                        agent: None,
                        peer: None,
                        error,
                    });
                }
            }
        }
    }

    fn let_in(&mut self, caller: Caller) {
        let most = self.wanted.limits.all_bytes;
        if most.is_some_and(|most| self.bytes >= most) {
            return self.refuse(caller.address, AgentRefusal::LimitOfAll);
        }
        loop {
            if self.agents.len() >= self.places() {
                return self.refuse(caller.address, AgentRefusal::TooMany);
            }
            // Silent callers take no agent's place, and an agent may be silent for a while.
            let silent = self.places().saturating_mul(2);
            let is_room = self.agents.len() + self.waiting.len() < self.connections;
            if is_room && self.waiting.len() < silent || !self.make_room() {
                return self.waiting.add(caller);
            }
        }
    }

    /// Returns the number of agents for which there is room.
    fn places(&self) -> usize {
        self.wanted.limits.agents.min(self.connections)
    }

    /// Returns `true` if the agents of one origin have all the places they may have.
    fn has_its_share(&self, peer: SocketAddr) -> bool {
        let places = self.places();
        let others = self.agents.iter();
        let count = others
            .filter(|agent| origin(agent.peer) == origin(peer))
            .count();
        count >= places - places / KEPT_PART
    }

    fn refuse(&self, peer: SocketAddr, reason: AgentRefusal) {
        let peer = peer.to_string();
        self.events.say(ReceiverEvent::Refused { peer, reason });
    }

    /// Begins to receive from a caller identified as an agent.
    fn begin(&mut self, caller: Caller) {
        let peer = caller.address;
        if self.agents.len() >= self.places() {
            return self.refuse(peer, AgentRefusal::TooMany);
        }
        if self.has_its_share(peer) {
            return self.refuse(peer, AgentRefusal::TooManyOfOrigin);
        }
        let number = self.count + 1;
        let known = AgentFacts {
            peer,
            number,
            time: SystemTime::now(),
        };
        let name = self.wanted.pattern.name(&known);
        let file = match PartFile::create(&self.wanted.folder, &name) {
            Ok(file) => file,
            Err(error) => {
                self.failed(None, peer, &error);
                return self.refuse(peer, AgentRefusal::NoFile);
            }
        };
        self.count = number;
        let (mut agent, said) = Agent::new(number, caller, file);
        self.events.say(ReceiverEvent::Begun {
            agent: number,
            peer: peer.to_string(),
            file: agent.file.name.clone(),
        });
        self.bytes += said.len() as u64;
        if let Some(reason) = agent.take(&said) {
            return self.finish(agent, reason);
        }
        for &command in &self.wanted.commands {
            agent.queue(command);
        }
        agent.send();
        self.agents.push(agent);
    }

    /// Gives an agent's file its final name.
    fn finish(&mut self, mut agent: Agent, reason: Reason) {
        let _ = agent.stream.shutdown(Shutdown::Both);
        if let Some(error) = agent.error.take() {
            self.failed(Some(agent.number), agent.peer, &error);
        }
        // A connection may have been cut off between two records.
        let whole = reason == Reason::Agent && !agent.watch.is_torn();
        let (bytes, records) = (agent.watch.bytes(), agent.watch.records());
        if let Err(error) = agent.file.finish() {
            self.failed(Some(agent.number), agent.peer, &error);
        }
        let file = agent.file.name.clone();
        self.events.say(ReceiverEvent::Ended {
            agent: agent.number,
            peer: agent.peer.to_string(),
            file: file.clone(),
            bytes,
            records,
            whole,
            reason,
        });
        self.forward(agent.number, agent.peer, &agent.file);
    }

    /// Forwards a finished file, if a receiver was given.
    fn forward(&mut self, agent: u64, peer: SocketAddr, file: &PartFile) {
        let Some(forwarder) = &mut self.forwarder else {
            return;
        };
        let name = &file.name;
        let file = match WrittenFile::new(self.wanted.folder.join(name), &file.file) {
            Ok(file) => file,
            Err(error) => return self.not_forwarded(agent, name, &error.to_string()),
        };
        let peer = peer.ip();
        if !forwarder.take(Finished { agent, peer, file }, name.clone()) {
            self.not_forwarded(agent, name, "too many files wait");
        }
    }

    /// Reports a file with which nothing was done that was wanted.
    fn not_forwarded(&self, agent: u64, file: &str, error: &str) {
        let wanted = &self.wanted.forwarding;
        let (file, error) = (|| file.to_owned(), || error.to_owned());
        if wanted.target.is_some() {
            self.events.say(ReceiverEvent::NotForwarded {
                agent,
                file: file(),
                error: error(),
            });
        }
        if wanted.recordings {
            self.events.say(ReceiverEvent::NotRecorded {
                agent,
                file: file(),
                error: error(),
            });
        }
    }

    /// Reports the end of forwarding a file, successful or not.
    fn arrived(&mut self, sent: Sent) {
        let agent = sent.agent;
        let forwarder = self.forwarder.as_mut();
        let Some(file) = forwarder.and_then(|forwarder| forwarder.arrived(agent)) else {
            return;
        };
        let pushed = sent.pushed.map(|result| match result {
            Ok(Pushed {
                requests, samples, ..
            }) => ReceiverEvent::Forwarded {
                agent,
                file: file.clone(),
                requests,
                samples,
            },
            Err(error) => ReceiverEvent::NotForwarded {
                agent,
                file: file.clone(),
                error,
            },
        });
        let folder = &self.wanted.folder;
        let recorded = sent.recording.map(|result| match result {
            Ok(path) => {
                let name = path.strip_prefix(folder).unwrap_or(&path);
                let recording = name.display().to_string();
                ReceiverEvent::Recorded {
                    agent,
                    file,
                    recording,
                }
            }
            Err(error) => ReceiverEvent::NotRecorded { agent, file, error },
        });
        for event in pushed.into_iter().chain(recorded) {
            self.events.say(event);
        }
    }

    /// Waits a limited time for the files that are being forwarded, and reports those that will not be.
    fn wait_for_files(&mut self, requests: &Receiver<Request>) {
        let end = Instant::now() + LAST_FILES;
        while self.forwarder.as_ref().is_some_and(|f| !f.is_idle()) {
            let left = end.saturating_duration_since(Instant::now());
            match requests.recv_timeout(left) {
                Ok(Request::Sent(sent)) => self.arrived(sent),
                Ok(Request::Line(_)) => {}
                // Another interrupt ends the waiting.
                Ok(Request::Stop) | Err(_) => break,
            }
        }
        let waiting = self.forwarder.take().map(Forwarder::into_waiting);
        for (agent, file) in waiting.unwrap_or_default() {
            self.not_forwarded(agent, &file, "the receiver was stopped");
        }
    }

    fn failed(&self, agent: Option<u64>, peer: SocketAddr, error: &io::Error) {
        self.events.say(ReceiverEvent::Failed {
            agent,
            peer: Some(peer.to_string()),
            error: error.to_string(),
        });
    }

    /// Carries out a typed line: a command for all agents, or after `@N` for one.
    fn obey(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let (number, text) = match line.strip_prefix('@').map(|rest| rest.split_once(' ')) {
            None => (None, line),
            Some(Some((number, text))) => match number.parse::<u64>() {
                Ok(number) => (Some(number), text),
                Err(_) => return super::say(&format!("invalid agent number '@{number}'")),
            },
            Some(None) => return super::say("a command is needed after '@N'"),
        };
        let command = match command::parse(text) {
            Ok(command) => command,
            Err(message) => return super::say(&message),
        };
        let mut agents = 0;
        let meant = |agent: &&mut Agent| number.is_none_or(|number| agent.number == number);
        for agent in self.agents.iter_mut().filter(meant) {
            agents += usize::from(agent.queue(command));
            agent.send();
        }
        let command = command.to_string();
        self.events.say(ReceiverEvent::Sent { command, agents });
    }

    /// Finishes all files.
    fn stop(mut self, requests: &Receiver<Request>) {
        for agent in std::mem::take(&mut self.agents) {
            self.finish(agent, Reason::Stopped);
        }
        self.wait_for_files(requests);
        self.events.end(ReceiverEvent::Stopped {
            agents: self.count,
            bytes: self.bytes,
        });
    }
}

/// The connections that have data.
struct Ready {
    listener: bool,
    agents: Vec<bool>,
}
