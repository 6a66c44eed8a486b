//! Periods of a profile: each has an output of its own, and their values add up to the whole.
//!
//! At the end of a period a dump is made, after which everything is counted anew. Then the journal continues in the next
//! output. Nothing stops meanwhile: what is counted between the two is in the dump of the next period, and what happens
//! is in one of the two outputs.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hprof_format::Note;

use super::destination::Destination;
use super::lifecycle::GATE;
use super::state::Session;
use crate::engines::{Moment, Totals, Worker};
use jvmti::{Jni, JvmtiError};
use options::Rotate;

/// The interval at which the size of the output is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Runs the thread for periods. Each end of a period passes the gate, so the end of the session waits for it.
fn end_periods(jni: Jni<'_>, thread: &Worker, rotate: Rotate) {
    loop {
        let pause = match rotate {
            Rotate::Every(time) => time,
            Rotate::Bytes(_) => POLL_INTERVAL,
        };
        if !thread.sleep_until(Instant::now() + pause) {
            return;
        }
        GATE.run(|session| session.end_period_if_due(jni));
    }
}

impl Session {
    /// Starts the threads for `rotate=` and `timeout=`.
    pub(super) fn start_clocks(&self, jni: Jni<'_>) -> Result<(), JvmtiError> {
        if let Some(rotate) = self.context.options.rotate {
            self.clocks.periods.start(
                &self.context.agent_threads,
                self.context.env,
                jni,
                "HPROF periods",
                move |jni, thread| end_periods(jni, thread, rotate),
            )?;
        }
        let Some(timeout) = self.context.options.timeout else {
            return Ok(());
        };
        let owner = self.owner.clone();
        let end = self.status.since + timeout;
        self.clocks.timeout.start(
            &self.context.agent_threads,
            self.context.env,
            jni,
            "HPROF timeout",
            move |jni, thread| {
                // The session may have ended in the meantime, by a stop or by its timeout.
                if thread.sleep_until(end) {
                    owner.time_is_up(jni, &|| {
                        let is_running = thread.sleep_until(Instant::now());
                        if is_running {
                            GATE.run(|session| session.clocks.time_is_up());
                        }
                        is_running
                    });
                }
            },
        )
    }

    fn end_period_if_due(&self, jni: Jni<'_>) {
        let Some(rotate) = self.context.options.rotate else {
            return;
        };
        let is_due = match rotate {
            Rotate::Every(_) => true,
            Rotate::Bytes(bytes) => {
                self.context.journal.bytes() >= bytes || !self.context.journal.is_sound()
            }
        };
        if is_due {
            self.end_period(jni);
        }
    }

    /// Ends a period. It continues if the next output cannot be opened. If the period's own output has failed, nothing is
    /// written: the values count in the next period.
    fn end_period(&self, jni: Jni<'_>) {
        let Some((new, writer)) = self.owner.open_next() else {
            return;
        };
        let listener = new.listener().cloned();
        let (old, writer, _closing) = {
            let _dumping = self.dumps.lock();
            if self.context.journal.is_sound() {
                self.dump(jni, Moment::Running, Totals::EndPeriod);
            }
            let number = self.period.fetch_add(1, Ordering::Relaxed) + 1;
            let old = std::mem::replace(&mut *self.destination.lock(), new);
            let note = end_note(number, self.status.since.elapsed());
            (
                old,
                self.context.journal.start_period(writer, &note),
                self.closing.lock(),
            )
        };
        // `hprof status` shows the new output.
        self.context.journal.flush();
        writer.close();
        self.closed(&old, writer.is_sound());
        if let Some(listener) = listener {
            // Without the thread no command is carried out, but the profile continues.
            let _ = self.listen(jni, &listener);
        }
    }

    /// Tells whoever is concerned that an output has been closed.
    pub(super) fn closed(&self, destination: &Destination, is_whole: bool) {
        if let Some(listener) = destination.listener() {
            listener.finish();
        }
        self.owner.closed(destination.file(), is_whole);
    }

    /// Returns the text of the output's last line.
    pub(super) fn last_note(&self) -> String {
        let length = self.status.since.elapsed();
        match self.period.load(Ordering::Relaxed) {
            0 => Note::of_end(length).text.into_owned(),
            ended => end_note(ended + 1, length),
        }
    }
}

fn end_note(number: u32, length: Duration) -> String {
    let seconds = length.as_secs_f64();
    format!("end of period {number} of the profile, after {seconds:.3} s")
}
