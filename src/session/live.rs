//! A session for `hprof live`: it writes nothing but the snapshots that its client asks for, and ends with it.

use hprof_format::Section;

use crate::engines::{Moment, Totals};
use jvmti::{Jni, JvmtiError};
use output::ClientRequests;

use super::lifecycle::GATE;
use super::state::Session;

impl Session {
    /// Starts the thread that answers the client, and ends the session when there is no client any more: it was killed,
    /// or asks for nothing.
    pub(super) fn answer(
        &self,
        jni: Jni<'_>,
        mut requests: ClientRequests,
    ) -> Result<(), JvmtiError> {
        let since = self.status.since;
        let is_running = move || GATE.run(|session| session.status.since == since) == Some(true);
        let owner = self.owner.clone();
        let answer = move |jni: Jni<'_>| {
            while requests.wait(is_running) {
                GATE.run(|session| {
                    if session.status.since == since {
                        session.snapshot(jni);
                    }
                });
            }
            owner.client_has_gone(jni, &is_running);
        };
        let context = &self.context;
        context
            .agent_threads
            .run(context.env, jni, "HPROF live", answer)
    }

    /// Writes the costs since the previous snapshot, and the live objects.
    fn snapshot(&self, jni: Jni<'_>) {
        {
            let _dumping = self.dumps.lock();
            self.dump(jni, Moment::Running, Totals::EndPeriod);
            let journal = &self.context.journal;
            journal.entry(|entry| entry.section(&Section::EndOfSnapshot));
        }
        self.context.journal.flush();
    }

    /// Returns `true` if a client asks for all that is written.
    pub(super) fn is_live(&self) -> bool {
        self.context.options.live.is_some()
    }
}
