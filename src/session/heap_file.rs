//! A dump of the heap in a file of its own, while the profile continues.

use std::path::PathBuf;
use std::sync::Arc;

use super::lifecycle::GATE;
use super::state::Session;
use crate::engines::heap_dump::HeapDumps;
use crate::engines::{Context, Moment, Report, Totals};
use jvmti::{Env, Jni};
use options::Options;
use output::Writer;

/// A file for a dump of the heap.
pub struct HeapFile {
    /// Its path.
    pub path: PathBuf,
    /// Writes it.
    pub writer: Writer,
}

/// How the heap was dumped, and into which file.
pub struct HeapDumped {
    /// The file.
    pub path: PathBuf,
    /// `heap dump by ...`, or why there is none.
    pub how: String,
    /// `true` if all of the file could be written.
    pub is_whole: bool,
}

/// Dumps the heap as `options` say, into the file that `open` opens. The running profile is not changed; what it knows of
/// allocations is in the dump. `None` if no session runs, or a panic ended it.
pub fn dump_heap<E>(
    jni: Jni<'_>,
    options: &Arc<Options>,
    open: impl FnOnce(Env) -> Result<HeapFile, E>,
) -> Option<Result<HeapDumped, E>> {
    GATE.run(|session| {
        let file = open(session.context.env)?;
        Ok(session.dump_heap(jni, options, file))
    })
}

impl Session {
    fn dump_heap(&self, jni: Jni<'_>, options: &Arc<Options>, file: HeapFile) -> HeapDumped {
        let HeapFile { path, writer } = file;
        let context = Context {
            options: options.clone(),
            path: path.clone(),
            ..self.context.clone()
        };
        let dumps = HeapDumps::new(&context, self.engines.allocations.clone());
        let journal = self.context.journal.companion(writer, true);
        let report = Report {
            journal: &journal,
            verbose: false,
            ..self.report(Moment::Running, Totals::Keep)
        };
        {
            let _dumping = self.dumps.lock();
            let _own = self.exhaustions.of_the_agent();
            self.threads.announce_to(jni, &journal);
            if let Some(dumps) = dumps {
                dumps.dump_alone(jni, &report);
            }
        }
        journal.ended(&[]);
        journal.sync();
        HeapDumped {
            path,
            how: report.heap_dump.take().unwrap_or_default(),
            is_whole: journal.close(),
        }
    }
}
