//! The number of bytes that each thread may still allocate before its next allocation event (`Thread::_heap_sampler`).
//!
//! A thread that existed before the interval was set continues with the rest of its previous one: with the default, its
//! first half a megabyte or so would send no event. JVMTI has no way to change that, so the number is set in the VM's
//! memory, at the position given by HotSpot's tables for debuggers: after the exported field
//! `Thread::_allocated_bytes`. The position is verified on threads of the agent, for which the VM must have drawn
//! numbers that fit the current interval.

use std::sync::Arc;
use std::time::Duration;

use crate::agent_thread::AgentThreads;
use crate::env::Env;
use crate::events::GcPause;
use crate::heap::Interval;
use crate::jni::Jni;
use crate::vm_kind::vm_structs::VmStructs;
use locks::{Condvar, Mutex, rank};

/// The interval of the first test.
const TRIED: u32 = 1 << 24;
/// The range of numbers that HotSpot draws for it (`ThreadHeapSampler::pick_next_geometric_sample`): the interval times
/// -ln(q / 2^26), where q is a random integer of 26 bits and the logarithm comes from a table of 1,024 steps. So it is
/// between 1/4,098 of the interval and 26 ln 2 times the interval, except for a single q, which makes it 1. Repeating
/// the test would not help: the random numbers of a thread begin with its address, and the next thread often has the
/// same one.
const DRAWN: std::ops::Range<u64> = (TRIED as u64 >> 13)..(TRIED as u64 * 19);

/// The longest that a thread may take to start: in a VM that is shutting down it never does.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Finds the numbers of all threads.
#[derive(Clone, Copy)]
pub struct BytesUntilSample {
    threads: ThreadList,
    offset: usize,
}

/// The VM's list of threads: its address, and the offsets in its parts.
#[derive(Clone, Copy)]
enum ThreadList {
    /// An array; from JDK 17.
    Array {
        list: *const *const u8,
        length: usize,
        elements: usize,
    },
    /// A linked list; JDK 11.
    Chain { first: *const *mut u8, next: usize },
}

// SAFETY: all are addresses and offsets within the VM, which never move.
unsafe impl Send for BytesUntilSample {}
// SAFETY: as above.
unsafe impl Sync for BytesUntilSample {}

impl BytesUntilSample {
    /// Finds them, and verifies the position on two short-lived threads. The interval is [`Interval::Every`]
    /// afterwards.
    pub fn find(env: Env, jni: Jni<'_>, agent_threads: &AgentThreads) -> Option<Self> {
        let structs = env.tested_vm()?.structs();
        let allocated_bytes = structs.offset(c"Thread", c"_allocated_bytes")?;
        let found = Self {
            threads: ThreadList::find(structs)?,
            offset: allocated_bytes + size_of::<u64>(),
        };
        let drawn = |interval| {
            env.set_allocation_interval(interval).ok()?;
            found.of_a_new_thread(env, jni, agent_threads)
        };
        let fits = |number: u64| DRAWN.contains(&number);
        let sampled = drawn(Interval::Bytes(TRIED)).is_some_and(fits);
        let every = drawn(Interval::Every);
        // JDK 11 draws 1, and still sends an event for every allocation.
        let all = every.is_some_and(|number| number <= 1);
        (sampled && all).then_some(found)
    }

    /// Returns the number that the VM draws for a thread that starts now.
    fn of_a_new_thread(self, env: Env, jni: Jni<'_>, agent_threads: &AgentThreads) -> Option<u64> {
        // A channel of the standard library would end the process where there is no memory for it.
        let answer = Arc::new((Mutex::<_, rank::TrialThread>::new(None), Condvar::new()));
        let own_answer = answer.clone();
        agent_threads
            .run(env, jni, "HPROF trial", move |jni| {
                let thread = env.current_thread(jni).ok().flatten();
                let address = thread.and_then(|thread| jni.native_thread(thread.object()));
                // SAFETY: the address is that of the current thread in the VM, and a thread is larger than that.
                let number = address
                    .map(|thread| unsafe { thread.add(self.offset).cast::<u64>().read_volatile() });
                *own_answer.0.lock() = Some(number);
                own_answer.1.notify_all();
            })
            .ok()?;
        let (number, answered) = &*answer;
        let mut number = number.lock();
        answered.wait_while_for(&mut number, |number| number.is_none(), TIMEOUT);
        number.flatten()
    }

    /// Makes every thread's next allocation send an event. No thread of the program runs while `_pause` lasts.
    pub fn clear(&self, _pause: GcPause<'_>) {
        let clear = |thread: *mut u8| {
            // SAFETY: the thread is in the list, so it is alive, and does not run. The field was tried by `find`.
            unsafe { thread.add(self.offset).cast::<u64>().write_volatile(0) };
        };
        // SAFETY: while the VM is stopped, it holds the lock of the list; the offsets are those of its own tables.
        unsafe {
            match self.threads {
                ThreadList::Array {
                    list,
                    length,
                    elements,
                } => {
                    let list = *list;
                    let length = list.add(length).cast::<u32>().read();
                    let elements = list.add(elements).cast::<*const *mut u8>().read();
                    (0..length as usize).for_each(|index| clear(elements.add(index).read()));
                }
                ThreadList::Chain { first, next } => {
                    let mut thread = *first;
                    while !thread.is_null() {
                        clear(thread);
                        thread = thread.add(next).cast::<*mut u8>().read();
                    }
                }
            }
        }
    }
}

impl ThreadList {
    fn find(structs: VmStructs) -> Option<Self> {
        let field = |type_name, name| structs.field(type_name, name);
        if let Some(list) = field(c"ThreadsSMRSupport", c"_java_thread_list") {
            return Some(Self::Array {
                list: list.not_null()?.cast(),
                length: field(c"ThreadsList", c"_length")?.offset,
                elements: field(c"ThreadsList", c"_threads")?.offset,
            });
        }
        Some(Self::Chain {
            first: field(c"Threads", c"_thread_list")?.not_null()?.cast(),
            next: field(c"JavaThread", c"_next")?.offset,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the number that HotSpot derives from a random number.
    fn drawn(q: u32) -> u64 {
        const STEPS: f64 = 1024.0;
        let q = f64::from(q);
        let exponent = q.log2().floor();
        let step = ((q / exponent.exp2() - 1.0) * STEPS).floor();
        let log = exponent + (1.0 + (step + 0.5) / STEPS).log2();
        ((log - 26.0).min(0.0) * (-std::f64::consts::LN_2 * f64::from(TRIED))) as u64 + 1
    }

    #[test]
    fn whatever_the_vm_draws_fits_the_interval() {
        let every_step = (1..1 << 26).step_by(1 << 12);
        for q in every_step.chain([2, 3, (1 << 26) - 1]) {
            assert!(DRAWN.contains(&drawn(q)), "{q}: {}", drawn(q));
        }
        assert_eq!(drawn(1 << 26), 1);
    }
}
