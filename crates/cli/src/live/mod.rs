//! `hprof live`: a page about a running program that is refreshed all the time, like `top`.
//!
//! `client` has the session in the program and reads its snapshots into the `model`; `page` makes rows of it, which `app`
//! shows by the user's keys, `view` draws on a terminal, and `text` prints; `written` makes a file of it. `watch` looks at the
//! memory of the process, of which `memory` makes a page with a `chart`, and `metrics` a page for Prometheus.

mod app;
mod chart;
mod client;
mod memory;
mod metrics;
mod model;
mod page;
mod text;
mod view;
mod watch;
mod written;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use hprof_format::printable;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, KeyEventKind};

use crate::attach::{Library, Program, Session};
use crate::duration;
use crate::failure::Failure;
use crate::interrupts::BeforeTheEnd;
use crate::record::{Event, Signals};
use app::{Action, App};
use client::{Client, Measured, News};
use metrics::Server;
use watch::Watch;

/// The longest that a key waits.
const TICK: Duration = Duration::from_millis(50);
/// The longest that the first page takes.
const FIRST: Duration = Duration::from_millis(500);
/// The shortest and the longest interval. The agent ends a session that asks for nothing for a minute.
const INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(200)..=Duration::from_secs(30);

/// Watch a running program, like `top`
///
/// The page is refreshed every two seconds: CPU time by method, allocation and
/// growth by site, contended monitors, CPU time by thread, the memory of the
/// process by its parts, with what makes it large and when it reaches its limit,
/// and the native memory that is allocated and not freed, by method.
/// `?` shows the keys.
/// They turn to other pages, order and filter rows, pause, show the callers of a
/// row, and write the profile into a file.
///
/// WHAT is `cpu` (the default), `alloc`, `locks`, `native` or `all`: what is
/// measured from the beginning. CPU samples are always taken. Allocations are
/// sampled, one object in 512 KiB, and no collection is forced.
///
/// On leaving, the agent ends its session in the program, also if this command is
/// killed. With --once, in a pipe and on a terminal that cannot move its cursor
/// (TERM=dumb), one page is printed as text. With --metrics nothing is profiled: the
/// parts of the memory are served as gauges at http://127.0.0.1:PORT/metrics.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    override_usage = "hprof live [OPTIONS] [WHAT] PROGRAM"
)]
pub struct Arguments {
    /// What to measure (cpu, alloc, locks, native, all), and the program: its process id, or a part of its main class
    #[arg(value_name = "WHAT|PROGRAM", num_args = 1..=2, required = true)]
    words: Vec<String>,

    /// The time between two pages, from 200ms to 30s
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "2s")]
    interval: Duration,

    /// Leave after this time, such as 30s or 5m; with --once, the time that is measured
    #[arg(long = "for", value_name = "TIME", value_parser = duration::parse)]
    length: Option<Duration>,

    /// Print one page as text
    #[arg(long)]
    once: bool,

    /// Serve the parts of the memory to Prometheus on this port of this machine, 0 for a free one
    #[arg(long, value_name = "PORT", conflicts_with = "once")]
    metrics: Option<u16>,

    #[command(flatten)]
    library: Library,
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration::parse(text)?;
    match INTERVALS.contains(&interval) {
        true => Ok(interval),
        false => Err("must be from 200ms to 30s".to_owned()),
    }
}

impl Arguments {
    fn meaning(&self) -> Result<(Measured, Program), Failure> {
        let (measured, program) = match self.words.as_slice() {
            [what, program] => match Measured::parse(what) {
                Some(measured) => (measured, program),
                None => {
                    return Err(Failure::Usage(format!(
                        "`{what}` cannot be watched, only cpu, alloc, locks, native or all"
                    )));
                }
            },
            words => (Measured::default(), &words[0]),
        };
        let Ok(program) = program.parse();
        Ok((measured, program))
    }
}

