//! Commands from the receiver that the profile is sent to (`net=host:port`).
//!
//! A thread of the agent waits for them. Each is carried out like an event of the VM, so the end of the program waits
//! for a running one and admits no further ones.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hprof_format::{
    COMMAND_SITES_BY_ALLOCATION, COMMAND_SITES_FORCE_GC, COMMAND_SITES_INCREMENTAL, Command,
    Commands, Control, Received, Threads,
};

use super::lifecycle::GATE;
use super::listener::Listener;
use super::state::Session;
use crate::engines::allocations::{self, AllocationTracker, SitesRequest};
use crate::engines::{Moment, Totals, cpu_samples};
use jvmti::{Jni, JvmtiError};
use names::object::ObjectId;
use output::console;

impl Session {
    /// Starts the thread that carries out the receiver's commands. It ends with the connection, or soon after the profile.
    pub(super) fn listen(&self, jni: Jni<'_>, listener: &Arc<Listener>) -> Result<(), JvmtiError> {
        let Some(stream) = listener.stream() else {
            return Ok(());
        };
        let listener = listener.clone();
        let context = &self.context;
        let obey = move |jni: Jni<'_>| {
            let mut commands = Commands::new(stream);
            while let Some(received) = commands.receive() {
                match received {
                    Received::Command(command) => {
                        GATE.run(|session| session.obey(jni, &listener, command));
                    }
                    Received::Refused(refused) => listener.complain(refused),
                }
            }
        };
        context
            .agent_threads
            .run(context.env, jni, "HPROF listener", obey)
    }

    /// Carries out a command.
    fn obey(&self, jni: Jni<'_>, listener: &Listener, command: Command) {
        if let Err(error) = self.try_to_obey(jni, listener, command) {
            listener.complain(format_args!("{command}: {error}"));
        }
        self.context.journal.flush();
    }

    fn try_to_obey(
        &self,
        jni: Jni<'_>,
        listener: &Listener,
        command: Command,
    ) -> Result<(), CommandRefusal> {
        match command {
            Command::ForceGc => Ok(self.context.env.force_garbage_collection()?),
            Command::DumpHeap => self.report_objects(jni),
            Command::AllocSites { flags, cutoff } => self.report_sites(jni, flags, cutoff),
            Command::HeapSummary => self.report_heap(jni),
            Command::Exit => self.exit(jni, listener),
            Command::DumpTraces => {
                // Not within a heap dump, which holds back THREAD START records.
                let _dumping = self.dumps.lock();
                output::traces(&self.context.journal);
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
        let _dumping = self.dumps.lock();
        if let Some(tracker) = &self.engines.allocations {
            tracker.settle_with(jni, Moment::Running, true);
        }
        heap_dump.dump(jni, &self.report(Moment::Running, Totals::Keep));
        Ok(())
    }

    /// Reports the allocation sites. A session that tracks nothing answers with an empty record, because the receiver
    /// may be waiting for one.
    fn report_sites(&self, jni: Jni<'_>, flags: u16, cutoff: f32) -> Result<(), CommandRefusal> {
        let _dumping = self.dumps.lock();
        let request = SitesRequest {
            cutoff: f64::from(cutoff),
            // A receiver may ask for what has changed, of which sums say nothing.
            folded: None,
            by_allocation: flags & COMMAND_SITES_BY_ALLOCATION != 0,
            incremental: flags & COMMAND_SITES_INCREMENTAL != 0,
            is_last: false,
        };
        let Some(tracker) = &self.engines.allocations else {
            allocations::report_no_sites(&self.context.journal, request);
            return Err(CommandRefusal::NotTracked);
        };
        let collect = flags & COMMAND_SITES_FORCE_GC != 0;
        let collected = tracker.settle_with(jni, Moment::Running, collect);
        tracker.report_sites(jni, &self.context.journal, request, collected);
        Ok(())
    }

    fn report_heap(&self, jni: Jni<'_>) -> Result<(), CommandRefusal> {
        let _dumping = self.dumps.lock();
        match &self.engines.allocations {
            Some(tracker) => tracker.report_heap(jni, &self.context.journal)?,
            None => allocations::report_heap_untracked(self.context.env, &self.context.journal)?,
        }
        Ok(())
    }

    fn report_samples(&self, cutoff: f32) -> Result<(), CommandRefusal> {
        let _dumping = self.dumps.lock();
        match &self.engines.cpu_samples {
            Some(samples) => {
                samples.report_so_far(&self.context.journal, f64::from(cutoff));
                Ok(())
            }
            None => {
                cpu_samples::report_nothing(&self.context.journal);
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
        Ok(self
            .context
            .agent_threads
            .run(self.context.env, jni, "HPROF exit", exit)?)
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
                self.context.stacks.set_depth(usize::from(depth));
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
                let serial = self.context.tables.threads.with_object(ObjectId(object.0));
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
