//! `hprof report`: the contents of profiles and heap dumps, as one page for a browser.

mod data;
mod history;
mod page;
mod stacks;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use hprof_format::printable;
use hprof_profile::Metric;

use crate::failure::Failure;
use crate::heap::pages::{self, Html, Links};
use crate::heap::{incomplete, with_usual_heap};
use crate::input::is_standard;
use crate::output;
use crate::profile::{CodeChoice, open};
use crate::terminal::Watched;
use data::Run;
pub use data::Start;

/// Write a page for a browser: flame graphs, tables, sites, threads, differences, heap
///
/// The page is one file. It needs no network and sends nothing anywhere, and
/// shows names chosen by the profiled program only as text. With several
/// FILEs, or several dumps in one, each can be shown, and compared with every
/// other. Press ? in the page for its keys. Of the last heap dump of a file (but
/// not of the standard input) it shows the answer of `hprof heap leaks`, a
/// treemap of retained sizes, and the classes.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The profiles, binary or text, compressed or not; `-` is the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The page to write, readable only by its owner
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Set if no file may be replaced.
    #[arg(skip)]
    is_new: bool,

    /// The value that is shown first, as in `hprof top`
    #[arg(long)]
    value: Option<Metric>,

    #[command(flatten)]
    code: CodeChoice,
}

/// The most dumps of a file that the page contains, counted from the last.
const MOST_SECTIONS: u32 = 20;

/// Writes the page about these files.
pub fn write_page(files: &[PathBuf], output: &Path) -> Result<(), Failure> {
    run(&Arguments {
        files: files.to_owned(),
        output: output.to_owned(),
        is_new: true,
        value: None,
        code: CodeChoice::default(),
    })
}

/// Writes the page.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut runs = Vec::new();
    let mut heaps = Html::default();
    let mut left_out = Vec::new();
    let mut cut = Vec::new();
    for path in &arguments.files {
        match add(path, &arguments.code, &mut runs, &mut heaps)? {
            Added::Shown(incomplete) => cut.extend(incomplete),
            Added::JustBegun(reason) => left_out.push(reason),
        }
    }
    if left_out.len() == arguments.files.len() {
        return Err(left_out.swap_remove(0));
    }
    for reason in left_out.iter().filter_map(Failure::message) {
        let reason = printable(reason);
        // If even this fails, there is nobody left to tell.
        let _ = writeln!(
            io::stderr(),
            "hprof: left out, no dump has been written yet: {reason}"
        );
    }
    if let Some(value) = arguments.value {
        let has = |run: &Run| run.profile.metrics().contains(&value);
        if !runs.iter().any(has) {
            let what = format_args!("no profile has the value `{value}`");
            return Err(Failure::about(&arguments.output, what));
        }
    }
    let start = Start {
        metric: arguments.value.map(Metric::name),
        ..Start::default()
    };
    if runs.is_empty() {
        let mut page = pages::page("Heap", &heaps, Links::None).into_string();
        page.push('\n');
        let mut file = arguments.create()?;
        let written = file.write_all(page.as_bytes());
        written.map_err(|error| failed(&arguments.output, &error))?;
    } else {
        let create = || arguments.create();
        write((&arguments.output, create), runs, &heaps, false, start)?;
    }
    match cut.is_empty() {
        true => Ok(()),
        false => Err(Failure::Message(cut.join("; "))),
    }
}

impl Arguments {
    fn create(&self) -> Result<File, Failure> {
        match self.is_new {
            true => output::create_new(&self.output),
            false => output::create(&self.output, self.files.iter().map(PathBuf::as_path)),
        }
    }
}

/// The outcome of adding a file.
enum Added {
    /// The page shows it; with the line about its heap dump, if that is not whole.
    Shown(Option<String>),
    /// It was left out, for this reason: its program has not written any dump yet.
    JustBegun(Failure),
}

