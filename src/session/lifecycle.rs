//! A session from its begin to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Parts, Session};
use crate::console;
use crate::engines::{Moment, Totals, Worker};
use crate::jvmti::{
    AgentThreads, Closed, Event, Events, Gate, Jni, JvmtiError, Object, OwnEnv, Panicked, caught,
};
use crate::lock_order::{Mutex, MutexGuard, rank};
use crate::memory::{self, OutOfMemory};

/// How long VMDeath waits for events that are running, and a `stop` for the agent's threads to be gone.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long HotSpot waits at its end for threads that are in native code (`VM_Exit`), as the agent's are while they wait.
const NATIVE_TIMEOUT: Duration = Duration::from_millis(300);
/// How long a `stop` waits for events that are running: one of them may be writing a large dump.
const DUMP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long VMDeath waits for a `stop` that is writing. One that waits for a collection which never comes, because the VM is
/// going down, must not keep the program from ending.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How often the thread for dumps looks whether memory is out. From then on no event is let in, so a moment does not matter.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The session that runs. Every event and every request goes through it.
pub(super) static GATE: Gate<Session> = Gate::new();

/// What the running session holds of the VM. The lock is held while a session ends, so that VMDeath does not overtake a
/// `stop`.
static VM_HOLD: Mutex<Option<VmHold>, rank::VmHold> = Mutex::new(None);

/// VMDeath has come, and what was to be written then is.
static VM_IS_DEAD: AtomicBool = AtomicBool::new(false);

pub(super) struct VmHold {
    env: OwnEnv,
    agent_threads: Arc<AgentThreads>,
}

/// Why there is no new session.
#[derive(Debug, thiserror::Error)]
pub enum NotBegun {
    /// One runs already.
    #[error("a session is running")]
    Running,
    /// The VM refuses its events.
    #[error(transparent)]
    Jvmti(#[from] JvmtiError),
}

/// Whether the agent has begun. The VM may ask for a dump before: its signal thread runs beside VMInit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Beginning {
    /// No dump can be made yet.
    #[default]
    Ahead,
    /// As above, and one has been asked for.
    DumpAsked(Totals),
    /// Dumps are made at once.
    Done,
}

/// Whether a session runs.
pub fn is_running() -> bool {
    GATE.is_open()
}

/// Begins a session: from here on `receiver` lets the VM's events in to it. Only one at a time.
pub(super) fn begin(
    env: OwnEnv,
    parts: Parts,
    receiver: &'static dyn Events,
) -> Result<(), NotBegun> {
    let mut held = VM_HOLD.lock();
    let agent_threads = parts.agent_threads.clone();
    if held.is_some() || GATE.open(Session::new(parts)).is_err() {
        // It belongs to the session that runs.
        std::mem::forget(env);
        return Err(NotBegun::Running);
    }
    let new = VmHold { env, agent_threads };
    if let Err(error) = new.env.receive_events(receiver) {
        if let Some(closed) = GATE.close(TIMEOUT) {
            new.give_back(None, closed);
        }
        return Err(error.into());
    }
    *held = Some(new);
    Ok(())
}

/// The agent came to a VM that is up: VMInit never comes, so the session begins to measure now. `None` where none runs or a
/// panic ended it.
pub fn start_attached(jni: Jni<'_>) -> Option<Result<String, JvmtiError>> {
    GATE.run(|session| {
        session.start(jni)?;
        session.begun(jni);
        Ok(session.destination.lock().name.clone())
    })
}

/// The VM is up. Where the session cannot start, it ends at once: a VM that has no room for the agent's threads is to have the room
/// that is left for its own.
pub(super) fn vm_init(jni: Jni<'_>, main: Object<'_>) {
    let started = GATE.run(|session| session.vm_init(jni, main));
    let why = match started {
        Some(Err(error)) => error.to_string(),
        _ if memory::is_out() => OutOfMemory.to_string(),
        _ => return,
    };
    let mut held = VM_HOLD.lock();
    // Otherwise the thread for dumps has met the end of memory, too: it has ended the session, and said so.
    let Some(closed) = GATE.close(TIMEOUT) else {
        return;
    };
    let is_out_of_memory =
        memory::is_out() || matches!(started, Some(Err(error)) if error.is_out_of_memory());
    // Of a VM without memory nobody knows that.
    let goes_on = if is_out_of_memory {
        ""
    } else {
        ", the program goes on"
    };
    console::line(format_args!("{why}; there will be no profile{goes_on}"));
    closed.get().abandon(jni);
    if let Some(held) = held.take() {
        held.give_back(Some(jni), closed);
    }
}

