//! The program's threads: each gets a serial number when it begins, and is announced.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::engines::{Context, Engines, ThreadSerials, ThreadWatcher};
use jvmti::{
    AgentThreads, AnnouncedThread, CurrentThread, Env, Jni, JvmtiError, LocalRef, Object,
    RegisteredThreads, VirtualThreads,
};
use locks::{Mutex, rank};
use memory::{Map, OrStop};
use names::Tables;
use names::thread::ThreadSerial;
use output::{Journal, ThreadNames};

/// Registers threads: gives out serial numbers, and announces threads to the journal and to the engines.
pub(super) struct ThreadRegistry {
    env: Env,
    virtual_threads: Option<VirtualThreads>,
    agent_threads: Arc<AgentThreads>,
    registered: Arc<RegisteredThreads>,
    tables: Arc<Tables>,
    journal: Arc<Journal>,
    engines: Arc<Engines>,
    /// Held while a thread is announced and becomes known, so that it is announced once.
    registering: Mutex<(), rank::Registering>,
    /// A hash of the name that the file has of each live thread. Names themselves are not kept.
    last_names: Mutex<Map<ThreadSerial, u64>, rank::LastNames>,
}

impl ThreadRegistry {
    pub(super) fn new(context: &Context, engines: Arc<Engines>) -> Self {
        Self {
            env: context.env,
            virtual_threads: context.virtual_threads,
            agent_threads: context.agent_threads.clone(),
            registered: context.registered.clone(),
            tables: context.tables.clone(),
            journal: context.journal.clone(),
            engines,
            registering: Mutex::new(()),
            last_names: Mutex::default(),
        }
    }

    /// Registers the current thread, which is beginning.
    pub(super) fn current_started(&self, jni: Jni<'_>, thread: CurrentThread<'_>) {
        if let Some(serial) = self.register(jni, *thread) {
            self.registered.remember(thread, serial.0);
            if let Some(tracker) = &self.engines.allocations {
                tracker.current_thread_started(serial);
            }
        }
    }

