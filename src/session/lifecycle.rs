//! The life of a session, from beginning to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::state::Session;
use crate::engines::{Moment, Report, Totals, Worker};
use jvmti::{
    AgentThreads, Closed, Event, Events, Gate, Jni, JvmtiError, Object, OwnEnv, Panicked, caught,
};
use locks::{Mutex, MutexGuard, rank};
use memory::OutOfMemory;
use options::Heap;
use output::console;

/// The longest that VMDeath waits for running events, and that a `stop` waits for the agent's threads to end.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The time HotSpot itself waits at its end for threads in native code (`VM_Exit`), such as the agent's waiting
/// threads.
const NATIVE_TIMEOUT: Duration = Duration::from_millis(300);
/// The longest that a `stop` waits for running events: one of them may be writing a large dump.
const DUMP_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest that VMDeath waits for a `stop` that is writing. One that waits for a collection which never comes,
/// because the VM is going down, must not keep the program from ending.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval at which the thread for dumps checks whether memory has run out. From then on no event is admitted, so
/// a short delay does not matter.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The running session. Every event and every request goes through this gate.
pub(super) static GATE: Gate<Session> = Gate::new();

/// The running session's hold on the VM. The lock is held while a session ends, so that VMDeath does not overtake a
/// `stop`.
static VM_HOLD: Mutex<Option<VmHold>, rank::VmHold> = Mutex::new(None);

/// Set once VMDeath has come and everything to be written at that point has been.
static VM_IS_DEAD: AtomicBool = AtomicBool::new(false);

pub(super) struct VmHold {
    env: OwnEnv,
    agent_threads: Arc<AgentThreads>,
}

