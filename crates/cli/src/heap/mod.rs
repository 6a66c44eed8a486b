//! `hprof heap`: the objects in a heap dump, the objects that keep them alive, and the stacks that allocated them.

mod alive;
mod diff;
mod exhausted;
pub mod incomplete;
mod index;
mod index_places;
mod leaks;
mod opened;
pub mod options;
pub mod pages;
pub mod print;
mod print_loaders;
mod print_waste;
mod running;
mod why;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use hprof_format::{ObjectId, ReadError};
use hprof_heap::{Births, Dump, Excluded, Group, Heap, Options, Target, by_own_frame};
use serde::Serialize;

use crate::about;
use crate::amounts::Sizes;
use crate::failure::Failure;
use crate::input;
use crate::profile::OwnCodeArgument;
use crate::terminal::Terminal;
use diff::Diff;
use incomplete::Sources;
use index::Index;
use leaks::Leaks;
use opened::OpenedDump;
use options::{Choice, Reading, object_id};
pub use running::LiveLeaks;

/// Show the live objects of a heap dump, the objects that keep them alive and the stacks that allocated them
///
/// Reads dumps of this agent (heap=dump), of jmap and jcmd, and Android's, compressed or not. Only a dump of this agent
/// has the stacks that allocated its objects. Of a file with several dumps the last one is read.
///
/// The retained size of an object is the number of bytes that a garbage collection would free without it. Weak and
/// phantom references do not keep their targets alive, as in a collection; --exclude changes that. Objects that nothing
/// else keeps are alive until their finalizer has run.
///
/// The first question about a dump of 32 MB or more writes an index next to it (FILE.index), from which later questions are
/// answered in a small part of the time.
///
/// Memory: the mapped file and about 16 bytes for each object; --memory sets a limit, beyond which temporary files are
/// used. Large dumps are read on all processors; --threads takes fewer.
#[derive(Subcommand)]
pub enum HeapCommand {
    /// Count objects, classes, roots, and unreachable objects
    Summary(DumpArguments),
    /// Count objects and bytes by class, loader, package or allocation site
    Histogram(Histogram),
    /// List the objects that keep most of the heap alive, with paths and allocation stacks; list duplicates and waste
    Leaks(Leaks),
    /// List the objects, or groups of them, that retain most
    Retained(Retained),
    /// Print the shortest paths from roots to an object, or to the objects of a class
    Paths(Paths),
    /// Print the stacks that allocated the live objects of a class
    Who(Who),
    /// Print an object: fields or elements, text, referrers
    Show(Show),
    /// List the class loaders: what they have loaded, what keeps them alive, and classes that several have
    Loaders(RowsArguments),
    /// Print the threads with their stacks and the objects in their local variables
    Threads(RowsArguments),
    /// Compare two dumps, of two files or of one, by class and by allocation site
    Diff(Diff),
    /// Write the index of a dump, from which questions about it are answered, or remove it
    Index(Index),
}

/// A file and the way to read it.
#[derive(Args)]
pub struct DumpArguments {
    /// The file; `-` is the standard input
    file: PathBuf,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    sizes: Sizes,
}

/// As [`DumpArguments`], with a limit on rows.
#[derive(Args)]
pub struct RowsArguments {
    #[command(flatten)]
    source: DumpArguments,
    /// Print at most this many rows; 0 for all
    #[arg(long, value_name = "ROWS", default_value_t = 25)]
    top: usize,
}

/// `hprof heap histogram`.
#[derive(Args)]
pub struct Histogram {
    #[command(flatten)]
    rows: RowsArguments,
    /// The grouping to count by; by age it needs the births file that the agent writes with heap=all,lifetimes=y
    #[arg(long, value_enum, default_value_t = ByOrAge::Class)]
    by: ByOrAge,
    /// Also print the retained size of each group; counts only reachable objects
    #[arg(long)]
    retained: bool,
}

/// The answer of `hprof heap loaders`.
#[derive(Serialize)]
struct LoadersDocument {
    loaders: Vec<hprof_heap::Loader>,
    piling: Vec<hprof_heap::PilingLoaders>,
}

/// `hprof heap retained`.
#[derive(Args)]
pub struct Retained {
    #[command(flatten)]
    rows: RowsArguments,
    /// The objects or groups to list
    #[arg(long, value_enum)]
    by: ByAll,
    /// List only the objects of this class; with --by object
    #[arg(long)]
    class: Option<String>,
    /// Compute the exact retained size of each printed group, by a pass over the graph without it
    #[arg(long)]
    exact: bool,
}

