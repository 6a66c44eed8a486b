//! `logflags=4`: reads the file back once it is closed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use hprof_format::{Fault, Summary};

use crate::console;
use crate::output::{FileError, FileSink, Sink};

/// The file in which the original reported on its binary file after reading it back.
const REPORT: &str = "java.hprof.check.txt";

/// Checks the file and writes the result to [`REPORT`].
pub(super) fn report(path: &Path) {
    if let Err(error) = write_report(path) {
        console::line(format_args!(
            "{REPORT}: {error}; the profile itself is whole"
        ));
    }
}

fn write_report(path: &Path) -> Result<(), FileError> {
    let finding = match check(path)? {
        Ok(summary) => summary.to_string(),
        Err(fault) => format!("{fault}\n"),
    };
    let mut report = FileSink::create(Path::new(REPORT))?;
    let text = format!("{}:\n{finding}", path.display());
    Ok(report.write(text.as_bytes(), &AtomicBool::new(true))?)
}

fn check(path: &Path) -> io::Result<Result<Summary, Fault>> {
    Ok(hprof_format::check(hprof_format::decompressed(
        File::open(path)?,
    )?))
}
