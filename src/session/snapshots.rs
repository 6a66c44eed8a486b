//! `blackbox=`: what is known goes into a file next to the profile every second or a few, for the case that the process is killed.
//!
//! A thread of the agent encodes a whole profile into memory, within the gate, and writes it into the file when it has
//! left the gate and holds no lock. So a disk that hangs holds up nothing but this thread: neither a thread of the
//! program nor the end of the session waits for it.

use std::time::{Duration, Instant};

use hprof_format::{Encoder, Millis, Snapshot};

use super::destination::BlackBoxOutput;
use super::footprint::MemoryCourse;
use super::growth::Growth;
use super::lifecycle::GATE;
use super::state::Session;
use crate::engines::Worker;
use jvmti::{Jni, JvmtiError, own_cpu_time};
use output::console;
use output::{SnapshotBuffer, Writer, now};

/// The shortest time between two snapshots.
const INTERVAL: Duration = Duration::from_secs(1);
/// The longest time between two snapshots.
const LONGEST_INTERVAL: Duration = Duration::from_secs(30);
/// The thread rests this many times as long as a snapshot has taken of a CPU.
const REST: u32 = 200;
/// Rows are left out whose values are smaller shares of their totals.
const LEAST: f64 = 0.0005;
/// The factor by which that grows as long as a snapshot is too large for the file.
const GROWTH: f64 = 4.0;

/// Writes the snapshots of one session.
struct Recorder {
    output: BlackBoxOutput,
    /// The beginning of the session.
    since: Instant,
    growth: Growth,
    memory: MemoryCourse,
    sequence: u64,
    least: f64,
    /// The last sweep that is known.
    swept: Option<Millis>,
}

/// The latest data about a session.
struct SessionData {
    profile: Option<Vec<u8>>,
    live: Option<u64>,
    swept: Option<Millis>,
}

impl Session {
    /// Opens the file, and starts the thread that writes it. Without the file the profile continues.
    pub(super) fn start_black_box(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        if !self.context.options.black_box {
            return Ok(());
        }
        let Some(output) = self.owner.open_black_box() else {
            return Ok(());
        };
        self.black_box.opened(&output.file);
        let mut recorder = Recorder {
            output,
            since: self.status.since,
            growth: Growth::new(self.context.env),
            memory: MemoryCourse::new(self.context.env, self.status.since),
            sequence: 0,
            least: LEAST,
            swept: None,
        };
        self.black_box.thread.start(
            &self.context.agent_threads,
            self.context.env,
            jni,
            "HPROF black box",
            move |jni, thread| recorder.run(jni, thread),
        )
    }

    /// Leaves the file where it is when the profile ends, because the VM could not go on.
    pub(super) fn keep_black_box(&self) {
        self.black_box.keep();
    }

    /// Removes the file when the profile has ended well.
    pub(super) fn end_black_box(&self, is_whole: bool) {
        self.black_box.thread.ask_to_stop();
        if is_whole && !GATE.has_panicked() {
            self.black_box.remove();
        }
    }

    /// Makes the live objects exact as of the last sweep, unless they are so since the one before, and adds those that were made
    /// since.
    fn look_at_objects(&self, jni: Jni<'_>, last: &mut Option<Millis>) {
        if let Some(tracker) = &self.engines.allocations {
            tracker.count_recent(jni);
            let (_, swept) = tracker.known_live();
            if swept != *last {
                tracker.sweep_old(jni);
                *last = swept;
            }
        }
    }

    /// Encodes what is known, without the VM.
    fn known(&self, encoder: Box<dyn Encoder>, least: f64) -> SessionData {
        let buffer = SnapshotBuffer::default();
        let since = self.status.since;
        let length = since.elapsed();
        let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        let begun = Millis(now().0.saturating_sub(millis));
        let writer = Writer::since(encoder, Box::new(buffer.clone()), begun, since);
        let journal = self.context.journal.snapshot(writer);
        for reporter in self.engines.reporters_without_vm() {
            reporter.report_known(&journal, least);
        }
        let length = length.as_secs_f64();
        let end = format!("end of a snapshot of the profile, after {length:.3} s");
        let mut notes = self.black_box.looks.lock().notes();
        notes.push(end);
        let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
        journal.ended(&notes);
        journal.close();
        let known = self.engines.allocations.as_ref();
        let known = known.map(|tracker| tracker.known_live());
        SessionData {
            profile: buffer.take(),
            live: known.map(|(live, _)| live),
            swept: known.and_then(|(_, swept)| swept),
        }
    }
}

impl Recorder {
    fn run(&mut self, jni: Jni<'_>, thread: &Worker) {
        loop {
            let begun = own_cpu_time();
            self.growth.look(now());
            let Some(known) = self.ask(jni) else {
                return;
            };
            let spent = Duration::from_nanos(own_cpu_time().saturating_sub(begun));
            if self.write(jni, known).is_err() {
                return;
            }
            let rest = (spent * REST).clamp(INTERVAL, LONGEST_INTERVAL);
            if !thread.sleep_until(Instant::now() + rest) {
                return;
            }
        }
    }

    /// Returns what the session knows, in a form that fits; `None` if the session has ended.
    fn ask(&mut self, jni: Jni<'_>) -> Option<SessionData> {
        loop {
            let known = GATE.run(|session| {
                let is_same = session.status.since == self.since;
                is_same.then(|| {
                    session.look_at_objects(jni, &mut self.swept);
                    session.known((self.output.encoder)(), self.least)
                })
            });
            let known = known??;
            // With no row at all there are only facts about the run, which may be too long.
            if known.profile.is_some() || self.least > 1.0 {
                return Some(known);
            }
            self.least *= GROWTH;
        }
    }

    fn write(&mut self, jni: Jni<'_>, known: SessionData) -> Result<(), ()> {
        if let Some(live) = known.live {
            self.growth.know_live(live);
        }
        self.sequence += 1;
        if let Some(look) = self.memory.look(jni) {
            GATE.run(|session| {
                if session.status.since == self.since {
                    session.black_box.looks.lock().add(look);
                }
            });
        }
        let mut snapshot = Snapshot {
            sequence: self.sequence,
            time: now(),
            swept: known.swept,
            growth: self.growth.samples(),
            profile: known.profile.as_deref().unwrap_or_default(),
            memory: self.memory.text().as_bytes(),
        };
        let file = &self.output.file;
        let mut written = file.write(&snapshot);
        if matches!(written, Ok(false)) {
            // A little too large: there is no room for it and the growth.
            self.least *= GROWTH;
            snapshot.profile = &[];
            written = file.write(&snapshot);
        }
        written.map(drop).map_err(|error| {
            let path = file.path().display();
            console::line(format_args!(
                "{path}: {error}; the black box ends here, the profile continues"
            ));
        })
    }
}
