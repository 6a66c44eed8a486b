//! The growth of the process: what the VM and the system tell about its memory without being stopped.

use std::collections::VecDeque;
use std::fs;

use hprof_format::{GrowthSample, MOST_GROWTH_SAMPLES, Millis};

use crate::os::page_size;
use jvmti::{Env, HeapSize, VmMemory};

/// The places of two numbers in `/proc/self/stat`, counted from the one after the name of the program.
const THREADS: usize = 17;
const RESIDENT_PAGES: usize = 21;

/// Looks at the process, and remembers the last minutes.
pub(super) struct Growth {
    heap: Option<HeapSize>,
    memory: VmMemory,
    samples: VecDeque<GrowthSample>,
}

impl Growth {
    pub(super) fn new(env: Env) -> Self {
        Self {
            heap: HeapSize::find(env),
            memory: VmMemory::find(env),
            samples: VecDeque::with_capacity(MOST_GROWTH_SAMPLES),
        }
    }

    /// Adds a sample. Called on a thread of the VM, which may wait here until the VM continues.
    pub(super) fn look(&mut self, time: Millis) {
        let heap = self.heap.map(HeapSize::fill);
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        if self.samples.len() == MOST_GROWTH_SAMPLES {
            self.samples.pop_front();
        }
        let page = page_size() as u64;
        self.samples.push_back(GrowthSample {
            time,
            live: None,
            heap_used: heap.map(|heap| heap.used),
            heap_committed: heap.map(|heap| heap.committed),
            heap_limit: heap.map(|heap| heap.limit),
            resident: number(&stat, RESIDENT_PAGES).map(|pages| pages.saturating_mul(page)),
            metaspace: self.memory.metaspace(),
            code: self.memory.code(),
            threads: number(&stat, THREADS),
        });
    }

    /// Sets the live bytes of the last sample.
    pub(super) fn know_live(&mut self, bytes: u64) {
        if let Some(last) = self.samples.back_mut() {
            last.live = Some(bytes);
        }
    }

    /// Returns the samples, the oldest first.
    pub(super) fn samples(&mut self) -> &[GrowthSample] {
        self.samples.make_contiguous()
    }
}

/// Returns a number of `/proc/self/stat`. The name of the program, in brackets, may have any letters.
fn number(stat: &str, place: usize) -> Option<u64> {
    let (_, numbers) = stat.rsplit_once(") ")?;
    numbers.split(' ').nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_threads_and_pages() {
        let stat = "4711 (a) 1 (b) S 1 4711 4711 0 -1 4194560 20 0 0 0 1 2 0 0 20 0 33 0 \
                    100 5000000 1234 18446744073709551615 0 0";
        assert_eq!(number(stat, THREADS), Some(33));
        assert_eq!(number(stat, RESIDENT_PAGES), Some(1234));
        assert_eq!(number("", THREADS), None);
        let own = fs::read_to_string("/proc/self/stat").expect("Linux");
        assert!(number(&own, THREADS).is_some_and(|threads| (1..1000).contains(&threads)));
        assert!(number(&own, RESIDENT_PAGES).is_some_and(|pages| pages > 100));
    }
}
