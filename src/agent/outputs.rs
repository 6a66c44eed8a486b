//! The outputs of a profile: each period (`rotate=`) has its own.

use std::hash::{BuildHasher, RandomState};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use hprof_format::{BinaryEncoder, Encoder, OldProfEncoder, TextEncoder};

use super::head::Begun;
use super::open_output::{self, OpenOutput};
use super::period_files::PeriodFiles;
use super::{StartError, head, verify};
use crate::engines::SamplingMethod;
use crate::session::{BlackBoxOutput, Destination, Exhausted, HeapFile};
use jvmti::Env;
use locks::{Mutex, rank};
use options::{Cpu, Format, Options, companion_path, with_number};
use output::console;
use output::{BlackBoxFile, NoBlackBox, Writer, now};

/// Opens the outputs of a profile one after the other.
pub(super) struct Outputs {
    env: Env,
    options: Arc<Options>,
    /// The options as they were given.
    given: String,
    /// The method by which CPU samples are taken.
    sampling_method: Option<SamplingMethod>,
    files: Mutex<PeriodFiles, rank::PeriodFiles>,
    /// The first file, next to which others may be written; `None` for an output of another kind.
    profile_path: Option<PathBuf>,
    /// The facts about the run in the file of `blackbox=`, which is opened later.
    black_box_facts: Vec<(&'static str, String)>,
}

impl Outputs {
    pub(super) fn new(
        env: Env,
        options: &Arc<Options>,
        given: &str,
        sampling_method: Option<SamplingMethod>,
        first: &Destination,
    ) -> Self {
        let method = sampling_method.as_ref();
        let facts = || head::facts(env, given, options, method, Begun::First);
        Self {
            black_box_facts: options.black_box.then(facts).unwrap_or_default(),
            env,
            options: options.clone(),
            given: given.to_owned(),
            sampling_method,
            files: Mutex::new(PeriodFiles::new(options)),
            profile_path: first.plain_file().map(Path::to_owned),
        }
    }

    /// Records the first output, which is open already.
    pub(super) fn first(&self, destination: &Destination) {
        if self.options.rotate.is_some()
            && let Some(file) = destination.file()
        {
            let wanted = open_output::path(self.env, &self.options).ok().flatten();
            self.files.lock().first(wanted, file);
        }
    }

    /// Starts writing to an opened output.
    pub(super) fn start(
        &self,
        output: OpenOutput,
        begun: Begun,
    ) -> Result<(Destination, Writer), StartError> {
        let options = &self.options;
        let method = self.sampling_method.as_ref();
        let facts = head::facts(self.env, &self.given, options, method, begun);
        let encoder = encoder(options, options.format, facts);
        let writer = Writer::start(encoder, output.sink, now(), options.block);
        let writer = writer.map_err(StartError::Thread)?;
        Ok((output.destination, writer))
    }

    /// Opens the output of the next period, and starts writing to it.
    pub(super) fn open_next(&self) -> Result<(Destination, Writer), StartError> {
        let path = open_output::path(self.env, &self.options)?;
        let path = path.map(|wanted| self.files.lock().name(wanted));
        let output = self.open(path.as_deref())?;
        if let Some(file) = output.destination.file() {
            self.files.lock().opened(file);
        }
        self.start(output, Begun::Next)
    }

    /// Returns `true` if [`Outputs::open_exhausted`] has a place for its files.
    pub(super) fn has_place_for_exhausted(&self) -> bool {
        self.profile_path.is_some()
    }

