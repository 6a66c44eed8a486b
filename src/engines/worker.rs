//! A thread of the agent inside the VM, from its start to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jvmti::{AgentThreads, Env, Jni, JvmtiError};
use locks::{Condvar, Mutex, rank};

/// The longest that `stop` waits for the thread to finish its current work.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A thread that can be started, woken from any thread, and ended.
#[derive(Clone, Default)]
pub struct Worker(Arc<Control>);

/// `state` is held only briefly.
#[derive(Default)]
struct Control {
    state: Mutex<WorkerState, rank::WorkerState>,
    changed: Condvar,
}

#[derive(Default)]
struct WorkerState {
    phase: Phase,
    woken: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    NotRunning,
    Running,
    Stopping,
}

impl Worker {
    /// Runs `body` on a thread of that name until it returns, which it should do soon after [`Worker::sleep_until`] has
    /// returned `false`.
    pub fn start(
        &self,
        agent_threads: &AgentThreads,
        env: Env,
        jni: Jni<'_>,
        name: &str,
        body: impl FnOnce(Jni<'_>, &Worker) + Send + 'static,
    ) -> Result<(), JvmtiError> {
        self.0.state.lock().phase = Phase::Running;
        let ended = Ended(self.clone());
        agent_threads.run(env, jni, name, move |jni| body(jni, &ended.0))
    }

    /// Called on the thread itself: sleeps until `time`, or until it is woken. Returns `false` when the thread should
    /// end.
    pub fn sleep_until(&self, time: Instant) -> bool {
        let mut state = self.0.state.lock();
        let idle = |state: &mut WorkerState| state.phase == Phase::Running && !state.woken;
        self.0.changed.wait_while_until(&mut state, idle, time);
        state.woken = false;
        state.phase == Phase::Running
    }

    /// Wakes the thread; if it is not sleeping, its next sleep returns at once.
    pub fn wake(&self) {
        self.0.state.lock().woken = true;
        self.0.changed.notify_all();
    }

    /// Tells the thread to end, without waiting for it.
    pub fn ask_to_stop(&self) {
        let mut state = self.0.state.lock();
        if state.phase == Phase::Running {
            state.phase = Phase::Stopping;
            self.0.changed.notify_all();
        }
    }

    /// Tells the thread to end and waits for it, for a limited time.
    pub fn stop(&self) {
        self.ask_to_stop();
        let mut state = self.0.state.lock();
        let running = |state: &mut WorkerState| state.phase != Phase::NotRunning;
        self.0.changed.wait_while_for(&mut state, running, TIMEOUT);
    }
}

/// Marks the thread as ended on drop: also after a panic, and if it could not be started.
struct Ended(Worker);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.0.state.lock().phase = Phase::NotRunning;
        self.0.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_is_not_lost_on_a_thread_that_does_not_sleep_yet() {
        let worker = Worker::default();
        worker.0.state.lock().phase = Phase::Running;
        worker.wake();
        assert!(
            worker.sleep_until(Instant::now() + Duration::from_secs(600)),
            "awake at once"
        );
    }

    #[test]
    fn stopping_what_does_not_run_is_nothing() {
        let worker = Worker::default();
        worker.stop();
        assert!(
            !worker.sleep_until(Instant::now() + Duration::from_secs(600)),
            "and it is to end"
        );
    }

    #[test]
    fn stopping_waits_for_the_thread() {
        let worker = Worker::default();
        worker.0.state.lock().phase = Phase::Running;
        let ended = Ended(worker.clone());
        let thread = std::thread::spawn(move || {
            while ended
                .0
                .sleep_until(Instant::now() + Duration::from_secs(600))
            {}
        });
        worker.stop();
        assert!(worker.0.state.lock().phase == Phase::NotRunning);
        thread.join().expect("no panic");
    }
}
