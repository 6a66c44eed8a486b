//! The files of `-o`, and the browser.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hprof_format::printable;

use crate::export;
use crate::failure::Failure;
use crate::profile;
use crate::report;

/// The programs that open a page, in the order in which they are tried.
const BROWSERS: [&str; 6] = [
    "xdg-open",
    "sensible-browser",
    "x-www-browser",
    "firefox",
    "chromium",
    "google-chrome",
];

/// Returns an error if the file could not be written, or would replace a file.
pub fn check(page: Option<&Path>) -> Result<(), Failure> {
    let Some(page) = page else {
        return Ok(());
    };
    if page.symlink_metadata().is_ok() {
        let what = "exists, and a recording replaces nothing; name another file with -o";
        return Err(Failure::about(page, what));
    }
    let folder = page
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    match folder.is_dir() {
        true => Ok(()),
        false => Err(Failure::about(folder, "is no folder")),
    }
}

/// Writes the profile for the JDK Flight Recorder's viewers. It must be that of one JVM.
pub fn write_recording(files: &[PathBuf], recording: &Path) -> Result<(), Failure> {
    match files {
        [] => Ok(()),
        [file] => {
            export::write_recording(profile::open(file, None)?, file, recording, true)?;
            let name = recording.display().to_string();
            let _ = writeln!(io::stderr(), "recording: {}", printable(&name));
            Ok(())
        }
        _ => Err(Failure::about(
            recording,
            format_args!(
                "is for one JVM, and {} were recorded; `hprof export --to jfr` writes that of each",
                files.len()
            ),
        )),
    }
}

/// Writes the page about the files; opens it if that is wanted.
pub fn write(files: &[PathBuf], page: Option<&Path>, is_opened: bool) -> Result<(), Failure> {
    let Some(first) = files.first() else {
        return Ok(());
    };
    let page = page.map_or_else(|| path_of(first), Path::to_owned);
    report::write_page(files, &page)?;
    let name = page.display().to_string();
    let _ = writeln!(io::stderr(), "page: {}", printable(&name));
    match is_opened {
        true => open(&page),
        false => Ok(()),
    }
}

/// Returns the name of the page next to a file: `Main-20261123-081500-4711.html`.
pub fn path_of(file: &Path) -> PathBuf {
    let name = file.to_string_lossy();
    let name = name.trim_end_matches(".txt").trim_end_matches(".hprof");
    format!("{name}.html").into()
}

fn open(page: &Path) -> Result<(), Failure> {
    for browser in BROWSERS {
        let mut command = Command::new(browser);
        command.arg(page).stdin(Stdio::null());
        // It outlives this command, and the keys of the terminal are not for it.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if command.process_group(0).spawn().is_ok() {
            return Ok(());
        }
    }
    let tried = BROWSERS.join(", ");
    Err(Failure::about(
        page,
        format_args!("there is no program that opens it (none of {tried})"),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// What somebody puts in the place of the output while a program is recorded is neither replaced nor followed.
    #[test]
    fn what_appears_meanwhile_stays() {
        let profile = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/profiles/original-spin-samples-thread.txt");
        let files = [profile];
        let folder = TempDir::new().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("precious"), "what was there").expect("a file");
        for output in ["page.html", "run.jfr"] {
            let output = path(output);
            assert!(check(Some(&output)).is_ok());
            symlink("precious", &output).expect("a link");
            assert!(check(Some(&output)).is_err());
            assert!(write(&files, Some(&output), false).is_err());
            assert!(write_recording(&files, &output).is_err());
            let left = fs::read_to_string(&output).expect("it is there");
            assert_eq!(left, "what was there");
            fs::remove_file(&output).expect("it is ours");
            assert!(write(&files, Some(&output), false).is_ok());
            fs::remove_file(&output).expect("it is ours");
            assert!(write_recording(&files, &output).is_ok());
        }
    }
}
