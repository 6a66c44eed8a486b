//! The measurements of a recording, and the agent's options for them.

use hprof_profile::Metric;

/// The whole stack of nearly every program.
const WHOLE_STACKS: u16 = 512;

/// The measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The methods that use the CPU.
    Cpu,
    /// Where threads are while time passes, whether they run or wait.
    Wall,
    /// The methods that allocate.
    Alloc,
    /// The objects that are alive at the end; with `forks`, in a copy of the program that a fork makes.
    Heap { forks: bool },
    /// What allocates and what stays, and at the end the objects, in a copy of the program that a fork makes.
    Growth,
    /// The number and the time of calls.
    Calls,
    /// The monitors that threads wait for.
    Locks,
    /// Where native code allocates memory, and what is not freed.
    Native,
    /// The agent's options, as they are.
    Options(String),
}

impl What {
    /// The words for the measurements.
    pub const NAMES: &str = "cpu, wall, alloc, heap, calls, locks, native, or options of the agent such as cpu=samples,interval=1";

    /// Returns what a word of the command line means; `None` if it must be the name of a program.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "cpu" => Self::Cpu,
            "wall" => Self::Wall,
            "alloc" => Self::Alloc,
            "heap" => Self::Heap { forks: false },
            "calls" => Self::Calls,
            "locks" => Self::Locks,
            "native" => Self::Native,
            options if options.contains('=') => Self::Options(options.to_owned()),
            _ => return None,
        })
    }

    /// Returns the agent's options, except those of the file. What a killed program leaves is kept unless that is
    /// switched off.
    pub fn options(&self) -> String {
        let options = self.measured();
        match self.value_of("blackbox") {
            Some(_) => options,
            None => format!("{options},blackbox=y"),
        }
    }

    fn measured(&self) -> String {
        let measured = match self {
            Self::Cpu => "cpu=samples,format=b",
            Self::Wall => "wall=y,format=b",
            Self::Alloc => "heap=sites,lifetimes=y,sort=alloc,format=b",
            Self::Growth => "heap=all,dumper=fork,lifetimes=y,sort=alloc,format=b",
            Self::Heap { forks: false } => "heap=dump,format=b",
            Self::Heap { forks: true } => "heap=dump,dumper=fork,format=b",
            // Call times exist only as text, where small rows are left out unless `fold=y` is given: with whole stacks nearly all are
            // small. A binary file lacks the single waits of `monitor=y`.
            Self::Calls => "cpu=times,clock=auto,fold=y",
            Self::Locks => "monitor=y",
            Self::Native => "native=malloc,format=b",
            Self::Options(options) => return options.clone(),
        };
        format!("{measured},depth={WHOLE_STACKS},verbose=n")
    }

    /// Returns `true` if the measurement counts each object or each call, which may have a budget.
    pub fn is_counted(&self) -> bool {
        matches!(
            self,
            Self::Alloc | Self::Heap { .. } | Self::Growth | Self::Calls
        )
    }

    /// Returns the suffix of the file's name.
    pub fn suffix(&self) -> &'static str {
        let is_binary = match self {
            Self::Options(_) => self.value_of("format") == Some("b"),
            Self::Cpu
            | Self::Wall
            | Self::Alloc
            | Self::Growth
            | Self::Heap { .. }
            | Self::Native => true,
            Self::Calls | Self::Locks => false,
        };
        if is_binary { "hprof" } else { "hprof.txt" }
    }

    /// Returns the values that the answer may be about, the most telling first; none for the first that the profile has.
    pub fn metrics(&self) -> &'static [Metric] {
        match self {
            Self::Cpu => &[Metric::Cpu],
            Self::Wall => &[Metric::Wall],
            Self::Alloc | Self::Growth => &[Metric::AllocBytes],
            Self::Calls => &[Metric::Time],
            // Waits that samples have found tell the holder; shorter ones were only counted.
            Self::Locks => &[Metric::LockWait, Metric::Contention],
            Self::Native => &[Metric::NativeLiveBytes, Metric::NativeBytes],
            Self::Options(_) if self.measures_monitors_alone() => Self::Locks.metrics(),
            Self::Heap { .. } | Self::Options(_) => &[],
        }
    }

    fn measures_monitors_alone(&self) -> bool {
        let others = ["cpu", "heap", "wall"];
        self.value_of("monitor") == Some("y")
            && others.iter().all(|other| self.value_of(other).is_none())
    }

    /// Returns the name of the measurement.
    pub fn name(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            Self::Wall => "wall",
            Self::Alloc => "alloc",
            Self::Heap { .. } => "heap",
            Self::Growth => "growth",
            Self::Calls => "calls",
            Self::Locks => "locks",
            Self::Native => "native",
            Self::Options(options) => options,
        }
    }

    /// Returns the value of an option that was given as it is.
    pub fn value_of(&self, name: &str) -> Option<&str> {
        let Self::Options(options) = self else {
            return None;
        };
        let mut pairs = options.split(',').filter_map(|pair| pair.split_once('='));
        // Of several the last one counts.
        pairs.rfind(|&(key, _)| key == name).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(word: &str) -> What {
        What::parse(word).expect("a measurement")
    }

    #[test]
    fn a_word_is_a_measurement_options_or_a_program() {
        assert_eq!(What::parse("cpu"), Some(What::Cpu));
        assert_eq!(What::parse("Main"), None);
        assert_eq!(What::parse("4711"), None);
        assert_eq!(
            what("cpu=times,depth=8").options(),
            "cpu=times,depth=8,blackbox=y"
        );
        let without = "cpu=times,blackbox=n";
        assert_eq!(what(without).options(), without);
    }

    #[test]
    fn named_measurements_have_whole_stacks() {
        for name in ["cpu", "alloc", "heap", "calls", "locks", "native"] {
            let options = what(name).options();
            assert!(options.contains(",depth=512,"), "{options}");
            assert_eq!(options.contains("format=b"), what(name).suffix() == "hprof");
        }
    }

    #[test]
    fn options_of_monitors_alone_are_answered_as_locks_are() {
        let locks = What::Locks.metrics();
        assert_eq!(what("monitor=y,thread=y").metrics(), locks);
        for others in ["monitor=n", "monitor=y,cpu=samples", "heap=sites"] {
            assert_eq!(what(others).metrics(), []);
        }
    }

    #[test]
    fn options_say_their_format_and_depth() {
        assert_eq!(what("heap=dump,format=b").suffix(), "hprof");
        assert_eq!(what("heap=sites").suffix(), "hprof.txt");
        assert_eq!(
            what("cpu=samples,interval=1").value_of("interval"),
            Some("1")
        );
    }
}
