//! `hprof memory`: where the memory of a running JVM is, and what that means.

mod document;
mod look;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use hprof_footprint::{Account, Course, verdict};
use hprof_format::printable;

use crate::accounts;
use crate::amounts::{Sizes, percent};
use crate::attach::{Library, Program, Session};
use crate::duration;
use crate::failure::Failure;
use crate::output::Output;
use document::Document;
pub use look::{Look, period};

/// Show where the memory of a running JVM is, and what makes it large
///
/// The parts add up to the resident set, what the process has in RAM: the Java
/// heap, classes, compiled code, stacks, direct buffers, malloc, files, and the
/// rest, which is what nobody names. Below them are what the VM counts itself and
/// the limit of the container. First come the findings: a heap that is too small,
/// or larger than the limit has room for, direct buffers, classes, threads, malloc,
/// files in tmpfs. With --for there are more looks until then, and the findings say
/// what has grown, and when the heap is full or the limit is reached if that
/// continues: with 95 % confidence, or not at all.
///
/// The program is not stopped and needs no option; the agent is loaded into it, as
/// by `hprof attach`, and starts no profile.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The program: its process id, or a part of its main class; `hprof list` shows both
    program: Program,

    /// Look again and again for this time (10s or more), and say what has grown
    #[arg(long = "for", value_name = "TIME", value_parser = long_enough)]
    wait: Option<Duration>,

    /// Write JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    sizes: Sizes,

    #[command(flatten)]
    library: Library,
}

/// Within a shorter time nothing can be said to grow.
const SHORTEST: Duration = Duration::from_secs(10);

fn long_enough(text: &str) -> Result<Duration, String> {
    let time = duration::parse(text)?;
    match time >= SHORTEST {
        true => Ok(time),
        false => Err("must be 10s or more: in less, every program grows".to_owned()),
    }
}

/// Asks the agent, and prints the answer.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let session = Session::with(&arguments.program, &arguments.library)?;
    let course = match arguments.wait {
        None => {
            let mut course = Course::default();
            course.push(session.memory()?);
            course
        }
        Some(time) => look::over(&session, time)?,
    };
    let Some(last) = course.last() else {
        return Ok(());
    };
    let first = course.first().filter(|_| arguments.wait.is_some());
    let findings = verdict(first, last);
    let forecasts = match arguments.wait {
        Some(_) => course.forecasts(),
        None => Vec::new(),
    };
    let output = Output::open(None, Path::new("-"))?;
    if arguments.json {
        let document = Document::new(session.process(), first, last, &findings, &forecasts);
        return output.write(|out| {
            serde_json::to_writer(&mut *out, &document)?;
            writeln!(out)
        });
    }
    output.write(|out| {
        let name = session.name();
        writeln!(out, "{}: {}", printable(&name), accounts::headline(last))?;
        for finding in &findings {
            writeln!(out, "  {}", accounts::sentence(finding))?;
        }
        for text in forecasts.iter().filter_map(accounts::forecast) {
            writeln!(out, "  {text}")?;
        }
        writeln!(out)?;
        table(out, last, arguments.sizes)?;
        writeln!(out)?;
        accounts::details(last, arguments.sizes)
            .iter()
            .try_for_each(|line| writeln!(out, "{line}"))
    })
}

/// Prints the parts, and their sum.
fn table(out: &mut dyn Write, account: &Account, sizes: Sizes) -> io::Result<()> {
    let resident = account.resident();
    writeln!(
        out,
        "{:>15} {:>6} {:>15}  part",
        "resident", "%", "committed"
    )?;
    for (part, amounts) in account.parts.iter() {
        if amounts.committed == 0 && amounts.resident == 0 {
            continue;
        }
        writeln!(
            out,
            "{:>15} {:>6.1} {:>15}  {:<24} {}",
            sizes.cell(amounts.resident),
            percent(amounts.resident, resident),
            sizes.cell(amounts.committed),
            part.name(),
            part.basis()
        )?;
    }
    let committed: u64 = account.parts.iter().map(|(_, part)| part.committed).sum();
    let system = account.system_resident;
    let system = system.map(|bytes| format!(" (the system's own sum: {})", sizes.text(bytes)));
    writeln!(
        out,
        "{:>15} {:>6.1} {:>15}  the resident set{}",
        sizes.cell(resident),
        100.0,
        sizes.cell(committed),
        system.unwrap_or_default()
    )
}
