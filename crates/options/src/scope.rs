//! The scope of each option: the measurement, or the part of the output, that it changes.

use crate::options::{Clock, Cpu, Format, Heap, Oom, Options, SamplingChoice};

/// Something that the options may ask for, and that another option may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The objects that `heap=` tracks.
    Heap,
    /// `heap=`, and a file.
    HeapFile,
    /// The file of `oom=`.
    OomFile,
    /// The sites of `heap=sites|all`.
    Sites,
    /// `lifetimes=y`.
    Lifetimes,
    /// Heap dumps, which a receiver may request in any profile.
    Dump,
    /// `cpu=samples`.
    Samples,
    /// `cpu=samples`, unless the VM takes the samples.
    AsyncSamples,
    /// `cpu=times`.
    Times,
    /// `cpu=times,clock=samples`.
    SampledTimes,
    /// `cpu=old`.
    OldTimes,
    /// `monitor=y`.
    Monitors,
    /// `wall=`.
    Wall,
    /// `native=malloc`.
    NativeMemory,
    /// `net=`.
    Receiver,
    /// A file, which `net=` and `live=` replace.
    File,
    /// A file of the binary format.
    BinaryFile,
    /// The files of `rotate=`.
    PeriodFiles,
}

/// Which of the other options an option needs to have an effect.
pub(super) enum Scope {
    /// None.
    Always,
    /// One of these; otherwise the option is refused.
    Only(&'static [Use]),
    /// One of these; otherwise the option is accepted and named on stderr, because the original accepted it.
    Original(&'static [Use]),
}

/// The measurements with traces whose form can be chosen: `cpu=old` has pairs of methods.
pub(super) const WITH_TRACES: &[Use] = &[
    Use::Heap,
    Use::Samples,
    Use::Times,
    Use::Monitors,
    Use::Wall,
    Use::NativeMemory,
    Use::Dump,
];
/// The measurements with rows that can be left out.
pub(super) const WITH_ROWS: &[Use] = &[
    Use::Sites,
    Use::Samples,
    Use::Wall,
    Use::NativeMemory,
    Use::Times,
    Use::Monitors,
];

impl Use {
    /// Returns `true` if the options ask for it.
    pub(super) fn is_in(self, options: &Options) -> bool {
        let has_file = options.net.is_none() && options.live.is_none();
        match self {
            Use::Heap => options.heap.is_some(),
            Use::Sites => options.heap.is_some_and(Heap::has_sites),
            Use::Lifetimes => options.lifetimes && options.heap.is_some_and(Heap::has_sites),
            Use::HeapFile => options.heap.is_some() && has_file,
            Use::OomFile => options.oom.is_some(),
            Use::Dump => {
                options.heap.is_some_and(Heap::has_dump)
                    || options.oom == Some(Oom::Dump)
                    || options.net.is_some()
            }
            Use::Samples => options.cpu == Some(Cpu::Samples),
            Use::AsyncSamples => {
                options.cpu == Some(Cpu::Samples) && options.engine != SamplingChoice::Jvmti
            }
            Use::Times => options.cpu == Some(Cpu::Times),
            Use::SampledTimes => options.cpu == Some(Cpu::Times) && options.clock == Clock::Samples,
            Use::OldTimes => options.cpu == Some(Cpu::Old),
            Use::Monitors => options.monitors,
            Use::Wall => options.wall.is_some(),
            Use::NativeMemory => options.native_memory.is_some(),
            Use::Receiver => options.net.is_some(),
            Use::File => has_file,
            Use::BinaryFile => has_file && options.format == Format::Binary,
            Use::PeriodFiles => has_file && options.rotate.is_some(),
        }
    }

    /// Returns the options that ask for it, as the user writes them.
    fn options(self) -> &'static str {
        match self {
            Use::Heap => "heap=",
            Use::HeapFile => "heap= and a file",
            Use::OomFile => "oom=, heap= and a file",
            Use::Sites => "heap=sites|all",
            Use::Lifetimes => "lifetimes=y",
            Use::Dump => "heap=dump|all",
            Use::Samples => "cpu=samples",
            Use::AsyncSamples => "cpu=samples,engine=auto|async",
            Use::Times => "cpu=times",
            Use::SampledTimes => "cpu=times,clock=samples",
            Use::OldTimes => "cpu=old",
            Use::Monitors => "monitor=y",
            Use::Wall => "wall=",
            Use::NativeMemory => "native=malloc",
            Use::Receiver => "net=",
            Use::File => "a file",
            Use::BinaryFile => "format=b and a file",
            Use::PeriodFiles => "rotate= and a file",
        }
    }
}

impl Scope {
    /// Returns what the option is for; nothing if it always has an effect.
    pub(super) fn uses(&self) -> &'static [Use] {
        match self {
            Scope::Always => &[],
            Scope::Only(uses) | Scope::Original(uses) => uses,
        }
    }

    /// Returns `true` if the option changes something that the options ask for.
    pub(super) fn is_in(&self, options: &Options) -> bool {
        let uses = self.uses();
        uses.is_empty() || uses.iter().any(|needed| needed.is_in(options))
    }

    /// Returns the options of which the option needs one, as the user writes them.
    pub(super) fn needed(&self) -> String {
        let needed: Vec<&str> = self.uses().iter().map(|needed| needed.options()).collect();
        needed.join(" or ")
    }
}

