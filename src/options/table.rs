//! The options as data: one row each gives the parser, the error message, the default and the line of the help.

use std::fmt::Write;
use std::time::Duration;

use super::{Clock, Cpu, Format, Heap, OptionError, Options};

/// One option.
pub(super) struct Row {
    name: &'static str,
    /// The values as the help shows them.
    values: &'static str,
    /// The values as an error message explains them, where `values` is a placeholder.
    allowed: Option<&'static str>,
    default: &'static str,
    description: &'static str,
    setter: Setter,
}

enum Setter {
    /// Takes `y` or `n`.
    Switch(fn(&mut Settings, bool)),
    /// Takes anything that the function does.
    Value(fn(&mut Settings, &str) -> Result<(), Refusal>),
    /// Taken because old scripts pass it; does nothing, and is missing from the help.
    WithoutEffect,
    /// As `Switch`, without an effect.
    SwitchWithoutEffect,
}

enum Refusal {
    NotAllowed,
    NotBuilt(&'static str),
    Twice,
}

/// What the rows fill in.
pub(super) struct Settings {
    options: Options,
    file: Option<String>,
}

const ROWS: &[Row] = &[
    Row {
        name: "heap",
        values: "dump|sites|all",
        allowed: None,
        default: "all",
        description: "heap profiling (sites in this version)",
        setter: Setter::Value(|settings, value| match value {
            "sites" => {
                settings.options.heap = Some(Heap::Sites);
                Ok(())
            }
            "dump" | "all" => Err(Refusal::NotBuilt("heap dump")),
            _ => Err(Refusal::NotAllowed),
        }),
    },
    Row {
        name: "cpu",
        values: "samples|times|old",
        allowed: Some("samples|times|old|y"),
        default: "off",
        description: "CPU usage",
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
            _ => Err(Refusal::NotAllowed),
        }),
    },
    Row {
        name: "monitor",
        values: "y|n",
        allowed: None,
        default: "n",
        description: "monitor contention (not in this version)",
        setter: Setter::Value(|_, value| match value {
            "n" => Ok(()),
            "y" => Err(Refusal::NotBuilt("monitor profile")),
            _ => Err(Refusal::NotAllowed),
        }),
    },
    Row {
        name: "format",
        values: "a|b",
        allowed: None,
        default: "a",
        description: "text (a) or binary (b) output",
        setter: Setter::Value(|settings, value| {
            settings.options.format = match value {
                "a" => Format::Text,
                "b" => Format::Binary,
                _ => return Err(Refusal::NotAllowed),
            };
            Ok(())
        }),
    },
    Row {
        name: "file",
        values: "<file>",
        allowed: Some("the name of a file"),
        default: "java.hprof[.txt]",
        description: "write the data to this file",
        setter: Setter::Value(|settings, value| {
            if value.is_empty() {
                return Err(Refusal::NotAllowed);
            }
            if settings.file.is_some() {
                return Err(Refusal::Twice);
            }
            settings.file = Some(value.to_owned());
            Ok(())
        }),
    },
    Row {
        name: "net",
        values: "<host>:<port>",
        allowed: None,
        default: "write to file",
        description: "send the data there (not in this version)",
        setter: Setter::Value(|_, value| match value.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Err(Refusal::NotBuilt("socket"))
            }
            _ => Err(Refusal::NotAllowed),
        }),
    },
    Row {
        name: "depth",
        values: "<size>",
        allowed: Some("a whole number from 0 to 65535"),
        default: "4",
        description: "frames in a stack trace",
        setter: Setter::Value(|settings, value| {
            settings.options.depth = value.parse().map_err(|_| Refusal::NotAllowed)?;
            Ok(())
        }),
    },
    Row {
        name: "interval",
        values: "<ms>",
        allowed: Some("a whole number of milliseconds from 1 to 2147483647"),
        default: "10",
        description: "CPU time between two samples, in ms",
        setter: Setter::Value(|settings, value| match value.parse::<u64>() {
            Ok(millis @ 1..=0x7fff_ffff) => {
                settings.options.interval = Duration::from_millis(millis);
                Ok(())
            }
            _ => Err(Refusal::NotAllowed),
        }),
    },
    Row {
        name: "cutoff",
        values: "<value>",
        allowed: Some("a number, 0 or more"),
        default: "0.0001",
        description: "leave out rows below this share",
        setter: Setter::Value(|settings, value| match value.parse::<f64>() {
            Ok(share) if share >= 0.0 => {
                settings.options.cutoff = share;
                Ok(())
            }
            _ => Err(Refusal::NotAllowed),
        }),
    },
    Row {
        name: "lineno",
        values: "y|n",
        allowed: None,
        default: "y",
        description: "line numbers in traces",
        setter: Setter::Switch(|settings, on| settings.options.line_numbers = on),
    },
    Row {
        name: "thread",
        values: "y|n",
        allowed: None,
        default: "n",
        description: "keep traces apart by thread",
        setter: Setter::Switch(|settings, on| settings.options.threads = on),
    },
    Row {
        name: "doe",
        values: "y|n",
        allowed: None,
        default: "y",
        description: "dump when the program ends",
        setter: Setter::Switch(|settings, on| settings.options.dump_on_exit = on),
    },
    Row {
        name: "gc",
        values: "y|n",
        allowed: None,
        default: "y",
        description: "collect garbage before sites are dumped",
        setter: Setter::Switch(|settings, on| settings.options.collect = on),
    },
    Row {
        name: "sample",
        values: "<bytes>",
        allowed: Some("a number of bytes from 1 to 2147483647, or with k or m behind it"),
        default: "every object",
        description: "estimate sites from one object in so many",
        setter: Setter::Value(|settings, value| {
            settings.options.sample = Some(bytes(value).ok_or(Refusal::NotAllowed)?);
            Ok(())
        }),
    },
    Row {
        name: "clock",
        values: "cpu|wall",
        allowed: None,
        default: "cpu",
        description: "what cpu=times|old measures",
        setter: Setter::Value(|settings, value| {
            settings.options.clock = match value {
                "cpu" => Clock::Cpu,
                "wall" => Clock::Wall,
                _ => return Err(Refusal::NotAllowed),
            };
            Ok(())
        }),
    },
    Row {
        name: "include",
        values: "<classes>",
        allowed: Some(CLASSES),
        default: "all",
        description: "classes that cpu=times|old measures",
        setter: Setter::Value(|settings, value| {
            settings.options.include = patterns(value).ok_or(Refusal::NotAllowed)?;
            Ok(())
        }),
    },
    Row {
        name: "exclude",
        values: "<classes>",
        allowed: Some(CLASSES),
        default: "none",
        description: "classes that it does not",
        setter: Setter::Value(|settings, value| {
            settings.options.exclude = patterns(value).ok_or(Refusal::NotAllowed)?;
            Ok(())
        }),
    },
    Row {
        name: "msa",
        values: "y|n",
        allowed: None,
        default: "n",
        description: "Solaris only, without effect",
        setter: Setter::SwitchWithoutEffect,
    },
    Row {
        name: "force",
        values: "y|n",
        allowed: None,
        default: "y",
        description: "overwrite the file if it exists",
        setter: Setter::Switch(|settings, on| settings.options.force = on),
    },
    Row {
        name: "verbose",
        values: "y|n",
        allowed: None,
        default: "y",
        description: "say on stderr what is dumped",
        setter: Setter::Switch(|settings, on| settings.options.verbose = on),
    },
    Row {
        name: "gc_okay",
        values: "y|n",
        allowed: None,
        default: "y",
        description: "obsolete, without effect",
        setter: Setter::SwitchWithoutEffect,
    },
    Row {
        name: "primfields",
        values: "y|n",
        allowed: None,
        default: "y",
        description: "primitive fields in a heap dump",
        setter: Setter::Switch(|_, _| ()),
    },
    Row {
        name: "primarrays",
        values: "y|n",
        allowed: None,
        default: "y",
        description: "primitive arrays in a heap dump",
        setter: Setter::Switch(|_, _| ()),
    },
    Row {
        name: "logflags",
        values: "<bits>",
        allowed: Some("a whole number from 0 to 4294967295"),
        default: "0",
        description: "4: check the binary file at the end",
        setter: Setter::Value(|settings, value| {
            let flags: u32 = value.parse().map_err(|_| Refusal::NotAllowed)?;
            settings.options.check_file = flags & LOG_CHECK_BINARY != 0;
            Ok(())
        }),
    },
    hidden("debugflags", "<bits>", Setter::WithoutEffect),
    hidden("X", "<mode>", Setter::WithoutEffect),
    hidden("coredump", "y|n", Setter::SwitchWithoutEffect),
    hidden("errorexit", "y|n", Setter::SwitchWithoutEffect),
    hidden("pause", "y|n", Setter::SwitchWithoutEffect),
    hidden("debug", "y|n", Setter::SwitchWithoutEffect),
];