/// Shows the page until the user leaves.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (measured, program) = arguments.meaning()?;
    let session = Session::with(&program, &arguments.library)?;
    let signals = Signals::catch_and_count()
        .map_err(|error| Failure::Message(format!("signals cannot be caught: {error}")))?;
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let screen = Screen {
        arguments,
        session: &session,
        signals: &signals,
        title: printable(&session.name()).into_owned(),
    };
    thread::scope(|scope| {
        let watch = || {
            let watch = Watch::start(scope, &session, arguments.interval);
            watch.map_err(|error| Failure::Message(format!("no thread: {error}")))
        };
        if let Some(port) = arguments.metrics {
            return screen.serve(port, &watch()?);
        }
        // Only one request waits for a VM that does not answer.
        let client = Client::start(&session, measured)?;
        match arguments.once || is_dumb || !io::stdout().is_terminal() {
            true => screen.once(client, measured, &watch()?),
            false => screen.run(client, measured, &watch()?),
        }
    })
}

/// Keys, and what else the terminal reports.
type Keys = Receiver<io::Result<event::Event>>;

/// How a page was left.
enum Left {
    /// The user wants no more, or the time is up.
    Done,
    ProgramOver,
}

struct Screen<'a> {
    arguments: &'a Arguments,
    session: &'a Session,
    signals: &'a Signals,
    title: String,
}

impl<'a> Screen<'a> {
    /// Prints one page.
    fn once(
        &self,
        mut client: Client<'a>,
        measured: Measured,
        watch: &Watch,
    ) -> Result<(), Failure> {
        let length = self.arguments.length.unwrap_or(self.arguments.interval);
        let end = Instant::now() + length;
        loop {
            if let Event::Request(_) = self.signals.next(Duration::ZERO) {
                return Ok(());
            }
            if Instant::now() >= end {
                client.ask()?;
            }
            match client.news(TICK, false)? {
                News::None => {}
                News::Interval => {
                    client.model().memory = watch.seen();
                    break;
                }
                News::ProgramOver => return Err(program_over()),
            }
        }
        let written = text::write(
            &self.title,
            &client.model(),
            measured,
            &mut io::stdout().lock(),
        );
        written.map_err(|error| Failure::writing(Path::new("standard output"), &error))
    }

