//! `net=host:port` and `compress=y`: the profile over a socket or through gzip, and the receiver's commands.

mod commands;
mod compress;
mod connections;
mod hostile;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use hprof_format::{
    AllocSite, Command, FrameRecord, Item, LoadClassRecord, Reader, Record, StringRecord,
    TraceRecord,
};
use parking_lot::Mutex;

use crate::harness::{Finished, Jvm, Program, Running};

/// A receiver that waits for its agent.
pub(super) struct Waiting {
    listener: TcpListener,
}

impl Waiting {
    pub(super) fn new() -> Self {
        Self::at("127.0.0.1:0").expect("a free port")
    }

    fn at(address: &str) -> std::io::Result<Self> {
        TcpListener::bind(address).map(|listener| Self { listener })
    }

    pub(super) fn option(&self) -> String {
        format!("net={}", self.listener.local_addr().expect("an address"))
    }

    /// Returns a program of `java-tests/net` whose agent connects here.
    fn program(&self, jvm: &Jvm, options: &str, name: &str) -> Program {
        let options = format!("{options},verbose=n,{}", self.option());
        Program::java(jvm, &options, &[]).program("net", name)
    }

    fn accept(&self) -> TcpStream {
        self.listener.accept().expect("the agent").0
    }
}

/// A receiver that reads everything and can send commands.
pub(super) struct TestReceiver {
    stream: TcpStream,
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl TestReceiver {
    pub(super) fn accept(waiting: &Waiting) -> Self {
        let stream = waiting.accept();
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let (end, ended) = channel();
        let (mut source, to_fill) = (stream.try_clone().expect("a stream"), bytes.clone());
        thread::spawn(move || {
            let mut piece = vec![0; 1 << 16];
            while let Ok(count @ 1..) = source.read(&mut piece) {
                to_fill.lock().extend_from_slice(&piece[..count]);
            }
            let _ = end.send(());
        });
        Self {
            stream,
            bytes,
            ended,
        }
    }

    fn send(&self, command: Command) {
        self.send_raw(&command.encode(1));
    }

    fn send_raw(&self, bytes: &[u8]) {
        (&self.stream).write_all(bytes).expect("the agent listens");
    }

    /// Returns the complete records received so far.
    fn records(&self) -> Vec<Record<'static>> {
        records(&self.bytes.lock())
    }

    /// Sends a command and waits for one more record of the kind that `answer` accepts.
    fn ask<T>(
        &self,
        run: &Running,
        command: &[u8],
        answer: impl Fn(Record<'static>) -> Option<T>,
    ) -> T {
        let answers = || {
            let answers: Vec<T> = self.records().into_iter().filter_map(&answer).collect();
            answers
        };
        let before = answers().len();
        self.send_raw(command);
        run.wait_until(|| answers().len() > before);
        answers().remove(before)
    }

    /// Waits for the end of the connection; returns all bytes.
    pub(super) fn end(self) -> Vec<u8> {
        let timeout = Duration::from_secs(300);
        self.ended.recv_timeout(timeout).expect("the agent ends");
        std::mem::take(&mut self.bytes.lock())
    }
}

/// Returns the complete records at the start of the bytes.
pub(super) fn records(bytes: &[u8]) -> Vec<Record<'static>> {
    let Ok(mut reader) = Reader::new(bytes) else {
        return Vec::new();
    };
    let mut records = Vec::new();
    while let Ok(Some(entry)) = reader.read() {
        if let Item::Record(record) = entry.item {
            records.push(record.into_owned());
        }
    }
    records
}

/// The records by their names.
pub(super) struct Names<'a>(pub(super) &'a [Record<'static>]);

impl Names<'_> {
    fn string(&self, id: hprof_format::StringId) -> String {
        let found = self.0.iter().find_map(|record| match record {
            Record::String(StringRecord { id: other, text }) if *other == id => Some(text),
            _ => None,
        });
        String::from_utf8_lossy(found.expect("a string")).into_owned()
    }

    fn class(&self, class: hprof_format::ClassSerial) -> String {
        let name = self.0.iter().find_map(|record| match record {
            Record::LoadClass(LoadClassRecord { serial, name, .. }) if *serial == class => {
                Some(*name)
            }
            _ => None,
        });
        hprof_format::source_name(&self.string(name.expect("a class"))).into_owned()
    }

    /// Returns the methods of a trace.
    fn methods(&self, trace: hprof_format::TraceSerial) -> Vec<String> {
        let frames = self.0.iter().find_map(|record| match record {
            Record::Trace(TraceRecord { serial, frames, .. }) if *serial == trace => Some(frames),
            _ => None,
        });
        let method = |frame| {
            let method = self.0.iter().find_map(|record| match record {
                Record::Frame(FrameRecord { id, method, .. }) if *id == frame => Some(*method),
                _ => None,
            });
            self.string(method.expect("a frame"))
        };
        frames
            .expect("a trace")
            .iter()
            .map(|&id| method(id))
            .collect()
    }

    fn thread_of(&self, trace: hprof_format::TraceSerial) -> hprof_format::ThreadSerial {
        let thread = self.0.iter().find_map(|record| match record {
            Record::Trace(TraceRecord { serial, thread, .. }) if *serial == trace => Some(*thread),
            _ => None,
        });
        thread.expect("a trace")
    }

    /// Returns the rows of a class.
    pub(super) fn sites<'s>(&self, sites: &'s [AllocSite], class: &str) -> Vec<&'s AllocSite> {
        let wanted = |site: &&AllocSite| self.class(site.class) == class;
        sites.iter().filter(wanted).collect()
    }
}

/// Returns the agent's lines on stderr.
fn said(run: &Finished) -> Vec<&str> {
    let lines = run.stderr.lines();
    lines.filter(|line| line.starts_with("hprof: ")).collect()
}
