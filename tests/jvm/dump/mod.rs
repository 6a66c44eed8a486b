//! `heap=dump`: every object, with its fields and where it was made. The programs stand in `java-tests/dump`, their right
//! answers in their first comments.

mod every_cell;
mod failures;
mod graph;
pub mod heap;
mod options;
mod requests;
mod same_graph;
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

/// Asks a running program for a dump and waits until it is there, as the `number`th.
fn dump(run: &Running, number: usize) {
    run.send("QUIT");
    run.wait_until(|| run.stderr().matches(" done.\n").count() >= number);
}

/// The file of a run that has ended; all its dumps are whole.
fn read(run: &crate::harness::Finished) -> File {
    let file = File::read(&run.path("x.hprof"));
    for dump in &file.dumps {
        dump.assert_whole(&file);
    }
    file
}

impl crate::harness::Finished {
    /// How many whole dumps the file has; what is behind the last one may be cut at a record's end.
    fn read_dumps(&self) -> usize {
        let (sound, found, fault) = self.hprof("text", "x.hprof");
        assert!(sound, "{fault}");
        found
            .lines()
            .filter(|line| *line == "HEAP DUMP END")
            .count()
    }
}
