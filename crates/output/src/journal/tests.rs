//! Tests of the journal.

use std::io;
use std::sync::atomic::AtomicBool;

use hprof_format::{Millis, TextEncoder};

use super::*;
use crate::Sink;
use crate::testing::{Memory, journal, lines, place};
use names::trace::TraceKey;

/// Takes nothing before the other end is gone.
struct Stuck(std::sync::mpsc::Receiver<()>, Memory);

impl Sink for Stuck {
    fn name(&self) -> String {
        "stuck".to_owned()
    }

    fn write(&mut self, piece: &[u8], is_ending: &AtomicBool) -> io::Result<()> {
        let _ = self.0.recv();
        self.1.write(piece, is_ending)
    }

    fn finish(&mut self, _: &AtomicBool) -> io::Result<()> {
        Ok(())
    }
}

/// Starts so many threads while nothing can be written; returns the profile, and whether it is whole.
fn events_while_stuck(events: usize) -> (String, bool) {
    let bytes = Arc::new(std::sync::Mutex::default());
    let (end, stuck) = std::sync::mpsc::channel();
    let journal = journal(Box::new(Stuck(stuck, Memory(bytes.clone()))));
    for _ in 0..events {
        let thread = journal.tables.threads.add();
        journal.thread_started(thread, ThreadNames::default());
    }
    drop(end);
    let is_whole = journal.close();
    let text = String::from_utf8(bytes.lock().expect("no panic").clone()).expect("UTF-8");
    (text, is_whole)
}

/// More than the queue holds: an event that waited for the destination would never return here.
#[test]
fn events_go_on_while_the_destination_takes_nothing() {
    let events = 40_000;
    let (text, is_whole) = events_while_stuck(events);
    assert!(is_whole);
    assert_eq!(text.matches("THREAD START (").count(), events);
}

#[test]
fn a_profile_ends_when_too_much_happens_meanwhile() {
    let events = 120_000;
    let (text, is_whole) = events_while_stuck(events);
    assert!(!is_whole);
    let written = text.matches("THREAD START (").count();
    assert!(written > 65_536 && written < events, "{written}");
    let last = text.lines().last().expect("a line");
    assert!(last.contains("the profile ends here"), "{last}");
}

#[test]
fn a_companion_has_the_threads_that_its_traces_name() {
    let mut companion = Vec::new();
    lines(|journal| {
        let bytes = Arc::new(std::sync::Mutex::default());
        let sink = Box::new(Memory(bytes.clone()));
        let writer =
            Writer::start(Box::new(TextEncoder::new()), sink, Millis(0), false).expect("a thread");
        let other = journal.companion(writer, false);
        let [named, _other] = [1, 2].map(|_| {
            let thread = journal.tables.threads.add();
            journal.thread_started(thread, ThreadNames::default());
            thread
        });
        for _ in 0..2 {
            let trace = journal.tables.traces.intern(TraceKey {
                thread: Some(named),
                frames: &[],
            });
            other.entry(|entry| entry.trace(trace));
            other.entry(|entry| entry.thread(named));
        }
        assert!(other.close());
        let text = String::from_utf8(bytes.lock().expect("no panic").clone()).expect("UTF-8");
        companion = text.lines().map(str::to_owned).collect();
    });
    let start = place(&companion, "THREAD START");
    let trace = place(&companion, "TRACE 300001: (thread=200001)");
    assert!(start < trace, "{companion:#?}");
}

#[test]
fn a_thread_that_starts_within_a_heap_dump_stands_before_its_trace() {
    let lines = lines(|journal| {
        let thread = journal.tables.threads.add();
        let dump = journal.hold_events();
        std::thread::scope(|scope| {
            scope.spawn(|| journal.thread_started(thread, ThreadNames::default()));
        });
        let trace = journal.tables.traces.intern(TraceKey {
            thread: Some(thread),
            frames: &[],
        });
        journal.entry(|entry| entry.trace(trace));
        drop(dump);
    });
    let start = place(&lines, "THREAD START");
    let trace = place(&lines, "TRACE 300001: (thread=200001)");
    assert!(start < trace, "{lines:#?}");
}

/// A thread may be in `ThreadRegistry::registering` while it waits for the end of a heap dump.
#[test]
#[cfg(debug_assertions)]
fn whoever_dumps_neither_registers_a_thread_nor_waits_for_its_own_dump() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let refused = |journal: &Journal, broken: &dyn Fn()| {
        let _dump = journal.hold_events();
        catch_unwind(AssertUnwindSafe(broken)).is_err()
    };
    lines(|journal| {
        let registering = Mutex::<(), rank::Registering>::new(());
        assert!(refused(journal, &|| drop(registering.lock())));
        assert!(refused(journal, &|| journal.happened(|_| {})));
        assert!(!refused(journal, &|| journal.entry(|_| {})));
        // Others may come with that lock, and without those that a dump takes.
        let _registering = registering.lock();
        journal.happened(|_| {});
        let names = Mutex::<(), rank::StackNames>::new(());
        let _names = names.lock();
        let broken = AssertUnwindSafe(|| journal.happened(|_| {}));
        assert!(catch_unwind(broken).is_err());
    });
}
