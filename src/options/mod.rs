//! The agent's options: `name=value`, comma after comma, as on the command line of the original HPROF.
//!
//! `table` is the one list of them, with their values, defaults, help lines and setters, `settings` what they fill in;
//! `values` reads times and sizes; `help` is the usage text; `file_name` turns `file=` into a path; `command` takes apart what is asked of a VM that
//! runs.

mod address;
mod command;
mod file_name;
mod help;
mod settings;
mod table;
mod values;

use std::time::Duration;

pub use address::Address;
pub use command::{Command, Verb, command, refuse_options};
pub use file_name::{Surroundings, with_number};
pub use help::help;

/// `depth=`: CONTROL SETTINGS has 16 bits for it.
pub type Depth = u16;

/// What the user asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `heap=`.
    pub heap: Option<Heap>,
    /// `cpu=`.
    pub cpu: Option<Cpu>,
    /// `monitor=`: whether contention for monitors is measured and waits are told.
    pub monitors: bool,
    /// `format=`.
    pub format: Format,
    /// `file=` as it was given, or the default of the format. [`Surroundings::expand`] makes it a path.
    pub file: String,
    /// `force=`: whether an existing file may be overwritten.
    pub force: bool,
    /// `depth=`: the most frames a trace has.
    pub depth: Depth,
    /// `interval=`: the CPU time between two samples of a thread.
    pub interval: Duration,
    /// `engine=`: how CPU samples are taken.
    pub engine: SamplingChoice,
    /// `vmthreads=`: whether the VM's own threads have CPU samples.
    pub vm_threads: bool,
    /// `cutoff=`: rows below this share of the whole are left out, 0.0 for none.
    pub cutoff: f64,
    /// `sort=`: what sites are ordered by.
    pub sort: Sort,
    /// `lineno=`: whether frames have line numbers.
    pub line_numbers: bool,
    /// `thread=`: whether traces are kept apart by thread.
    pub threads: bool,
    /// `doe=`: whether a dump is written when the program ends.
    pub dump_on_exit: bool,
    /// `verbose=`: whether stderr says what is dumped.
    pub verbose: bool,
    /// `verbose=y`, where it is given and not only the default: whether stderr says how stacks and samples were taken, too.
    pub details: bool,
    /// `logflags=4`: whether the binary file is checked after it is written.
    pub check_file: bool,
    /// `gc=`: whether garbage is collected before live objects are reported.
    pub collect: bool,
    /// `sample=`: bytes between two allocations that are seen, `None` for all.
    pub sample: Option<u32>,
    /// `dumper=`: how the heap is dumped.
    pub dumper: Dumper,
    /// `stacks=`: how the stacks of allocations and of contended monitors are taken.
    pub stacks: StackSource,
    /// `primfields=`: whether a heap dump has the values of primitive fields.
    pub primitive_fields: bool,
    /// `primarrays=`: whether a heap dump has the elements of primitive arrays.
    pub primitive_arrays: bool,
    /// `net=`: where the profile goes instead of the file.
    pub net: Option<Address>,
    /// `net_exit=`: whether the receiver may end the VM.
    pub net_exit: bool,
    /// `compress=`; where it is not given, the name of the file decides.
    pub compress: Option<bool>,
    /// `clock=`: what `cpu=times|old` measures.
    pub clock: Clock,
    /// `include=`: patterns of the classes that `cpu=times|old` measures, none for all.
    pub include: Vec<String>,
    /// `exclude=`: patterns of classes that it does not.
    pub exclude: Vec<String>,
    /// `rotate=`: when the profile goes on in another file.
    pub rotate: Option<Rotate>,
    /// `keep=`: how many files of a profile there are at the most.
    pub keep: Option<u32>,
    /// `timeout=`: after which time the profile ends.
    pub timeout: Option<Duration>,
    /// Options that were accepted and do nothing.
    pub without_effect: Vec<&'static str>,
}

impl Options {
    /// Whether anything is asked for that can be measured.
    fn measures_something(&self) -> bool {
        self.heap.is_some() || self.cpu.is_some() || self.monitors
    }

    /// What is asked for and has no records in the binary format.
    fn text_only(&self) -> Option<&'static str> {
        match self.cpu {
            Some(Cpu::Times) => Some("cpu=times"),
            Some(Cpu::Old) => Some("cpu=old"),
            _ => self.monitors.then_some("monitor=y"),
        }
    }
}

impl Default for Options {
    /// What holds where nothing is said; the table tells the user the same.
    fn default() -> Self {
        Self {
            heap: None,
            cpu: None,
            monitors: false,
            format: Format::Text,
            file: String::new(),
            force: true,
            depth: 4,
            interval: Duration::from_millis(10),
            engine: SamplingChoice::Auto,
            vm_threads: false,
            cutoff: 0.0001,
            sort: Sort::Live,
            line_numbers: true,
            threads: false,
            dump_on_exit: true,
            verbose: true,
            details: false,
            check_file: false,
            collect: true,
            sample: None,
            dumper: Dumper::Auto,
            stacks: StackSource::Auto,
            primitive_fields: true,
            primitive_arrays: true,
            net: None,
            net_exit: true,
            compress: None,
            clock: Clock::Cpu,
            include: Vec::new(),
            exclude: Vec::new(),
            rotate: None,
            keep: None,
            timeout: None,
            without_effect: Vec::new(),
        }
    }
}

