//! Periods of a profile: each has an output of its own, and their values add up to the whole.
//!
//! At the end of a period a dump is made, after which everything is counted anew. Then the journal goes on in the next
//! output. Nothing stops meanwhile: what is counted between the two is in the dump of the next period, and what happens
//! is in one of the two outputs.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Session;
use super::destination::{OpenDestination, PeriodLength, Rotation};
use super::lifecycle::GATE;
use crate::engines::{Moment, Totals, Worker};
use crate::jvmti::{Jni, JvmtiError};

/// The interval at which the size of the output is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Runs the thread for periods. Each end of a period passes the gate, so the end of the session waits for it.
fn end_periods(jni: Jni<'_>, thread: &Worker, length: PeriodLength) {
    loop {
        let pause = match length {
            PeriodLength::Time(time) => time,
            PeriodLength::Bytes(_) => POLL_INTERVAL,
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
        if let Some(Rotation { length, .. }) = self.rotation {
            self.period_thread.start(
                &self.agent_threads,
                self.env,
                jni,
                "HPROF periods",
                move |jni, thread| end_periods(jni, thread, length),
            )?;
        }
        let Some(timeout) = &self.timeout else {
            return Ok(());
        };
        let stop = timeout.stop.clone();
        let end = self.status.since + timeout.after;
        self.timeout_thread.start(
            &self.agent_threads,
            self.env,
            jni,
            "HPROF timeout",
            move |jni, thread| {
                // The session may have ended in the meantime, by a stop or by its timeout.
                if thread.sleep_until(end) {
                    stop(jni, &|| {
                        let is_running = thread.sleep_until(Instant::now());
                        if is_running {
                            GATE.run(|session| session.timed_out.store(true, Ordering::Relaxed));
                        }
                        is_running
                    });
                }
            },
        )
    }

    /// Ends the threads that [`Session::start_clocks`] has started.
    pub(super) fn stop_clocks(&self) {
        self.period_thread.stop();
        // The thread that ends the session may be one of them and cannot wait for itself.
        if !self.timed_out.load(Ordering::Relaxed) {
            self.timeout_thread.stop();
        }
    }

    /// Tells them to stop without waiting for them.
    pub(super) fn ask_clocks_to_stop(&self) {
        self.period_thread.ask_to_stop();
        self.timeout_thread.ask_to_stop();
    }

    fn end_period_if_due(&self, jni: Jni<'_>) {
        let Some(rotation) = &self.rotation else {
            return;
        };
        let is_due = match rotation.length {
            PeriodLength::Time(_) => true,
            PeriodLength::Bytes(bytes) => self.journal.bytes() >= bytes || !self.journal.is_sound(),
        };
        if is_due {
            self.end_period(jni, rotation);
        }
    }

    /// Ends a period. It goes on if the next output cannot be opened. If the period's own output has failed, nothing is
    /// written: the values count in the next period.
    fn end_period(&self, jni: Jni<'_>, rotation: &Rotation) {
        let Some((destination, writer)) = (rotation.next)() else {
            return;
        };
        let new = OpenDestination::new(destination);
        let listener = new.listener.clone();
        let (old, writer, _closing) = {
            let _dumping = self.dumping.lock();
            if self.journal.is_sound() {
                self.dump(jni, Moment::Running, Totals::EndPeriod);
            }
            let number = self.period.fetch_add(1, Ordering::Relaxed) + 1;
            let old = std::mem::replace(&mut *self.destination.lock(), new);
            let note = end_note(number, self.status.since.elapsed());
            (
                old,
                self.journal.start_period(writer, &note),
                self.closing.lock(),
            )
        };
        // `hprof status` shows the new output.
        self.journal.flush();
        writer.close();
        old.finish(writer.is_sound());
        if let Some(listener) = listener {
            // Without the thread no command is carried out, but the profile goes on.
            let _ = listener.start(&self.agent_threads, self.env, jni);
        }
    }

    /// Returns the text of the output's last line.
    pub(super) fn last_note(&self) -> String {
        let length = self.status.since.elapsed();
        match self.period.load(Ordering::Relaxed) {
            0 => format!("end of the profile, after {:.3} s", length.as_secs_f64()),
            ended => end_note(ended + 1, length),
        }
    }
}

fn end_note(number: u32, length: Duration) -> String {
    let seconds = length.as_secs_f64();
    format!("end of period {number} of the profile, after {seconds:.3} s")
}
