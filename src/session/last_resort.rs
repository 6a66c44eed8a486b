//! Ends a session when the usual ways fail: when the process exits and the VM sends no VMDeath, and when the
//! session gets no more memory.
//!
//! There is no VMDeath after an uncaught OutOfMemoryError if the thread that is to end the VM finds no room for itself
//! in the heap, nor when native code calls `exit`.
//!
//! In both cases the agent writes what it knows without asking the VM: the thread that exits may not belong to the VM,
//! or may hold the VM's own locks.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::lifecycle::{self, GATE};
use super::state::Session;
use crate::engines::{Moment, Reporter, Totals};
use jvmti::{ExitCaller, Jni, at_process_exit, caught};
use locks::{Condvar, Mutex, rank};
use memory::{OutOfMemory, SystemThread};
use output::console;

/// The longest the process waits for its profile, in total.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest that running events are waited for: one of them may itself be waiting for a VM that has stopped.
const EVENT_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest that a dump in progress is waited for while it makes no progress.
const DUMP_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest that a receiver may take to read the end of the profile.
const LINGER: Duration = Duration::from_millis(300);

/// Arranges for the profile to be written if the process ends without VMDeath.
pub(super) fn prepare() {
    at_process_exit(process_exits);
}

/// Writes the profile on a thread of its own, because any lock may be held by a thread that waits for the VM, and the
/// output may accept nothing. The process waits for a limited time only.
fn process_exits() {
    let end = Instant::now() + TIMEOUT;
    if lifecycle::vm_is_dead() {
        return;
    }
    // VMDeath or a `stop` on another thread may be writing.
    let Some(_held) = lifecycle::hold_until(end) else {
        return;
    };
    if !GATE
        .run_always(Session::has_begun)
        .is_some_and(|begun| begun == Ok(true))
    {
        return;
    }
    let done = Arc::new((Mutex::<_, rank::LastResort>::new(false), Condvar::new()));
    let on_thread = done.clone();
    let caller = ExitCaller::find();
    let thread = SystemThread::start(c"HPROF last", move || {
        let _ = caught(|| write(caller));
        *on_thread.0.lock() = true;
        on_thread.1.notify_all();
    });
    let mut is_done = done.0.lock();
    if thread.is_ok() {
        let is_writing = |is_done: &mut bool| !*is_done;
        done.1.wait_while_until(&mut is_done, is_writing, end);
    }
    if !*is_done {
        console::line(format_args!(
            "the process ends without VMDeath, and the profile could not be finished; what was written so far stays"
        ));
    }
}

fn write(caller: ExitCaller) {
    if let Some(closed) = GATE.close(EVENT_TIMEOUT) {
        memory::ends_session();
        if caller == ExitCaller::Vm {
            closed.get().keep_black_box();
        }
        closed.get().last_resort();
        // The process is ending: there is no need to free the memory.
        std::mem::forget(closed);
    }
}

impl Session {
    /// Writes what is known, without the VM, and closes the output.
    fn last_resort(&self) {
        self.context.journal.hurry();
        self.dumps.thread.ask_to_stop();
        self.clocks.ask_to_stop();
        let words = format!(
            "the process ends without VMDeath, and the VM could not be asked{}",
            self.unknown_without_vm()
        );
        console::line(format_args!("{words}"));
        if self.context.options.dump_on_exit && !GATE.has_panicked() {
            self.dump_without_vm(&words);
        }
        self.close();
        if self.destination.lock().listener().is_some() {
            thread::sleep(LINGER);
        }
    }

    /// Writes what is known, as far as the reserve lasts: the VM would need memory, too.
    pub(super) fn dump_without_memory(&self) {
        // Whether the program continues is up to the VM, which may have no memory either.
        console::line(format_args!("{OutOfMemory}; the profile ends here"));
        let unknown = self.unknown_without_vm();
        self.dump_without_vm(&format!("{OutOfMemory}; the profile ends here{unknown}"));
    }

    fn dump_without_vm(&self, words: &str) {
        let Some(_dumping) = self.wait_for_dumps(DUMP_TIMEOUT) else {
            return self.leave_dump_out();
        };
        self.context.journal.entry(|entry| {
            entry.note(words);
            entry.withdraw_dump();
        });
        let report = self.report(Moment::Death, Totals::Keep);
        let reporters = self.engines.reporters_without_vm();
        self.write_sections(&report, reporters, |reporter| {
            reporter.report_without_vm(&report);
        });
    }

    fn unknown_without_vm(&self) -> String {
        let unknown = self.engines.reporters();
        let unknown = unknown.filter_map(Reporter::unknown_without_vm);
        unknown.map(|words| format!("; {words}")).collect()
    }

    /// Ends the session when the agent gets no more memory: writes what it knows, as far as the reserve lasts, closes
    /// the output, and releases what it held of the VM. Each step may fail; the next does not depend on it. Called on
    /// the thread for dumps.
    pub(super) fn stop_without_memory(&self, jni: Jni<'_>) {
        self.dumps.thread.ask_to_stop();
        self.end_by_steps(jni, || {
            if !GATE.has_panicked() {
                self.dump_without_memory();
            }
        });
    }

    /// Ends a session that could not start: there is nothing to write.
    pub(super) fn abandon(&self, jni: Jni<'_>) {
        self.dumps.thread.stop();
        self.end_by_steps(jni, || {});
    }

    fn end_by_steps(&self, jni: Jni<'_>, write: impl Fn()) {
        let steps: [&dyn Fn(); 5] = [
            &|| self.clocks.stop(),
            &|| self.end(jni),
            &write,
            &|| {
                self.close();
            },
            &|| self.give_back(jni),
        ];
        for step in steps {
            // The panic hook has reported it.
            let _ = caught(step);
        }
    }
}
