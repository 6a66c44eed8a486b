//! The agent's options: `name=value`, separated by commas, as on the command line of the original HPROF.
//!
//! `rows` is the one list of them, with their values, defaults, help lines, scopes and setters; `table` reads a value with
//! a row, `scope` tells what options are for, `settings` collects the values; `values` reads times and sizes; `help` is
//! the usage text; `file_name` turns `file=` into a path; `command` parses commands to a running VM.
//!
//! # Example
//!
//! ```
//! use hprof_options::{Cpu, Request, parse};
//!
//! let Request::Profile(options) = parse("cpu=samples,depth=8", None)? else {
//!     panic!("these options ask for a profile");
//! };
//! assert_eq!(options.cpu, Some(Cpu::Samples));
//! assert_eq!(options.depth, 8);
//!
//! let error = parse("dept=8", None).unwrap_err();
//! assert!(error.to_string().contains("did you mean depth?"));
//! # Ok::<(), hprof_options::OptionError>(())
//! ```

#![forbid(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod address;
mod command;
mod file_name;
mod help;
mod rows;
mod scope;
mod settings;
mod table;
mod values;

use std::path::PathBuf;
use std::time::Duration;

pub use address::Address;
pub use command::{Command, Verb, command, refuse_options};
pub use file_name::{Surroundings, beside, with_number};
pub use help::{describe, help};

/// `depth=`: the most frames in a trace. CONTROL SETTINGS has 16 bits for it.
pub type Depth = u16;

/// The options of a profile, with defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `heap=`.
    pub heap: Option<Heap>,
    /// `cpu=`.
    pub cpu: Option<Cpu>,
    /// `monitor=`: measure contention for monitors, and report waits.
    pub monitors: bool,
    /// `format=`.
    pub format: Format,
    /// `file=` as it was given, or the default of the format. [`Surroundings::expand`] makes it a path.
    pub file: String,
    /// `force=`: overwrite an existing file.
    pub force: bool,
    /// `depth=`: the most frames a trace has.
    pub depth: Depth,
    /// `interval=`: the CPU time between two samples of a thread.
    pub interval: Duration,
    /// `engine=`: the sampling method for CPU samples.
    pub engine: SamplingChoice,
    /// `vmthreads=`: sample the VM's own threads, too.
    pub vm_threads: bool,
    /// `cutoff=`: rows below this share of the whole are left out, 0.0 for none.
    pub cutoff: f64,
    /// `fold=`: add small rows up instead of leaving them out; if `None`, the format decides.
    pub fold: Option<bool>,
    /// `sort=`: the order of sites.
    pub sort: Sort,
    /// `lineno=`: give frames line numbers.
    pub line_numbers: bool,
    /// `thread=`: separate traces for each thread.
    pub threads: bool,
    /// `doe=`: write a dump when the program ends.
    pub dump_on_exit: bool,
    /// `verbose=`: print each dump's sections on stderr.
    pub verbose: bool,
    /// `verbose=y` given explicitly: also print how stacks and samples were taken.
    pub details: bool,
    /// `logflags=4`: check the binary file after it is written.
    pub check_file: bool,
    /// `gc=`: collect garbage before live objects are reported.
    pub collect: bool,
    /// `sample=`: the mean number of bytes between two sampled allocations, `None` to track every one.
    pub sample: Option<u32>,
    /// `dumper=`: the method of dumping the heap.
    pub dumper: Dumper,
    /// `stacks=`: the method of taking the stacks of allocations and of contended monitors.
    pub stacks: StackSource,
    /// `primfields=`: include the values of primitive fields in heap dumps.
    pub primitive_fields: bool,
    /// `primarrays=`: include the elements of primitive arrays in heap dumps.
    pub primitive_arrays: bool,
    /// `net=`: the receiver that gets the profile instead of the file.
    pub net: Option<Address>,
    /// `live=`: the socket of the `hprof live` that asks for snapshots instead of a file.
    pub live: Option<PathBuf>,
    /// `net_exit=`: allow the receiver to end the VM.
    pub net_exit: bool,
    /// `compress=`; if `None`, the file name decides.
    pub compress: Option<bool>,
    /// `clock=`: the clock for `cpu=times|old`.
    pub clock: Clock,
    /// `include=`: patterns of the classes that `cpu=times|old` measures; empty for all.
    pub include: Vec<String>,
    /// `exclude=`: patterns of the classes that it leaves out.
    pub exclude: Vec<String>,
    /// `rotate=`: the length of a period, after which the profile continues in another file.
    pub rotate: Option<Rotate>,
    /// `keep=`: the most files that a profile keeps.
    pub keep: Option<u32>,
    /// `timeout=`: the time after which the profile ends.
    pub timeout: Option<Duration>,
    /// `oom=`: the content of the file that is written when the program runs out of memory; `None` to write none.
    pub oom: Option<Oom>,
    /// `oom_count=`: the most such files because of a full Java heap.
    pub oom_count: u32,
    /// Options that are accepted but have no effect.
    pub without_effect: Vec<&'static str>,
}