/// What `include=` and `exclude=` take.
const CLASSES: &str = "names of classes like com.acme.Foo or com.acme.*, ':' between them";

/// The bit of `logflags=` that had the original read its own binary file back.
const LOG_CHECK_BINARY: u32 = 4;

const fn hidden(name: &'static str, values: &'static str, setter: Setter) -> Row {
    Row {
        name,
        values,
        allowed: None,
        default: "",
        description: "",
        setter,
    }
}

/// The row of an option.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

impl Row {
    pub(super) fn apply(
        &self,
        settings: &mut Settings,
        value: Option<&str>,
    ) -> Result<(), OptionError> {
        let Some(value) = value else {
            return Err(OptionError::NoValue {
                name: self.name,
                allowed: self.allowed.unwrap_or(self.values).to_owned(),
            });
        };
        let answer = match &self.setter {
            Setter::Switch(set) => switch(value).map(|on| set(settings, on)),
            Setter::Value(set) => set(settings, value),
            Setter::WithoutEffect => {
                settings.note(self.name);
                Ok(())
            }
            Setter::SwitchWithoutEffect => switch(value).map(|_| settings.note(self.name)),
        };
        let value = value.to_owned();
        answer.map_err(|refusal| match refusal {
            Refusal::NotAllowed => OptionError::Value {
                name: self.name,
                value,
                allowed: self.allowed.unwrap_or(self.values).to_owned(),
            },
            Refusal::NotBuilt(what) => OptionError::NotBuilt {
                name: self.name,
                value,
                what,
            },
            Refusal::Twice => OptionError::Twice {
                name: self.name,
                value,
            },
        })
    }
}

