//! The options: each row gives the parser, the error message, the default, the help line and what the option is for.

use std::path::Path;
use std::time::Duration;

use crate::address::Address;
use crate::options::{Clock, Cpu, Dumper, Format, Heap, Oom, Sort, StackSource};
use crate::scope::{Scope, Use, WITH_ROWS, WITH_TRACES};
use crate::settings::OomChoice;
use crate::table::{OptionRow, Setter, ValueRefusal, set_every};
use crate::values::{
    CLASSES, LOG_CHECK_BINARY, NATIVE, Native, ROTATE, TIME, WALL, bytes, native, patterns,
    percentage, rotate, sample_engine, time, wall,
};

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "heap",
        values: "dump|sites|all",
        allowed: None,
        default: "all",
        description: "heap profiling",
        scope: Scope::Always,
        setter: Setter::Value(|settings, value| {
            settings.options.heap = Some(match value {
                "dump" => Heap::Dump,
                "sites" => Heap::Sites,
                "all" => Heap::All,
                _ => return Err(ValueRefusal::NotAllowed),
            });
            Ok(())
        }),
    },
    OptionRow {
        name: "cpu",
        values: "samples|times|old",
        allowed: Some("samples|times|old|y"),
        default: "off",
        description: "CPU usage",
        scope: Scope::Always,
        setter: Setter::Value(|settings, value| match value {
            "samples" | "y" => {
                settings.options.cpu = Some(Cpu::Samples);
                Ok(())
            }
            "times" => {
                settings.options.cpu = Some(Cpu::Times);
                Ok(())
            }
            "old" => {
                settings.options.cpu = Some(Cpu::Old);
                Ok(())
            }
            _ => Err(ValueRefusal::NotAllowed),
        }),
    },
    OptionRow {
        name: "monitor",
        description: "contention for monitors and locks",
        setter: Setter::Switch(|settings, on| settings.options.monitors = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "wall",
        values: "y|n|<time>",
        allowed: Some(WALL),
        default: "n",
        description: "sample all threads, waiting or not (y: 20ms)",
        scope: Scope::Always,
        setter: Setter::Value(|settings, value| {
            settings.options.wall = wall(value).ok_or(ValueRefusal::NotAllowed)?;
            Ok(())
        }),
    },
    OptionRow {
        name: "format",
        values: "a|b",
        allowed: None,
        default: "a, b for *.hprof",
        description: "text (a) or binary (b) output",
        scope: Scope::Always,
        setter: Setter::Value(|settings, value| {
            settings.format = Some(match value {
                "a" => Format::Text,
                "b" => Format::Binary,
                _ => return Err(ValueRefusal::NotAllowed),
            });
            Ok(())
        }),
    },
    OptionRow {
        name: "file",
        values: "<file>",
        allowed: Some("the name of a file"),
        default: "java.hprof[.txt]",
        description: "write the data to this file",
        scope: Scope::Always,
        setter: Setter::Value(|settings, value| {
            if value.is_empty() {
                return Err(ValueRefusal::NotAllowed);
            }
            if settings.file.is_some() {
                return Err(ValueRefusal::Twice);
            }
            settings.file = Some(value.to_owned());
            Ok(())
        }),
    },
    OptionRow {
        name: "net",
        values: "<host>:<port>",
        allowed: Some("<host>:<port>, an IPv6 address in brackets, the port from 1 to 65535"),
        default: "write to file",
        description: "send the data to a receiver",
        scope: Scope::Always,
        setter: Setter::Value(|settings, value| {
            let address = Address::parse(value).ok_or(ValueRefusal::NotAllowed)?;
            if settings.options.net.is_some() {
                return Err(ValueRefusal::Twice);
            }
            settings.options.net = Some(address);
            Ok(())
        }),
    },
    OptionRow {
        name: "net_exit",
        default: "y",
        description: "the receiver may end the VM",
        scope: Scope::Only(&[Use::Receiver]),
        setter: Setter::Switch(|settings, on| settings.options.net_exit = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "live",
        values: "<socket>",
        allowed: Some("the absolute path of a socket"),
        default: "write to file",
        description: "what 'hprof live' starts; ends with it",
        scope: Scope::Always,
        setter: Setter::Value(|settings, value| {
            let socket = Path::new(value);
            if !socket.is_absolute() {
                return Err(ValueRefusal::NotAllowed);
            }
            settings.options.live = Some(socket.to_owned());
            Ok(())
        }),
    },
    OptionRow {
        name: "compress",
        default: "y for *.gz",
        description: "compress the data with gzip",
        setter: Setter::Switch(|settings, on| settings.options.compress = Some(on)),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "depth",
        values: "<size>",
        allowed: Some("a whole number from 0 to 65535"),
        default: "4, 64 with wall=",
        description: "frames in a stack trace",
        scope: Scope::Original(WITH_TRACES),
        setter: Setter::Value(|settings, value| {
            settings.options.depth = value.parse().map_err(|_| ValueRefusal::NotAllowed)?;
            Ok(())
        }),
    },
    OptionRow {
        name: "interval",
        values: "<ms>",
        allowed: Some("a whole number of milliseconds from 1 to 2147483647"),
        default: "10",
        description: "CPU time between two samples, in ms",
        scope: Scope::Original(&[Use::Samples, Use::SampledTimes]),
        setter: Setter::Value(|settings, value| match value.parse::<u64>() {
            Ok(millis @ 1..=0x7fff_ffff) => {
                settings.options.interval = Duration::from_millis(millis);
                Ok(())
            }
            _ => Err(ValueRefusal::NotAllowed),
        }),
    },
    OptionRow {
        name: "engine",
        values: "auto|async|jvmti",
        allowed: None,
        default: "auto",
        description: "how CPU samples are taken",
        scope: Scope::Only(&[Use::Samples]),
        setter: Setter::Value(|settings, value| {
            settings.options.engine = sample_engine(value).ok_or(ValueRefusal::NotAllowed)?;
            Ok(())
        }),
    },
    OptionRow {
        name: "vmthreads",
        description: "CPU samples of the VM's own threads",
        scope: Scope::Only(&[Use::AsyncSamples]),
        setter: Setter::Switch(|settings, on| settings.options.vm_threads = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "native",
        values: "y|n|malloc[:<bytes>]",
        allowed: Some(NATIVE),
        default: "n",
        description: "CPU samples with native code; native memory",
        scope: Scope::Only(&[Use::AsyncSamples, Use::NativeMemory]),
        setter: Setter::Value(|settings, value| {
            match native(value).ok_or(ValueRefusal::NotAllowed)? {
                Native::Frames(on) => settings.options.native = on,
                Native::Memory(memory) => settings.options.native_memory = Some(memory),
            }
            Ok(())
        }),
    },
    OptionRow {
        name: "cutoff",
        values: "<value>",
        allowed: Some("a number from 0 to 1"),
        default: "0.0001",
        description: "leave out rows below this share",
        scope: Scope::Original(WITH_ROWS),
        setter: Setter::Value(|settings, value| match value.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => {
                settings.options.cutoff = share;
                Ok(())
            }
            _ => Err(ValueRefusal::NotAllowed),
        }),
    },
    OptionRow {
        name: "fold",
        default: "y in binary",
        description: "add small rows up under shorter stacks",
        scope: Scope::Only(&[
            Use::Sites,
            Use::Samples,
            Use::Wall,
            Use::Times,
            Use::NativeMemory,
        ]),
        setter: Setter::Switch(|settings, on| settings.options.fold = Some(on)),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "lifetimes",
        description: "how long the objects of each site live",
        scope: Scope::Only(&[Use::Sites]),
        setter: Setter::Switch(|settings, on| settings.options.lifetimes = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "every",
        values: "<time>",
        allowed: Some(TIME),
        default: "100ms",
        description: "least time between looks at what is alive",
        scope: Scope::Only(&[Use::Lifetimes]),
        setter: Setter::Value(set_every),
    },
    OptionRow {
        name: "sort",
        values: "live|alloc",
        allowed: None,
        default: "live",
        description: "order of sites: live or allocated bytes",
        scope: Scope::Only(&[Use::Sites]),
        setter: Setter::Value(|settings, value| {
            settings.options.sort = match value {
                "live" => Sort::Live,
                "alloc" => Sort::Allocated,
                _ => return Err(ValueRefusal::NotAllowed),
            };
            Ok(())
        }),
    },
    OptionRow {
        name: "lineno",
        default: "y",
        description: "line numbers in traces",
        scope: Scope::Original(WITH_TRACES),
        setter: Setter::Switch(|settings, on| settings.options.line_numbers = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "thread",
        description: "separate traces for each thread",
        scope: Scope::Original(WITH_TRACES),
        setter: Setter::Switch(|settings, on| settings.options.threads = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "doe",
        default: "y",
        description: "dump when the program ends",
        setter: Setter::Switch(|settings, on| settings.options.dump_on_exit = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "gc",
        default: "y",
        description: "collect garbage before reading the heap",
        scope: Scope::Only(&[Use::Heap]),
        setter: Setter::Switch(|settings, on| settings.options.collect = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "sample",
        values: "<bytes>",
        allowed: Some("a number of bytes from 1 to 2147483647, optionally followed by k or m"),
        default: "every object",
        description: "estimate: one sample per this many bytes",
        scope: Scope::Only(&[Use::Heap]),
        setter: Setter::Value(|settings, value| {
            settings.options.sample = Some(bytes(value).ok_or(ValueRefusal::NotAllowed)?);
            Ok(())
        }),
    },
    OptionRow {
        name: "budget",
        values: "<percent>%",
        allowed: Some("a share of the program's CPU time from 1% to 100%, such as 20%"),
        default: "off",
        description: "estimate or leave out beyond this cost",
        scope: Scope::Only(&[Use::Heap, Use::Times, Use::OldTimes]),
        setter: Setter::Value(|settings, value| {
            settings.options.budget = Some(percentage(value).ok_or(ValueRefusal::NotAllowed)?);
            Ok(())
        }),
    },
    OptionRow {
        name: "oom",
        values: "y|n|dump|sites",
        allowed: None,
        default: "y",
        description: "write a file when memory runs out",
        scope: Scope::Only(&[Use::HeapFile]),
        setter: Setter::Value(|settings, value| {
            settings.oom = Some(match value {
                "y" => OomChoice::Default,
                "n" => OomChoice::Off,
                "dump" => OomChoice::Given(Oom::Dump),
                "sites" => OomChoice::Given(Oom::Sites),
                _ => return Err(ValueRefusal::NotAllowed),
            });
            Ok(())
        }),
    },
    OptionRow {
        name: "oom_count",
        values: "<files>",
        allowed: Some("a whole number of files from 1 to 1000"),
        default: "1",
        description: "with oom=: the most such files",
        scope: Scope::Only(&[Use::OomFile]),
        setter: Setter::Value(|settings, value| match value.parse::<u32>() {
            Ok(files @ 1..=1_000) => {
                settings.options.oom_count = files;
                Ok(())
            }
            _ => Err(ValueRefusal::NotAllowed),
        }),
    },
    OptionRow {
        name: "blackbox",
        description: "keep what is known for a killed program",
        scope: Scope::Only(&[Use::File]),
        setter: Setter::Switch(|settings, on| settings.options.black_box = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "block",
        description: "wait for a slow file or receiver",
        setter: Setter::Switch(|settings, on| settings.options.block = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "clock",
        values: "cpu|wall|samples",
        allowed: None,
        default: "cpu",
        description: "what cpu=times|old measures",
        scope: Scope::Only(&[Use::Times, Use::OldTimes]),
        setter: Setter::Value(|settings, value| {
            settings.options.clock = match value {
                "cpu" => Clock::Cpu,
                "wall" => Clock::Wall,
                "samples" => Clock::Samples,
                _ => return Err(ValueRefusal::NotAllowed),
            };
            Ok(())
        }),
    },
    OptionRow {
        name: "include",
        values: "<classes>",
        allowed: Some(CLASSES),
        default: "all",
        description: "classes that cpu=times|old measures",
        scope: Scope::Only(&[Use::Times, Use::OldTimes]),
        setter: Setter::Value(|settings, value| {
            settings.options.include = patterns(value).ok_or(ValueRefusal::NotAllowed)?;
            Ok(())
        }),
    },
    OptionRow {
        name: "exclude",
        values: "<classes>",
        allowed: Some(CLASSES),
        default: "none",
        description: "classes that it does not",
        scope: Scope::Only(&[Use::Times, Use::OldTimes]),
        setter: Setter::Value(|settings, value| {
            settings.options.exclude = patterns(value).ok_or(ValueRefusal::NotAllowed)?;
            Ok(())
        }),
    },
    OptionRow {
        name: "msa",
        description: "Solaris only, without effect",
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "force",
        default: "y",
        description: "overwrite the file if it exists",
        scope: Scope::Original(&[Use::File]),
        setter: Setter::Switch(|settings, on| settings.options.force = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "rotate",
        values: "<time>|<size>",
        allowed: Some(ROTATE),
        default: "one file",
        description: "start a new file after this time or size",
        scope: Scope::Always,
        setter: Setter::Value(|settings, value| {
            settings.options.rotate = Some(rotate(value).ok_or(ValueRefusal::NotAllowed)?);
            Ok(())
        }),
    },
    OptionRow {
        name: "keep",
        values: "<files>",
        allowed: Some("a whole number of files from 1 to 1000000"),
        default: "all",
        description: "with rotate=: the number of files to keep",
        scope: Scope::Only(&[Use::PeriodFiles]),
        setter: Setter::Value(|settings, value| match value.parse::<u32>() {
            Ok(files @ 1..=1_000_000) => {
                settings.options.keep = Some(files);
                Ok(())
            }
            _ => Err(ValueRefusal::NotAllowed),
        }),
    },
    OptionRow {
        name: "timeout",
        values: "<time>",
        allowed: Some(TIME),
        default: "none",
        description: "end the profile after this time",
        scope: Scope::Always,
        setter: Setter::Value(|settings, value| {
            settings.options.timeout = Some(time(value).ok_or(ValueRefusal::NotAllowed)?);
            Ok(())
        }),
    },
    OptionRow {
        name: "verbose",
        default: "y",
        description: "report each dump on stderr",
        setter: Setter::Switch(|settings, on| {
            settings.options.verbose = on;
            settings.options.details = on;
        }),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "gc_okay",
        default: "y",
        description: "obsolete, without effect",
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "primfields",
        default: "y",
        description: "primitive fields in a heap dump",
        scope: Scope::Original(&[Use::Dump]),
        setter: Setter::Switch(|settings, on| settings.options.primitive_fields = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "primarrays",
        default: "y",
        description: "primitive arrays in a heap dump",
        scope: Scope::Original(&[Use::Dump]),
        setter: Setter::Switch(|settings, on| settings.options.primitive_arrays = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "dumper",
        values: "auto|vm|jvmti|fork|forkonly",
        allowed: None,
        default: "auto",
        description: "how the heap is dumped",
        scope: Scope::Only(&[Use::Dump]),
        setter: Setter::Value(|settings, value| {
            settings.options.dumper = match value {
                "auto" => Dumper::Auto,
                "vm" => Dumper::Vm,
                "jvmti" => Dumper::Jvmti,
                "fork" => Dumper::Fork,
                "forkonly" => Dumper::ForkOnly,
                _ => return Err(ValueRefusal::NotAllowed),
            };
            Ok(())
        }),
    },
    OptionRow {
        name: "redact",
        description: "heap dumps without objects' content",
        scope: Scope::Only(&[Use::Dump]),
        setter: Setter::Switch(|settings, on| settings.options.redact = on),
        ..OptionRow::SWITCH
    },
    OptionRow {
        name: "stacks",
        values: "auto|jvmti",
        allowed: Some("auto|jvmti|verify"),
        default: "auto",
        description: "how the stacks of events are taken",
        scope: Scope::Only(&[Use::Heap, Use::Monitors]),
        setter: Setter::Value(|settings, value| {
            settings.options.stacks = match value {
                "auto" => StackSource::Auto,
                "jvmti" => StackSource::Jvmti,
                "verify" => StackSource::Verify,
                _ => return Err(ValueRefusal::NotAllowed),
            };
            Ok(())
        }),
    },
    OptionRow {
        name: "logflags",
        values: "<bits>",
        allowed: Some("a whole number from 0 to 4294967295"),
        default: "0",
        description: "4: check the binary file at the end",
        scope: Scope::Original(&[Use::BinaryFile]),
        setter: Setter::Value(|settings, value| {
            let flags: u32 = value.parse().map_err(|_| ValueRefusal::NotAllowed)?;
            settings.options.check_file = flags & LOG_CHECK_BINARY != 0;
            Ok(())
        }),
    },
    OptionRow::hidden("debugflags", "<bits>", Setter::WithoutEffect),
    OptionRow::hidden("X", "<mode>", Setter::WithoutEffect),
    OptionRow::hidden("coredump", "y|n", Setter::SwitchWithoutEffect),
    OptionRow::hidden("errorexit", "y|n", Setter::SwitchWithoutEffect),
    OptionRow::hidden("pause", "y|n", Setter::SwitchWithoutEffect),
    OptionRow::hidden("debug", "y|n", Setter::SwitchWithoutEffect),
];
