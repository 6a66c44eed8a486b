//! Where the memory of the process is: puts together what the system, the VM and the agent tell.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hprof_footprint::{Account, BufferSite, OwnMemory, VmFacts, VmLayout, cgroup, mappings, tasks};
use hprof_format::{MemoryLimit, MemoryLook as LookOfProfile, MemoryPart};
use memory::{Map, OrStop};

use super::lifecycle::GATE;
use jvmti::{Env, HeapSize, JavaStack, Jni, MemoryLayout, OwnEnv, Vm, VmMemory, own_cpu_time};
use output::now;

/// Between two looks is this many times the CPU time that the last one took.
const REST: u32 = 500;
/// The longest time between two looks.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// A process that has grown by this share since then is looked at again at once: what grows fast has reached its limit before the
/// interval is over. It can do so only a few times.
const GROWN: u64 = 8;
/// Until then a program has only ever more than before.
const WARM_UP: Duration = Duration::from_secs(10);

/// The most classes of loaders that are told.
const LOADER_KINDS: usize = 8;

const TASKS: &str = "/proc/self/task";

/// The loaders of classes are counted if there are so many more classes than at first, as a share of those: that takes a look at
/// each class.
const MORE_CLASSES: u64 = 5;

/// Looks at the memory of the process again and again.
pub(super) struct MemoryLook {
    env: Env,
    layout: MemoryLayout,
    heap: Option<HeapSize>,
    memory: VmMemory,
    /// A place on the stack of each thread that is not one of the VM's list.
    places: Map<i32, usize>,
}

/// The first and the last account of a session, as text.
pub(super) struct MemoryCourse {
    look: MemoryLook,
    begun: Instant,
    /// The first account after the program has started.
    first: Option<Account>,
    text: String,
    /// The time of the next look.
    next: Instant,
    /// The most that was resident at a look, in bytes.
    most: u64,
}

impl MemoryCourse {
    pub(super) fn new(env: Env, begun: Instant) -> Self {
        Self {
            look: MemoryLook::new(env),
            begun,
            first: None,
            text: String::new(),
            next: begun,
            most: 0,
        }
    }

    /// Takes an account, unless the last one has cost too much for that; returns it. Called as [`MemoryLook::look`].
    pub(super) fn look(&mut self, jni: Jni<'_>) -> Option<LookOfProfile> {
        if Instant::now() < self.next && !self.has_grown() {
            return None;
        }
        let before = own_cpu_time();
        let mut last = self.look.look(jni);
        if self.have_classes_grown(&last) {
            self.look.count_loaders(jni, &mut last);
        }
        let spent = Duration::from_nanos(own_cpu_time().saturating_sub(before));
        self.next = Instant::now() + (spent * REST).min(LONGEST_INTERVAL);
        self.text = hprof_footprint::encode_all(self.first.iter().chain([&last]));
        self.most = self.most.max(last.system_resident.unwrap_or(0));
        let look = of_profile(&last, self.begun.elapsed());
        if self.first.is_none() && self.begun.elapsed() > WARM_UP {
            self.first = Some(last);
        }
        Some(look)
    }

    /// Returns the first and the last account.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn has_grown(&self) -> bool {
        let resident = bytes(&status(), "VmRSS:").unwrap_or(0);
        resident > self.most + self.most / GROWN
    }
}

fn of_profile(account: &Account, after: Duration) -> LookOfProfile {
    let parts = account.parts.iter();
    let parts = parts.filter(|(_, amounts)| amounts.resident > 0);
    let group = account.cgroup;
    LookOfProfile {
        after,
        parts: parts
            .map(|(part, amounts)| MemoryPart {
                name: part.name().to_owned(),
                resident: amounts.resident,
            })
            .collect(),
        limit: group
            .and_then(|group| group.limit.zip(group.used))
            .map(|(limit, used)| MemoryLimit { used, limit }),
    }
}

fn status() -> String {
    fs::read_to_string("/proc/self/status").unwrap_or_default()
}

impl MemoryCourse {
    fn have_classes_grown(&self, last: &Account) -> bool {
        let first = self.first.as_ref().and_then(|first| first.vm.classes);
        let grown = first.zip(last.vm.classes);
        grown.is_some_and(|(first, last)| last > first + first / MORE_CLASSES)
    }
}

/// Takes one account; `None` if the VM has no environment for the agent.
pub fn account(vm: Vm, jni: Jni<'_>) -> Option<Account> {
    let look = |env| {
        let mut look = MemoryLook::new(env);
        let mut account = look.look(jni);
        look.count_loaders(jni, &mut account);
        account
    };
    if let Some(env) = GATE.run(|session| session.context.env) {
        return Some(look(env));
    }
    let own = OwnEnv::new(vm)?;
    Some(look(own.env()))
}