/// `512k` as 524288.
fn bytes(value: &str) -> Option<u32> {
    let (digits, unit) = match value.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1 << 10),
        None => match value.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1 << 20),
            None => (value, 1),
        },
    };
    let bytes = digits.parse::<u32>().ok()?.checked_mul(unit)?;
    // The VM takes a number of 31 bits.
    (1..=0x7fff_ffff).contains(&bytes).then_some(bytes)
}

/// Names as in Java source, with `*` for any characters. A `|` does as well as the `:`.
fn patterns(value: &str) -> Option<Vec<String>> {
    let patterns = value.split([':', '|']);
    let is_name = |pattern: &str| {
        !pattern.is_empty()
            && !pattern.contains(|c: char| c.is_whitespace() || "/;[]()".contains(c))
    };
    patterns
        .map(|pattern| is_name(pattern).then(|| pattern.to_owned()))
        .collect()
}

fn switch(value: &str) -> Result<bool, Refusal> {
    match value {
        "y" => Ok(true),
        "n" => Ok(false),
        _ => Err(Refusal::NotAllowed),
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            options: Options {
                heap: None,
                cpu: None,
                format: Format::Text,
                file: String::new(),
                force: true,
                depth: 4,
                interval: Duration::from_millis(10),
                cutoff: 0.0001,
                line_numbers: true,
                threads: false,
                dump_on_exit: true,
                verbose: true,
                check_file: false,
                collect: true,
                sample: None,
                clock: Clock::Cpu,
                include: Vec::new(),
                exclude: Vec::new(),
                without_effect: Vec::new(),
            },
            file: None,
        }
    }
}

impl Settings {
    fn note(&mut self, name: &'static str) {
        if !self.options.without_effect.contains(&name) {
            self.options.without_effect.push(name);
        }
    }

    fn note_unused_classes(&mut self) {
        for (name, patterns) in [
            ("include", self.options.include.is_empty()),
            ("exclude", self.options.exclude.is_empty()),
        ] {
            if !patterns {
                self.note(name);
            }
        }
    }

    /// Fills in what depends on several options.
    pub(super) fn finish(mut self) -> Result<Options, OptionError> {
        if self.options.cpu.is_none() && self.options.heap.is_none() {
            return Err(OptionError::NothingAsked);
        }
        match (self.options.cpu, self.options.format) {
            (Some(Cpu::Times), Format::Binary) => return Err(OptionError::TextOnly("times")),
            (Some(Cpu::Old), Format::Binary) => return Err(OptionError::TextOnly("old")),
            (Some(Cpu::Times | Cpu::Old), Format::Text) => {}
            _ => self.note_unused_classes(),
        }
        self.options.file = self
            .file
            .unwrap_or_else(|| default_file(self.options.format).to_owned());
        Ok(self.options)
    }
}

fn default_file(format: Format) -> &'static str {
    match format {
        Format::Text => "java.hprof.txt",
        Format::Binary => "java.hprof",
    }
}

/// The usage text.
pub fn help() -> String {
    let mut help = String::from(
        "\
HPROF: where a Java program makes its objects and spends its CPU time

usage: java -agentpath:/path/to/libhprof.so=<option>=<value>,... Main
       java -agentpath:/path/to/libhprof.so=help

Option                Description                               Default
--------------------- ----------------------------------------- ----------------
",
    );
    for row in ROWS.iter().filter(|row| !row.description.is_empty()) {
        let option = format!("{}={}", row.name, row.values);
        // Writing to a String cannot fail.
        let _ = writeln!(help, "{option:<21} {:<41} {}", row.description, row.default);
    }
    help.push_str(
        "
In file=, %p stands for the process id, %t for the time of the start, %h for
the host, %{NAME} for an environment variable. Options in the environment
variable _JAVA_HPROF_OPTIONS come after those of the command line.

Example: what is alive, and where it was made, 8 frames a trace
  java -agentpath:/path/to/libhprof.so=heap=sites,depth=8 Main
Example: 20 ms of CPU time a sample, 8 frames a trace, as text
  java -agentpath:/path/to/libhprof.so=cpu=samples,interval=20,depth=8 Main
Example: every call of the methods of two packages, counted and timed
  java -agentpath:/path/to/libhprof.so=cpu=times,include=a.b.*:c.* Main
Example: a binary file, which 'hprof check' verifies and 'hprof text' prints
  java -agentpath:/path/to/libhprof.so=cpu=samples,format=b,file=a.hprof Main
",
    );
    help
}