#[cfg(test)]
mod tests {
    use crate::rows::ROWS;
    use crate::tests::{LIVE, error, name, options};
    use crate::{OptionError, parse};
    use std::path::Path;

    /// The options that measure something, each alone.
    const ASKED: [&str; 11] = [
        "heap=sites",
        "heap=dump",
        "heap=all",
        "cpu=samples",
        "cpu=samples,engine=jvmti",
        "cpu=times",
        "cpu=old",
        "monitor=y",
        "cpu=samples,net=h:1",
        "wall=y",
        "native=malloc",
    ];

    /// The options that do not change everything, and the numbers of those in `ASKED` that they change.
    const CHANGED: [(&str, &[usize]); 30] = [
        ("net_exit=n", &[8]),
        ("depth=8", &[0, 1, 2, 3, 4, 5, 7, 8, 9, 10]),
        ("interval=5", &[3, 4, 8]),
        ("engine=async", &[3, 4, 8]),
        ("vmthreads=y", &[3, 8]),
        ("native=y", &[3, 8, 10]),
        ("cutoff=0", &[0, 2, 3, 4, 5, 7, 8, 9, 10]),
        ("fold=y", &[0, 2, 3, 4, 5, 8, 9, 10]),
        ("lifetimes=y", &[0, 2]),
        ("every=10s", &[]),
        ("sort=alloc", &[0, 2]),
        ("lineno=n", &[0, 1, 2, 3, 4, 5, 7, 8, 9, 10]),
        ("thread=y", &[0, 1, 2, 3, 4, 5, 7, 8, 9, 10]),
        ("gc=n", &[0, 1, 2]),
        ("sample=512k", &[0, 1, 2]),
        ("budget=20%", &[0, 1, 2, 5, 6]),
        ("oom=y", &[0, 1, 2]),
        ("oom_count=2", &[0, 1, 2]),
        ("blackbox=y", &[0, 1, 2, 3, 4, 5, 6, 7, 9, 10]),
        ("clock=wall", &[5, 6]),
        ("include=a.*", &[5, 6]),
        ("exclude=a.*", &[5, 6]),
        ("force=n", &[0, 1, 2, 3, 4, 5, 6, 7, 9, 10]),
        ("keep=3", &[]),
        ("primfields=n", &[1, 2, 8]),
        ("primarrays=n", &[1, 2, 8]),
        ("dumper=vm", &[1, 2, 8]),
        ("redact=y", &[1, 2, 8]),
        ("stacks=jvmti", &[0, 1, 2, 7]),
        ("logflags=4", &[]),
    ];

    /// The options of `CHANGED` that the original had.
    const ORIGINALS: [&str; 9] = [
        "depth",
        "interval",
        "cutoff",
        "lineno",
        "thread",
        "force",
        "primfields",
        "primarrays",
        "logflags",
    ];

    #[test]
    fn an_option_that_does_nothing_with_the_others_is_refused_or_named() {
        for (option, changed) in CHANGED {
            let is_original = ORIGINALS.contains(&name(option));
            for (index, asked) in ASKED.iter().enumerate() {
                let given = format!("{option},{asked}");
                let parsed = parse(&given, None);
                match (changed.contains(&index), is_original) {
                    (true, _) => assert!(options(&given).without_effect.is_empty(), "{given}"),
                    (false, true) => {
                        assert_eq!(options(&given).without_effect, [name(option)], "{given}");
                    }
                    (false, false) => assert!(
                        matches!(parsed, Err(OptionError::DoesNothing { .. })),
                        "{given}: {parsed:?}"
                    ),
                }
            }
        }
        let scoped = table_rows_with_a_scope();
        let mut tried: Vec<&str> = CHANGED.iter().map(|(option, _)| name(option)).collect();
        tried.sort_unstable();
        assert_eq!(tried, scoped);
    }

    #[test]
    fn a_live_session_has_what_can_be_sent_every_second() {
        let beside = "cpu=samples,heap=sites,sample=512k,budget=20%,monitor=y,fold=y";
        let live = options(&format!("{beside},{LIVE}"));
        let socket = LIVE.strip_prefix("live=").map(Path::new);
        assert_eq!(live.live.as_deref(), socket);
        assert_eq!(
            error("live=s"),
            "option live=s: must be the absolute path of a socket"
        );
        for (given, with) in [
            ("cpu=samples,file=x", "file="),
            ("cpu=samples,net=h:1", "net="),
            ("cpu=samples,rotate=1m", "rotate="),
            ("cpu=samples,thread=y", "thread=y"),
            ("cpu=samples,compress=y", "compress=y"),
            ("cpu=samples,format=b", "format=b"),
            ("cpu=times", "cpu=times"),
            ("cpu=old", "cpu=old"),
            ("heap=dump", "heap=dump"),
            ("", "heap=all"),
        ] {
            let message = error(&format!("{given},{LIVE}"));
            assert!(
                message.starts_with(&format!("option {LIVE}: not with {with}; ")),
                "{message}"
            );
        }
    }

    fn table_rows_with_a_scope() -> Vec<&'static str> {
        let scoped = ROWS.iter().filter(|row| !row.scope.uses().is_empty());
        let mut names: Vec<&str> = scoped.map(|row| row.name).collect();
        names.sort_unstable();
        names
    }
}
