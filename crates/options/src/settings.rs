//! The options while they are being read, one after the other.

use crate::error::OptionError;
use crate::options::{Clock, Cpu, Depth, Dumper, Format, Heap, Oom, Options};
use crate::scope::Scope;

/// The default of `depth=` with `wall=` and `native=malloc`: the innermost frames are those of the JDK's way to wait, and of
/// the VM's and the JDK's way to native memory.
const LONG_DEPTH: Depth = 64;

/// The values that the rows of the table fill in.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) options: Options,
    /// `file=`.
    pub(super) file: Option<String>,
    /// `format=`.
    pub(super) format: Option<Format>,
    /// `oom=`.
    pub(super) oom: Option<OomChoice>,
    /// The names, scopes and values of the options that were given.
    pub(super) given: Vec<(&'static str, &'static Scope, String)>,
}

/// `oom=` as it was given.
#[derive(Clone, Copy)]
pub(super) enum OomChoice {
    /// The default depends on the measurements.
    Default,
    Off,
    Given(Oom),
}

impl Settings {
    pub(super) fn note(&mut self, name: &'static str) {
        if !self.options.without_effect.contains(&name) {
            self.options.without_effect.push(name);
        }
    }

    /// Fills in values that depend on several options, and checks that the options fit together.
    pub(super) fn finish(mut self) -> Result<Options, OptionError> {
        if !self.options.measures_something() {
            self.options.heap = Some(Heap::All);
        }
        let needs_more = self.options.wall.is_some() || self.options.native_memory.is_some();
        if needs_more && !self.given.iter().any(|(name, ..)| *name == "depth") {
            self.options.depth = LONG_DEPTH;
        }
        self.options.format = self.format.unwrap_or_else(|| self.default_format());
        if let Some(with) = self
            .options
            .text_only()
            .filter(|_| self.options.format == Format::Binary)
        {
            return Err(OptionError::TextOnly { with });
        }
        if let Some(socket) = &self.options.live {
            let file = self.file.is_some().then_some("file=");
            if let Some(with) = file.or(self.options.not_live()) {
                let socket = socket.display().to_string();
                return Err(OptionError::NotLive { socket, with });
            }
        }
        if let (Some(net), Some(file)) = (&self.options.net, &self.file) {
            return Err(OptionError::FileAndNet {
                net: net.to_string(),
                file: file.clone(),
            });
        }
        if self.options.redact && self.options.dumper == Dumper::Vm {
            return Err(OptionError::DumperOfContent);
        }
        if self.options.clock == Clock::Samples {
            let others = [
                (self.options.cpu == Some(Cpu::Old), "cpu=old"),
                (self.options.budget.is_some(), "budget="),
            ];
            if let Some((_, with)) = others.into_iter().find(|(is_given, _)| *is_given) {
                return Err(OptionError::OnlyCounts { with });
            }
        }
        self.options.oom = self.oom();
        self.refuse_what_does_nothing()?;
        self.options.file = self.file.unwrap_or_else(|| default_file(&self.options));
        Ok(self.options)
    }

    /// Returns what is written when memory runs out: what `heap=` is about, into a file beside that of the profile.
    fn oom(&self) -> Option<Oom> {
        let has_file = self.options.net.is_none() && self.options.live.is_none();
        let heap = self.options.heap.filter(|_| has_file)?;
        match self.oom.unwrap_or(OomChoice::Default) {
            OomChoice::Default if heap.has_dump() => Some(Oom::Dump),
            OomChoice::Default => Some(Oom::Sites),
            OomChoice::Given(oom) => Some(oom),
            OomChoice::Off => None,
        }
    }

    /// Refuses options without an effect beside the others; those of the original are noted, for old scripts pass them.
    fn refuse_what_does_nothing(&mut self) -> Result<(), OptionError> {
        for (name, scope, value) in std::mem::take(&mut self.given) {
            if scope.is_in(&self.options) {
                continue;
            }
            match scope {
                Scope::Original(_) => self.note(name),
                _ => {
                    return Err(OptionError::DoesNothing {
                        name,
                        value,
                        needed: scope.needed(),
                    });
                }
            }
        }
        Ok(())
    }

    /// The name of the file decides, but for what the original wrote only as text: its command lines go on writing that.
    fn default_format(&self) -> Format {
        let file = self.file.as_deref().unwrap_or_default();
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