/// The reason no session has begun.
#[derive(Debug, thiserror::Error)]
pub enum NotBegun {
    /// Another session is running.
    #[error("a session is running")]
    Running,
    /// The VM refused to send its events.
    #[error(transparent)]
    Jvmti(#[from] JvmtiError),
}

/// Returns `true` while a session runs.
pub fn is_running() -> bool {
    GATE.is_open()
}

/// Begins a session: from here on `receiver` delivers the VM's events to it. Only one can run at a time.
pub(super) fn begin(
    env: OwnEnv,
    session: Session,
    receiver: &'static dyn Events,
) -> Result<(), NotBegun> {
    let mut held = VM_HOLD.lock();
    let agent_threads = session.context.agent_threads.clone();
    if held.is_some() || GATE.open(session).is_err() {
        // The environment belongs to the running session.
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

/// Starts measuring in a VM that is already up, where VMInit never comes. Returns `None` if no session runs or a panic
/// ended it.
pub fn start_attached(jni: Jni<'_>) -> Option<Result<String, JvmtiError>> {
    GATE.run(|session| {
        session.start(jni)?;
        session.begun(jni);
        Ok(session.destination.lock().name())
    })
}

/// Starts the session at VMInit. If it cannot start it ends at once, so that a VM without room for the agent's threads
/// keeps what is left for its own.
pub(super) fn vm_init(jni: Jni<'_>, main: Object<'_>) {
    let started = GATE.run(|session| session.vm_init(jni, main));
    let why = match started {
        Some(Err(error)) => error.to_string(),
        _ if memory::is_out() => OutOfMemory.to_string(),
        _ => return,
    };
    let mut held = VM_HOLD.lock();
    // Otherwise the thread for dumps has run out of memory, too: it has ended the session, and said so.
    let Some(closed) = GATE.close(TIMEOUT) else {
        return;
    };
    let is_out_of_memory =
        memory::is_out() || matches!(started, Some(Err(error)) if error.is_out_of_memory());
    // A VM without memory may or may not go on.
    let goes_on = if is_out_of_memory {
        ""
    } else {
        ", the program continues"
    };
    console::line(format_args!("{why}; there will be no profile{goes_on}"));
    closed.get().abandon(jni);
    if let Some(held) = held.take() {
        held.give_back(Some(jni), closed);
    }
}

/// Makes a dump, of the heap in a forked child if `forks`, and returns the status line; `None` if no session runs or a panic
/// ended it.
pub fn request_dump(forks: bool) -> Option<Result<String, NoHeap>> {
    GATE.run(|session| {
        session.check_heap(forks)?;
        let how = session.dump_request(forks);
        Ok(with_heap_dump(session.status_line(false), how))
    })
}

/// Returns an error if the heap is to be dumped in a forked child, and is in no dump of the session; `None` if none runs.
pub fn check_heap(forks: bool) -> Option<Result<(), NoHeap>> {
    GATE.run(|session| session.check_heap(forks))
}

/// Returns a line with how the heap was dumped, if it was.
fn with_heap_dump(line: String, how: Option<String>) -> String {
    match how {
        Some(how) => format!("{line}; {how}"),
        None => line,
    }
}

/// Returns the status in one line; `None` if no session runs.
pub fn status() -> Option<String> {
    let status = GATE.run_always(|session| session.status_line(GATE.has_panicked()))?;
    status.ok()
}

/// Ends the session while the VM continues: waits until no event is running and releases everything the session held of
/// the VM. Returns where the profile is, or that it is incomplete; `None` if no session runs.
///
/// `forks` if the heap is to be dumped in a forked child.
pub fn stop(jni: Jni<'_>, forks: bool) -> Option<Result<Stopped, Panicked>> {
    let mut held = VM_HOLD.lock();
    let closed = GATE.close(DUMP_TIMEOUT)?;
    let answer = caught(|| {
        let session = closed.get();
        let (is_whole, heap_dump) = session.stop(jni, forks);
        Stopped {
            is_whole,
            output: with_heap_dump(session.destination.lock().name(), heap_dump),
        }
    });
    if let Some(held) = held.take() {
        held.give_back(Some(jni), closed);
    }
    Some(answer)
}

/// As [`stop`], when the agent gets no more memory.
fn end_without_memory(jni: Jni<'_>) {
    // Whoever holds it is already ending the session.
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

/// A session that has ended while the VM continues.
pub struct Stopped {
    /// `true` if all of the profile could be written.
    pub is_whole: bool,
    /// The file or the receiver, and how the heap was dumped into it.
    pub output: String,
}

/// The reason why a dump cannot come from a forked child.
#[derive(Debug, thiserror::Error)]
#[error("dumper=fork is for profiles with heap=dump or heap=all, and this one has no heap dump")]
pub struct NoHeap;

/// Ends the session because the VM ends.
pub(super) fn vm_death(jni: Jni<'_>) {
    // A `stop` closes the gate at once, but continues writing for a while.
    let _held = VM_HOLD.try_lock_for(STOP_TIMEOUT);
    if let Some(closed) = GATE.close(TIMEOUT) {
        memory::ends_session();
        // The panic hook has reported it.
        let _ = caught(|| closed.get().vm_death(jni));
        // The process is ending: there is no need to free the memory.
        std::mem::forget(closed);
    }
    VM_IS_DEAD.store(true, Ordering::Relaxed);
}

/// Returns `true` once VMDeath has been handled.
pub(super) fn vm_is_dead() -> bool {
    VM_IS_DEAD.load(Ordering::Relaxed)
}

/// Waits until `end` at the latest for any thread that is ending a session. While the returned guard is held, no other
/// thread can end one.
pub(super) fn hold_until(
    end: Instant,
) -> Option<MutexGuard<'static, Option<VmHold>, rank::VmHold>> {
    VM_HOLD.try_lock_until(end)
}

/// Runs the thread for dumps, which also writes what is known when the program runs out of memory. Each dump passes the gate, so the end of the session waits for a running dump and admits
/// no further one. If memory runs out, this thread ends the session, because no other can be started then.
fn answer_sigquits(jni: Jni<'_>, thread: &Worker) {
    while thread.sleep_until(Instant::now() + POLL_INTERVAL) {
        if memory::is_out() {
            return end_without_memory(jni);
        }
        GATE.run(|session| session.report_exhaustion(jni));
        while GATE.run(|session| session.answer_sigquit(jni)) == Some(true) {}
    }
}

impl VmHold {
    /// Releases the hold on the VM. `jni` belongs to the current thread, which may be one of the agent's. Anything that
    /// may still be in use is never freed: if a thread was suspended within an event, or a thread of the agent did not
    /// end in time.
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
    /// Handles VMInit. The main thread comes first, so that it gets the first serial number.
    pub(super) fn vm_init(&self, jni: Jni<'_>, main: Object<'_>) -> Result<(), JvmtiError> {
        self.threads.register(jni, main);
        self.start(jni)?;
        self.begun(jni);
        Ok(())
    }

    /// Returns `true` once the session measures or has tried to.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    fn status_line(&self, panicked: bool) -> String {
        let output = self.destination.lock().name();
        self.status.line(&output, panicked)
    }

    /// Marks the session as begun: from here on dumps are made when they are requested.
    fn begun(&self, jni: Jni<'_>) {
        let requested = self.dumps.begin();
        self.watch_resources();
        if let Some(totals) = requested {
            self.dump_on_request(jni, totals, false);
        }
    }

    /// Starts measuring; common to VMInit and attaching to a running VM. Events are enabled first, then the existing
    /// threads are registered.
    ///
    /// An agent that attaches right at the start gets VMInit as well: the VM answers requests a moment before.
    fn start(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        if self.begun.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.context.env.enable(Event::ThreadStart)?;
        self.context.env.enable(Event::ThreadEnd)?;
        for thread in self.context.env.all_threads(jni)? {
            self.threads.register(jni, thread.object());
        }
        self.dumps.thread.start(
            &self.context.agent_threads,
            self.context.env,
            jni,
            "HPROF dumps",
            answer_sigquits,
        )?;
        self.engines.start(jni)?;
        let listener = self.destination.lock().listener().cloned();
        if let Some(listener) = listener {
            self.listen(jni, &listener)?;
        }
        let requests = self.destination.lock().take_requests();
        if let Some(requests) = requests {
            self.answer(jni, requests)?;
        }
        self.start_clocks(jni)?;
        self.start_black_box(jni)?;
        // The file shows the new profile's head at once, and no longer its previous contents.
        self.context.journal.flush();
        Ok(())
    }

    /// Returns an error if the heap is to be dumped in a forked child, and is in no dump.
    pub(super) fn check_heap(&self, forks: bool) -> Result<(), NoHeap> {
        let heap = self.context.options.heap;
        match forks && !heap.is_some_and(Heap::has_dump) {
            true => Err(NoHeap),
            false => Ok(()),
        }
    }

    /// `hprof dump`: counting continues. Returns how the heap was dumped, if it was.
    fn dump_request(&self, forks: bool) -> Option<String> {
        if !self.dumps.may_begin(Totals::Keep) {
            return None;
        }
        let env = self.context.env;
        env.with_current_jni(|jni| self.dump_on_request(jni, Totals::Keep, forks))?
    }

    /// Handles SIGQUIT: counting starts anew from there, as with the original.
    ///
    /// The dump is made on a thread of the agent. HotSpot's signal thread protects the VM's list of threads while it is
    /// in this event (`VM_FindDeadlocks` holds it), so no thread could end before it is over; and where the collector
    /// has stopped because the program ends, a collection that is asked for on it never returns, and neither does the
    /// VM.
    pub(super) fn sigquit(&self) {
        if self.dumps.may_begin(Totals::Reset) {
            self.dumps.request();
        }
    }

    /// Handles one pending SIGQUIT; returns `false` if there is none.
    fn answer_sigquit(&self, jni: Jni<'_>) -> bool {
        let is_requested = self.dumps.take_request();
        if is_requested {
            self.dump_on_request(jni, Totals::Reset, false);
        }
        is_requested
    }

    fn vm_death(&self, jni: Jni<'_>) {
        self.context.journal.hurry();
        self.dumps.thread.ask_to_stop();
        self.black_box.thread.ask_to_stop();
        self.clocks.ask_to_stop();
        self.end(jni);
        let dumps = self.context.options.dump_on_exit && !self.is_live();
        match dumps && !GATE.has_panicked() {
            true if memory::is_out() => self.dump_without_memory(),
            true => self.dump_at_death(jni),
            false => {}
        }
        self.close();
        // HotSpot waits for any thread that does not end in time.
        self.context
            .agent_threads
            .have_ended_within(self.context.env, Some(jni), NATIVE_TIMEOUT);
    }

    /// Ends the profile while the program continues. Writes a dump despite `doe=n`, which is about the end of the
    /// program: a user who stops a profile wants to see it. The heap is not in it again if there were dumps of it on
    /// request. Returns `false` if not everything could be written, and how the heap was dumped.
    fn stop(&self, jni: Jni<'_>, forks: bool) -> (bool, Option<String>) {
        self.dumps.thread.stop();
        self.black_box.thread.ask_to_stop();
        self.clocks.stop();
        self.end(jni);
        let is_sound = !GATE.has_panicked();
        let report = Report {
            forks,
            ..self.report(Moment::Running, Totals::Keep)
        };
        if is_sound && memory::is_out() {
            self.dump_without_memory();
        } else if is_sound && !self.is_live() {
            let _dumping = self.dumps.lock();
            if let Some(heap_dump) = &self.engines.heap_dump {
                heap_dump.prepare_last_report();
            }
            self.write(jni, &report);
        }
        let heap_dump = report.heap_dump.take();
        let is_whole = self.close();
        self.give_back(jni);
        (is_whole && is_sound, heap_dump)
    }

    /// Releases what the session holds of the VM, which continues.
    pub(super) fn give_back(&self, jni: Jni<'_>) {
        self.engines.give_back(jni);
        self.context.stacks.stop_watching();
        self.threads.give_back();
    }

    /// Stops measuring and ends the engines' threads; common to VMDeath and a stop. The gate must be closed: several
    /// engines need the mounts of virtual threads, and the first that stops disables these events for all.
    pub(super) fn end(&self, jni: Jni<'_>) {
        self.context.journal.hurry();
        self.engines.stop(jni);
    }

    /// Closes the output; returns `false` if not everything could be written.
    pub(super) fn close(&self) -> bool {
        if !self.is_live() {
            let cpu = self.status.cpu_note().text;
            let last = self.last_note();
            let memory = self.black_box.looks.lock().notes();
            let mut notes: Vec<&str> = memory.iter().map(String::as_str).collect();
            notes.extend([&*cpu, &*last]);
            self.context.journal.ended(&notes);
        }
        let is_whole = self.context.journal.close();
        self.end_black_box(is_whole);
        self.closed(&self.destination.lock(), is_whole);
        // The previous period's output may still be being closed.
        drop(self.closing.lock());
        self.owner.ended();
        is_whole
    }
}