impl Options {
    /// Returns `true` if rows below the cutoff are added up under shorter stacks, and not left out.
    pub fn folds(&self) -> bool {
        self.fold.unwrap_or(self.format == Format::Binary)
    }

    /// Returns `true` if the profile may be written to more than one file.
    pub fn has_several_outputs(&self) -> bool {
        self.rotate.is_some() || self.oom.is_some()
    }

    /// Returns `true` if at least one measurement is requested.
    fn measures_something(&self) -> bool {
        self.heap.is_some() || self.cpu.is_some() || self.monitors
    }

    /// Returns what was asked for that a session of `hprof live` cannot do: its snapshots have a bounded size, and are taken
    /// without a walk through the heap.
    fn not_live(&self) -> Option<&'static str> {
        let heap = self.heap.filter(|heap| heap.has_dump());
        let cpu = self.cpu.filter(|cpu| cpu.times_methods());
        let others = [
            (self.net.is_some(), "net="),
            (self.rotate.is_some(), "rotate="),
            (self.threads, "thread=y"),
            (self.compress == Some(true), "compress=y"),
            (self.format == Format::Binary, "format=b"),
        ];
        let other = others.iter().find(|(is_given, _)| *is_given);
        let heap = heap.map(Heap::option).or(cpu.map(Cpu::option));
        heap.or(other.map(|&(_, option)| option))
    }

    /// Returns the requested measurement that has no records in the binary format.
    fn text_only(&self) -> Option<&'static str> {
        match self.cpu {
            Some(Cpu::Times) => Some("cpu=times"),
            Some(Cpu::Old) => Some("cpu=old"),
            _ => self.monitors.then_some("monitor=y"),
        }
    }
}

impl Default for Options {
    /// The defaults, which must agree with those that the table prints for the user.
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
            fold: None,
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
            live: None,
            net_exit: true,
            compress: None,
            clock: Clock::Cpu,
            include: Vec::new(),
            exclude: Vec::new(),
            rotate: None,
            keep: None,
            timeout: None,
            oom: None,
            oom_count: 1,
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
    /// `heap=all`, and the default if no measurement is requested: both.
    All,
}

impl Cpu {
    /// Returns the option as it is written.
    pub fn option(self) -> &'static str {
        match self {
            Cpu::Samples => "cpu=samples",
            Cpu::Times => "cpu=times",
            Cpu::Old => "cpu=old",
        }
    }

    /// Returns `true` if every call is timed.
    pub fn times_methods(self) -> bool {
        matches!(self, Cpu::Times | Cpu::Old)
    }
}

impl Heap {
    /// Returns the option as it is written.
    pub fn option(self) -> &'static str {
        match self {
            Heap::Sites => "heap=sites",
            Heap::Dump => "heap=dump",
            Heap::All => "heap=all",
        }
    }

    /// Returns `true` if sites are reported.
    pub fn has_sites(self) -> bool {
        matches!(self, Heap::Sites | Heap::All)
    }

    /// Returns `true` if the heap is dumped.
    pub fn has_dump(self) -> bool {
        matches!(self, Heap::Dump | Heap::All)
    }
}

