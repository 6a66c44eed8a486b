//! From the text of the options to a request: each option sets its value by its row, then they are made to fit together.

use crate::error::OptionError;
use crate::rows::{Clock, Cpu, Depth, Dumper, Format, Heap, Oom, Options, ROWS};
use crate::table::{OptionRow, Scope, Setter, ValueRefusal};
use crate::values::switch;

/// The default of `depth=` with `wall=` and `native=malloc`: the innermost frames are those of the JDK's way to wait, and of
/// the VM's and the JDK's way to native memory.
const LONG_DEPTH: Depth = 64;

/// The action that the options request.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Print the usage text and exit.
    Help,
    /// Measure.
    Profile(Box<Options>),
}

/// Parses the options of the command line, followed by those of the environment variable `_JAVA_HPROF_OPTIONS`.
pub fn parse(command_line: &str, environment: Option<&str>) -> Result<Request, OptionError> {
    let mut settings = Settings::default();
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
        settings.give(find(name, option)?, value)?;
    }
    settings
        .finish()
        .map(|options| Request::Profile(Box::new(options)))
}

/// Returns the row of the option `name`. The error names `option`, the text that has the name.
pub fn find(name: &str, option: &str) -> Result<&'static OptionRow<Options>, OptionError> {
    ROWS.iter()
        .find(|row| row.name == name)
        .ok_or_else(|| unknown(name, option))
}

fn unknown(name: &str, option: &str) -> OptionError {
    let option = option.to_owned();
    let documented = ROWS.iter().filter(|row| !row.description.is_empty());
    match hprof_format::nearest(name, documented.map(|row| row.name)) {
        Some(nearest) => OptionError::Misspelt { option, nearest },
        None => OptionError::Unknown(option),
    }
}

/// The options while they are being read, one after the other.
#[derive(Default)]
struct Settings {
    options: Options,
    /// The options that were given, with their values.
    given: Vec<(&'static OptionRow<Options>, String)>,
}

impl Settings {
    /// Sets an option.
    fn give(
        &mut self,
        row: &'static OptionRow<Options>,
        value: Option<&str>,
    ) -> Result<(), OptionError> {
        row.apply(&mut self.options, value)?;
        if !row.has_effect() {
            self.note(row.name);
        }
        let value = value.unwrap_or_default().to_owned();
        self.given.push((row, value));
        Ok(())
    }

    /// Returns the last value of an option that was given.
    fn given(&self, name: &str) -> Option<&str> {
        let mut given = self.given.iter().rev();
        let (_, value) = given.find(|(row, _)| row.name == name)?;
        Some(value)
    }

    fn note(&mut self, name: &'static str) {
        if !self.options.without_effect.contains(&name) {
            self.options.without_effect.push(name);
        }
    }

    /// Fills in values that depend on several options, and checks that the options fit together.
    fn finish(mut self) -> Result<Options, OptionError> {
        if !self.options.measures_something() {
            self.options.heap = Some(Heap::All);
        }
        let needs_more = self.options.wall.is_some() || self.options.native_memory.is_some();
        if needs_more && self.given("depth").is_none() {
            self.options.depth = LONG_DEPTH;
        }
        if self.given("format").is_none() {
            self.options.format = self.default_format();
        }
        if let Some(with) = self
            .options
            .text_only()
            .filter(|_| self.options.format == Format::Binary)
        {
            return Err(OptionError::TextOnly { with });
        }
        if let Some(socket) = &self.options.live {
            let file = (!self.options.file.is_empty()).then_some("file=");
            if let Some(with) = file.or(self.options.not_live()) {
                let socket = socket.display().to_string();
                return Err(OptionError::NotLive { socket, with });
            }
        }
        if let Some(net) = &self.options.net
            && !self.options.file.is_empty()
        {
            return Err(OptionError::FileAndNet {
                net: net.to_string(),
                file: self.options.file,
            });
        }
        if self.options.redact && self.options.dumper == Dumper::Vm {
            return Err(OptionError::DumperOfContent);
        }
        if self.options.clock == Clock::Samples && self.options.cpu == Some(Cpu::Old) {
            return Err(OptionError::OnlyCounts);
        }
        self.options.oom = self.oom();
        self.refuse_what_does_nothing()?;
        if self.options.file.is_empty() {
            self.options.file = default_file(&self.options);
        }
        Ok(self.options)
    }

