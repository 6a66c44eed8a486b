//! The options as they are read, one after the other.

use std::time::Duration;

use super::{Clock, Cpu, Dumper, Format, Heap, OptionError, Options, Sort};

/// What the rows fill in.
pub(super) struct Settings {
    pub(super) options: Options,
    /// `file=`.
    pub(super) file: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            options: Options {
                heap: None,
                cpu: None,
                monitors: false,
                format: Format::Text,
                file: String::new(),
                force: true,
                depth: 4,
                interval: Duration::from_millis(10),
                cutoff: 0.0001,
                sort: Sort::Live,
                line_numbers: true,
                threads: false,
                dump_on_exit: true,
                verbose: true,
                check_file: false,
                collect: true,
                sample: None,
                dumper: Dumper::Auto,
                primitive_fields: true,
                primitive_arrays: true,
                net: None,
                net_exit: true,
                compress: None,
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

    /// What is asked for and has no records in the binary format.
    fn text_only(&self) -> Option<&'static str> {
        match self.options.cpu {
            Some(Cpu::Times) => Some("cpu=times"),
            Some(Cpu::Old) => Some("cpu=old"),
            _ => self.options.monitors.then_some("monitor=y"),
        }
    }

    /// Fills in what depends on several options.
    pub(super) fn finish(mut self) -> Result<Options, OptionError> {
        if self.options.cpu.is_none() && self.options.heap.is_none() && !self.options.monitors {
            self.options.heap = Some(Heap::All);
        }
        if !matches!(self.options.cpu, Some(Cpu::Times | Cpu::Old)) {
            self.note_unused_classes();
        }
        if let Some(with) = self
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
