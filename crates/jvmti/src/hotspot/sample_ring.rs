//! The queue in which a signal handler, or a hook, puts samples for a thread of the agent: of fixed size, for many writers
//! and one reader, by the sequence numbers of Dmitry Vyukov's bounded queue. A writer never waits; a full queue refuses.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cpu_timers::CallFrame;

/// The content of a slot besides the frames.
pub(super) trait SampleHead: Copy + Default + Send {
    /// Returns the number of frames; none, or a number below 0, if there are none.
    fn frames(&self) -> i32;
}

/// A sample as the reader receives it.
pub(super) struct Sample<'a, H> {
    pub(super) head: H,
    pub(super) frames: &'a [CallFrame],
}

/// A slot may be written at position p when its sequence is p, and read when it is p + 1.
struct Slot<H> {
    sequence: AtomicUsize,
    head: UnsafeCell<H>,
}

/// The queue. `H` is the content of a slot besides the frames.
pub(super) struct Ring<H> {
    slots: Box<[Slot<H>]>,
    /// The frames of all slots, the same number for each. The system supplies the memory when it is first written to,
    /// so deep slots cost only what is used of them.
    frames: *mut CallFrame,
    depth: usize,
    next_write: AtomicUsize,
    next_read: AtomicUsize,
}

// SAFETY: a slot belongs to the writer that claimed it until it is published, and then to the one reader until it is
// released; `sequence` hands it over.
unsafe impl<H: Copy + Send> Sync for Ring<H> {}
// SAFETY: as above; the memory is the ring's own.
unsafe impl<H: Copy + Send> Send for Ring<H> {}

/// A slot that its writer is filling.
pub(super) struct Claimed {
    position: usize,
}

impl<H: SampleHead> Ring<H> {
    /// Creates a queue of `slots` samples, a power of two, each with room for `depth` frames, at least one; `None` if
    /// the system has no memory for it. It bypasses the agent's allocator, which never fails.
    pub(super) fn new(slots: usize, depth: usize) -> Option<Self> {
        debug_assert!(slots.is_power_of_two() && depth > 0);
        let layout = frames_layout(slots, depth);
        // SAFETY: the layout has a size: there is a slot and a frame.
        let frames = unsafe { System.alloc_zeroed(layout) };
        if frames.is_null() {
            return None;
        }
        let slot = |position| Slot {
            sequence: AtomicUsize::new(position),
            head: UnsafeCell::default(),
        };
        Some(Self {
            slots: (0..slots).map(slot).collect(),
            frames: frames.cast(),
            depth,
            next_write: AtomicUsize::new(0),
            next_read: AtomicUsize::new(0),
        })
    }

    /// Returns the number of frames that fit into a slot. For the handler.
    #[inline(always)]
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    #[inline(always)]
    fn index(&self, position: usize) -> usize {
        position & (self.slots.len() - 1)
    }

    #[inline(always)]
    fn slot(&self, position: usize) -> &Slot<H> {
        // SAFETY: `index` is below the length. A checked access could panic, which the handler must not reference.
        unsafe { &*self.slots.as_ptr().add(self.index(position)) }
    }

    #[inline(always)]
    fn frames_of(&self, position: usize) -> *mut CallFrame {
        // SAFETY: there are `depth` frames for each slot.
        unsafe { self.frames.add(self.index(position) * self.depth) }
    }

    /// Claims a slot for the caller; `None` if all are taken. For the handler.
    #[inline(always)]
    pub(super) fn claim(&self) -> Option<Claimed> {
        let mut position = self.next_write.load(Ordering::Relaxed);
        loop {
            let sequence = self.slot(position).sequence.load(Ordering::Acquire);
            let ahead = sequence.wrapping_sub(position) as isize;
            if ahead < 0 {
                return None;
            }
            if ahead > 0 {
                position = self.next_write.load(Ordering::Relaxed);
                continue;
            }
            let next = position.wrapping_add(1);
            match self.next_write.compare_exchange_weak(
                position,
                next,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(Claimed { position }),
                Err(now) => position = now,
            }
        }
    }

