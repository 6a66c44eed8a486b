//! `hprof export`: profiles for other tools.

mod tables;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use hprof_format::printable;
use hprof_profile::{Metric, Profile, export};

use crate::failure::Failure;
use crate::origin;
use crate::output::Output;
use crate::profile::{Opened, open};
use crate::span::{Moment, SpanChoice};
use tables::TableArguments;

/// Write profiles in the format of another tool, or as tables
///
///   collapsed   one stack per line with one value: flamegraph.pl, inferno
///   pprof       all values: go tool pprof, Pyroscope, Grafana
///   otlp        all values: one request of OpenTelemetry's profiles, as hprof
///               push sends it
///   speedscope  all values: https://www.speedscope.app, which reads locally
///   firefox     all values, one process each: https://profiler.firefox.com,
///               which reads locally; samples have no times, and are placed
///               one after another
///   jfr         all values: a recording for the JDK's `jfr`, JMC, VisualVM,
///               IntelliJ; CPU samples have the times that the file has, or
///               are placed one after another
///   json        everything that hprof knows about the profile
///   parquet     tables of any number of profiles and heap dumps, for DuckDB,
///               Spark, pandas: FOLDER/TABLE/RUN.parquet
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The file, binary or text, compressed or not; `-` is the standard input. Tables accept any number
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The number of the dump in the run, from 1 [default: the last]
    #[arg(long, value_name = "N")]
    section: Option<u32>,

    // `SpanChoice` has `--to` for the second one, too, which is the format here.
    /// Only samples from this time on, as in `hprof top`: 10:03:10, or +30s after the run's beginning
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<Moment>,

    /// Only samples until this time, as in --from
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<Moment>,

    /// The format
    #[arg(long, value_name = "FORMAT")]
    to: Format,

    /// The value, if the format holds only one, as in `hprof top`
    #[arg(long)]
    value: Option<Metric>,

    /// Write to this file, readable only by its owner, instead of the standard output; tables need a folder
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Set if no file may be replaced.
    #[arg(skip)]
    is_new: bool,

    #[command(flatten)]
    tables: TableArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Collapsed,
    Pprof,
    Otlp,
    Speedscope,
    Firefox,
    Jfr,
    Json,
    Parquet,
}

/// Writes a profile as a recording of the JDK Flight Recorder; `file` is its file's name.
pub fn write_recording(
    opened: Opened,
    file: &Path,
    output: &Path,
    is_new: bool,
) -> Result<(), Failure> {
    let arguments = Arguments {
        files: vec![file.to_owned()],
        section: None,
        from: None,
        until: None,
        to: Format::Jfr,
        value: None,
        output: Some(output.to_owned()),
        is_new,
        tables: TableArguments::default(),
    };
    arguments.write(opened, file)
}

/// Writes the profiles in the chosen format.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.value.is_some() && arguments.to != Format::Collapsed {
        return Err(Failure::Message(
            "--value is for collapsed stacks; the other formats hold all values".to_owned(),
        ));
    }
    let span = SpanChoice {
        from: arguments.from,
        until: arguments.until,
    };
    if !span.is_all() && arguments.to == Format::Parquet {
        return Err(Failure::Message(
            "--from and --until are for profiles; tables have the sums of the whole run".to_owned(),
        ));
    }
    if arguments.to == Format::Parquet {
        return arguments.export_tables();
    }
    if !arguments.tables.is_empty() {
        return Err(Failure::Message(
            "--label and --retained are for tables: --to parquet".to_owned(),
        ));
    }
    let [file] = arguments.files.as_slice() else {
        return Err(Failure::Message(
            "only tables take several files; `hprof merge` makes one profile of several".to_owned(),
        ));
    };
    let is_binary = matches!(arguments.to, Format::Pprof | Format::Otlp | Format::Jfr);
    if is_binary && arguments.output.is_none() && io::stdout().is_terminal() {
        return Err(Failure::Message(
            "this is a binary format; name a file with -o".to_owned(),
        ));
    }
    let whole = open(file, arguments.section)?;
    arguments.write(whole.within(&span, file)?, file)
}

fn say_what_was_divided(file: &Path, profile: &Profile) {
    for metric in profile.metrics() {
        let divisor = export::firefox_divisor(profile, metric);
        if divisor > 1 {
            let file = file.display().to_string();
            let file = printable(&file);
            // The page contains the message too.
            let _ = writeln!(
                io::stderr(),
                "hprof: {file}: the viewer has no such large numbers; those of {metric} are divided by {divisor}"
            );
        }
    }
}

fn say_how_many_samples(file: &Path, profile: &Profile) {
    let divisor = export::jfr_divisor(profile);
    if divisor > 1 {
        let file = file.display().to_string();
        let file = printable(&file);
        let _ = writeln!(
            io::stderr(),
            "hprof: {file}: one jdk.ExecutionSample is written for {divisor} samples, as there are so many; hprof.CpuSamples has all"
        );
    }
}

impl Arguments {
    fn write(&self, opened: Opened, file: &Path) -> Result<(), Failure> {
        let metric = opened.metric(file, self.value)?;
        // In the formats that are drawn as trees.
        let opened = match self.to {
            Format::Collapsed | Format::Speedscope | Format::Firefox => opened.with_cut_marked(),
            _ => opened,
        };
        let output = match &self.output {
            Some(output) if self.is_new => Output::new_file(output)?,
            output => Output::open(output.as_deref(), file)?,
        };
        output.write(|out| self.export(file, &opened.profile, metric, out))?;
        if self.to == Format::Firefox {
            say_what_was_divided(file, &opened.profile);
        }
        if self.to == Format::Jfr {
            say_how_many_samples(file, &opened.profile);
        }
        opened.finish()
    }

    fn export(
        &self,
        file: &Path,
        profile: &Profile,
        metric: Metric,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let name = file.display().to_string();
        let name = printable(&name);
        match self.to {
            Format::Collapsed => export::collapsed(profile, metric, out),
            Format::Pprof => export::pprof(profile, out),
            Format::Otlp => export::otlp(profile, origin::unknown(), out),
            Format::Speedscope => export::speedscope(profile, &name, out),
            Format::Firefox => export::firefox(profile, &name, out),
            Format::Jfr => export::jfr(profile, out),
            Format::Json => export::json(profile, out),
            // They are written to a folder.
            Format::Parquet => Ok(()),
        }
    }

    fn export_tables(&self) -> Result<(), Failure> {
        let Some(folder) = &self.output else {
            return Err(Failure::Message(
                "tables are many files; name a folder for them with -o".to_owned(),
            ));
        };
        self.tables.export(&self.files, self.section, folder)
    }
}