    /// Returns what is written when memory runs out: what `heap=` is about, into a file next to that of the profile.
    fn oom(&self) -> Option<Oom> {
        let has_file = self.options.net.is_none() && self.options.live.is_none();
        let heap = self.options.heap.filter(|_| has_file)?;
        match self.given("oom").unwrap_or("y") {
            "y" if heap.has_dump() => Some(Oom::Dump),
            "y" => Some(Oom::Sites),
            _ => self.options.oom,
        }
    }

    /// Refuses options without an effect with the others; those of the original are noted, for old scripts pass them.
    fn refuse_what_does_nothing(&mut self) -> Result<(), OptionError> {
        for (row, value) in std::mem::take(&mut self.given) {
            if row.scope.is_in(&self.options) {
                continue;
            }
            match row.scope {
                Scope::Original(_) => self.note(row.name),
                _ => {
                    return Err(OptionError::DoesNothing {
                        name: row.name,
                        value,
                        needed: row.scope.needed(),
                    });
                }
            }
        }
        Ok(())
    }

    /// The name of the file decides, except for what the original wrote only as text: its command lines still write that.
    fn default_format(&self) -> Format {
        let file = &*self.options.file;
        let name = file.strip_suffix(".gz").unwrap_or(file);
        let was_text_only = self.options.monitors || self.options.text_only().is_some();
        match name.ends_with(".hprof") && !was_text_only {
            true => Format::Binary,
            false => Format::Text,
        }
    }
}

fn default_file(options: &Options) -> String {
    let name = match options.format {
        Format::Text => "java.hprof.txt",
        Format::Binary => "java.hprof",
    };
    let suffix = if options.compress == Some(true) {
        ".gz"
    } else {
        ""
    };
    format!("{name}{suffix}")
}

impl<O> OptionRow<O> {
    /// Sets the value.
    fn apply(&self, options: &mut O, value: Option<&str>) -> Result<(), OptionError> {
        let allowed = || self.allowed.unwrap_or(self.values).to_owned();
        let Some(value) = value else {
            return Err(OptionError::NoValue {
                name: self.name,
                allowed: allowed(),
            });
        };
        let answer = match &self.setter {
            Setter::Switch(set) => switch(value)
                .map(|on| set(options, on))
                .ok_or(ValueRefusal::NotAllowed),
            Setter::Value(set) => set(options, value),
            Setter::WithoutEffect => Ok(()),
            Setter::SwitchWithoutEffect => {
                switch(value).map(|_| ()).ok_or(ValueRefusal::NotAllowed)
            }
        };
        answer.map_err(|refusal| match refusal {
            ValueRefusal::NotAllowed => OptionError::Value {
                name: self.name,
                value: value.to_owned(),
                allowed: allowed(),
            },
            ValueRefusal::Twice => OptionError::Twice {
                name: self.name,
                value: value.to_owned(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{error, options};
    use crate::{Dumper, Oom};

    #[test]
    fn what_is_written_when_memory_runs_out_is_what_the_heap_is_asked_for() {
        for (given, oom) in [
            ("", Some(Oom::Dump)),
            ("heap=all", Some(Oom::Dump)),
            ("heap=dump", Some(Oom::Dump)),
            ("heap=sites", Some(Oom::Sites)),
            ("heap=sites,oom=y", Some(Oom::Sites)),
            ("oom=dump,heap=sites", Some(Oom::Dump)),
            ("oom=sites", Some(Oom::Sites)),
            ("heap=all,oom=n", None),
            ("cpu=samples", None),
            ("heap=all,net=h:1", None),
        ] {
            assert_eq!(options(given).oom, oom, "{given}");
        }
        assert_eq!(
            error("cpu=samples,oom=y"),
            "option oom=y: does nothing without heap= and a file"
        );
        assert_eq!(
            error("heap=sites,oom=n,oom_count=2"),
            "option oom_count=2: does nothing without oom=, heap= and a file"
        );
        assert_eq!(error("oom=heap"), "option oom=heap: must be y|n|dump|sites");
        assert_eq!(
            error("oom_count=0"),
            "option oom_count=0: must be a whole number of files from 1 to 1000"
        );
        let named = options("heap=sites,oom=dump,dumper=jvmti");
        assert_eq!(named.dumper, Dumper::Jvmti);
    }
}
