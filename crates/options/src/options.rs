//! The options of a profile, each with the type of its values, and their defaults.

use std::path::PathBuf;
use std::time::Duration;

use crate::address::Address;

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
    /// `wall=`: the time between two samples of every thread, `None` to take none.
    pub wall: Option<Duration>,
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
    /// `native=y`: frames of native code in CPU samples.
    pub native: bool,
    /// `native=malloc`: sample the memory that native code allocates; `None` to sample none.
    pub native_memory: Option<NativeMemory>,
    /// `cutoff=`: rows below this share of the whole are left out, 0.0 for none.
    pub cutoff: f64,
    /// `lifetimes=`: report how long the objects of sites lived.
    pub lifetimes: bool,
    /// `every=`: the least time between two points of the course of what is alive.
    pub every: Duration,
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
    /// `budget=`: the percentage of the program's CPU time that counting allocations or calls may cost, `None` for any.
    pub budget: Option<u8>,
    /// `dumper=`: the method of dumping the heap.
    pub dumper: Dumper,
    /// `redact=`: write heap dumps without the content of objects.
    pub redact: bool,
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
    /// `blackbox=`: write what is known into a file beside the profile every second, for a program that is killed.
    pub black_box: bool,
    /// `block=`: threads of the program wait for a slow destination as long as it takes.
    pub block: bool,
    /// Options that are accepted but have no effect.
    pub without_effect: Vec<&'static str>,
}

impl Options {
    /// Returns `true` if rows below the cutoff are added up under shorter stacks, and not left out.
    pub fn folds(&self) -> bool {
        self.fold.unwrap_or(self.format == Format::Binary)
    }

    /// Returns `true` if the names of threads may be written to more than one file.
    pub fn has_several_outputs(&self) -> bool {
        let names_threads = self.black_box && self.threads;
        self.rotate.is_some() || self.oom.is_some() || names_threads
    }

    /// Returns `true` if a heap dump in a binary file is all that is requested.
    pub fn is_heap_dump(&self) -> bool {
        let others = self.cpu.is_some() || self.monitors || self.wall.is_some();
        let is_file = self.net.is_none() && self.live.is_none() && self.rotate.is_none();
        self.heap == Some(Heap::Dump) && self.format == Format::Binary && is_file && !others
    }

    /// Returns `true` if at least one measurement is requested.
    pub(crate) fn measures_something(&self) -> bool {
        self.heap.is_some()
            || self.cpu.is_some()
            || self.monitors
            || self.wall.is_some()
            || self.native_memory.is_some()
    }

    /// Returns what was asked for that a session of `hprof live` cannot do: its snapshots have a bounded size, and are taken
    /// without a walk through the heap.
    pub(crate) fn not_live(&self) -> Option<&'static str> {
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
    pub fn text_only(&self) -> Option<&'static str> {
        match self.cpu {
            Some(Cpu::Times) => Some("cpu=times"),
            Some(Cpu::Old) => Some("cpu=old"),
            _ => None,
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
            wall: None,
            format: Format::Text,
            file: String::new(),
            force: true,
            depth: 4,
            interval: Duration::from_millis(10),
            engine: SamplingChoice::Auto,
            vm_threads: false,
            native: false,
            native_memory: None,
            cutoff: 0.0001,
            lifetimes: false,
            every: Duration::from_millis(100),
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
            budget: None,
            dumper: Dumper::Auto,
            redact: false,
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
            black_box: false,
            block: false,
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
    /// `dumper=fork`: that walk in a forked child, while the program continues.
    Fork,
    /// `dumper=forkonly`: as `Fork`, and no dump if there can be no child: the program must not be stopped.
    ForkOnly,
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

/// `native=malloc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeMemory {
    /// The mean number of bytes between two sampled allocations.
    pub interval: u32,
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
    /// `clock=samples`: no clock; the threads are sampled as with `cpu=samples`.
    Samples,
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