    /// Serves metrics until the program has ended, or the user wants no more.
    fn serve(&self, port: u16, watch: &Watch) -> Result<(), Failure> {
        let failed = |error| Failure::Message(format!("127.0.0.1:{port}: {error}"));
        let server = Server::start(port).map_err(failed)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}", server.address())
            .and_then(|()| out.flush())
            .map_err(|error| Failure::writing(Path::new("standard output"), &error))?;
        let begun = Instant::now();
        let is_late = || {
            self.arguments
                .length
                .is_some_and(|length| begun.elapsed() >= length)
        };
        while !is_late() && !matches!(self.signals.next(Duration::ZERO), Event::Request(_)) {
            if self.session.is_over() {
                return Err(program_over());
            }
            server.answer(|| watch.seen(), TICK).map_err(failed)?;
        }
        Ok(())
    }

    /// Shows pages on the terminal until the user leaves.
    fn run(
        &self,
        mut client: Client<'a>,
        measured: Measured,
        watch: &Watch,
    ) -> Result<(), Failure> {
        // It also restores the terminal when this command panics.
        let mut terminal = ratatui::try_init().map_err(terminal_failed)?;
        let _end = BeforeTheEnd::call(ratatui::restore);
        let left = keys()
            .map_err(terminal_failed)
            .and_then(|keys| self.pages(&mut terminal, &keys, &mut client, measured, watch));
        let restored = ratatui::try_restore().map_err(terminal_failed);
        drop(client);
        if let Left::ProgramOver = left? {
            let _ = writeln!(io::stderr(), "hprof: the program has ended");
        }
        restored
    }

    fn pages(
        &self,
        terminal: &mut DefaultTerminal,
        keys: &Keys,
        client: &mut Client<'a>,
        measured: Measured,
        watch: &Watch,
    ) -> Result<Left, Failure> {
        let mut app = App::new(self.title.clone(), measured);
        let begun = Instant::now();
        let Arguments {
            interval, length, ..
        } = *self.arguments;
        // The first page comes soon.
        let mut next = begun + interval.min(FIRST);
        loop {
            let is_due = Instant::now() >= next;
            if is_due {
                client.ask()?;
                next = Instant::now() + interval;
            }
            match client.news(Duration::ZERO, app.is_paused)? {
                News::None => {}
                News::Interval => {
                    let mut model = client.model();
                    if !app.is_paused {
                        model.memory = watch.seen();
                    }
                    app.refresh(&model);
                }
                News::ProgramOver => return Ok(Left::ProgramOver),
            }
            let status = self.status(&app, begun.elapsed());
            let drawn = terminal.draw(|frame| view::draw(frame, &mut app, &status));
            drawn.map_err(terminal_failed)?;
            let is_over = length.is_some_and(|length| begun.elapsed() >= length);
            if is_over || matches!(self.signals.next(Duration::ZERO), Event::Request(_)) {
                return Ok(Left::Done);
            }
            match key(keys, &mut app, client)? {
                Action::None => {}
                Action::Quit => return Ok(Left::Done),
                Action::Write => self.write(&mut app, client),
                Action::Stack(thread) => match self.session.stack(thread) {
                    Ok(lines) => app.show_stack(lines),
                    Err(failure) => app.message = message(&failure),
                },
                Action::Measure(more) => {
                    client.leave();
                    *client = Client::start(self.session, more)?;
                    app = app.again(more);
                    next = Instant::now() + interval.min(FIRST);
                }
                Action::Dump => {
                    app.message = Some("dumping the heap".to_owned());
                    let drawn = terminal.draw(|frame| view::draw(frame, &mut app, &status));
                    drawn.map_err(terminal_failed)?;
                    app.message = match self.dump() {
                        Ok(dumped) => Some(dumped),
                        Err(failure) => message(&failure),
                    };
                }
            }
        }
    }

    fn write(&self, app: &mut App, client: &Client<'a>) {
        let profile = client.model().whole_profile();
        let class = self.session.main_class();
        app.message = match written::file(&profile, &class, self.session.process()) {
            Ok(path) => Some(format!("written: {}", path.display())),
            Err(failure) => message(&failure),
        };
    }

    /// Has a forked copy of the program dump its heap into a file; returns which, and how.
    fn dump(&self) -> Result<String, Failure> {
        let path = written::new_path(&self.session.main_class(), self.session.process())?;
        let may_stop = !self.session.notices_dump();
        let how = self.session.dump_heap(&path, may_stop)?;
        Ok(page::safe(&format!("written: {}, {how}", path.display())))
    }

    /// Returns what is at the right of the first line.
    fn status(&self, app: &App, length: Duration) -> String {
        let seconds = length.as_secs();
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let paused = if app.is_paused { "PAUSED  " } else { "" };
        let interval = self.arguments.interval.as_secs_f64();
        let seconds = seconds % 60;
        format!("{paused}{hours}:{minutes:02}:{seconds:02}  every {interval} s")
    }
}

/// Reads keys on a thread of its own. When the terminal is gone, crossterm reads its end again and again and never returns; the page
/// then ends by SIGHUP, or because it cannot be drawn.
fn keys() -> io::Result<Keys> {
    let (send, keys) = mpsc::channel();
    let read = move || {
        loop {
            let key = event::read();
            let is_last = key.is_err();
            if send.send(key).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("keys".to_owned()).spawn(read)?;
    Ok(keys)
}

/// Waits a moment for a key, and follows it.
fn key(keys: &Keys, app: &mut App, client: &Client<'_>) -> Result<Action, Failure> {
    match keys.recv_timeout(TICK) {
        Ok(Ok(event::Event::Key(key))) if key.kind == KeyEventKind::Press => {
            Ok(app.key(key, &client.model()))
        }
        Ok(Err(error)) => Err(terminal_failed(error)),
        Err(RecvTimeoutError::Disconnected) => Ok(Action::Quit),
        Ok(Ok(_)) | Err(RecvTimeoutError::Timeout) => Ok(Action::None),
    }
}

fn terminal_failed(error: io::Error) -> Failure {
    Failure::Message(format!("the terminal: {error}"))
}

/// Returns a failure as a message on the screen.
fn message(failure: &Failure) -> Option<String> {
    failure.message().map(page::safe)
}

fn program_over() -> Failure {
    Failure::Message("the program has ended".to_owned())
}