/// Returns the places that made direct buffers, if the session knows them.
fn buffer_sites(jni: Jni<'_>) -> Vec<BufferSite> {
    let sites = GATE.run(|session| {
        let tracker = session.engines.allocations.as_ref();
        tracker.map(|tracker| tracker.direct_buffers(jni))
    });
    sites.flatten().unwrap_or_default()
}

impl MemoryLook {
    pub(super) fn new(env: Env) -> Self {
        Self {
            env,
            layout: MemoryLayout::find(env),
            heap: HeapSize::find(env),
            memory: VmMemory::find(env),
            places: Map::default(),
        }
    }

    /// Takes an account. Called on a thread of the VM, which may wait here for the end of a safepoint.
    pub(super) fn look(&mut self, jni: Jni<'_>) -> Account {
        Account {
            buffer_sites: buffer_sites(jni),
            ..self.look_with(self.env.direct_buffers(jni))
        }
    }

    /// As [`MemoryLook::look`], without the classes of the JDK that tell about direct buffers: the heap may have no room to load
    /// them.
    pub(super) fn look_without_java(&mut self) -> Account {
        self.look_with(VmFacts::default())
    }

    fn look_with(&mut self, direct: VmFacts) -> Account {
        let mut layout = self.layout.layout();
        let threads = self.find_stacks(&mut layout);
        let vm = VmFacts {
            heap: self.java_heap(),
            classes: self.memory.classes(),
            loaders: self.layout.loaders(),
            ..direct
        };
        let own = OwnMemory {
            held: memory::own_memory() as u64,
            mapped: memory::own_mappings() as u64,
        };
        // Last, so that as little as possible changes in between.
        let maps = fs::read("/proc/self/maps").unwrap_or_default();
        let found = mappings::parse(&String::from_utf8_lossy(&maps));
        let mut account = Account::of(&found, &layout, vm, own, self.layout.memory());
        if account.is_malloc_large()
            && let Some(malloc) = memory::malloc_use()
        {
            account.know_malloc(own, malloc.used, malloc.free);
        }
        let status = status();
        Account {
            time: now().0,
            swapped: bytes(&status, "VmSwap:"),
            threads,
            tracked: self.layout.tracked(),
            cgroup: cgroup::of_this_process(),
            ..account
        }
    }

    /// Adds the class loaders by their class.
    fn count_loaders(&self, jni: Jni<'_>, account: &mut Account) {
        // Without them the account is complete.
        let kinds = self.env.loader_kinds(jni).unwrap_or_default();
        account.loader_kinds = kinds.into_iter().take(LOADER_KINDS).collect();
    }

    fn java_heap(&self) -> Option<hprof_footprint::JavaHeap> {
        let fill = self.heap?.fill();
        Some(hprof_footprint::JavaHeap {
            used: fill.used,
            committed: fill.committed,
            limit: fill.limit,
            after_collection: self.memory.after_collection(),
        })
    }

    /// Finds the stacks of all threads; returns their number.
    fn find_stacks(&mut self, layout: &mut VmLayout) -> u64 {
        let tids = tasks::ids(Path::new(TASKS));
        let of_vm = self.layout.threads().into_iter();
        let of_vm = of_vm.map(|JavaStack { tid, stack }| (tid, stack));
        let of_vm = Map::<i32, _>::collect(of_vm).or_stop();
        self.places.retain(|tid, _| tids.contains(tid));
        for tid in &tids {
            match of_vm.get(tid) {
                Some(stack) => layout.stacks.push(stack.clone()),
                None if self.places.contains_key(tid) => {}
                None => {
                    let syscall = fs::read_to_string(format!("{TASKS}/{tid}/syscall"));
                    let place = tasks::stack_pointer(&syscall.unwrap_or_default());
                    self.places
                        .extend(place.map(|place| (*tid, place)))
                        .or_stop();
                }
            }
        }
        layout.stack_pointers = self.places.values().copied().collect();
        tids.len() as u64
    }
}

/// Returns a number of `/proc/self/status`: `VmRSS:     1234 kB`.
fn bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim_ascii().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_the_resident_set() {
        let status = "VmPeak:\t    2000 kB\nVmRSS:\t    1536 kB\nVmSwap:\t       0 kB\n";
        assert_eq!(bytes(status, "VmRSS:"), Some(1536 << 10));
        assert_eq!(bytes(status, "VmSwap:"), Some(0));
        assert_eq!(bytes("", "VmRSS:"), None);
    }
}
