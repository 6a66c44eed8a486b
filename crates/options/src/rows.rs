//! The options. Each is one row: the fields of [`Options`] that it sets, with their defaults; the parser, the error message,
//! the default as the help prints it, the line of the help, and what the option is for; its section of the page
//! `docs/reference/options.md`, and what a test must see of it; and the type of its values, if it is a new one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::address::Address;
use crate::declare::options;
#[cfg(test)]
use crate::page::{LIVE, Page, Part};
use crate::table::{OptionRow, Scope, Setter, Use, ValueRefusal};
use crate::values::{
    CLASSES, LOG_CHECK_BINARY, NATIVE, Native, NativeMemory, ROTATE, Rotate, TIME, WALL, bytes,
    native, patterns, percentage, rotate, time, wall,
};

options!(
    {
        /// `heap=`.
        let heap: Option<Heap> = None;
        OptionRow {
            name: "heap",
            values: "dump|sites|all",
            default: "all",
            description: "heap profiling",
            setter: Setter::Value(|options, value| {
                options.heap = Some(match value {
                    "dump" => Heap::Dump,
                    "sites" => Heap::Sites,
                    "all" => Heap::All,
                    _ => return Err(ValueRefusal::NotAllowed),
                });
                Ok(())
            }),
            measures: Some(|options| options.heap.is_some()),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Measured,
            text: "`sites` counts what was allocated where, and what of it is live: [allocation \
             sites](allocation-sites.md). `dump` writes every\n\
             object: [heap dumps](heap-dumps.md). `all` does both, and is the default if nothing \
             else is measured.",
            effects: &[("", "heap=sites", |o| o.heap == Some(Heap::Sites))],
            ..Page::NONE
        };
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
    },
    {
        /// `cpu=`.
        let cpu: Option<Cpu> = None;
        OptionRow {
            name: "cpu",
            values: "samples|times|old",
            allowed: Some("samples|times|old|y"),
            default: "off",
            description: "CPU usage",
            setter: Setter::Value(|options, value| match value {
                "samples" | "y" => {
                    options.cpu = Some(Cpu::Samples);
                    Ok(())
                }
                "times" => {
                    options.cpu = Some(Cpu::Times);
                    Ok(())
                }
                "old" => {
                    options.cpu = Some(Cpu::Old);
                    Ok(())
                }
                _ => Err(ValueRefusal::NotAllowed),
            }),
            measures: Some(|options| options.cpu.is_some()),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Measured,
            text: "`samples` (or `y`) shows where CPU time is spent: [CPU samples](cpu-samples.md). \
             `times` counts and times every call:\n\
             [call times](call-times.md). `old` does that for pairs of caller and callee, in the \
             format of the profiler before HPROF.",
            effects: &[("", "cpu=times", |o| o.cpu == Some(Cpu::Times))],
            default_in_words: true,
            ..Page::NONE
        };
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
    },
    {
        /// `monitor=`: measure contention for monitors, and report waits.
        let monitors: bool = false;
        OptionRow {
            name: "monitor",
            description: "contention for monitors and locks",
            measures: Some(|options| options.monitors),
            setter: Setter::Switch(|options, on| options.monitors = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Measured,
            text: "`y` measures contention for [monitors](monitors.md), samples who held the locks that \
             threads waited for, and shows the state of all\n\
             monitors. The file is text unless [`format=b`](#format) is given.",
            effects: &[("", "monitor=y", |o| o.monitors)],
            ..Page::NONE
        };
    },
    {
        /// `wall=`: the time between two samples of every thread, `None` to take none.
        let wall: Option<Duration> = None;
        OptionRow {
            name: "wall",
            values: "y|n|<time>",
            allowed: Some(WALL),
            default: "n",
            description: "sample all threads, waiting or not (y: 20ms)",
            setter: Setter::Value(|options, value| {
                options.wall = wall(value).ok_or(ValueRefusal::NotAllowed)?;
                Ok(())
            }),
            measures: Some(|options| options.wall.is_some()),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Measured,
            text: "`y` samples all threads every 20 ms, running or waiting, with their states: \
             [wall-clock samples](wall-samples.md). A time from `1ms` to `1h` is the interval.",
            effects: &[("", "wall=5ms", |o| o.wall == Some(Duration::from_millis(5)))],
            ..Page::NONE
        };
    },
    {
        /// `format=`.
        let format: Format = Format::Text;
        OptionRow {
            name: "format",
            values: "a|b",
            default: "a, b for *.hprof",
            description: "text (a) or binary (b) output",
            setter: Setter::Value(|options, value| {
                options.format = match value {
                    "a" => Format::Text,
                    "b" => Format::Binary,
                    _ => return Err(ValueRefusal::NotAllowed),
                };
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Output,
            text: "`a` writes text, `b` the binary format, which is smaller, and which other tools \
             read. Without `format`, `file=x.hprof` and `file=x.hprof.gz` are binary, and all \
             other\n\
             names text. Call times exist only as text, and monitors are text unless `format=b` \
             [is given](monitors.md#in-a-binary-file). The original wrote text\n\
             unless `format=b` was given: a script that needs text in a file whose name ends in \
             `.hprof` must pass `format=a`.",
            effects: &[("cpu=samples", "format=b", |o| o.format == Format::Binary)],
            default_in_words: true,
            ..Page::NONE
        };
        /// `format=`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Format {
            /// `format=a`.
            Text,
            /// `format=b`.
            Binary,
        }
    },
    {
        /// `file=` as it was given, or the default of the format. [`Surroundings::expand`] makes it a path.
        let file: String = String::new();
        OptionRow {
            name: "file",
            values: "<file>",
            allowed: Some("the name of a file"),
            default: "java.hprof[.txt]",
            description: "write the data to this file",
            setter: Setter::Value(|options, value| {
                if value.is_empty() {
                    return Err(ValueRefusal::NotAllowed);
                }
                if !options.file.is_empty() {
                    return Err(ValueRefusal::Twice);
                }
                value.clone_into(&mut options.file);
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Output,
            text: "The name of the file. In it, `%p` is the process id, `%t` the time at which the \
             profile (or its period) begins, `%h` the host, `%m` the simple name of the\n\
             main class or jar, and `%{NAME}` an environment variable. An existing file is \
             replaced. [The file of a profile](files.md#the-file-of-a-profile) has\n\
             the rules.",
            effects: &[("", "file=x", |o| o.file == "x")],
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `net=`: the receiver that gets the profile instead of the file.
        let net: Option<Address> = None;
        OptionRow {
            name: "net",
            values: "<host>:<port>",
            allowed: Some("<host>:<port>, an IPv6 address in brackets, the port from 1 to 65535"),
            default: "write to file",
            description: "send the data to a receiver",
            setter: Setter::Value(|options, value| {
                let address = Address::parse(value).ok_or(ValueRefusal::NotAllowed)?;
                if options.net.is_some() {
                    return Err(ValueRefusal::Twice);
                }
                options.net = Some(address);
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Output,
            text: "Sends the profile to a receiver, such as `hprof recv`, and takes its commands: [over \
             the network](../guide/network.md). It excludes `file`.",
            effects: &[("", "net=h:1", |o| o.net.is_some())],
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `net_exit=`: allow the receiver to end the VM.
        let net_exit: bool = true;
        OptionRow {
            name: "net_exit",
            default: "y",
            description: "the receiver may end the VM",
            scope: Scope::Only(&[uses::RECEIVER]),
            setter: Setter::Switch(|options, on| options.net_exit = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Output,
            text: "`n` keeps the receiver from ending the VM. With `y`, anyone who can take its place \
             can end the program.",
            effects: &[("net=h:1", "net_exit=n", |o| !o.net_exit)],
            scoped: Some(("net_exit=n", "cpu=samples,net=h:1")),
            ..Page::NONE
        };
    },
    {
        /// `live=`: the socket of the `hprof live` that asks for snapshots instead of a file.
        let live: Option<PathBuf> = None;
        OptionRow {
            name: "live",
            values: "<socket>",
            allowed: Some("the absolute path of a socket"),
            default: "write to file",
            description: "what 'hprof live' starts; ends with it",
            setter: Setter::Value(|options, value| {
                let socket = Path::new(value);
                if !socket.is_absolute() {
                    return Err(ValueRefusal::NotAllowed);
                }
                options.live = Some(socket.to_owned());
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Rare,
            text: "The socket of [`hprof live`](../guide/live.md); not for use by hand. The agent \
             answers each byte with a snapshot of the costs since the previous\n\
             one, and the profile ends with the connection. Only `cpu=samples`, `heap=sites` and \
             `monitor=y` are allowed with it.",
            effects: &[("cpu=samples", LIVE, |o| o.live.is_some())],
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `compress=`; if `None`, the file name decides.
        let compress: Option<bool> = None;
        OptionRow {
            name: "compress",
            default: "y for *.gz",
            description: "compress the data with gzip",
            setter: Setter::Switch(|options, on| options.compress = Some(on)),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Output,
            text: "`y` compresses the output with gzip. It is the default for file names that end in \
             `.gz`.",
            effects: &[("", "compress=y", |o| o.compress == Some(true))],
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `depth=`: the most frames a trace has.
        let depth: Depth = 4;
        OptionRow {
            name: "depth",
            values: "<size>",
            allowed: Some("a whole number from 0 to 65535"),
            default: "4, 64 with wall=",
            description: "frames in a stack trace",
            scope: Scope::Original(uses::WITH_TRACES),
            setter: Setter::Value(|options, value| {
                options.depth = value.parse().map_err(|_| ValueRefusal::NotAllowed)?;
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Detail,
            text: "The number of frames in a trace, from 0 to 65535 (of CPU samples at most 2,048): 4 \
             unless given, 64 with `wall=` or `native=malloc`. `cpu=old` always uses 2. `hprof \
             record` sets 512.",
            effects: &[("", "depth=0", |o| o.depth == 0)],
            scoped: Some((
                "depth=8",
                "heap=sites heap=dump heap=all cpu=samples cpu=samples,engine=jvmti \
                 cpu=times monitor=y cpu=samples,net=h:1 wall=y native=malloc",
            )),
            default_in_words: true,
            ..Page::NONE
        };
        /// `depth=`: the most frames in a trace. CONTROL SETTINGS has 16 bits for it.
        pub type Depth = u16;
    },
    {
        /// `interval=`: the CPU time between two samples of a thread.
        let interval: Duration = Duration::from_millis(10);
        OptionRow {
            name: "interval",
            values: "<ms>",
            allowed: Some("a whole number of milliseconds from 1 to 2147483647"),
            default: "10",
            description: "CPU time between two samples, in ms",
            scope: Scope::Original(&[uses::SAMPLES, uses::SAMPLED_TIMES]),
            setter: Setter::Value(|options, value| match value.parse::<u64>() {
                Ok(millis @ 1..=0x7fff_ffff) => {
                    options.interval = Duration::from_millis(millis);
                    Ok(())
                }
                _ => Err(ValueRefusal::NotAllowed),
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Detail,
            text: "The CPU time between two samples of a thread, in milliseconds.",
            effects: &[("cpu=samples", "interval=1", |o| {
                o.interval == Duration::from_millis(1)
            })],
            scoped: Some((
                "interval=5",
                "cpu=samples cpu=samples,engine=jvmti cpu=samples,net=h:1",
            )),
            ..Page::NONE
        };
    },
    {
        /// `engine=`: the sampling method for CPU samples.
        let engine: SamplingChoice = SamplingChoice::Auto;
        OptionRow {
            name: "engine",
            values: "auto|async|jvmti",
            default: "auto",
            description: "how CPU samples are taken",
            scope: Scope::Only(&[uses::SAMPLES]),
            setter: Setter::Value(|options, value| {
                options.engine = match value {
                    "auto" => SamplingChoice::Auto,
                    "async" => SamplingChoice::Async,
                    "jvmti" => SamplingChoice::Jvmti,
                    _ => return Err(ValueRefusal::NotAllowed),
                };
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Rare,
            text: "How `cpu=samples` samples: `async` uses timers on the threads' CPU clocks, `jvmti` \
             asks the VM at safepoints, `auto` takes `async` where it works:\n\
             [the two sampling methods](cpu-samples.md#the-two-sampling-methods).",
            effects: &[("cpu=samples", "engine=jvmti", |o| {
                o.engine == SamplingChoice::Jvmti
            })],
            scoped: Some((
                "engine=async",
                "cpu=samples cpu=samples,engine=jvmti cpu=samples,net=h:1",
            )),
            ..Page::NONE
        };
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
    },
    {
        /// `inlined=`: have the compilers record which inlined method each instruction belongs to.
        let inlined: bool = true;
        OptionRow {
            name: "inlined",
            default: "y",
            description: "CPU samples name inlined methods",
            scope: Scope::Only(&[uses::ASYNC_SAMPLES]),
            setter: Setter::Switch(|options, on| options.inlined = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Rare,
            text: "`n` leaves `DebugNonSafepoints` off: compilers do less, and samples in inlined methods are \
             their callers' or neighbours'.",
            effects: &[("cpu=samples", "inlined=n", |o| !o.inlined)],
            scoped: Some(("inlined=n", "cpu=samples cpu=samples,net=h:1")),
            ..Page::NONE
        };
    },
    {
        /// `vmthreads=`: sample the VM's own threads, too.
        let vm_threads: bool = false;
        OptionRow {
            name: "vmthreads",
            description: "CPU samples of the VM's own threads",
            scope: Scope::Only(&[uses::ASYNC_SAMPLES]),
            setter: Setter::Switch(|options, on| options.vm_threads = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Detail,
            text: "`y` also samples the threads of the garbage collector, the compilers and the rest of \
             the VM.",
            effects: &[("cpu=samples", "vmthreads=y", |o| o.vm_threads)],
            scoped: Some(("vmthreads=y", "cpu=samples cpu=samples,net=h:1")),
            ..Page::NONE
        };
    },
    {
        /// `native=y`: frames of native code in CPU samples.
        let native: bool = false;
        /// `native=malloc`: sample the memory that native code allocates; `None` to sample none.
        let native_memory: Option<NativeMemory> = None;
        OptionRow {
            name: "native",
            values: "y|n|malloc[:<bytes>]",
            allowed: Some(NATIVE),
            default: "n",
            description: "CPU samples with native code; native memory",
            scope: Scope::Only(&[uses::ASYNC_SAMPLES, uses::NATIVE_MEMORY]),
            setter: Setter::Value(|options, value| {
                match native(value).ok_or(ValueRefusal::NotAllowed)? {
                    Native::Frames(on) => options.native = on,
                    Native::Memory(memory) => options.native_memory = Some(memory),
                }
                Ok(())
            }),
            measures: Some(|options| options.native_memory.is_some()),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Detail,
            text: "`y` adds the functions of native libraries and of the VM to the stacks of CPU \
             samples: [native frames](cpu-samples.md#native-frames). `malloc` (every 512 KB) or\n\
             `malloc:64k` samples [native memory](allocation-sites.md#native-memory).",
            effects: &[
                ("cpu=samples", "native=y", |o| o.native),
                ("", "native=malloc:64k", |o| {
                    o.native_memory == Some(NativeMemory { interval: 65_536 })
                }),
            ],
            scoped: Some(("native=y", "cpu=samples cpu=samples,net=h:1 native=malloc")),
            ..Page::NONE
        };
    },
    {
        /// `cutoff=`: rows below this share of the whole are left out, 0.0 for none.
        let cutoff: f64 = 0.0001;
        OptionRow {
            name: "cutoff",
            values: "<value>",
            allowed: Some("a number from 0 to 1"),
            default: "0.0001",
            description: "leave out rows below this share",
            scope: Scope::Original(uses::WITH_ROWS),
            setter: Setter::Value(|options, value| match value.parse::<f64>() {
                Ok(share) if (0.0..=1.0).contains(&share) => {
                    options.cutoff = share;
                    Ok(())
                }
                _ => Err(ValueRefusal::NotAllowed),
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Detail,
            text: "The share, from 0 to 1, below which a row is small: all of its columns are smaller \
             shares of their totals. Small rows are left out and\n\
             summed in one line, or [folded](#fold). `0` keeps all.",
            effects: &[("", "cutoff=0.5", |o| o.cutoff == 0.5)],
            scoped: Some((
                "cutoff=0",
                "heap=sites heap=all cpu=samples cpu=samples,engine=jvmti cpu=times \
                 monitor=y cpu=samples,net=h:1 wall=y native=malloc",
            )),
            ..Page::NONE
        };
    },
    {
        /// `fold=`: add small rows up instead of leaving them out; if `None`, the format decides.
        let fold: Option<bool> = None;
        OptionRow {
            name: "fold",
            default: "y in binary",
            description: "add small rows up under shorter stacks",
            scope: Scope::Only(&[
                uses::SITES,
                uses::SAMPLES,
                uses::WALL_SAMPLES,
                uses::TIMES,
                uses::NATIVE_MEMORY,
            ]),
            setter: Setter::Switch(|options, on| options.fold = Some(on)),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Detail,
            text: "`y` adds small rows up under shorter stacks instead of leaving them out: [small \
             rows](allocation-sites.md#small-rows). The default is `y` in\n\
             the binary format, and `n` in text.",
            effects: &[("format=b", "fold=n", |o| !o.folds())],
            scoped: Some((
                "fold=y",
                "heap=sites heap=all cpu=samples cpu=samples,engine=jvmti cpu=times \
                 cpu=samples,net=h:1 wall=y native=malloc",
            )),
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `lifetimes=`: report how long the objects of sites lived.
        let lifetimes: bool = false;
        OptionRow {
            name: "lifetimes",
            description: "how long the objects of each site live",
            scope: Scope::Only(&[uses::SITES]),
            setter: Setter::Switch(|options, on| options.lifetimes = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Measured,
            text: "With `heap=sites`, `y` adds how long the objects of each site lived, and what was \
             alive at the peak:\n\
             [lifetimes](allocation-sites.md#lifetimes).",
            effects: &[("", "lifetimes=y", |o| o.lifetimes)],
            scoped: Some(("lifetimes=y", "heap=sites heap=all")),
            ..Page::NONE
        };
    },
    {
        /// `every=`: the least time between two points of the course of what is alive.
        let every: Duration = Duration::from_millis(100);
        OptionRow {
            name: "every",
            values: "<time>",
            allowed: Some(TIME),
            default: "100ms",
            description: "least time between looks at what is alive",
            scope: Scope::Only(&[uses::LIFETIMES]),
            setter: Setter::Value(|options, value| {
                options.every = time(value).ok_or(ValueRefusal::NotAllowed)?;
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Rare,
            text: "With `lifetimes=y`: the least time between two looks at all live objects, which make \
             the [course](allocation-sites.md#the-course). Looks happen only after\n\
             collections, and take at most a fiftieth of the time.",
            effects: &[("heap=sites,lifetimes=y", "every=10s", |o| {
                o.every == Duration::from_secs(10)
            })],
            scoped: Some(("every=10s", "")),
            ..Page::NONE
        };
    },
    {
        /// `sort=`: the order of sites.
        let sort: Sort = Sort::Live;
        OptionRow {
            name: "sort",
            values: "live|alloc",
            default: "live",
            description: "order of sites: live or allocated bytes",
            scope: Scope::Only(&[uses::SITES]),
            setter: Setter::Value(|options, value| {
                options.sort = match value {
                    "live" => Sort::Live,
                    "alloc" => Sort::Allocated,
                    _ => return Err(ValueRefusal::NotAllowed),
                };
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Detail,
            text: "Whether sites are ordered by live bytes (`live`) or by all allocated bytes \
             (`alloc`).",
            effects: &[("heap=sites", "sort=alloc", |o| o.sort == Sort::Allocated)],
            scoped: Some(("sort=alloc", "heap=sites heap=all")),
            ..Page::NONE
        };
        /// `sort=`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Sort {
            /// `sort=live`: bytes that are alive.
            Live,
            /// `sort=alloc`: bytes that were allocated.
            Allocated,
        }
    },
    {
        /// `lineno=`: give frames line numbers.
        let line_numbers: bool = true;
        OptionRow {
            name: "lineno",
            default: "y",
            description: "line numbers in traces",
            scope: Scope::Original(uses::WITH_TRACES),
            setter: Setter::Switch(|options, on| options.line_numbers = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Detail,
            text: "`n` leaves the line numbers out of traces.",
            effects: &[("", "lineno=n", |o| !o.line_numbers)],
            scoped: Some((
                "lineno=n",
                "heap=sites heap=dump heap=all cpu=samples cpu=samples,engine=jvmti \
                 cpu=times monitor=y cpu=samples,net=h:1 wall=y native=malloc",
            )),
            ..Page::NONE
        };
    },
    {
        /// `thread=`: separate traces for each thread.
        let threads: bool = false;
        OptionRow {
            name: "thread",
            description: "separate traces for each thread",
            scope: Scope::Original(uses::WITH_TRACES),
            setter: Setter::Switch(|options, on| options.threads = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Detail,
            text: "`y` gives each thread traces of its own.",
            effects: &[("", "thread=y", |o| o.threads)],
            scoped: Some((
                "thread=y",
                "heap=sites heap=dump heap=all cpu=samples cpu=samples,engine=jvmti \
                 cpu=times monitor=y cpu=samples,net=h:1 wall=y native=malloc",
            )),
            ..Page::NONE
        };
    },
    {
        /// `doe=`: write a dump when the program ends.
        let dump_on_exit: bool = true;
        OptionRow {
            name: "doe",
            default: "y",
            description: "dump when the program ends",
            setter: Setter::Switch(|options, on| options.dump_on_exit = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Original,
            text: "`n` writes no dump when the program ends (\"dump on exit\"); dumps on request are \
             still written.",
            effects: &[("", "doe=n", |o| !o.dump_on_exit)],
            ..Page::NONE
        };
    },
    {
        /// `gc=`: collect garbage before live objects are reported.
        let collect: bool = true;
        OptionRow {
            name: "gc",
            default: "y",
            description: "collect garbage before reading the heap",
            scope: Scope::Only(&[uses::HEAP]),
            setter: Setter::Switch(|options, on| options.collect = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Dumps,
            text: "`y` forces a collection before the heap is read. `n` shows what the last collection \
             left.",
            effects: &[("heap=sites", "gc=n", |o| !o.collect)],
            scoped: Some(("gc=n", "heap=sites heap=dump heap=all")),
            ..Page::NONE
        };
    },
    {
        /// `sample=`: the mean number of bytes between two sampled allocations, `None` to track every one.
        let sample: Option<u32> = None;
        OptionRow {
            name: "sample",
            values: "<bytes>",
            allowed: Some("a number of bytes from 1 to 2147483647, optionally followed by k or m"),
            default: "every object",
            description: "estimate: one sample per this many bytes",
            scope: Scope::Only(&[uses::HEAP]),
            setter: Setter::Value(|options, value| {
                options.sample = Some(bytes(value).ok_or(ValueRefusal::NotAllowed)?);
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Detail,
            text: "Estimates allocation sites from one object in every so many bytes (`512k`), at a \
             fraction of the cost of counting all.",
            effects: &[("heap=sites", "sample=77", |o| o.sample == Some(77))],
            scoped: Some(("sample=512k", "heap=sites heap=dump heap=all")),
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `budget=`: the percentage of the program's CPU time that counting allocations or calls may cost, `None` for any.
        let budget: Option<u8> = None;
        OptionRow {
            name: "budget",
            values: "<percent>%",
            allowed: Some("a share of the program's CPU time from 1% to 100%, such as 20%"),
            default: "off",
            description: "estimate or leave out beyond this cost",
            scope: Scope::Only(&[uses::HEAP, uses::TIMES, uses::OLD_TIMES]),
            setter: Setter::Value(|options, value| {
                options.budget = Some(percentage(value).ok_or(ValueRefusal::NotAllowed)?);
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Detail,
            text: "`budget=20%` bounds what tracking allocations may cost: while it takes more than a \
             fifth of the program's CPU time, a sample is tracked instead of all,\n\
             and totals are [marked as estimates](allocation-sites.md#a-budget). With `cpu=times` \
             and `cpu=old`, the methods that are called most are\n\
             [left out, and named](call-times.md#a-budget). `wall=` always takes at most 2 % of \
             one CPU on average, and the sampler of `monitor=y` 1 %.",
            effects: &[("heap=sites", "budget=7%", |o| o.budget == Some(7))],
            scoped: Some((
                "budget=20%",
                "heap=sites heap=dump heap=all cpu=times cpu=old",
            )),
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `oom=`: the content of the file that is written when the program runs out of memory; `None` to write none.
        let oom: Option<Oom> = None;
        OptionRow {
            name: "oom",
            values: "y|n|dump|sites",
            default: "y",
            description: "write a file when memory runs out",
            scope: Scope::Only(&[uses::HEAP_FILE]),
            setter: Setter::Value(|options, value| {
                options.oom = match value {
                    // `Settings` knows what that is with these options.
                    "y" | "n" => None,
                    "dump" => Some(Oom::Dump),
                    "sites" => Some(Oom::Sites),
                    _ => return Err(ValueRefusal::NotAllowed),
                };
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::BadEnd,
            text: "Writes a file when the program runs out of memory, before it sees the error: \
             `java.oom-1.hprof` next to `java.hprof.txt`. `sites` writes the\n\
             allocation sites, `dump` also the heap, `n` nothing. `y` is `dump` for \
             `heap=dump|all` and `sites` for `heap=sites`. It needs `heap=` and a file, no\n\
             pipe. See [when memory runs out](files.md#when-memory-runs-out).",
            effects: &[("heap=sites", "oom=dump", |o| o.oom == Some(Oom::Dump))],
            scoped: Some(("oom=y", "heap=sites heap=dump heap=all")),
            ..Page::NONE
        };
        /// `oom=`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Oom {
            /// `oom=sites`: where objects were allocated.
            Sites,
            /// `oom=dump`: the same, and the heap.
            Dump,
        }
    },
    {
        /// `oom_count=`: the most such files because of a full Java heap.
        let oom_count: u32 = 1;
        OptionRow {
            name: "oom_count",
            values: "<files>",
            allowed: Some("a whole number of files from 1 to 1000"),
            default: "1",
            description: "with oom=: the most such files",
            scope: Scope::Only(&[uses::OOM_FILE]),
            setter: Setter::Value(|options, value| match value.parse::<u32>() {
                Ok(files @ 1..=1_000) => {
                    options.oom_count = files;
                    Ok(())
                }
                _ => Err(ValueRefusal::NotAllowed),
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::BadEnd,
            text: "The most files that `oom=` writes because the Java heap is full. Every other limit \
             (the length of arrays, metaspace, threads) gets one file at most.",
            effects: &[("heap=sites", "oom_count=3", |o| o.oom_count == 3)],
            scoped: Some(("oom_count=2", "heap=sites heap=dump heap=all")),
            ..Page::NONE
        };
    },
    {
        /// `blackbox=`: write what is known into a file next to the profile every second, for a program that is killed.
        let black_box: bool = false;
        OptionRow {
            name: "blackbox",
            description: "keep what is known for a killed program",
            scope: Scope::Only(&[uses::FILE]),
            setter: Setter::Switch(|options, on| options.black_box = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::BadEnd,
            text: "`y` keeps a snapshot for a program that is killed, in a file of 4 MB, \
             `java.hprof.txt.blackbox`, which `hprof autopsy` reads. It is at most 30 s old, and \
             is\n\
             removed when the profile ends well: [when the program is \
             killed](files.md#when-the-program-is-killed). `hprof record` has it on.",
            effects: &[("cpu=samples", "blackbox=y", |o| o.black_box)],
            scoped: Some((
                "blackbox=y",
                "heap=sites heap=dump heap=all cpu=samples cpu=samples,engine=jvmti \
                 cpu=times cpu=old monitor=y wall=y native=malloc",
            )),
            ..Page::NONE
        };
    },
    {
        /// `block=`: threads of the program wait for a slow destination as long as it takes.
        let block: bool = false;
        OptionRow {
            name: "block",
            description: "wait for a slow file or receiver",
            setter: Setter::Switch(|options, on| options.block = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::BadEnd,
            text: "What happens if the file system or the receiver takes nothing. With `n`, an event of \
             the program waits for one second in all; then the program\n\
             continues, and the profile ends after 65,536 more events. A dump waits for 60 \
             seconds. With `y` both wait as long as it takes, except for a receiver or a pipe, \
             never\n\
             longer than those 60 seconds. When the program ends, 20 seconds without progress end \
             the profile, with `y` too.",
            effects: &[("cpu=samples", "block=y", |o| o.block)],
            ..Page::NONE
        };
    },
    {
        /// `clock=`: the clock for `cpu=times|old`.
        let clock: Clock = Clock::Cpu;
        OptionRow {
            name: "clock",
            values: "cpu|wall|samples|auto",
            default: "cpu",
            description: "what cpu=times|old measures",
            scope: Scope::Only(&[uses::TIMES, uses::OLD_TIMES]),
            setter: Setter::Value(|options, value| {
                options.clock = match value {
                    "cpu" => Clock::Cpu,
                    "wall" => Clock::Wall,
                    "samples" => Clock::Samples,
                    "auto" => Clock::Auto,
                    _ => return Err(ValueRefusal::NotAllowed),
                };
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Detail,
            text: "What `cpu=times|old` measures: CPU time (`cpu`), elapsed time (`wall`), or CPU time \
             by `samples`. `auto`: `samples` where that works, else `cpu`.",
            effects: &[("cpu=times", "clock=wall", |o| o.clock == Clock::Wall)],
            scoped: Some(("clock=wall", "cpu=times cpu=old")),
            ..Page::NONE
        };
        /// `clock=`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Clock {
            /// `clock=cpu`.
            Cpu,
            /// `clock=wall`.
            Wall,
            /// `clock=samples`: no clock; the threads are sampled as with `cpu=samples`.
            Samples,
            /// `clock=auto`: samples if the VM can be sampled, else CPU time.
            Auto,
        }

        impl Clock {
            /// Returns `true` if the times may be those of samples.
            pub fn may_be_sampled(self) -> bool {
                matches!(self, Self::Samples | Self::Auto)
            }
        }
    },
    {
        /// `include=`: patterns of the classes that `cpu=times|old` measures; empty for all.
        let include: Vec<String> = Vec::new();
        OptionRow {
            name: "include",
            values: "<classes>",
            allowed: Some(CLASSES),
            default: "all",
            description: "classes that cpu=times|old measures",
            scope: Scope::Only(&[uses::TIMES, uses::OLD_TIMES]),
            setter: Setter::Value(|options, value| {
                options.include = patterns(value).ok_or(ValueRefusal::NotAllowed)?;
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Detail,
            text: "The classes whose methods `cpu=times` and `cpu=old` measure, separated by `:`, such \
             as `com.acme.*:org.foo.Bar`.",
            effects: &[("cpu=times", "include=a.*", |o| o.include == ["a.*"])],
            scoped: Some(("include=a.*", "cpu=times cpu=old")),
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `exclude=`: patterns of the classes that it leaves out.
        let exclude: Vec<String> = Vec::new();
        OptionRow {
            name: "exclude",
            values: "<classes>",
            allowed: Some(CLASSES),
            default: "none",
            description: "classes that it does not",
            scope: Scope::Only(&[uses::TIMES, uses::OLD_TIMES]),
            setter: Setter::Value(|options, value| {
                options.exclude = patterns(value).ok_or(ValueRefusal::NotAllowed)?;
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Detail,
            text: "Classes that they do not measure. `exclude` wins over `include`.",
            effects: &[("cpu=times", "exclude=a.*", |o| o.exclude == ["a.*"])],
            scoped: Some(("exclude=a.*", "cpu=times cpu=old")),
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        OptionRow {
            name: "msa",
            description: "Solaris only, without effect",
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Original,
            text: "Without effect. It was for Solaris.",
            ..Page::NONE
        };
    },
    {
        /// `force=`: overwrite an existing file.
        let force: bool = true;
        OptionRow {
            name: "force",
            default: "y",
            description: "overwrite the file if it exists",
            scope: Scope::Original(&[uses::FILE]),
            setter: Setter::Switch(|options, on| options.force = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Output,
            text: "`n` never overwrites a file: the process id is added to the name instead.",
            effects: &[("", "force=n", |o| !o.force)],
            scoped: Some((
                "force=n",
                "heap=sites heap=dump heap=all cpu=samples cpu=samples,engine=jvmti \
                 cpu=times cpu=old monitor=y wall=y native=malloc",
            )),
            ..Page::NONE
        };
    },
    {
        /// `rotate=`: the length of a period, after which the profile continues in another file.
        let rotate: Option<Rotate> = None;
        OptionRow {
            name: "rotate",
            values: "<time>|<size>",
            allowed: Some(ROTATE),
            default: "one file",
            description: "start a new file after this time or size",
            setter: Setter::Value(|options, value| {
                options.rotate = Some(rotate(value).ok_or(ValueRefusal::NotAllowed)?);
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Output,
            text: "Begins a new file after a time (`10m`) or size (`64mb`): [profiles in \
             periods](../guide/periods.md).",
            effects: &[("", "rotate=2mb", |o| {
                o.rotate == Some(Rotate::Bytes(2 << 20))
            })],
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `keep=`: the most files that a profile keeps.
        let keep: Option<u32> = None;
        OptionRow {
            name: "keep",
            values: "<files>",
            allowed: Some("a whole number of files from 1 to 1000000"),
            default: "all",
            description: "with rotate=: the number of files to keep",
            scope: Scope::Only(&[uses::PERIOD_FILES]),
            setter: Setter::Value(|options, value| match value.parse::<u32>() {
                Ok(files @ 1..=1_000_000) => {
                    options.keep = Some(files);
                    Ok(())
                }
                _ => Err(ValueRefusal::NotAllowed),
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Output,
            text: "With `rotate`: how many files to keep. The oldest are removed.",
            effects: &[("rotate=1h", "keep=3", |o| o.keep == Some(3))],
            scoped: Some(("keep=3", "")),
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `timeout=`: the time after which the profile ends.
        let timeout: Option<Duration> = None;
        OptionRow {
            name: "timeout",
            values: "<time>",
            allowed: Some(TIME),
            default: "none",
            description: "end the profile after this time",
            setter: Setter::Value(|options, value| {
                options.timeout = Some(time(value).ok_or(ValueRefusal::NotAllowed)?);
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Output,
            text: "Ends the profile after a time (`5m`). The program continues.",
            effects: &[("", "timeout=30s", |o| {
                o.timeout == Some(Duration::from_secs(30))
            })],
            default_in_words: true,
            ..Page::NONE
        };
    },
    {
        /// `verbose=`: print each dump's sections on stderr.
        let verbose: bool = true;
        /// `verbose=y` given explicitly: also print how stacks and samples were taken.
        let details: bool = false;
        OptionRow {
            name: "verbose",
            default: "y",
            description: "report each dump on stderr",
            setter: Setter::Switch(|options, on| {
                options.verbose = on;
                options.details = on;
            }),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Output,
            text: "`n` does not report dumps on stderr. If `y` is given explicitly, the agent also \
             reports how it took stacks and samples.",
            effects: &[("", "verbose=n", |o| !o.verbose)],
            ..Page::NONE
        };
    },
    {
        OptionRow {
            name: "gc_okay",
            default: "y",
            description: "obsolete, without effect",
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Original,
            text: "Without effect, obsolete.",
            ..Page::NONE
        };
    },
    {
        /// `primfields=`: include the values of primitive fields in heap dumps.
        let primitive_fields: bool = true;
        OptionRow {
            name: "primfields",
            default: "y",
            description: "primitive fields in a heap dump",
            scope: Scope::Original(&[uses::DUMP]),
            setter: Setter::Switch(|options, on| options.primitive_fields = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Original,
            text: "`n` writes primitive fields as 0.",
            effects: &[("heap=dump", "primfields=n", |o| !o.primitive_fields)],
            scoped: Some(("primfields=n", "heap=dump heap=all cpu=samples,net=h:1")),
            ..Page::NONE
        };
    },
    {
        /// `primarrays=`: include the elements of primitive arrays in heap dumps.
        let primitive_arrays: bool = true;
        OptionRow {
            name: "primarrays",
            default: "y",
            description: "primitive arrays in a heap dump",
            scope: Scope::Original(&[uses::DUMP]),
            setter: Setter::Switch(|options, on| options.primitive_arrays = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Original,
            text: "`n` writes primitive arrays without elements.",
            effects: &[("heap=dump", "primarrays=n", |o| !o.primitive_arrays)],
            scoped: Some(("primarrays=n", "heap=dump heap=all cpu=samples,net=h:1")),
            ..Page::NONE
        };
    },
    {
        /// `dumper=`: the method of dumping the heap.
        let dumper: Dumper = Dumper::Auto;
        OptionRow {
            name: "dumper",
            values: "auto|vm|jvmti|fork|forkonly",
            default: "auto",
            description: "how the heap is dumped",
            scope: Scope::Only(&[uses::DUMP]),
            setter: Setter::Value(|options, value| {
                options.dumper = match value {
                    "auto" => Dumper::Auto,
                    "vm" => Dumper::Vm,
                    "jvmti" => Dumper::Jvmti,
                    "fork" => Dumper::Fork,
                    "forkonly" => Dumper::ForkOnly,
                    _ => return Err(ValueRefusal::NotAllowed),
                };
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Dumps,
            text: "`vm` is the VM's dumper, `jvmti` follows references, and `fork` does that in a \
             forked child while the program continues. If there can be no\n\
             child, `fork` dumps as `auto` does, and `forkonly` not at all. `auto` takes the VM's \
             dumper where that is right. See [heap dumps](heap-dumps.md#the-dumpers).",
            effects: &[
                ("heap=dump", "dumper=jvmti", |o| o.dumper == Dumper::Jvmti),
                ("heap=dump", "dumper=fork", |o| o.dumper == Dumper::Fork),
                ("heap=dump", "dumper=forkonly", |o| {
                    o.dumper == Dumper::ForkOnly
                }),
            ],
            scoped: Some(("dumper=vm", "heap=dump heap=all cpu=samples,net=h:1")),
            ..Page::NONE
        };
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
    },
    {
        /// `redact=`: write heap dumps without the content of objects.
        let redact: bool = false;
        OptionRow {
            name: "redact",
            description: "heap dumps without objects' content",
            scope: Scope::Only(&[uses::DUMP]),
            setter: Setter::Switch(|options, on| options.redact = on),
            ..OptionRow::SWITCH
        };
        Page {
            part: Part::Dumps,
            text: "`y` writes heap dumps without what objects hold: the same objects, sizes, references \
             and sites, as\n\
             [`hprof redact`](../guide/heap-analysis.md#giving-a-dump-to-others) makes them. The \
             program's arguments, properties, and values of flags that may be content become\n\
             `***`. No content reaches a disk on the way: `dumper=vm`, which needs a temporary \
             file, is refused.",
            effects: &[("heap=dump", "redact=y", |o| o.redact)],
            scoped: Some(("redact=y", "heap=dump heap=all cpu=samples,net=h:1")),
            ..Page::NONE
        };
    },
    {
        /// `stacks=`: the method of taking the stacks of allocations and of contended monitors.
        let stacks: StackSource = StackSource::Auto;
        OptionRow {
            name: "stacks",
            values: "auto|jvmti",
            allowed: Some("auto|jvmti|verify"),
            default: "auto",
            description: "how the stacks of events are taken",
            scope: Scope::Only(&[uses::HEAP, uses::MONITORS]),
            setter: Setter::Value(|options, value| {
                options.stacks = match value {
                    "auto" => StackSource::Auto,
                    "jvmti" => StackSource::Jvmti,
                    "verify" => StackSource::Verify,
                    _ => return Err(ValueRefusal::NotAllowed),
                };
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Rare,
            text: "How stacks of allocations and contended monitors are taken. `auto` reads them from \
             memory where that is known to be right, and compares one in\n\
             1,024 with the VM's answer. `jvmti` asks the VM each time. `verify`, for tests of \
             the agent, does both: [stacks](allocation-sites.md#stacks).",
            effects: &[("heap=sites", "stacks=jvmti", |o| {
                o.stacks == StackSource::Jvmti
            })],
            scoped: Some(("stacks=jvmti", "heap=sites heap=dump heap=all monitor=y")),
            ..Page::NONE
        };
        /// `stacks=`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum StackSource {
            /// `stacks=auto`: the agent walks stacks itself where it can, and checks one in a thousand against the VM.
            Auto,
            /// `stacks=verify`: as `auto`, but every stack is checked.
            Verify,
            /// `stacks=jvmti`: every stack comes from the VM.
            Jvmti,
        }
    },
    {
        /// `logflags=4`: check the binary file after it is written.
        let check_file: bool = false;
        OptionRow {
            name: "logflags",
            values: "<bits>",
            allowed: Some("a whole number from 0 to 4294967295"),
            default: "0",
            description: "4: check the binary file at the end",
            scope: Scope::Original(&[uses::BINARY_FILE]),
            setter: Setter::Value(|options, value| {
                let flags: u32 = value.parse().map_err(|_| ValueRefusal::NotAllowed)?;
                options.check_file = flags & LOG_CHECK_BINARY != 0;
                Ok(())
            }),
            ..OptionRow::NONE
        };
        Page {
            part: Part::Rare,
            text: "`4` reads a binary file back at the end; findings go to `java.hprof.check.txt`.",
            effects: &[("cpu=samples,format=b", "logflags=4", |o| o.check_file)],
            scoped: Some(("logflags=4", "")),
            ..Page::NONE
        };
    },
    {
        OptionRow {
            name: "debugflags",
            values: "<bits>",
            setter: Setter::WithoutEffect,
            ..OptionRow::NONE
        };
        Page { ..Page::NONE };
    },
    {
        OptionRow {
            name: "X",
            values: "<mode>",
            setter: Setter::WithoutEffect,
            ..OptionRow::NONE
        };
        Page { ..Page::NONE };
    },
    {
        OptionRow {
            name: "coredump",
            values: "y|n",
            setter: Setter::SwitchWithoutEffect,
            ..OptionRow::NONE
        };
        Page { ..Page::NONE };
    },
    {
        OptionRow {
            name: "errorexit",
            values: "y|n",
            setter: Setter::SwitchWithoutEffect,
            ..OptionRow::NONE
        };
        Page { ..Page::NONE };
    },
    {
        OptionRow {
            name: "pause",
            values: "y|n",
            setter: Setter::SwitchWithoutEffect,
            ..OptionRow::NONE
        };
        Page { ..Page::NONE };
    },
    {
        OptionRow {
            name: "debug",
            values: "y|n",
            setter: Setter::SwitchWithoutEffect,
            ..OptionRow::NONE
        };
        Page { ..Page::NONE };
    },
);

/// What options ask for, and other options change.
mod uses {
    use super::{Cpu, Format, Heap, Oom, Options, SamplingChoice, Use};

    type OptionUse = Use<Options>;

    /// Returns `true` if there is a file, which `net=` and `live=` replace.
    fn has_file(options: &Options) -> bool {
        options.net.is_none() && options.live.is_none()
    }

    /// The objects that `heap=` tracks.
    pub(super) const HEAP: OptionUse = Use {
        options: "heap=",
        is_in: |options| options.heap.is_some(),
    };
    /// `heap=`, and a file.
    pub(super) const HEAP_FILE: OptionUse = Use {
        options: "heap= and a file",
        is_in: |options| options.heap.is_some() && has_file(options),
    };
    /// The file of `oom=`.
    pub(super) const OOM_FILE: OptionUse = Use {
        options: "oom=, heap= and a file",
        is_in: |options| options.oom.is_some(),
    };
    /// The sites of `heap=sites|all`.
    pub(super) const SITES: OptionUse = Use {
        options: "heap=sites|all",
        is_in: |options| options.heap.is_some_and(Heap::has_sites),
    };
    /// `lifetimes=y`.
    pub(super) const LIFETIMES: OptionUse = Use {
        options: "lifetimes=y",
        is_in: |options| options.lifetimes && options.heap.is_some_and(Heap::has_sites),
    };
    /// Heap dumps, which a receiver may request in any profile.
    pub(super) const DUMP: OptionUse = Use {
        options: "heap=dump|all",
        is_in: |options| {
            options.heap.is_some_and(Heap::has_dump)
                || options.oom == Some(Oom::Dump)
                || options.net.is_some()
        },
    };
    /// `cpu=samples`.
    pub(super) const SAMPLES: OptionUse = Use {
        options: "cpu=samples",
        is_in: |options| options.cpu == Some(Cpu::Samples),
    };
    /// `cpu=samples`, unless the VM takes the samples.
    pub(super) const ASYNC_SAMPLES: OptionUse = Use {
        options: "cpu=samples,engine=auto|async",
        is_in: |options| {
            options.cpu == Some(Cpu::Samples) && options.engine != SamplingChoice::Jvmti
        },
    };
    /// `cpu=times`.
    pub(super) const TIMES: OptionUse = Use {
        options: "cpu=times",
        is_in: |options| options.cpu == Some(Cpu::Times),
    };
    /// `cpu=times,clock=samples`.
    pub(super) const SAMPLED_TIMES: OptionUse = Use {
        options: "cpu=times,clock=samples",
        is_in: |options| options.cpu == Some(Cpu::Times) && options.clock.may_be_sampled(),
    };
    /// `cpu=old`.
    pub(super) const OLD_TIMES: OptionUse = Use {
        options: "cpu=old",
        is_in: |options| options.cpu == Some(Cpu::Old),
    };
    /// `monitor=y`.
    pub(super) const MONITORS: OptionUse = Use {
        options: "monitor=y",
        is_in: |options| options.monitors,
    };
    /// `wall=`.
    pub(super) const WALL_SAMPLES: OptionUse = Use {
        options: "wall=",
        is_in: |options| options.wall.is_some(),
    };
    /// `native=malloc`.
    pub(super) const NATIVE_MEMORY: OptionUse = Use {
        options: "native=malloc",
        is_in: |options| options.native_memory.is_some(),
    };
    /// `net=`.
    pub(super) const RECEIVER: OptionUse = Use {
        options: "net=",
        is_in: |options| options.net.is_some(),
    };
    /// A file, which `net=` and `live=` replace.
    pub(super) const FILE: OptionUse = Use {
        options: "a file",
        is_in: |options| has_file(options),
    };
    /// A file of the binary format.
    pub(super) const BINARY_FILE: OptionUse = Use {
        options: "format=b and a file",
        is_in: |options| has_file(options) && options.format == Format::Binary,
    };
    /// The files of `rotate=`.
    pub(super) const PERIOD_FILES: OptionUse = Use {
        options: "rotate= and a file",
        is_in: |options| has_file(options) && options.rotate.is_some(),
    };
    /// The measurements with traces whose form can be chosen: `cpu=old` has pairs of methods.
    pub(super) const WITH_TRACES: &[OptionUse] = &[
        HEAP,
        SAMPLES,
        TIMES,
        MONITORS,
        WALL_SAMPLES,
        NATIVE_MEMORY,
        DUMP,
    ];
    /// The measurements with rows that can be left out.
    pub(super) const WITH_ROWS: &[OptionUse] =
        &[SITES, SAMPLES, WALL_SAMPLES, NATIVE_MEMORY, TIMES, MONITORS];
}
