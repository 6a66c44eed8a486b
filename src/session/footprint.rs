//! Where the memory of the process is: puts together what the system, the VM and the agent tell.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hprof_footprint::{Account, OwnMemory, VmFacts, VmLayout, cgroup, mappings, tasks};

use super::lifecycle::GATE;
use jvmti::{Env, HeapSize, JavaStack, Jni, MemoryLayout, OwnEnv, Vm, VmMemory, own_cpu_time};
use output::now;

/// Between two looks is this many times the CPU time that the last one took.
const REST: u32 = 500;
/// The longest time between two looks.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// Until then a program has only ever more than before.
const WARM_UP: Duration = Duration::from_secs(10);

const TASKS: &str = "/proc/self/task";

/// Looks at the memory of the process again and again.
pub(super) struct MemoryLook {
    layout: MemoryLayout,
    heap: Option<HeapSize>,
    memory: VmMemory,
    /// A place on the stack of each thread that is not one of the VM's list.
    places: HashMap<i32, usize>,
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
}

impl MemoryCourse {
    pub(super) fn new(env: Env, begun: Instant) -> Self {
        Self {
            look: MemoryLook::new(env),
            begun,
            first: None,
            text: String::new(),
            next: begun,
        }
    }

    /// Takes an account, unless the last one has cost too much for that. Called as [`MemoryLook::look`].
    pub(super) fn look(&mut self, jni: Jni<'_>) -> &str {
        if Instant::now() < self.next {
            return &self.text;
        }
        let before = own_cpu_time();
        let last = self.look.look(jni);
        let spent = Duration::from_nanos(own_cpu_time().saturating_sub(before));
        self.next = Instant::now() + (spent * REST).min(LONGEST_INTERVAL);
        self.text = hprof_footprint::encode_all(self.first.iter().chain([&last]));
        if self.first.is_none() && self.begun.elapsed() > WARM_UP {
            self.first = Some(last);
        }
        &self.text
    }
}

/// Takes one account; `None` if the VM has no environment for the agent.
pub fn account(vm: Vm, jni: Jni<'_>) -> Option<Account> {
    if let Some(env) = GATE.run(|session| session.context.env) {
        return Some(MemoryLook::new(env).look(jni));
    }
    let own = OwnEnv::new(vm)?;
    Some(MemoryLook::new(own.env()).look(jni))
}

impl MemoryLook {
    pub(super) fn new(env: Env) -> Self {
        Self {
            layout: MemoryLayout::find(env),
            heap: HeapSize::find(env),
            memory: VmMemory::find(env),
            places: HashMap::new(),
        }
    }

    /// Takes an account. Called on a thread of the VM, which may wait here for the end of a safepoint.
    pub(super) fn look(&mut self, jni: Jni<'_>) -> Account {
        let mut layout = self.layout.layout();
        let threads = self.find_stacks(&mut layout);
        let vm = VmFacts {
            heap: self.java_heap(),
            classes: self.memory.classes(),
            loaders: self.layout.loaders(),
            ..jni.direct_buffers()
        };
        let own = OwnMemory {
            held: memory::own_memory() as u64,
            mapped: memory::own_mappings() as u64,
        };
        // Last, so that as little as possible changes in between.
        let maps = fs::read("/proc/self/maps").unwrap_or_default();
        let found = mappings::parse(&String::from_utf8_lossy(&maps));
        let account = Account::of(&found, &layout, vm, own, self.layout.memory());
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Account {
            time: now().0,
            system_resident: bytes(&status, "VmRSS:"),
            swapped: bytes(&status, "VmSwap:"),
            threads,
            cgroup: cgroup::of_this_process(),
            ..account
        }
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
        let of_vm: HashMap<i32, _> = self
            .layout
            .threads()
            .into_iter()
            .map(|JavaStack { tid, stack }| (tid, stack))
            .collect();
        self.places.retain(|tid, _| tids.contains(tid));
        for tid in &tids {
            match of_vm.get(tid) {
                Some(stack) => layout.stacks.push(stack.clone()),
                None if self.places.contains_key(tid) => {}
                None => {
                    let syscall = fs::read_to_string(format!("{TASKS}/{tid}/syscall"));
                    let place = tasks::stack_pointer(&syscall.unwrap_or_default());
                    self.places.extend(place.map(|place| (*tid, place)));
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