/// `oom=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oom {
    /// `oom=sites`: where objects were allocated.
    Sites,
    /// `oom=dump`: the same, and the heap.
    Dump,
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
    /// `dumper=auto`: the VM's dumper if its dump would be right, otherwise the one over JVMTI.
    Auto,
    /// `dumper=vm`: the VM's own dumper.
    Vm,
    /// `dumper=jvmti`: a walk over all references.
    Jvmti,
}

/// `stacks=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackSource {
    /// `stacks=auto`: the agent walks stacks itself where it can, and checks one in a thousand against the VM.
    Auto,
    /// `stacks=verify`: as `auto`, but every stack is checked.
    Verify,
    /// `stacks=jvmti`: the VM is asked for every stack.
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

/// `engine=`, the sampling method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingChoice {
    /// `engine=auto`: the asynchronous one where it works.
    Auto,
    /// `engine=async`: a timer on each thread's CPU clock.
    Async,
    /// `engine=jvmti`: works in every VM.
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
    /// In bytes of records, before compression.
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

/// The action that the options request.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Print the usage text and exit.
    Help,
    /// Measure.
    Profile(Box<Options>),
}

/// An invalid option. The message is one line with the option, its value and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is no such option.
    #[error("unknown option {0}: 'help' lists the options")]
    Unknown(String),
    /// There is no such option, but one with a similar name.
    #[error("unknown option {option}: did you mean {nearest}? 'help' lists the options")]
    Misspelt {
        /// The option as given.
        option: String,
        /// The option that was probably meant.
        nearest: &'static str,
    },
    /// Options after a verb that takes none.
    #[error("unknown option {option}: '{verb}' takes none")]
    BehindVerb {
        /// The verb.
        verb: &'static str,
        /// The text after it.
        option: String,
    },
    /// The option does not take this value.
    #[error("option {name}={value}: must be {allowed}")]
    Value {
        /// The option.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// A description of the allowed values.
        allowed: String,
    },
    /// An option without a value.
    #[error("option {name}: needs a value, {name}={allowed}")]
    NoValue {
        /// The option.
        name: &'static str,
        /// A description of the allowed values.
        allowed: String,
    },
    /// The binary format has no records for another option.
    #[error("option format=b: must be a with {with}, which the binary format has no records for")]
    TextOnly {
        /// The other option.
        with: &'static str,
    },
    /// An option was given more than once.
    #[error("option {name}={value}: given twice; once is allowed")]
    Twice {
        /// The option.
        name: &'static str,
        /// The second value.
        value: String,
    },
    /// Both a file and a receiver were given.
    #[error("options net={net} and file={file} exclude each other; one is allowed")]
    FileAndNet {
        /// The receiver.
        net: String,
        /// The file.
        file: String,
    },
    /// An option that a session of `hprof live` cannot have.
    #[error(
        "option live={socket}: not with {with}; cpu=samples, heap=sites and monitor=y are allowed, as text and with one output"
    )]
    NotLive {
        /// The socket.
        socket: String,
        /// The other option.
        with: &'static str,
    },
    /// An option that has no effect with the others.
    #[error("option {name}={value}: does nothing without {needed}")]
    DoesNothing {
        /// The option.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// The options that it needs beside it.
        needed: String,
    },
    /// `%{NAME}` in a file name, but the environment has no such variable.
    #[error("option file={file}: the environment has no variable {variable}")]
    NoVariable {
        /// The file name as given.
        file: String,
        /// The variable's name.
        variable: String,
    },
    /// `%{` in a file name without the closing brace.
    #[error("option file={file}: '%{{' must be closed by '}}'")]
    OpenVariable {
        /// The file name as given.
        file: String,
    },
}

impl OptionError {
    fn unknown(name: &str, option: &str) -> Self {
        let option = option.to_owned();
        match rows::nearest(name) {
            Some(nearest) => Self::Misspelt { option, nearest },
            None => Self::Unknown(option),
        }
    }
}

/// Parses the options of the command line, followed by those of the environment variable `_JAVA_HPROF_OPTIONS`.
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
        rows::find(name)
            .ok_or_else(|| OptionError::unknown(name, option))?
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
