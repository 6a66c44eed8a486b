//! The agent's own code on Java threads: the VM starts them, and no profile counts them.

use std::ffi::c_void;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::env::{Env, jvmti};
use super::error::JvmtiError;
use super::jni::{Callback, GlobalRef, Jni, Object};
use super::sys;
use locks::{Mutex, rank};

type Body = Box<dyn FnOnce(Jni<'_>) + Send>;

/// Starts the agent's threads and recognizes them later.
#[derive(Default)]
pub struct AgentThreads {
    /// Replaced as a whole, so that the VM is asked about them without the lock.
    threads: Mutex<Arc<[Arc<GlobalRef>]>, rank::AgentThreads>,
}

impl AgentThreads {
    /// Runs `body` on a new daemon thread of the VM with this name. `body` should catch its errors: a panic ends the
    /// thread silently.
    pub fn run(
        &self,
        env: Env,
        jni: Jni<'_>,
        name: &str,
        body: impl FnOnce(Jni<'_>) + Send + 'static,
    ) -> Result<(), JvmtiError> {
        let out_of_memory = JvmtiError {
            function: "RunAgentThread",
            code: sys::JVMTI_ERROR_OUT_OF_MEMORY,
        };
        let thread = jni.new_thread(name).ok_or(out_of_memory)?;
        // It must be known before it runs, because its ThreadStart event comes first.
        let known = GlobalRef::new(jni, thread.object()).ok_or(out_of_memory)?;
        self.add(env, Arc::new(known));
        let body: Box<Body> = Box::new(Box::new(body));
        let body = Box::into_raw(body);
        // SAFETY: `start` takes the box back, once: the VM calls it exactly when it answers success.
        let answer = unsafe {
            jvmti!(
                env,
                RunAgentThread,
                thread.object().raw,
                Some(start),
                body.cast::<c_void>().cast_const(),
                sys::JVMTI_THREAD_MAX_PRIORITY as sys::jint
            )
        };
        if answer.is_err() {
            // SAFETY: the VM refused, so `start` never runs and the box is still ours.
            drop(unsafe { Box::from_raw(body) });
        }
        answer
    }

    /// Adds a thread, and forgets those that have ended.
    fn add(&self, env: Env, thread: Arc<GlobalRef>) {
        let all = self.all();
        let has_ended = |own: &&Arc<GlobalRef>| env.has_ended(own.object());
        let ended: Vec<_> = all.iter().filter(has_ended).collect();
        let mut threads = self.threads.lock();
        let is_left = |own: &&Arc<GlobalRef>| !ended.iter().any(|ended| Arc::ptr_eq(ended, own));
        let left = threads.iter().filter(is_left).cloned();
        // `all` frees the references to the others, after the lock.
        *threads = left.chain([thread]).collect();
    }

    fn all(&self) -> Arc<[Arc<GlobalRef>]> {
        self.threads.lock().clone()
    }

    /// Returns `true` if the thread is one of the agent's.
    pub fn contains(&self, jni: Jni<'_>, thread: Object<'_>) -> bool {
        let all = self.all();
        all.iter().any(|own| jni.is_same(own.object(), thread))
    }

    /// Returns `true` if all except the current one have ended, or end within `timeout`. A thread that is about to end
    /// still appears in thread lists.
    pub fn have_ended_within(&self, env: Env, jni: Option<Jni<'_>>, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
        let current = jni.and_then(|jni| Some((jni, env.current_thread(jni).ok()??)));
        let is_current = |own: Object<'_>| {
            let current = current.as_ref();
            current.is_some_and(|(jni, current)| jni.is_same(current.object(), own))
        };
        let is_alive = || {
            let all = self.all();
            let mut own = all.iter().map(|own| own.object());
            own.any(|own| env.is_alive(own) && !is_current(own))
        };
        while is_alive() {
            if Instant::now() >= end {
                return false;
            }
            sleep(Duration::from_millis(1));
        }
        true
    }
}

unsafe extern "C" fn start(_: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv, body: *mut c_void) {
    // SAFETY: `run` made this pointer from a box and hands it to this function alone.
    let body = unsafe { Box::from_raw(body.cast::<Body>()) };
    Callback::run(|callback| {
        // SAFETY: the VM passes this thread's environment, which it keeps until this function returns.
        if let Some(jni) = unsafe { Jni::from_raw(jni, callback) } {
            body(jni);
        }
    });
}