/// `heap=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heap {
    /// `heap=sites`: where objects are allocated.
    Sites,
    /// `heap=dump`: every object.
    Dump,
    /// `heap=all`, and the default where nothing else is asked for: both.
    All,
}

impl Cpu {
    /// The option as it is written.
    pub fn option(self) -> &'static str {
        match self {
            Cpu::Samples => "cpu=samples",
            Cpu::Times => "cpu=times",
            Cpu::Old => "cpu=old",
        }
    }

    /// Whether every call is timed.
    pub fn times_methods(self) -> bool {
        matches!(self, Cpu::Times | Cpu::Old)
    }
}

impl Heap {
    /// The option as it is written.
    pub fn option(self) -> &'static str {
        match self {
            Heap::Sites => "heap=sites",
            Heap::Dump => "heap=dump",
            Heap::All => "heap=all",
        }
    }

    /// Whether sites are reported.
    pub fn has_sites(self) -> bool {
        matches!(self, Heap::Sites | Heap::All)
    }

    /// Whether the heap is dumped.
    pub fn has_dump(self) -> bool {
        matches!(self, Heap::Dump | Heap::All)
    }
}

/// `sort=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// `sort=live`: bytes that are alive.
    Live,
    /// `sort=alloc`: bytes that were allocated.
    Allocated,
}

/// `dumper=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dumper {
    /// `dumper=auto`: the VM's own where it is right, the walk elsewhere.
    Auto,
    /// `dumper=vm`: the VM's own.
    Vm,
    /// `dumper=jvmti`: the walk over all references.
    Jvmti,
}

/// `stacks=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackSource {
    /// `stacks=auto`: the agent walks over stacks where it can, and checks one in a thousand.
    Auto,
    /// `stacks=verify`: as `auto`, and all are checked.
    Verify,
    /// `stacks=jvmti`: the VM is asked each time.
    Jvmti,
}

/// `cpu=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// `cpu=samples`, `cpu=y`.
    Samples,
    /// `cpu=times`.
    Times,
    /// `cpu=old`.
    Old,
}

/// `engine=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingChoice {
    /// `engine=auto`: the asynchronous one where it works.
    Auto,
    /// `engine=async`: a timer on each thread's CPU clock.
    Async,
    /// `engine=jvmti`: what every VM has.
    Jvmti,
}

/// `clock=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// `clock=cpu`.
    Cpu,
    /// `clock=wall`.
    Wall,
}

/// `rotate=`: the length of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotate {
    /// In time.
    Every(Duration),
    /// In bytes of records, before they are compressed.
    Bytes(u64),
}

/// `format=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `format=a`.
    Text,
    /// `format=b`.
    Binary,
}

/// What the options ask the agent to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Print the usage and end.
    Help,
    /// Measure.
    Profile(Box<Options>),
}

/// An option that cannot be taken. One line, naming the option, its value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such option.
    #[error("unknown option {0}: 'help' lists the options")]
    Unknown(String),
    /// Options where none belong.
    #[error("unknown option {option}: '{verb}' takes none")]
    BehindVerb {
        /// The verb.
        verb: &'static str,
        /// What stands behind it.
        option: String,
    },
    /// The value is not one the option takes.
    #[error("option {name}={value}: must be {allowed}")]
    Value {
        /// The option.
        name: &'static str,
        /// What was given.
        value: String,
        /// What it takes.
        allowed: String,
    },
    /// An option stands there without its value.
    #[error("option {name}: needs a value, {name}={allowed}")]
    NoValue {
        /// The option.
        name: &'static str,
        /// What it takes.
        allowed: String,
    },
    /// The binary format has no records for what another option asks for.
    #[error("option format=b: must be a with {with}, which the binary format has no records for")]
    TextOnly {
        /// The other option.
        with: &'static str,
    },
    /// An option that may be given only once.
    #[error("option {name}={value}: given twice; once is allowed")]
    Twice {
        /// The option.
        name: &'static str,
        /// What was given the second time.
        value: String,
    },
    /// Both places for the profile.
    #[error("options net={net} and file={file} exclude each other; one is allowed")]
    FileAndNet {
        /// The receiver.
        net: String,
        /// The file.
        file: String,
    },
    /// An option that says something of another, which is missing.
    #[error("option {name}={value}: needs {other}=")]
    Without {
        /// The option.
        name: &'static str,
        /// What was given.
        value: String,
        /// The other option.
        other: &'static str,
    },
    /// `%{NAME}` in a file name, and no such variable.
    #[error("option file={file}: the environment has no variable {variable}")]
    NoVariable {
        /// The file name as given.
        file: String,
        /// The variable's name.
        variable: String,
    },
    /// `%{` in a file name without its end.
    #[error("option file={file}: '%{{' must be closed by '}}'")]
    OpenVariable {
        /// The file name as given.
        file: String,
    },
}

/// Reads the options of the command line and, after them, those of the environment variable `_JAVA_HPROF_OPTIONS`.
pub fn parse(command_line: &str, environment: Option<&str>) -> Result<Request, OptionError> {
    let mut settings = settings::Settings::default();
    let all = command_line.split(',').chain(
        environment
            .into_iter()
            .flat_map(|options| options.split(',')),
    );
    for option in all.filter(|option| !option.is_empty()) {
        if option == "help" {
            return Ok(Request::Help);
        }
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        table::find(name)
            .ok_or_else(|| OptionError::Unknown(option.to_owned()))?
            .apply(&mut settings, value)?;
    }
    settings
        .finish()
        .map(|options| Request::Profile(Box::new(options)))
}

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