/// Adds the dumps of a file to the previous ones; it may hold a profile, a heap dump or both.
fn add(
    path: &Path,
    code: &CodeChoice,
    runs: &mut Vec<Run>,
    heaps: &mut Html,
) -> Result<Added, Failure> {
    let last = open(path, None)?;
    let is_profile = !last.profile.metrics().is_empty();
    if last.profile.sections == 0
        && last.profile.heap_dump.is_none()
        && let Err(failure) = last.metric(path, None)
    {
        return Ok(Added::JustBegun(failure));
    }
    let mut incomplete = None;
    match heap(path) {
        Ok(None) => {}
        Ok(Some((heap, line))) => {
            heaps.part(&heap);
            incomplete = line;
            if !is_profile {
                return Ok(Added::Shown(incomplete));
            }
        }
        // The rest of the file should still be shown.
        Err(Failure::Message(fault)) if is_profile => {
            heaps.markup("<h1>The heap dump cannot be shown</h1>\n<p>");
            heaps.text(&fault).markup("</p>\n");
        }
        Err(failure) => return Err(failure),
    }
    last.metric(path, None)?;
    let sections = last.profile.sections;
    // The standard input can be read only once.
    if !is_standard(path) {
        let first = sections.saturating_sub(MOST_SECTIONS).max(1);
        for section in first..sections {
            let opened = open(path, Some(section))?.of_code(code, path)?;
            runs.push(opened.into_run(path));
        }
    }
    runs.push(last.of_code(code, path)?.into_run(path));
    Ok(Added::Shown(incomplete))
}

/// Returns the part of the page about the last heap dump of a file, with the line about one that is not whole; `None` if it has
/// none.
fn heap(path: &Path) -> Result<Option<(Html, Option<String>)>, Failure> {
    // The standard input has been read already.
    if is_standard(path) {
        return Ok(None);
    }
    with_usual_heap(path, |heap| {
        let name = path.display().to_string();
        let page = pages::overview(heap, &name, Links::None);
        let page = page.map_err(|error| Failure::about(path, error))?;
        Ok((page, incomplete::line(path, heap.dump())))
    })
}

/// Removes what there is of a page that could not be written.
fn failed(path: &Path, error: &io::Error) -> Failure {
    output::remove(path);
    Failure::writing(path, error)
}

/// Writes a page with only flame graphs.
pub fn write_flame(
    path: &Path,
    profiles: Vec<(&Path, crate::profile::Opened)>,
    by_thread: bool,
    start: Start,
) -> Result<(), Failure> {
    let inputs: Vec<&Path> = profiles.iter().map(|&(path, _)| path).collect();
    let runs = profiles.into_iter();
    let runs = runs.map(|(path, opened)| opened.into_run(path)).collect();
    let create = || output::create(path, inputs);
    write((path, create), runs, &Html::default(), by_thread, start)
}

fn write(
    (path, create): (&Path, impl FnOnce() -> Result<File, Failure>),
    runs: Vec<Run>,
    heaps: &Html,
    by_thread: bool,
    start: Start,
) -> Result<(), Failure> {
    let runs = match runs.len() > 1 {
        true => Run::comparable(runs)?,
        false => runs,
    };
    // Nothing is created for profiles that cannot be compared.
    let file = create()?;
    let mut out = BufWriter::with_capacity(1 << 16, Watched::writing(file, path));
    let written = page::write(&mut out, heaps.as_str(), |out| {
        data::write(&runs, by_thread, start, out)
    });
    let written = written.and_then(|()| std::io::Write::flush(&mut out));
    written.map_err(|error| failed(path, &error))?;
    let fault = runs.into_iter().find_map(|run| run.fault);
    fault.map_or(Ok(()), |fault| Err(Failure::Message(fault)))
}

impl crate::profile::Opened {
    fn into_run(self, path: &Path) -> Run {
        let metrics = self.profile.metrics().into_iter();
        let remarks = metrics.map(|metric| (metric.name(), self.remarks(metric)));
        let remarks = remarks.filter(|(_, remarks)| !remarks.is_empty()).collect();
        let (profile, fault) = self.with_cut_marked().into_parts();
        Run {
            file: path.display().to_string(),
            profile,
            fault: fault.and_then(|fault| fault.message().map(str::to_owned)),
            remarks,
        }
    }
}
