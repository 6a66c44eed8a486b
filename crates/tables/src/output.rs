//! The files of one run: created under a temporary name, and moved to their final places when all are complete.

use std::fs;
use std::path::{Path, PathBuf};

use hprof_os::folders::{self, Temporary};

use crate::error::Error;
use crate::file::TableFile;
use crate::schema::{self, Table};

/// All tables of one run.
pub(crate) struct Output {
    folder: PathBuf,
    run: i64,
    /// Removed with its content on drop.
    temporary: Temporary,
    pub(crate) run_row: TableFile,
    pub(crate) label: TableFile,
    pub(crate) thread: TableFile,
    pub(crate) class: TableFile,
    pub(crate) frame: TableFile,
    pub(crate) trace: TableFile,
    pub(crate) trace_frame: TableFile,
    pub(crate) cpu_sample: TableFile,
    pub(crate) wall_sample: TableFile,
    pub(crate) lock_wait: TableFile,
    pub(crate) sample_time: TableFile,
    pub(crate) call_time: TableFile,
    pub(crate) alloc_site: TableFile,
    pub(crate) site_lifetime: TableFile,
    pub(crate) live_course: TableFile,
    pub(crate) native_site: TableFile,
    pub(crate) monitor: TableFile,
    pub(crate) object: TableFile,
    pub(crate) reference: TableFile,
    pub(crate) field: TableFile,
    pub(crate) value: TableFile,
    pub(crate) string: TableFile,
    pub(crate) root: TableFile,
}

/// The tables that one walk over a heap dump fills.
pub(crate) struct HeapTables<'a> {
    pub(crate) object: &'a mut TableFile,
    pub(crate) reference: &'a mut TableFile,
    pub(crate) field: &'a mut TableFile,
    pub(crate) root: &'a mut TableFile,
}

impl Output {
    /// Creates `folder` if it is missing, and empty tables.
    pub(crate) fn new(folder: &Path, run: i64) -> Result<Output, Error> {
        make_folder(folder)?;
        let mut temporary = Temporary::new(folder).map_err(Error::output(folder))?;
        let mut open = |table: &'static Table| -> Result<TableFile, Error> {
            let file = temporary.create(table.name);
            let file = file.map_err(Error::output(temporary.path()))?;
            Ok(TableFile::new(table, run, file)?)
        };
        Ok(Output {
            run_row: open(&schema::RUN)?,
            label: open(&schema::LABEL)?,
            thread: open(&schema::THREAD)?,
            class: open(&schema::CLASS)?,
            frame: open(&schema::FRAME)?,
            trace: open(&schema::TRACE)?,
            trace_frame: open(&schema::TRACE_FRAME)?,
            cpu_sample: open(&schema::CPU_SAMPLE)?,
            wall_sample: open(&schema::WALL_SAMPLE)?,
            lock_wait: open(&schema::LOCK_WAIT)?,
            sample_time: open(&schema::SAMPLE_TIME)?,
            call_time: open(&schema::CALL_TIME)?,
            alloc_site: open(&schema::ALLOC_SITE)?,
            site_lifetime: open(&schema::SITE_LIFETIME)?,
            live_course: open(&schema::LIVE_COURSE)?,
            native_site: open(&schema::NATIVE_SITE)?,
            monitor: open(&schema::MONITOR)?,
            object: open(&schema::OBJECT)?,
            reference: open(&schema::REFERENCE)?,
            field: open(&schema::FIELD)?,
            value: open(&schema::VALUE)?,
            string: open(&schema::STRING)?,
            root: open(&schema::ROOT)?,
            folder: folder.to_owned(),
            run,
            temporary,
        })
    }

    /// Returns the tables of what refers to what, and that of strings.
    pub(crate) fn heap_tables(&mut self) -> (HeapTables<'_>, &mut TableFile) {
        let tables = HeapTables {
            object: &mut self.object,
            reference: &mut self.reference,
            field: &mut self.field,
            root: &mut self.root,
        };
        (tables, &mut self.string)
    }

    /// Completes the files and moves them to their final places; returns the number of rows of each table.
    pub(crate) fn publish(self) -> Result<Vec<(&'static str, u64)>, Error> {
        let finished = [
            (&schema::LABEL, self.label.finish()?),
            (&schema::THREAD, self.thread.finish()?),
            (&schema::CLASS, self.class.finish()?),
            (&schema::FRAME, self.frame.finish()?),
            (&schema::TRACE, self.trace.finish()?),
            (&schema::TRACE_FRAME, self.trace_frame.finish()?),
            (&schema::CPU_SAMPLE, self.cpu_sample.finish()?),
            (&schema::WALL_SAMPLE, self.wall_sample.finish()?),
            (&schema::LOCK_WAIT, self.lock_wait.finish()?),
            (&schema::SAMPLE_TIME, self.sample_time.finish()?),
            (&schema::CALL_TIME, self.call_time.finish()?),
            (&schema::ALLOC_SITE, self.alloc_site.finish()?),
            (&schema::SITE_LIFETIME, self.site_lifetime.finish()?),
            (&schema::LIVE_COURSE, self.live_course.finish()?),
            (&schema::NATIVE_SITE, self.native_site.finish()?),
            (&schema::MONITOR, self.monitor.finish()?),
            (&schema::OBJECT, self.object.finish()?),
            (&schema::REFERENCE, self.reference.finish()?),
            (&schema::FIELD, self.field.finish()?),
            (&schema::VALUE, self.value.finish()?),
            (&schema::STRING, self.string.finish()?),
            (&schema::ROOT, self.root.finish()?),
            // The last one: a run that is listed is complete.
            (&schema::RUN, self.run_row.finish()?),
        ];
        let name = format!("{:016x}.parquet", self.run);
        let mut moved = Vec::new();
        for (table, _) in finished {
            let to = self.folder.join(table.name).join(&name);
            if let Err(error) = publish(&self.temporary, table.name, &to) {
                for path in moved {
                    // If a file cannot even be removed, it stays without its run.
                    let _ = fs::remove_file(path);
                }
                return Err(error);
            }
            moved.push(to);
        }
        Ok(finished.map(|(table, rows)| (table.name, rows)).into())
    }
}

fn publish(temporary: &Temporary, name: &str, to: &Path) -> Result<(), Error> {
    if let Some(folder) = to.parent() {
        make_folder(folder)?;
    }
    temporary.publish(name, to).map_err(Error::output(to))
}

fn make_folder(path: &Path) -> Result<(), Error> {
    folders::create_private(path).map_err(Error::output(path))
}
