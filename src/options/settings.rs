//! The options while they are being read, one after the other.

use super::{Cpu, Format, Heap, OptionError, Options, SamplingChoice};

/// The values that the rows of the table fill in.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) options: Options,
    /// `file=`.
    pub(super) file: Option<String>,
}

impl Settings {
    pub(super) fn note(&mut self, name: &'static str) {
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

    /// Fills in values that depend on several options, and checks that the options fit together.
    pub(super) fn finish(mut self) -> Result<Options, OptionError> {
        if !self.options.measures_something() {
            self.options.heap = Some(Heap::All);
        }
        if !matches!(self.options.cpu, Some(Cpu::Times | Cpu::Old)) {
            self.note_unused_classes();
        }
        let samples = self.options.cpu == Some(Cpu::Samples);
        if self.options.engine != SamplingChoice::Auto && !samples {
            self.note("engine");
        }
        if self.options.vm_threads && (!samples || self.options.engine == SamplingChoice::Jvmti) {
            self.note("vmthreads");
        }
        if let Some(with) = self
            .options
            .text_only()
            .filter(|_| self.options.format == Format::Binary)
        {
            return Err(OptionError::TextOnly { with });
        }
        if let (Some(net), Some(file)) = (&self.options.net, &self.file) {
            return Err(OptionError::FileAndNet {
                net: net.to_string(),
                file: file.clone(),
            });
        }
        if let (Some(keep), None) = (self.options.keep, self.options.rotate) {
            return Err(OptionError::Without {
                name: "keep",
                value: keep.to_string(),
                other: "rotate",
            });
        }
        if self.options.net.is_some() && self.options.keep.is_some() {
            self.note("keep");
        }
        if self.options.net.is_some() && self.options.check_file {
            self.note("logflags");
        }
        self.options.file = self.file.unwrap_or_else(|| default_file(&self.options));
        Ok(self.options)
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
