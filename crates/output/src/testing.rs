//! A profile in memory, for the tests of this crate and of those above it.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use hprof_format::{Millis, TextEncoder};

use crate::{ControlSettings, Journal, KeptThreads, Sink, Writer};

/// Takes everything.
#[derive(Clone, Default)]
pub(crate) struct Memory(pub(crate) Arc<Mutex<Vec<u8>>>);

impl Sink for Memory {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn write(&mut self, piece: &[u8], _: &AtomicBool) -> io::Result<()> {
        let mut bytes = self.0.lock().expect("no panic");
        bytes.extend_from_slice(piece);
        Ok(())
    }

    fn finish(&mut self, _: &AtomicBool) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the lines of a text profile that `write` wrote.
pub fn lines(write: impl FnOnce(&Journal)) -> Vec<String> {
    let bytes = Arc::new(Mutex::default());
    let journal = journal(Box::new(Memory(bytes.clone())));
    write(&journal);
    assert!(journal.close());
    let text = String::from_utf8(bytes.lock().expect("no panic").clone()).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

/// Starts a journal whose text goes to `sink`.
pub(crate) fn journal(sink: Box<dyn Sink>) -> Journal {
    let writer = Writer::start(Box::new(TextEncoder::new()), sink, Millis(0), false);
    let settings = ControlSettings {
        allocations: false,
        cpu_samples: false,
        heap_dump: false,
        depth: 4,
        threads: true,
        kept_threads: KeptThreads::Alive,
    };
    Journal::start(Arc::default(), writer.expect("a thread"), settings)
}

/// Returns the index of the only line that begins with `start`.
pub fn place(lines: &[String], start: &str) -> usize {
    let mut places = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with(start));
    let (place, _) = places
        .next()
        .unwrap_or_else(|| panic!("no {start} in {lines:#?}"));
    assert_eq!(places.next(), None, "{start} in {lines:#?}");
    place
}