/// `hprof heap paths`.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("target").required(true))]
pub struct Paths {
    #[command(flatten)]
    source: DumpArguments,
    /// The object, by its id
    #[arg(long, value_name = "ID", group = "target", value_parser = object_id)]
    object: Option<ObjectId>,
    /// All objects of a class
    #[arg(long, value_name = "CLASS", group = "target")]
    class: Option<String>,
    /// Print at most this many paths; 0 for all
    #[arg(long, value_name = "PATHS", default_value_t = 10)]
    top: usize,
}

/// `hprof heap who`.
#[derive(Args)]
pub struct Who {
    #[command(flatten)]
    rows: RowsArguments,
    /// The class, as `java.util.HashMap` or `java/util/HashMap`
    #[arg(long, required_unless_present = "older")]
    class: Option<String>,
    /// Only objects that were at least this old at the time of the dump (such as 90s, 10m or 2h), of the class or of all; needs
    /// the births file that the agent writes with heap=all,lifetimes=y
    #[arg(long, value_name = "TIME", value_parser = crate::duration::parse)]
    older: Option<Duration>,
    /// Compute the exact retained size of each printed site
    #[arg(long, conflicts_with = "older")]
    exact: bool,
    #[command(flatten)]
    own: OwnCodeArgument,
}

/// `hprof heap show`.
#[derive(Args)]
pub struct Show {
    #[command(flatten)]
    source: DumpArguments,
    /// The object's id, as `0x7f00`
    #[arg(value_parser = object_id)]
    id: ObjectId,
    /// Print the fields or elements from this one on; the first is 0
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    first: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Class,
    Loader,
    Package,
    Site,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ByOrAge {
    Class,
    Loader,
    Package,
    Site,
    Age,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ByAll {
    Object,
    Class,
    Loader,
    Package,
    Site,
}

impl From<By> for hprof_heap::By {
    fn from(by: By) -> hprof_heap::By {
        match by {
            By::Class => hprof_heap::By::Class,
            By::Loader => hprof_heap::By::Loader,
            By::Package => hprof_heap::By::Package,
            By::Site => hprof_heap::By::Site,
        }
    }
}

impl ByOrAge {
    /// Returns the property; `None` for the age.
    fn property(self) -> Option<hprof_heap::By> {
        Some(match self {
            ByOrAge::Class => hprof_heap::By::Class,
            ByOrAge::Loader => hprof_heap::By::Loader,
            ByOrAge::Package => hprof_heap::By::Package,
            ByOrAge::Site => hprof_heap::By::Site,
            ByOrAge::Age => return None,
        })
    }
}

impl HeapCommand {
    /// Reads the dump and prints the answer of the subcommand.
    pub fn run(mut self) -> Result<(), Failure> {
        let _dump = self.dump_running()?;
        match &self {
            HeapCommand::Summary(source) => source.with_heap(|heap| {
                let summary = heap.summary().map_err(fault(&source.file))?;
                source.print(heap.dump(), &summary, |out, sizes| {
                    print::summary(out, sizes, &summary)
                })
            }),
            HeapCommand::Histogram(arguments) if !arguments.retained => arguments.run(),
            HeapCommand::Histogram(arguments) => {
                let by = arguments.by.property().ok_or_else(|| {
                    let message = "--retained goes with --by class, loader, package or site";
                    Failure::Message(message.to_owned())
                })?;
                groups(&arguments.rows, by, false)
            }
            HeapCommand::Leaks(arguments) => arguments.run(),
            HeapCommand::Retained(arguments) => arguments.run(),
            HeapCommand::Paths(arguments) => arguments.run(),
            HeapCommand::Who(arguments) => {
                let RowsArguments { source, .. } = &arguments.rows;
                source.with_heap(|heap| {
                    let exact = if arguments.exact {
                        arguments.rows.most()
                    } else {
                        0
                    };
                    let class = arguments.class.as_deref();
                    let groups = match arguments.older {
                        Some(least) => {
                            let births = births(&source.file, heap.dump())?;
                            heap.who_is_older(class, &births, least)
                        }
                        None => heap.who(class.unwrap_or_default(), exact),
                    };
                    let groups = groups.map_err(fault(&source.file))?;
                    let groups = match &arguments.own.mine {
                        Some(own) => by_own_frame(groups, &|frame| own.has_frame(frame)),
                        None => groups,
                    };
                    print_groups(&arguments.rows, heap, &groups)
                })
            }
            HeapCommand::Show(arguments) => arguments.source.with_heap(|heap| {
                let about = fault(&arguments.source.file);
                let shown = heap.show(arguments.id, arguments.first).map_err(about)?;
                arguments.source.print(heap.dump(), &shown, |out, sizes| {
                    print::shown(out, sizes, &shown)
                })
            }),
            HeapCommand::Loaders(rows) => rows.source.with_heap(|heap| {
                let about = fault(&rows.source.file);
                let mut loaders = heap.loaders().map_err(&about)?;
                let piling = heap.piling_loaders().map_err(&about)?;
                let all = loaders.len();
                loaders.truncate(rows.most());
                let found = LoadersDocument { loaders, piling };
                rows.source.print(heap.dump(), &found, |out, sizes| {
                    let LoadersDocument { loaders, piling } = &found;
                    print_loaders::loaders(out, sizes, loaders, (all, piling))
                })
            }),
            HeapCommand::Threads(rows) => rows.source.with_heap(|heap| {
                let threads = heap
                    .threads(rows.most())
                    .map_err(fault(&rows.source.file))?;
                let (threads, _) = threads;
                rows.source.print(heap.dump(), &threads, |out, sizes| {
                    print::threads(out, sizes, &threads)?;
                    print::stacks(out, &heap.stacks_of_unknown_threads())
                })
            }),
            HeapCommand::Diff(arguments) => arguments.run(),
            HeapCommand::Index(arguments) => arguments.run(),
        }
    }
}

/// Reads the births of a dump's objects.
fn births(file: &Path, dump: &Dump) -> Result<Births, Failure> {
    Births::next_to(file, dump).map_err(|error| Failure::about(file, error))
}

/// Creates an error about a file.
fn fault(file: &Path) -> impl Fn(hprof_heap::Error) -> Failure + '_ {
    move |error| Failure::about(file, error)
}

impl DumpArguments {
    /// Prints the answer in the requested form.
    fn print(
        &self,
        dump: &Dump,
        answer: &impl Serialize,
        text: impl FnOnce(&mut dyn Write, Sizes) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let runs = about::dump(dump).into_iter().collect();
        let sources = Sources::of(runs, &self.file, dump);
        self.reading
            .print(&sources, answer, |out| text(out, self.sizes))
    }

