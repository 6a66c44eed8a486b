//! Looks at the memory of the program, again and again, on a thread of its own: a stopped VM stops no page.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use hprof_footprint::Course;

use crate::attach::Session;
use crate::memory::{Look, period};

/// What the looks have found.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The accounts.
    pub course: Course,
    /// The time between two looks, as of the last one.
    pub period: Duration,
    /// The CPU time that the last look has cost the program, if the system knows it.
    pub cost: Option<Duration>,
    /// The reason why the last look has failed.
    pub failure: Option<String>,
}

/// The looks. They end on drop.
pub struct Watch {
    seen: Arc<Mutex<Arc<Seen>>>,
    _end: Sender<()>,
}

impl Watch {
    /// Begins to look, at most once in `interval`.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        session: &'scope Session,
        interval: Duration,
    ) -> std::io::Result<Self> {
        let seen = Arc::new(Mutex::new(Arc::new(Seen {
            period: interval,
            ..Seen::default()
        })));
        let (end, ended) = mpsc::channel();
        let shared = seen.clone();
        thread::Builder::new()
            .name("memory".to_owned())
            .spawn_scoped(scope, move || look(session, interval, &shared, &ended))?;
        Ok(Self { seen, _end: end })
    }

    /// Returns what has been found.
    pub fn seen(&self) -> Arc<Seen> {
        // It is replaced as a whole.
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn look(session: &Session, interval: Duration, shared: &Mutex<Arc<Seen>>, ended: &Receiver<()>) {
    let mut seen = Seen::default();
    loop {
        match Look::at(session) {
            Ok(Look { account, cost }) => {
                seen.course.push(account);
                seen.failure = None;
                // The first look may have loaded the agent, or the VM may just have started its thread for that.
                seen.cost = cost.filter(|_| seen.course.accounts().len() > 1);
            }
            Err(failure) => seen.failure = Some(failure.message().unwrap_or_default().to_owned()),
        }
        seen.period = period(seen.cost, interval);
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(seen.clone());
        if !matches!(
            ended.recv_timeout(seen.period),
            Err(RecvTimeoutError::Timeout)
        ) {
            return;
        }
    }
}
