//! The agent's options: `name=value`, comma after comma, as on the command line of the original HPROF.
//!
//! `table` is the one list of them, with their values, defaults, help lines and setters; `file_name` turns `file=`
//! into a path.

mod file_name;
mod table;

use std::time::Duration;

pub use file_name::{Surroundings, with_pid};
pub use table::help;

/// `depth=`: CONTROL SETTINGS has 16 bits for it.
pub type Depth = u16;

/// What the user asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `heap=`.
    pub heap: Option<Heap>,
    /// `cpu=`.
    pub cpu: Option<Cpu>,
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
    /// `cutoff=`: rows below this share of the whole are left out, 0.0 for none.
    pub cutoff: f64,
    /// `lineno=`: whether frames have line numbers.
    pub line_numbers: bool,
    /// `thread=`: whether traces are kept apart by thread.
    pub threads: bool,
    /// `doe=`: whether a dump is written when the program ends.
    pub dump_on_exit: bool,
    /// `verbose=`: whether stderr says what is dumped.
    pub verbose: bool,
    /// `logflags=4`: whether the binary file is checked after it is written.
    pub check_file: bool,
    /// `gc=`: whether garbage is collected before live objects are reported.
    pub collect: bool,
    /// `sample=`: bytes between two allocations that are seen, `None` for all.
    pub sample: Option<u32>,
    /// `clock=`: what `cpu=times|old` measures.
    pub clock: Clock,
    /// `include=`: patterns of the classes that `cpu=times|old` measures, none for all.
    pub include: Vec<String>,
    /// `exclude=`: patterns of classes that it does not.
    pub exclude: Vec<String>,
    /// Options that were accepted and do nothing.
    pub without_effect: Vec<&'static str>,
}

/// `heap=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heap {
    /// `heap=sites`.
    Sites,
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

/// `clock=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// `clock=cpu`.
    Cpu,
    /// `clock=wall`.
    Wall,
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
    Profile(Options),
}

