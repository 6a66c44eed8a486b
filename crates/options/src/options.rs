//! What the options of a profile mean together.

use crate::rows::{Cpu, Format, Heap, Options, ROWS};

impl Options {
    /// Returns `true` if rows below the cutoff are added up under shorter stacks, and not left out.
    pub fn folds(&self) -> bool {
        self.fold.unwrap_or(self.format == Format::Binary)
    }

    /// Returns `true` if the names of threads may be written to more than one file.
    pub fn has_several_outputs(&self) -> bool {
        let names_threads = self.black_box && self.threads;
        self.rotate.is_some() || self.oom.is_some() || names_threads
    }

    /// Returns `true` if a heap dump in a binary file is all that is requested.
    pub fn is_heap_dump(&self) -> bool {
        let others = self.cpu.is_some() || self.monitors || self.wall.is_some();
        let is_file = self.net.is_none() && self.live.is_none() && self.rotate.is_none();
        self.heap == Some(Heap::Dump) && self.format == Format::Binary && is_file && !others
    }

    /// Returns `true` if at least one measurement is requested.
    pub(crate) fn measures_something(&self) -> bool {
        let mut measurements = ROWS.iter().filter_map(|row| row.measures);
        measurements.any(|is_requested| is_requested(self))
    }

    /// Returns what was asked for that a session of `hprof live` cannot do: its snapshots have a bounded size, and are taken
    /// without a walk through the heap.
    pub(crate) fn not_live(&self) -> Option<&'static str> {
        let heap = self.heap.filter(|heap| heap.has_dump());
        let cpu = self.cpu.filter(|cpu| cpu.times_methods());
        let others = [
            (self.net.is_some(), "net="),
            (self.rotate.is_some(), "rotate="),
            (self.threads, "thread=y"),
            (self.compress == Some(true), "compress=y"),
            (self.format == Format::Binary, "format=b"),
        ];
        let other = others.iter().find(|(is_given, _)| *is_given);
        let heap = heap.map(Heap::option).or(cpu.map(Cpu::option));
        heap.or(other.map(|&(_, option)| option))
    }

    /// Returns the requested measurement that has no records in the binary format.
    pub fn text_only(&self) -> Option<&'static str> {
        match self.cpu {
            Some(Cpu::Times) => Some("cpu=times"),
            Some(Cpu::Old) => Some("cpu=old"),
            _ => None,
        }
    }
}

impl Heap {
    /// Returns the option as it is written.
    pub fn option(self) -> &'static str {
        match self {
            Heap::Sites => "heap=sites",
            Heap::Dump => "heap=dump",
            Heap::All => "heap=all",
        }
    }

    /// Returns `true` if sites are reported.
    pub fn has_sites(self) -> bool {
        matches!(self, Heap::Sites | Heap::All)
    }

    /// Returns `true` if the heap is dumped.
    pub fn has_dump(self) -> bool {
        matches!(self, Heap::Dump | Heap::All)
    }
}

impl Cpu {
    /// Returns the option as it is written.
    pub fn option(self) -> &'static str {
        match self {
            Cpu::Samples => "cpu=samples",
            Cpu::Times => "cpu=times",
            Cpu::Old => "cpu=old",
        }
    }

    /// Returns `true` if every call is timed.
    pub fn times_methods(self) -> bool {
        matches!(self, Cpu::Times | Cpu::Old)
    }
}