    fn with_heap<T>(
        &self,
        then: impl FnOnce(&Heap<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        with_heap(&self.file, self.choice.dump, &self.reading, then)
    }
}

fn with_dump<T>(
    file: &Path,
    number: Option<usize>,
    then: impl FnOnce(&Dump) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut opened = OpenedDump::of(file, number, true)?;
    let dump = dump_in(&mut opened, file)?;
    then(&dump)
        .map_err(|failure| incomplete::explained(failure, incomplete::line(file, &dump).as_deref()))
}

/// Returns the dump in an opened file.
fn dump_in(opened: &mut OpenedDump<'_>, file: &Path) -> Result<Dump, Failure> {
    opened.dump().map_err(|error| match error {
        hprof_heap::Error::Read(_) if input::is_text_profile(opened.content()) => Failure::about(
            file,
            "is a profile as text, which `hprof top` and `hprof report` show; `hprof heap` reads heap dumps in the binary \
             format (format=b)",
        ),
        hprof_heap::Error::NoDump => Failure::about(
            file,
            format_args!("{error}; `hprof top` shows a profile"),
        ),
        hprof_heap::Error::Read(fault @ (ReadError::NotHprof { .. } | ReadError::TruncatedHeader { .. })) => {
            match input::foreign::described(opened.content()) {
                Some(what) => Failure::about(file, what),
                None => Failure::about(file, fault),
            }
        }
        error => Failure::about(file, error),
    })
}

/// Reads the graph of the last dump of a file with the usual options, or its index, and passes it to `then`; returns
/// `None` if the file has no dump.
pub fn with_usual_heap<T>(
    file: &Path,
    then: impl FnOnce(&Heap<'_>) -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    let mut opened = OpenedDump::of(file, None, true)?;
    let dump = match opened.dump() {
        // A profile as text, or one that breaks off, which its reader reports.
        Err(hprof_heap::Error::NoDump | hprof_heap::Error::Read(_)) => return Ok(None),
        dump => dump.map_err(fault(file))?,
    };
    let options = Options {
        layout: None,
        excluded: Excluded::default(),
        memory: options::usual_memory(),
    };
    opened.with_heap(&dump, &options, then).map(Some)
}

/// Reads the graph of a dump, or its index, and passes it to `then`.
pub fn with_heap<T>(
    file: &Path,
    number: Option<usize>,
    reading: &Reading,
    then: impl FnOnce(&Heap<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut opened = reading.open(file, number)?;
    let dump = dump_in(&mut opened, file)?;
    opened.with_heap(&dump, &reading.graph.options(), then)
}

impl RowsArguments {
    fn most(&self) -> usize {
        most(self.top)
    }
}

/// Returns the limit; 0 means no limit.
fn most(top: usize) -> usize {
    if top == 0 { usize::MAX } else { top }
}

fn groups(rows: &RowsArguments, by: hprof_heap::By, exact: bool) -> Result<(), Failure> {
    rows.source.with_heap(|heap| {
        let exact = if exact { rows.most() } else { 0 };
        let groups = heap.groups(by, exact).map_err(fault(&rows.source.file))?;
        print_groups(rows, heap, &groups)
    })
}

fn print_groups(rows: &RowsArguments, heap: &Heap<'_>, groups: &[Group]) -> Result<(), Failure> {
    let shown = &groups[..groups.len().min(rows.most())];
    let layout = heap.layout();
    rows.source.print(heap.dump(), &shown, |out, sizes| {
        print::groups(out, sizes, shown, groups.len(), layout)
    })
}

impl Histogram {
    fn run(&self) -> Result<(), Failure> {
        let RowsArguments { source, .. } = &self.rows;
        let DumpArguments {
            file,
            choice,
            reading,
            ..
        } = source;
        let mut opened = reading.open(file, choice.dump)?;
        let dump = dump_in(&mut opened, file)?;
        let places = opened.places();
        let terminal = Terminal::new();
        let layout = reading.graph.layout;
        let found = match self.by.property() {
            Some(by) => places
                .histogram(&dump, by, layout)
                .unwrap_or_else(|| hprof_heap::histogram(&dump, by, layout, &terminal)),
            None => hprof_heap::ages(&dump, &births(file, &dump)?, layout, &terminal),
        };
        terminal.clear();
        let mut found = found.map_err(fault(file))?;
        let totals = print::Totals::of(&found.rows);
        found.rows.truncate(self.rows.most());
        if self.by.property() == Some(hprof_heap::By::Loader) {
            // Their names are objects, which only the graph finds.
            let options = reading.graph.options();
            opened.with_heap(&dump, &options, |heap| {
                found.name_loaders(heap).map_err(fault(file))
            })?;
        }
        source.print(&dump, &found, |out, sizes| {
            print::histogram(out, sizes, &found, &totals)
        })
    }
}

impl Retained {
    fn run(&self) -> Result<(), Failure> {
        let by = match self.by {
            _ if self.class.is_some() && self.by != ByAll::Object => {
                let message =
                    "--class needs --by object; `hprof heap who` gives the sites of a class";
                return Err(Failure::Message(message.to_owned()));
            }
            ByAll::Class => hprof_heap::By::Class,
            ByAll::Loader => hprof_heap::By::Loader,
            ByAll::Package => hprof_heap::By::Package,
            ByAll::Site => hprof_heap::By::Site,
            ByAll::Object => {
                let RowsArguments { source, .. } = &self.rows;
                return source.with_heap(|heap| {
                    let rows = heap
                        .largest(self.class.as_deref(), self.rows.most())
                        .map_err(fault(&source.file))?;
                    source.print(heap.dump(), &rows, |out, sizes| {
                        print::objects(out, sizes, &rows, heap.layout())
                    })
                });
            }
        };
        groups(&self.rows, by, self.exact)
    }
}

impl Paths {
    fn run(&self) -> Result<(), Failure> {
        let target = match (self.object, &self.class) {
            (Some(id), _) => Target::Object(id),
            (None, Some(class)) => Target::Class(class.clone()),
            (None, None) => return Ok(()),
        };
        self.source.with_heap(|heap| {
            let (paths, all) = heap
                .paths_of_all(&target, most(self.top))
                .map_err(fault(&self.source.file))?;
            self.source
                .print(heap.dump(), &paths, |out, _| print::paths(out, &paths, all))
        })
    }
}
