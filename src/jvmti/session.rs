//! One profile in the life of the VM: its JVMTI environment, its threads, the receiver of its events.
//!
//! A VM sees several, one after the other, when profiles are started and stopped by attaching. They share an environment,
//! which has no capabilities and no events between them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::agent_thread::AgentThreads;
use super::callbacks::{self, Events};
use super::environments::OwnEnv;
use super::error::JvmtiError;
use super::gate::{Closed, Door};
use super::jni::Jni;

/// How long VMDeath waits for events that are running, and a `stop` for the agent's threads to be gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a `stop` waits for events that are running: one of them may be writing a large dump.
const DUMP_PATIENCE: Duration = Duration::from_secs(60);
/// How long VMDeath waits for a `stop` that is writing. One that waits for a collection which never comes, because the VM is
/// going down, must not keep the program from ending.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// What the running round owns. The lock is held while a round ends, so that VMDeath does not overtake a `stop`.
static INSTALLED: Mutex<Option<Installed>> = Mutex::new(None);

struct Installed {
    env: OwnEnv,
    agent_threads: Arc<AgentThreads>,
}

/// The rounds of this VM.
pub struct Rounds;

impl Rounds {
    /// Whether one runs.
    pub fn is_running() -> bool {
        Door::any().is_open()
    }

    /// Begins a round: `events` receives the VM's events. Only one at a time: with a round running this one is dropped,
    /// and `false` the answer.
    pub fn begin(
        env: OwnEnv,
        agent_threads: Arc<AgentThreads>,
        events: Box<dyn Events>,
    ) -> Result<bool, JvmtiError> {
        let mut installed = INSTALLED.lock();
        if installed.is_some() || Door::any().is_open() {
            // It belongs to the one that runs.
            std::mem::forget(env);
            return Ok(false);
        }
        Door::any().open(events);
        let round = Installed { env, agent_threads };
        if let Err(error) = callbacks::register(round.env.env()) {
            if let Some(closed) = Door::any().close(PATIENCE) {
                round.give_back(closed);
            }
            return Err(error);
        }
        *installed = Some(round);
        Ok(true)
    }

    /// Runs `body` as an event of the round; `None` where none runs, or `body` panicked.
    pub fn run<T>(name: &'static str, body: impl FnOnce(&dyn Events) -> T) -> Option<T> {
        Door::any().run(name, body)
    }

    /// Ends the round while the VM goes on, once no event is running: `last` is the last that its receiver hears. Then
    /// everything it had of the VM is given back. `None` where none runs, or `last` panicked.
    pub fn end<T>(last: impl FnOnce(&dyn Events) -> T) -> Option<T> {
        let mut installed = INSTALLED.lock();
        let closed = Door::any().close(DUMP_PATIENCE)?;
        let answer = closed.run("stop", last);
        if let Some(installed) = installed.take() {
            installed.give_back(closed);
        }
        answer
    }

    /// The VM ends, and with it the round.
    pub(super) fn vm_death(jni: Jni<'_>) {
        // A `stop` closes the door at once, and writes for a while.
        let _installed = INSTALLED.try_lock_for(STOP_PATIENCE);
        if let Some(closed) = Door::any().close(PATIENCE) {
            closed.run("VMDeath", |events| events.vm_death(jni));
            // Nobody needs the memory any more.
            std::mem::forget(closed);
        }
    }
}

impl Installed {
    /// Whatever may still be in use stays for good: somebody was suspended within an event, or a thread of ours did not
    /// end in time.
    fn give_back(self, closed: Closed) {
        let Self { env, agent_threads } = self;
        let have_ended = agent_threads.have_ended_within(env.env(), PATIENCE);
        drop(env);
        if !have_ended {
            std::mem::forget(closed);
        }
    }
}