    /// Registers a platform thread, unless it is registered or is one of the agent's. Threads that existed before
    /// VMInit are found by asking the VM, and some of them send their ThreadStart event anyway. Returns the
    /// serial number of a thread that is new.
    pub(super) fn register(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<ThreadSerial> {
        if self.agent_threads.contains(jni, thread) {
            return None;
        }
        self.register_and(jni, thread, |watcher, serial| {
            watcher.thread_registered(jni, thread, serial);
        })
    }

    /// Registers a virtual thread, unless it is registered. Engines never sample it, but its carrier.
    fn register_virtual(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<ThreadSerial> {
        self.register_and(jni, thread, |watcher, serial| {
            watcher.virtual_thread_registered(jni, thread, serial);
        })
    }

    /// Announces a thread, and calls `registered` for each engine that follows threads. It may end meanwhile.
    fn register_and(
        &self,
        jni: Jni<'_>,
        thread: Object<'_>,
        registered: impl Fn(&dyn ThreadWatcher, ThreadSerial),
    ) -> Option<ThreadSerial> {
        let (serial, announced) = self.announce(jni, thread)?;
        let watchers = || self.engines.thread_watchers();
        watchers().for_each(|watcher| registered(watcher, serial));
        if !announced.told() {
            watchers().for_each(|watcher| watcher.thread_gone(serial));
        }
        Some(serial)
    }

    /// Removes the current thread, which is about to end.
    pub(super) fn current_ended(&self, jni: Jni<'_>, thread: CurrentThread<'_>) {
        let serial = self.final_serial(jni, *thread);
        if let Some(serial) = serial {
            self.look_at_name(jni, *thread, serial);
            self.last_names.lock().remove(&serial);
        }
        let watchers = self.engines.thread_watchers();
        watchers.for_each(|watcher| watcher.current_thread_ended(serial));
        if let Some(serial) = serial {
            self.journal.thread_ended(serial);
        }
    }

    /// Records the names of live threads that have changed. Must not be called within a heap dump.
    pub(super) fn look_at_names(&self, jni: Jni<'_>) {
        // If the VM does not list them, the names that are known stay.
        for thread in self.env.all_threads(jni).unwrap_or_default() {
            if let Some(serial) = self.registered.serial(jni, thread.object()) {
                self.look_at_name(jni, thread.object(), ThreadSerial(serial));
            }
        }
    }

    fn look_at_name(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        let Ok(info) = self.env.thread_info(jni, thread) else {
            return;
        };
        let hash = FixedState::default().hash_one(&info.name);
        let is_new = match self.last_names.lock().get_mut(&serial) {
            Some(last) => std::mem::replace(last, hash) != hash,
            None => false,
        };
        if is_new {
            self.journal.thread_renamed(serial, info.name);
        }
    }

    /// Returns the serial number of the current thread, platform or virtual; `None` for a thread of the agent.
    pub(super) fn current_serial(
        &self,
        jni: Jni<'_>,
        thread: CurrentThread<'_>,
    ) -> Option<ThreadSerial> {
        if let Some(serial) = self.registered.remembered() {
            return Some(ThreadSerial(serial));
        }
        let serial = self.serial(jni, *thread)?;
        if serial != ThreadSerial::UNKNOWN {
            self.registered.remember(thread, serial.0);
        }
        Some(serial)
    }

    /// Returns the serial number of the current thread, which is ending. A thread older than the agent may not have
    /// been registered yet, and must not be any more.
    fn final_serial(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<ThreadSerial> {
        // The agent's own threads end here too: they have no serial number.
        let serial = self
            .registered
            .end(jni, thread, || self.registering.lock())?;
        Some(ThreadSerial(serial))
    }

    /// Frees the references to threads.
    pub(super) fn give_back(&self) {
        self.registered.clear();
    }

    /// Gives a thread its serial number and writes its START THREAD record. Returns `None` if it already has one, or has
    /// ended.
    ///
    /// The serial number becomes visible only when the record is written, so every record that names a thread comes
    /// after it.
    fn announce(
        &self,
        jni: Jni<'_>,
        thread: Object<'_>,
    ) -> Option<(ThreadSerial, AnnouncedThread)> {
        loop {
            let unregistered = self.registered.unregistered(jni, thread)?;
            let names = self.names(jni, thread);
            let _registering = self.registering.lock();
            if !self.registered.is_still_unregistered(&unregistered) {
                continue;
            }
            let serial = self.tables.threads.add();
            self.name_is_known(serial, &names.name);
            self.journal.thread_started(serial, names);
            if let Ok(announced) = self.registered.add(unregistered, serial.0) {
                return Some((serial, announced));
            }
        }
    }

    /// Announces the live threads to an output next to the profile that does not have them.
    pub(super) fn announce_to(&self, jni: Jni<'_>, journal: &Journal) {
        // If the VM does not list them, the dump has threads without names.
        for thread in self.env.all_threads(jni).unwrap_or_default() {
            let serial = self.registered.serial(jni, thread.object());
            let serial = serial.map(ThreadSerial);
            if let Some(serial) = serial.filter(|&serial| !journal.has_thread(serial)) {
                journal.thread_started(serial, self.names(jni, thread.object()));
            }
        }
    }

    fn name_is_known(&self, serial: ThreadSerial, name: &str) {
        let hash = FixedState::default().hash_one(name);
        let mut names = self.last_names.lock();
        names.insert(serial, hash).or_stop();
    }

    fn names(&self, jni: Jni<'_>, thread: Object<'_>) -> ThreadNames {
        let (name, group) = match self.env.thread_info(jni, thread) {
            Ok(info) => (info.name, info.group),
            Err(_) => (String::new(), None),
        };
        let (group, parent_group) = self.group_names(jni, group).unwrap_or_default();
        ThreadNames {
            name,
            group,
            parent_group,
        }
    }

    /// Returns the names of a group and of its parent group, empty if there is none.
    fn group_names(
        &self,
        jni: Jni<'_>,
        group: Option<LocalRef<'_>>,
    ) -> Result<(String, String), JvmtiError> {
        let Some(group) = group else {
            return Ok(Default::default());
        };
        let group = self.env.group_info(jni, group.object())?;
        let parent = match group.parent {
            Some(parent) => self.env.group_info(jni, parent.object())?.name,
            None => String::new(),
        };
        Ok((group.name, parent))
    }
}

impl ThreadSerials for ThreadRegistry {
    /// Returns the thread's serial number. A virtual thread is registered only here: most never compete for a monitor,
    /// and need no serial number.
    fn serial(&self, jni: Jni<'_>, thread: Object<'_>) -> Option<ThreadSerial> {
        let registered = || self.registered.serial(jni, thread).map(ThreadSerial);
        if let Some(serial) = registered() {
            return Some(serial);
        }
        if self.agent_threads.contains(jni, thread) {
            return None;
        }
        let is_virtual = |threads: VirtualThreads| threads.is_virtual(jni, thread);
        let new = match self.virtual_threads.is_some_and(is_virtual) {
            true => self.register_virtual(jni, thread),
            false => self.register(jni, thread),
        };
        // Another thread may have registered it first.
        let serial = new.or_else(registered);
        Some(serial.unwrap_or(ThreadSerial::UNKNOWN))
    }
}
