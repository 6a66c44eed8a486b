//! Commands from the receiver that the profile is sent to (`net=host:port`).
//!
//! A thread of the agent waits for them. Each is carried out like an event of the VM, so the end of the program waits
//! for a running one and admits no further ones.

use std::fmt::Display;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hprof_format::{
    COMMAND_SITES_BY_ALLOCATION, COMMAND_SITES_FORCE_GC, COMMAND_SITES_INCREMENTAL, Command,
    Commands, Control, Received, Threads,
};

use super::Session;
use super::lifecycle::GATE;
use crate::console;
use crate::engines::allocations::{self, AllocationTracker, SitesRequest};
use crate::engines::{Moment, Totals, cpu_samples};
use crate::jvmti::{AgentThreads, Env, Jni, JvmtiError};
use crate::lock_order::{Mutex, rank};
use crate::names::object::ObjectId;
use crate::output;

/// The most complaints about commands that are printed; more would let a confused receiver fill the program's stderr.
const COMPLAINTS: u32 = 10;
/// The interval at which the thread checks whether the profile is over.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The time the receiver has to close its end once the profile is over; shorter than the time a stop waits for the
/// thread.
const LINGER: Duration = Duration::from_secs(3);

/// The sender of commands: the receiver's end of the connection.
pub struct Receiver {
    /// The connection they are read from.
    pub commands: TcpStream,
    /// `true` if a command may make the VM exit.
    pub may_exit: bool,
}

/// Waits for commands and hands each over to [`Session::obey`].
pub(super) struct Listener {
    /// Taken by the thread.
    source: Mutex<Option<TcpStream>, rank::CommandSource>,
    may_exit: bool,
    exiting: AtomicBool,
    complaints: AtomicU32,
    /// Set when the profile is over: the moment until which data from the receiver is still read.
    last_moment: OnceLock<Instant>,
}

/// The bytes from the receiver, as a reader that ends when the profile is over.
struct CommandStream {
    stream: TcpStream,
    listener: Arc<Listener>,
}

impl Listener {
    pub(super) fn new(receiver: Receiver) -> Self {
        Self {
            source: Mutex::new(Some(receiver.commands)),
            may_exit: receiver.may_exit,
            exiting: AtomicBool::new(false),
            complaints: AtomicU32::new(0),
            last_moment: OnceLock::new(),
        }
    }

    /// Starts the thread, which ends with the connection or [`LINGER`] after [`Listener::finish`].
    pub(super) fn start(
        self: &Arc<Self>,
        agent_threads: &AgentThreads,
        env: Env,
        jni: Jni<'_>,
    ) -> Result<(), JvmtiError> {
        let Some(stream) = self.source.lock().take() else {
            return Ok(());
        };
        // Without the timeout the thread would live as long as the receiver's connection; it would do no other harm.
        let _ = stream.set_read_timeout(Some(POLL_INTERVAL));
        let listener = self.clone();
        let source = CommandStream {
            stream,
            listener: self.clone(),
        };
        agent_threads.run(env, jni, "HPROF listener", move |jni| {
            let mut commands = Commands::new(source);
            while let Some(received) = commands.receive() {
                match received {
                    Received::Command(command) => {
                        GATE.run(|session| session.obey(jni, &listener, command));
                    }
                    Received::Refused(refused) => listener.complain(refused),
                }
            }
        })
    }

    /// Marks the profile as written. Further commands are read but not carried out: the system resets a connection that
    /// is closed with unread data, and the receiver would lose the end of the profile.
    pub(super) fn finish(&self) {
        let _ = self.last_moment.set(Instant::now() + LINGER);
    }

    fn is_over(&self) -> bool {
        let last_moment = self.last_moment.get();
        last_moment.is_some_and(|&moment| Instant::now() >= moment)
    }

    fn complain(&self, complaint: impl Display) {
        match self.complaints.fetch_add(1, Ordering::Relaxed) {
            0..COMPLAINTS => console::line(format_args!("from the receiver: {complaint}")),
            COMPLAINTS => console::line(format_args!(
                "from the receiver: more of this kind, which is not told"
            )),
            // The counter must not wrap.
            _ => self.complaints.store(COMPLAINTS + 1, Ordering::Relaxed),
        }
    }
}

impl Read for CommandStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error) if is_timeout(&error) && !self.listener.is_over() => {}
                Ok(_) if self.listener.is_over() => return Ok(0),
                answer => return answer,
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

impl Session {
    /// Carries out a command.
    fn obey(&self, jni: Jni<'_>, listener: &Listener, command: Command) {
        if let Err(error) = self.try_to_obey(jni, listener, command) {
            listener.complain(format_args!("{command}: {error}"));
        }
        self.journal.flush();
    }

    fn try_to_obey(
        &self,
        jni: Jni<'_>,
        listener: &Listener,
        command: Command,
    ) -> Result<(), CommandRefusal> {
        match command {
            Command::ForceGc => Ok(self.env.force_garbage_collection()?),
            Command::DumpHeap => self.report_objects(jni),
            Command::AllocSites { flags, cutoff } => self.report_sites(jni, flags, cutoff),
            Command::HeapSummary => self.report_heap(jni),
            Command::Exit => self.exit(jni, listener),
            Command::DumpTraces => {
                // Not within a heap dump, which holds back THREAD START records.
                let _dumping = self.dumping.lock();
                output::traces(&self.journal);
                Ok(())
            }
            Command::CpuSamples { cutoff } => self.report_samples(cutoff),
            Command::Control(control) => self.control(jni, control),
        }
    }