/// Makes a dump, and says what is going on then; `None` where no session runs, or a panic ended it.
pub fn request_dump() -> Option<String> {
    GATE.run(|session| {
        session.dump_request();
        session.status_line(false)
    })
}

/// What is going on, in one line; `None` where no session runs.
pub fn status() -> Option<String> {
    let status = GATE.run_always(|session| session.status_line(GATE.has_panicked()))?;
    status.ok()
}

/// Ends the session while the VM goes on, once no event is running, and gives back everything it had of the VM. Answers
/// where the profile is, or that it is not whole; `None` where none runs.
pub fn stop(jni: Jni<'_>) -> Option<Result<Stopped, Panicked>> {
    let mut held = VM_HOLD.lock();
    let closed = GATE.close(DUMP_TIMEOUT)?;
    let answer = caught(|| {
        let session = closed.get();
        Stopped {
            is_whole: session.stop(jni),
            output: session.destination.lock().name.clone(),
        }
    });
    if let Some(held) = held.take() {
        held.give_back(Some(jni), closed);
    }
    Some(answer)
}

/// As [`stop`], where the agent gets no memory any more.
fn end_without_memory(jni: Jni<'_>) {
    // Whoever has it ends the session already.
    let Some(mut held) = VM_HOLD.try_lock() else {
        return;
    };
    memory::ends_session();
    let Some(closed) = GATE.close(TIMEOUT) else {
        return;
    };
    closed.get().stop_without_memory(jni);
    if let Some(held) = held.take() {
        held.give_back(Some(jni), closed);
    }
    memory::return_free_memory();
}

/// A session that has ended while the VM goes on.
pub struct Stopped {
    /// Whether all of the profile could be written.
    pub is_whole: bool,
    /// Where it is.
    pub output: String,
}

/// The VM ends, and with it the session.
pub(super) fn vm_death(jni: Jni<'_>) {
    // A `stop` closes the gate at once, and writes for a while.
    let _held = VM_HOLD.try_lock_for(STOP_TIMEOUT);
    if let Some(closed) = GATE.close(TIMEOUT) {
        memory::ends_session();
        // The panic hook has reported it.
        let _ = caught(|| closed.get().vm_death(jni));
        // The process ends: the memory need not be freed.
        std::mem::forget(closed);
    }
    VM_IS_DEAD.store(true, Ordering::Relaxed);
}

/// Whether VMDeath has come and gone.
pub(super) fn vm_is_dead() -> bool {
    VM_IS_DEAD.load(Ordering::Relaxed)
}

/// Waits for whoever ends a session, but no longer than until then; while the answer is held nobody else does.
pub(super) fn hold_until(
    end: Instant,
) -> Option<MutexGuard<'static, Option<VmHold>, rank::VmHold>> {
    VM_HOLD.try_lock_until(end)
}

/// The thread for dumps. Each dump passes the gate, so the end of the session waits for it and lets no other in. Where memory
/// is out, the thread ends the session: no other may be had then.
fn answer_sigquits(jni: Jni<'_>, thread: &Worker) {
    while thread.sleep_until(Instant::now() + POLL_INTERVAL) {
        if memory::is_out() {
            return end_without_memory(jni);
        }
        while GATE.run(|session| session.answer_sigquit(jni)) == Some(true) {}
    }
}

impl VmHold {
    /// `jni` is that of the current thread, which may be one of the agent. What may still be in use is never freed: where a
    /// thread was suspended within an event, or a thread of the agent did not end in time.
    fn give_back(self, jni: Option<Jni<'_>>, closed: Closed<Session>) {
        let Self { env, agent_threads } = self;
        let have_ended = agent_threads.have_ended_within(env.env(), jni, TIMEOUT);
        drop(env);
        memory::put_reserve_away();
        if !have_ended {
            std::mem::forget(closed);
        }
    }
}

impl Session {
    /// The main thread comes first, so that it has the first serial number.
    pub(super) fn vm_init(&self, jni: Jni<'_>, main: Object<'_>) -> Result<(), JvmtiError> {
        self.threads.register(jni, main);
        self.start(jni)?;
        self.begun(jni);
        Ok(())
    }