    /// Returns the memory for the frames of a claimed slot, at most [`Ring::depth`]. For the handler.
    #[inline(always)]
    pub(super) fn room(&self, claimed: &Claimed) -> *mut CallFrame {
        self.frames_of(claimed.position)
    }

    /// Passes a slot to the reader. For the handler.
    #[inline(always)]
    pub(super) fn publish(&self, claimed: Claimed, head: H) {
        let slot = self.slot(claimed.position);
        // SAFETY: the slot is the writer's until the next line.
        unsafe { *slot.head.get() = head };
        slot.sequence
            .store(claimed.position.wrapping_add(1), Ordering::Release);
    }

    /// Takes out the available samples, oldest first, up to a slot that is still being written, and at most `most`.
    ///
    /// # Safety
    /// No other call may be running: there is only one reader.
    pub(super) unsafe fn read(&self, most: usize, mut each: impl FnMut(Sample<'_, H>)) {
        for _ in 0..most {
            let position = self.next_read.load(Ordering::Relaxed);
            let slot = self.slot(position);
            if slot.sequence.load(Ordering::Acquire) != position.wrapping_add(1) {
                return;
            }
            // SAFETY: the slot was published, and is the one reader's until it is released below.
            let sample = unsafe {
                let head = *slot.head.get();
                let count = usize::try_from(head.frames()).unwrap_or(0).min(self.depth);
                Sample {
                    head,
                    frames: std::slice::from_raw_parts(self.frames_of(position), count),
                }
            };
            each(sample);
            self.next_read
                .store(position.wrapping_add(1), Ordering::Relaxed);
            slot.sequence
                .store(position.wrapping_add(self.slots.len()), Ordering::Release);
        }
    }
}

impl<H> Drop for Ring<H> {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it by this layout.
        unsafe {
            System.dealloc(
                self.frames.cast(),
                frames_layout(self.slots.len(), self.depth),
            );
        }
    }
}

fn frames_layout(slots: usize, depth: usize) -> Layout {
    Layout::array::<CallFrame>(slots * depth)
        .expect("slots and depth are bounded by a few thousand")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;

    impl SampleHead for u32 {
        fn frames(&self) -> i32 {
            0
        }
    }

    fn read(ring: &Ring<u32>) -> Vec<u32> {
        let mut threads = Vec::new();
        // SAFETY: the test reads on one thread.
        unsafe { ring.read(usize::MAX, |sample| threads.push(sample.head)) };
        threads
    }

    #[test]
    fn samples_come_out_in_order_and_a_full_ring_refuses() {
        let ring = Ring::new(4, 1).expect("memory");
        for round in 0..3 {
            for sample in 0..4 {
                let claimed = ring.claim().expect("room");
                ring.publish(claimed, round * 4 + sample);
            }
            assert!(ring.claim().is_none(), "full");
            assert_eq!(read(&ring), (round * 4..round * 4 + 4).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_slot_that_is_being_written_keeps_those_after_it() {
        let ring = Ring::new(4, 1).expect("memory");
        let first = ring.claim().expect("room");
        let second = ring.claim().expect("room");
        ring.publish(second, 2);
        assert!(read(&ring).is_empty());
        ring.publish(first, 1);
        assert_eq!(read(&ring), [1, 2]);
    }

    #[test]
    fn writers_and_the_reader_lose_nothing_but_what_was_refused() {
        let ring = Ring::new(64, 1).expect("memory");
        let refused = AtomicU64::new(0);
        let mut sum = 0;
        thread::scope(|scope| {
            let write = || {
                for _ in 0..50_000 {
                    match ring.claim() {
                        Some(claimed) => ring.publish(claimed, 1),
                        None => {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            };
            let writers = [scope.spawn(write), scope.spawn(write), scope.spawn(write)];
            while !writers.iter().all(|writer| writer.is_finished()) {
                sum += read(&ring).len() as u64;
            }
        });
        sum += read(&ring).len() as u64;
        assert_eq!(sum + refused.load(Ordering::Relaxed), 150_000);
    }
}
