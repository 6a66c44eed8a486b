//! `heap=dump`: every object, with its fields and the stack that allocated it. The programs are in `java-tests/dump`,
//! with the expected results in their first comments.

mod disk;
mod every_cell;
mod failures;
mod forked;
mod graph;
pub mod heap;
mod options;
mod requests;
mod same_graph;
mod sizes;
mod streams;
mod traces;
mod walk;

use crate::harness::{Jvm, Program, Running};
use heap::File;

/// The options of most tests.
const DUMP: &str = "heap=dump,format=b,file=x.hprof";

/// A program of `java-tests/dump` with the agent.
fn program(jvm: &Jvm, options: &str, vm_options: &[&str], name: &str) -> Program {
    Program::java(jvm, options, vm_options).program("dump", name)
}

/// Requests a dump from a running program and waits until it is there, as the `number`th.
fn dump(run: &Running, number: usize) {
    run.send("QUIT");
    run.wait_until(|| run.stderr().matches(" done.\n").count() >= number);
}

/// Reads the file of a run that has ended; all its dumps must be complete.
fn read(run: &crate::harness::Finished) -> File {
    let file = File::read(&run.path("x.hprof"));
    for dump in &file.dumps {
        dump.assert_whole(&file);
    }
    file
}

impl crate::harness::Finished {
    /// Returns the number of complete dumps in the file; a dump after the last one may be truncated at a record's end, which
    /// is reported.
    fn read_dumps(&self) -> usize {
        let (sound, found, fault) = self.hprof("text", "x.hprof");
        assert!(
            sound || fault.contains("the file ends before the heap dump does"),
            "{fault}"
        );
        found
            .lines()
            .filter(|line| *line == "HEAP DUMP END")
            .count()
    }
}