/// An option that cannot be taken. One line, naming the option, its value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such option.
    #[error("unknown option {0}: 'help' lists the options")]
    Unknown(String),
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
    /// The original had it, this version has not yet.
    #[error(
        "option {name}={value}: this version has no {what} yet; it has cpu=samples and heap=sites"
    )]
    NotBuilt {
        /// The option.
        name: &'static str,
        /// What was given.
        value: String,
        /// What it would need.
        what: &'static str,
    },
    /// Nothing was asked for, and what that meant is not there.
    #[error(
        "no profile is asked for, and the default, heap=all, is not in this version yet; ask for cpu=samples"
    )]
    NothingAsked,
    /// Timing has no form in the binary format.
    #[error("option format=b: cpu={0} has no binary form; must be a")]
    TextOnly(&'static str),
    /// An option that may be given only once.
    #[error("option {name}={value}: given twice; once is allowed")]
    Twice {
        /// The option.
        name: &'static str,
        /// What was given the second time.
        value: String,
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
    let mut settings = table::Settings::default();
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
    settings.finish().map(Request::Profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        match parse(text, None) {
            Ok(Request::Profile(options)) => options,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn error(text: &str) -> String {
        parse(text, None).expect_err(text).to_string()
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        let options = options("cpu=samples");
        assert_eq!((options.cpu, options.heap), (Some(Cpu::Samples), None));
        assert_eq!(options.format, Format::Text);
        assert_eq!(options.file, "java.hprof.txt");
        assert_eq!(options.depth, 4);
        assert_eq!(options.interval, Duration::from_millis(10));
        assert_eq!(options.cutoff, 0.0001);
        assert!(options.line_numbers && options.dump_on_exit && options.force && options.verbose);
        assert!(!options.threads && !options.check_file);
        assert!(options.collect && options.sample.is_none());
        assert!(options.without_effect.is_empty());
    }

    #[test]
    fn sites_and_samples_go_together() {
        let options = options("heap=sites,gc=n,sample=512k,cpu=samples");
        assert_eq!(
            (options.heap, options.cpu),
            (Some(Heap::Sites), Some(Cpu::Samples))
        );
        assert!(!options.collect);
        assert_eq!(options.sample, Some(524_288));
        assert_eq!(self::options("heap=sites,sample=3m").sample, Some(3 << 20));
        assert_eq!(self::options("heap=sites,sample=77").sample, Some(77));
    }

    #[test]
    fn timing_takes_a_clock_and_classes() {
        let options = options("cpu=times,clock=wall,include=a.*:b.B|c.C$D,exclude=a.x.*");
        assert_eq!(
            (options.cpu, options.clock),
            (Some(Cpu::Times), Clock::Wall)
        );
        assert_eq!(options.include, ["a.*", "b.B", "c.C$D"]);
        assert_eq!(options.exclude, ["a.x.*"]);
        let old = self::options("cpu=old");
        assert_eq!((old.cpu, old.clock), (Some(Cpu::Old), Clock::Cpu));
        assert!(old.include.is_empty() && old.exclude.is_empty());
        let idle = self::options("cpu=samples,clock=wall,include=a").without_effect;
        assert_eq!(idle, ["include"]);
    }

    #[test]
    fn every_option_is_honoured() {
        let options = options(
            "cpu=y,format=b,file=x,depth=0,interval=1,cutoff=0.5,lineno=n,thread=y,doe=n,force=n,verbose=n,logflags=4",
        );
        assert_eq!(options.format, Format::Binary);
        assert_eq!(
            (options.depth, options.interval, options.cutoff),
            (0, Duration::from_millis(1), 0.5)
        );
        assert!(
            !options.line_numbers && !options.dump_on_exit && !options.force && !options.verbose
        );
        assert!(options.threads && options.check_file);
        assert_eq!(options.file, "x");
    }

    #[test]
    fn the_binary_file_has_no_suffix() {
        assert_eq!(options("format=b,cpu=samples").file, "java.hprof");
        assert_eq!(options("format=b,cpu=samples,file=a.txt").file, "a.txt");
    }

    #[test]
    fn the_environment_comes_last_and_wins() {
        let Ok(Request::Profile(options)) = parse("cpu=samples,depth=2", Some("depth=9,thread=y"))
        else {
            panic!("both are valid")
        };
        assert_eq!((options.depth, options.threads), (9, true));
        assert_eq!(parse("", Some("help")), Ok(Request::Help));
    }

    #[test]
    fn help_asks_for_help() {
        assert_eq!(parse("help", None), Ok(Request::Help));
        assert_eq!(parse("cpu=samples,help", None), Ok(Request::Help));
    }

    #[test]
    fn a_refusal_names_the_option_the_value_and_what_is_allowed() {
        let cases = [
            ("cpu=fast", "option cpu=fast: must be samples|times|old|y"),
            ("cpu", "option cpu: needs a value, cpu=samples|times|old|y"),
            ("cpu=samples,format=c", "option format=c: must be a|b"),
            (
                "cpu=samples,depth=-1",
                "option depth=-1: must be a whole number from 0 to 65535",
            ),
            (
                "cpu=samples,depth=70000",
                "option depth=70000: must be a whole number from 0 to 65535",
            ),
            (
                "cpu=samples,interval=0",
                "option interval=0: must be a whole number of milliseconds from 1 to 2147483647",
            ),
            (
                "cpu=samples,cutoff=-0.1",
                "option cutoff=-0.1: must be a number, 0 or more",
            ),
            (
                "cpu=samples,cutoff=nan",
                "option cutoff=nan: must be a number, 0 or more",
            ),
            (
                "cpu=samples,cutoff=x",
                "option cutoff=x: must be a number, 0 or more",
            ),
            ("cpu=samples,lineno=yes", "option lineno=yes: must be y|n"),
            ("cpu=samples,thread=Y", "option thread=Y: must be y|n"),
            ("cpu=samples,doe=", "option doe=: must be y|n"),
            ("cpu=samples,force=1", "option force=1: must be y|n"),
            (
                "cpu=samples,verbose=true",
                "option verbose=true: must be y|n",
            ),
            ("cpu=samples,msa=x", "option msa=x: must be y|n"),
            ("cpu=samples,gc_okay=x", "option gc_okay=x: must be y|n"),
            (
                "cpu=samples,file=",
                "option file=: must be the name of a file",
            ),
            (
                "cpu=samples,file=a,file=b",
                "option file=b: given twice; once is allowed",
            ),
            (
                "cpu=samples,logflags=z",
                "option logflags=z: must be a whole number from 0 to 4294967295",
            ),
            (
                "cpu=samples,speed=9",
                "unknown option speed=9: 'help' lists the options",
            ),
            (
                "cpu=times,format=b",
                "option format=b: cpu=times has no binary form; must be a",
            ),
            (
                "format=b,cpu=old",
                "option format=b: cpu=old has no binary form; must be a",
            ),
            ("cpu=times,clock=x", "option clock=x: must be cpu|wall"),
            (
                "cpu=times,include=",
                "option include=: must be names of classes like com.acme.Foo or com.acme.*, ':' between them",
            ),
            (
                "cpu=times,exclude=a::b",
                "option exclude=a::b: must be names of classes like com.acme.Foo or com.acme.*, ':' between them",
            ),
            (
                "cpu=times,include=com/acme/*",
                "option include=com/acme/*: must be names of classes like com.acme.Foo or com.acme.*, ':' between them",
            ),
            (
                "heap=dump",
                "option heap=dump: this version has no heap dump yet; it has cpu=samples and heap=sites",
            ),
            ("heap=sites,gc=yes", "option gc=yes: must be y|n"),
            (
                "heap=sites,sample=0",
                "option sample=0: must be a number of bytes from 1 to 2147483647, or with k or m behind it",
            ),
            (
                "heap=sites,sample=4000m",
                "option sample=4000m: must be a number of bytes from 1 to 2147483647, or with k or m behind it",
            ),
            ("heap=x", "option heap=x: must be dump|sites|all"),
            (
                "cpu=samples,monitor=y",
                "option monitor=y: this version has no monitor profile yet; it has cpu=samples and heap=sites",
            ),
            (
                "cpu=samples,net=h:1",
                "option net=h:1: this version has no socket yet; it has cpu=samples and heap=sites",
            ),
            ("cpu=samples,net=h", "option net=h: must be <host>:<port>"),
        ];
        for (text, message) in cases {
            assert_eq!(error(text), message, "{text}");
            assert!(!message.contains('\n'));
        }
    }

    #[test]
    fn nothing_asked_for_is_heap_all_and_refused() {
        for text in ["", "depth=3", ","] {
            assert_eq!(parse(text, None), Err(OptionError::NothingAsked));
        }
    }

    #[test]
    fn switches_of_old_scripts_are_taken_and_named() {
        let options = options(
            "cpu=samples,debugflags=3,X=m,errorexit=y,pause=n,coredump=y,debug=n,msa=y,gc_okay=n",
        );
        let named = [
            "debugflags",
            "X",
            "errorexit",
            "pause",
            "coredump",
            "debug",
            "msa",
            "gc_okay",
        ];
        assert_eq!(options.without_effect, named);
        assert_eq!(
            self::options("cpu=samples,primfields=n,primarrays=y,monitor=n").without_effect,
            [""; 0]
        );
    }

    #[test]
    fn help_lists_every_option_with_its_default() {
        let help = help();
        for name in [
            "heap", "cpu", "monitor", "format", "file", "net", "depth", "interval", "cutoff",
            "lineno",
        ] {
            assert!(help.contains(&format!("\n{name}=")), "{name}");
        }
        for name in ["gc", "thread", "doe", "msa", "force", "verbose"] {
            assert!(help.contains(&format!("\n{name}=y|n")), "{name}");
        }
        assert!(help.lines().all(|line| line.len() <= 80), "fits a terminal");
    }
}