    /// Opens the file about what the program has run out of. It has the binary format, and is written by whoever has
    /// records for it: there may be no more threads.
    pub(super) fn open_exhausted(
        &self,
        exhausted: &Exhausted,
    ) -> Result<(PathBuf, Writer), StartError> {
        let profile = self.profile_path.as_deref().unwrap_or(Path::new(""));
        let what = format_args!("oom-{}", exhausted.number);
        let is_compressed = open_output::is_compressed(&self.options, profile);
        let path = companion_path(profile, what, is_compressed);
        let output = open_output::open_companion(&self.options, &path)?;
        let path = output.destination.file().map_or(path, Path::to_owned);
        let path = path::absolute(&path).unwrap_or(path);
        let method = self.sampling_method.as_ref();
        let mut facts = head::facts(self.env, &self.given, &self.options, method, Begun::Beside);
        facts.splice(0..0, exhausted.facts());
        let encoder = Box::new(BinaryEncoder::of_run(facts));
        let writer = Writer::without_thread(encoder, output.sink, now());
        Ok((path, writer))
    }

    /// Opens the file of `blackbox=`, next to the first one. Its profile has the binary format if that has records for what
    /// is measured.
    pub(super) fn open_black_box(&self) -> Result<BlackBoxOutput, (PathBuf, NoBlackBox)> {
        let profile = self.profile_path.as_deref().unwrap_or(Path::new(""));
        let next_to = |end: &str| {
            let mut name = profile.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let path = next_to(".blackbox");
        if self.profile_path.is_none() {
            return Err((path, NoBlackBox::NoPlace));
        }
        let path = path::absolute(&path).unwrap_or(path);
        let file = BlackBoxFile::create(&path, &next_to(".old.blackbox"));
        let file = file.map_err(|error| (path, error))?;
        let facts = self.black_box_facts.clone();
        let options = self.options.clone();
        let format = match options.text_only() {
            Some(_) => Format::Text,
            None => Format::Binary,
        };
        Ok(BlackBoxOutput {
            file: Arc::new(file),
            encoder: Box::new(move || encoder(&options, format, facts.clone())),
        })
    }

    /// Opens the next output. If its file cannot be opened, because someone has put another file or a link in its place,
    /// the period gets a file with an unpredictable name.
    fn open(&self, path: Option<&Path>) -> Result<OpenOutput, StartError> {
        let options = &self.options;
        let (error, path) = match (open_output::open(options, path), path) {
            (Err(error @ StartError::File { .. }), Some(path)) => (error, path),
            (opened, _) => return opened,
        };
        let other = with_number(
            path,
            format_args!("{:016x}", RandomState::new().hash_one(path)),
        );
        // If the folder is at fault, the first error names it.
        let Ok(output) = open_output::open(options, Some(&other)) else {
            return Err(error);
        };
        let other = other.display();
        console::line(format_args!("{error}; this period goes to {other}"));
        Ok(output)
    }

    /// An output has been closed: it is checked (`check_file=`), and the oldest files go (`keep=`).
    pub(super) fn closed(&self, file: Option<&Path>, is_whole: bool) {
        let is_checked = self.options.check_file && self.options.format == Format::Binary;
        if let Some(file) = file
            && is_checked
            && is_whole
        {
            verify::report(file);
        }
        self.files.lock().remove_oldest();
    }
}

/// Opens a file for a dump of the heap next to the profile. It is written by whoever has records for it.
pub(super) fn open_heap_file(
    env: Env,
    options: &Options,
    given: &str,
) -> Result<HeapFile, StartError> {
    let path = open_output::path(env, options)?;
    let output = open_output::open(options, path.as_deref())?;
    let facts = head::facts(env, given, options, None, Begun::Beside);
    let encoder = encoder(options, options.format, facts);
    let path = output
        .destination
        .file()
        .map_or_else(|| PathBuf::from(&options.file), Path::to_owned);
    Ok(HeapFile {
        path,
        writer: Writer::without_thread(encoder, output.sink, now()),
    })
}

fn encoder(
    options: &Options,
    format: Format,
    facts: Vec<(&'static str, String)>,
) -> Box<dyn Encoder> {
    match format {
        Format::Text if options.cpu == Some(Cpu::Old) => Box::new(OldProfEncoder::new()),
        Format::Text => Box::new(TextEncoder::of_run(facts)),
        Format::Binary => Box::new(BinaryEncoder::of_run(facts)),
    }
}
