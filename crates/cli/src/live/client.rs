//! The session in the program, and the connection over which its snapshots come.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hprof_format::{Section, TextItem, TextReader};

use super::model::Model;
use crate::attach::Session;
use crate::failure::Failure;
use crate::record::BUDGET;

/// The longest that a snapshot may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest that the end of the session may take.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// The measurements other than CPU samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Allocation sites, by a sample.
    pub allocation: bool,
    /// Contended monitors.
    pub locks: bool,
    /// Native allocations, by a sample.
    pub native: bool,
}

impl Measured {
    /// Returns what a word of the command line means.
    pub fn parse(word: &str) -> Option<Self> {
        let (allocation, locks, native) = match word {
            "cpu" => (false, false, false),
            "alloc" => (true, false, false),
            "locks" => (false, true, false),
            "native" => (false, false, true),
            "all" => (true, true, true),
            _ => return None,
        };
        Some(Self {
            allocation,
            locks,
            native,
        })
    }

    /// Returns the agent's options, except for the connection. The cutoff bounds a snapshot: a table has at most a row for
    /// each thousandth of one of its columns, and the folded rows those become.
    fn options(self) -> String {
        let mut options =
            "cpu=samples,vmthreads=y,depth=512,cutoff=0.001,fold=y,verbose=n".to_owned();
        if self.allocation {
            options.push_str(",heap=sites,sample=512k,gc=n,");
            options.push_str(BUDGET);
        }
        if self.locks {
            options.push_str(",monitor=y");
        }
        if self.native {
            options.push_str(",native=malloc");
        }
        options
    }
}

/// A message from the connection.
enum Heard {
    Snapshot,
    /// The agent has ended the session.
    End,
    /// A message that cannot be read.
    Broken(String),
}

/// The state of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Nothing has changed.
    None,
    /// There is another interval.
    Interval,
    /// The program has ended.
    ProgramOver,
}

/// A session in the program. It ends on drop, and when this process is killed.
pub struct Client<'a> {
    session: &'a Session,
    stream: UnixStream,
    model: Arc<Mutex<Model>>,
    heard: Receiver<Heard>,
    /// The time of the last request that has not been answered.
    asked: Option<Instant>,
    has_ended: bool,
}

impl<'a> Client<'a> {
    /// Starts a session.
    pub fn start(session: &'a Session, measured: Measured) -> Result<Self, Failure> {
        let stream = session.start_live(&measured.options())?;
        // A request is one byte, for which there is room unless the agent takes nothing at all.
        let _ = stream.set_write_timeout(Some(LEAVE_TIMEOUT));
        let mut model = Model::new();
        model.begin(&session.threads());
        let model = Arc::new(Mutex::new(model));
        let (send, heard) = mpsc::channel();
        let failed = |error| Failure::Message(format!("the connection to the agent: {error}"));
        let source = stream.try_clone().map_err(failed)?;
        let shared = model.clone();
        thread::Builder::new()
            .name("snapshots".to_owned())
            .spawn(move || read(source, &shared, &send))
            .map_err(failed)?;
        Ok(Self {
            session,
            stream,
            model,
            heard,
            asked: None,
            has_ended: false,
        })
    }

    /// Returns what is known. While a snapshot is on its way, this waits for its current record.
    pub fn model(&self) -> MutexGuard<'_, Model> {
        lock(&self.model)
    }

    /// Asks for a snapshot, unless one is on its way.
    pub fn ask(&mut self) -> Result<(), Failure> {
        match self.asked {
            None => {
                self.asked = Some(Instant::now());
                // If the agent has ended the session, the end explains it.
                let _ = self.stream.write_all(b".");
                Ok(())
            }
            Some(asked) if asked.elapsed() < TIMEOUT => Ok(()),
            Some(_) => Err(Failure::Message(format!(
                "the agent has not answered for {} s",
                TIMEOUT.as_secs()
            ))),
        }
    }

    /// Waits for news, for a limited time. A paused view keeps the interval that it shows.
    pub fn news(&mut self, longest: Duration, is_paused: bool) -> Result<News, Failure> {
        match self.heard.recv_timeout(longest) {
            Ok(Heard::Snapshot) => {
                self.asked = None;
                let threads = self.session.threads();
                self.model().snapshot(Instant::now(), threads, is_paused);
                Ok(News::Interval)
            }
            Ok(Heard::Broken(reason)) => Err(Failure::Message(format!(
                "the agent's answer cannot be read: {reason}"
            ))),
            Err(RecvTimeoutError::Timeout) => Ok(News::None),
            Ok(Heard::End) | Err(RecvTimeoutError::Disconnected) => {
                self.has_ended = true;
                match self.session.is_ending() {
                    true => Ok(News::ProgramOver),
                    false => Err(Failure::Message(
                        "the session was ended in the program, by `hprof stop` or by the agent, whose reason is on the \
                         program's stderr"
                            .to_owned(),
                    )),
                }
            }
        }
    }

    /// Ends the session, and waits until the agent has given everything back.
    pub fn leave(&mut self) {
        if self.has_ended {
            return;
        }
        self.has_ended = true;
        let _ = self.stream.shutdown(Shutdown::Write);
        let end = Instant::now() + LEAVE_TIMEOUT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.heard.recv_timeout(left) {
                Ok(Heard::Snapshot) => {}
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.session.stop_within(LEAVE_TIMEOUT);
                    return;
                }
                Ok(Heard::End | Heard::Broken(_)) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

fn lock(model: &Mutex<Model>) -> MutexGuard<'_, Model> {
    // A model is only numbers: a panic leaves none that would be dangerous.
    model.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(source: UnixStream, model: &Mutex<Model>, send: &Sender<Heard>) {
    let last = match try_to_read(source, model, send) {
        Ok(()) => Heard::End,
        Err(error) => Heard::Broken(error.to_string()),
    };
    // Nobody listens any more if this process ends.
    let _ = send.send(last);
}

fn try_to_read(
    source: UnixStream,
    model: &Mutex<Model>,
    send: &Sender<Heard>,
) -> Result<(), hprof_format::TextError> {
    let mut reader = TextReader::new(source)?;
    lock(model).created(reader.time().0);
    while let Some(entry) = reader.read()? {
        if is_end_of_snapshot(&entry.item) {
            let _ = send.send(Heard::Snapshot);
            continue;
        }
        lock(model).take(&entry.item);
    }
    Ok(())
}

fn is_end_of_snapshot(item: &TextItem) -> bool {
    match item {
        TextItem::Record(record) => Section::of(record) == Some(Section::EndOfSnapshot),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_measured() {
        let options = |word| Measured::parse(word).map(Measured::options);
        for (word, allocation, locks) in [
            ("cpu", false, false),
            ("alloc", true, false),
            ("locks", false, true),
            ("all", true, true),
        ] {
            let options = options(word).expect("a word");
            assert!(options.starts_with("cpu=samples,"), "{options}");
            for option in [",sample=512k", ",budget=20%"] {
                assert_eq!(options.contains(option), allocation, "{options}");
            }
            assert_eq!(options.contains(",monitor=y"), locks, "{options}");
        }
        assert_eq!(options("heap"), None);
    }
}
