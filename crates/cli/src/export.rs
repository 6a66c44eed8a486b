//! `hprof export`: profiles for other tools.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use hprof_format::printable;
use hprof_profile::{Metric, Profile, export};

use crate::failure::Failure;
use crate::output::Output;
use crate::profile::Choice;
use crate::push;

/// Write a profile in the format of another tool
///
///   collapsed   one stack a line with one value: flamegraph.pl, inferno
///   pprof       all values: go tool pprof, Pyroscope, Grafana
///   otlp        all values: one request of OpenTelemetry's profiles, as hprof
///               push sends it
///   speedscope  all values: https://www.speedscope.app, which reads locally
///   firefox     all values, one process each: https://profiler.firefox.com,
///               which reads locally; samples have no times, they follow one
///               another
///   json        everything that hprof knows of the profile
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,

    /// The format
    #[arg(long, value_name = "FORMAT")]
    to: Format,

    /// Which value, where the format holds one, as in `hprof top`
    #[arg(long)]
    value: Option<Metric>,

    /// Write to this file, created for its owner's eyes alone, instead of the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Collapsed,
    Pprof,
    Otlp,
    Speedscope,
    Firefox,
    Json,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = &arguments.choice.file;
    if arguments.value.is_some() && arguments.to != Format::Collapsed {
        return Err(Failure::Message(
            "--value is for collapsed stacks; the other formats hold all values".to_owned(),
        ));
    }
    let is_binary = matches!(arguments.to, Format::Pprof | Format::Otlp);
    if is_binary && arguments.output.is_none() && io::stdout().is_terminal() {
        return Err(Failure::Message(
            "this is a binary format; name a file with -o".to_owned(),
        ));
    }
    let opened = arguments.choice.open()?;
    let metric = opened.metric(file, arguments.value)?;
    let output = Output::open(arguments.output.as_deref(), file)?;
    output.write(|out| arguments.export(&opened.profile, metric, out))?;
    opened.finish()
}

impl Arguments {
    fn export(&self, profile: &Profile, metric: Metric, out: &mut dyn Write) -> io::Result<()> {
        let name = self.choice.file.display().to_string();
        let name = printable(&name);
        match self.to {
            Format::Collapsed => export::collapsed(profile, metric, out),
            Format::Pprof => export::pprof(profile, out),
            Format::Otlp => export::otlp(profile, push::unknown_origin(), out),
            Format::Speedscope => export::speedscope(profile, &name, out),
            Format::Firefox => export::firefox(profile, &name, out),
            Format::Json => export::json(profile, out),
        }
    }
}