    fn report_objects(&self, jni: Jni<'_>) -> Result<(), CommandRefusal> {
        let heap_dump = self
            .engines
            .heap_dump
            .as_ref()
            .ok_or(CommandRefusal::NoDumper)?;
        let _dumping = self.dumping.lock();
        if let Some(tracker) = &self.engines.allocations {
            tracker.settle_with(jni, Moment::Running, true);
        }
        heap_dump.dump(jni, &self.report(Moment::Running, Totals::Keep));
        Ok(())
    }

    /// Reports the allocation sites. A session that tracks nothing answers with an empty record, because the receiver
    /// may be waiting for one.
    fn report_sites(&self, jni: Jni<'_>, flags: u16, cutoff: f32) -> Result<(), CommandRefusal> {
        let _dumping = self.dumping.lock();
        let request = SitesRequest {
            cutoff: f64::from(cutoff),
            by_allocation: flags & COMMAND_SITES_BY_ALLOCATION != 0,
            incremental: flags & COMMAND_SITES_INCREMENTAL != 0,
            is_last: false,
        };
        let Some(tracker) = &self.engines.allocations else {
            allocations::report_no_sites(&self.journal, request);
            return Err(CommandRefusal::NotTracked);
        };
        let collect = flags & COMMAND_SITES_FORCE_GC != 0;
        let collected = tracker.settle_with(jni, Moment::Running, collect);
        tracker.report_sites(jni, &self.journal, request, collected);
        Ok(())
    }

    fn report_heap(&self, jni: Jni<'_>) -> Result<(), CommandRefusal> {
        let _dumping = self.dumping.lock();
        match &self.engines.allocations {
            Some(tracker) => tracker.report_heap(jni, &self.journal)?,
            None => allocations::report_heap_untracked(self.env, &self.journal)?,
        }
        Ok(())
    }

    fn report_samples(&self, cutoff: f32) -> Result<(), CommandRefusal> {
        let _dumping = self.dumping.lock();
        match &self.engines.cpu_samples {
            Some(samples) => {
                samples.report_so_far(&self.journal, f64::from(cutoff));
                Ok(())
            }
            None => {
                cpu_samples::report_nothing(&self.journal);
                Err(CommandRefusal::NotSampled)
            }
        }
    }

    /// Exits the VM, on a thread of its own: VMDeath comes on the thread that exits, and waits for this event to end.
    fn exit(&self, jni: Jni<'_>, listener: &Listener) -> Result<(), CommandRefusal> {
        if !listener.may_exit {
            return Err(CommandRefusal::ExitForbidden);
        }
        if listener.exiting.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        console::line(format_args!("the receiver ends the VM"));
        let exit = |jni: Jni<'_>| {
            if !jni.exit(0) {
                console::line(format_args!(
                    "the program's security manager forbids the VM to exit"
                ));
            }
        };
        Ok(self.agent_threads.run(self.env, jni, "HPROF exit", exit)?)
    }

    fn control(&self, jni: Jni<'_>, control: Control) -> Result<(), CommandRefusal> {
        match control {
            Control::StartAllocations => Ok(self.tracker()?.resume()?),
            Control::StopAllocations => Ok(self.tracker()?.pause()?),
            Control::ClearSites => {
                self.tracker()?.clear(jni);
                Ok(())
            }
            Control::StartSamples(threads) => self.switch_samples(threads, true),
            Control::StopSamples(threads) => self.switch_samples(threads, false),
            Control::ClearSamples => {
                if let Some(samples) = &self.engines.cpu_samples {
                    samples.clear();
                }
                Ok(())
            }
            Control::Depth(depth) => {
                self.stacks.set_depth(usize::from(depth));
                Ok(())
            }
        }
    }

    fn tracker(&self) -> Result<&AllocationTracker, CommandRefusal> {
        self.engines
            .allocations
            .as_deref()
            .ok_or(CommandRefusal::NotTracked)
    }

    fn switch_samples(&self, threads: Threads, on: bool) -> Result<(), CommandRefusal> {
        let samples = self.engines.cpu_samples.as_ref();
        let samples = samples.ok_or(CommandRefusal::NotSampled)?;
        let thread = match threads {
            Threads::All => None,
            Threads::One(object) => {
                let serial = self.tables.threads.with_object(ObjectId(object.0));
                Some(serial.ok_or(CommandRefusal::NoThread)?)
            }
        };
        match samples.switch(thread, on) {
            true => Ok(()),
            false => Err(CommandRefusal::NoThread),
        }
    }
}

/// The reason a command is not carried out.
#[derive(Debug, thiserror::Error)]
enum CommandRefusal {
    #[error("this run cannot dump the heap")]
    NoDumper,
    #[error("this run does not track allocations; heap=sites does")]
    NotTracked,
    #[error("this run takes no CPU samples; cpu=samples does")]
    NotSampled,
    #[error("no thread that is alive has this id in its START THREAD record")]
    NoThread,
    #[error("net_exit=n forbids it")]
    ExitForbidden,
    #[error(transparent)]
    Vm(#[from] JvmtiError),
}