    /// Whether it measures, or has tried to.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    fn status_line(&self, panicked: bool) -> String {
        let output = self.destination.lock().name.clone();
        self.status.line(&output, panicked)
    }

    /// From here on dumps are made when they are asked for.
    fn begun(&self, jni: Jni<'_>) {
        let before = std::mem::replace(&mut *self.beginning.lock(), Beginning::Done);
        if let Beginning::DumpAsked(totals) = before {
            self.dump_on_request(jni, totals);
        }
    }

    /// What VMInit and attaching to a VM that is up have in common. The events come first, then the threads that were there
    /// before.
    ///
    /// An agent that attaches right at the start gets VMInit as well: the VM answers requests a moment before.
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        if self.begun.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.env.enable(Event::ThreadStart)?;
        self.env.enable(Event::ThreadEnd)?;
        for thread in self.env.all_threads(jni)? {
            self.threads.register(jni, thread.object());
        }
        self.dump_thread.start(
            &self.agent_threads,
            self.env,
            jni,
            "HPROF dumps",
            answer_sigquits,
        )?;
        for engine in self.engines.iter().rev() {
            engine.start(jni)?;
        }
        let listener = self.destination.lock().listener.clone();
        if let Some(listener) = listener {
            listener.start(&self.agent_threads, self.env, jni)?;
        }
        self.start_clocks(jni)?;
        // The file shows the new profile's head at once, and no longer what it held before.
        self.journal.flush();
        Ok(())
    }

    /// `hprof dump`: counting goes on.
    fn dump_request(&self) {
        if self.may_dump(Totals::Keep) {
            self.env
                .with_current_jni(|jni| self.dump_on_request(jni, Totals::Keep));
        }
    }

    /// SIGQUIT: counting starts anew from there, as with the original.
    ///
    /// The dump is made on a thread of the agent. HotSpot's signal thread protects the VM's list of threads while it is in
    /// this event (`VM_FindDeadlocks` holds it), so no thread could end before it is over; and where the collector has
    /// stopped because the program ends, a collection that is asked for on it never returns, and neither does the VM.
    pub(super) fn sigquit(&self) {
        if self.may_dump(Totals::Reset) {
            self.dumps_asked.fetch_add(1, Ordering::Relaxed);
            self.dump_thread.wake();
        }
    }

    /// Whether a dump can be made now; one that comes too early is made when the session has begun.
    fn may_dump(&self, totals: Totals) -> bool {
        let mut beginning = self.beginning.lock();
        let may = *beginning == Beginning::Done;
        if !may {
            *beginning = Beginning::DumpAsked(totals);
        }
        may
    }

    /// Answers one SIGQUIT; `false` where none waits for that.
    fn answer_sigquit(&self, jni: Jni<'_>) -> bool {
        let one_less = |asked: u32| asked.checked_sub(1);
        let relaxed = Ordering::Relaxed;
        let is_asked = self.dumps_asked.fetch_update(relaxed, relaxed, one_less);
        if is_asked.is_ok() {
            self.dump_on_request(jni, Totals::Reset);
        }
        is_asked.is_ok()
    }

    fn vm_death(&self, jni: Jni<'_>) {
        self.dump_thread.ask_to_stop();
        self.ask_clocks_to_stop();
        self.end(jni);
        match self.dump_on_exit && !GATE.has_panicked() {
            true if memory::is_out() => self.dump_without_memory(),
            true => self.dump_at_death(jni),
            false => {}
        }
        self.close();
        // One that does not end in time is HotSpot's to wait for.
        self.agent_threads
            .have_ended_within(self.env, Some(jni), NATIVE_TIMEOUT);
    }

    /// The profile ends, the program goes on. `doe=n` speaks of the program's end: who stops a profile wants it. `false` if
    /// not all could be written.
    fn stop(&self, jni: Jni<'_>) -> bool {
        self.dump_thread.stop();
        self.stop_clocks();
        self.end(jni);
        let is_sound = !GATE.has_panicked();
        if is_sound && memory::is_out() {
            self.dump_without_memory();
        } else if is_sound {
            let _dumping = self.dumping.lock();
            self.dump(jni, Moment::Running, Totals::Keep);
        }
        let is_whole = self.close();
        self.give_back(jni);
        is_whole && is_sound
    }

    /// The VM goes on, and gets back what it gave.
    pub(super) fn give_back(&self, jni: Jni<'_>) {
        self.engines.iter().for_each(|engine| engine.give_back(jni));
        self.threads.give_back();
    }

    /// What VMDeath and a stop have in common: nothing is measured any more, and the threads of the engines have ended.
    pub(super) fn end(&self, jni: Jni<'_>) {
        self.journal.hurry();
        self.engines.iter().for_each(|engine| engine.stop(jni));
    }

    /// Closes the output; `false` if not all could be written.
    pub(super) fn close(&self) -> bool {
        self.journal.ended(&self.last_note());
        let is_whole = self.journal.close();
        self.destination.lock().finish(is_whole);
        // That of the period before may still be on its way.
        drop(self.closing.lock());
        (self.ended)();
        is_whole
    }
}
