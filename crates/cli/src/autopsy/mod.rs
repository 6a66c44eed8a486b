//! `hprof autopsy`: the profile that a killed program has left in its black box.

mod growth;

use std::fs::{File, TryLockError};
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Local};
use clap::ValueEnum;
use hprof_footprint::verdict;
use hprof_format::{BlackBox, BlackBoxError, Millis, is_text, printable};

use crate::accounts;
use crate::amounts;
use crate::failure::Failure;
use crate::output::Output;
use crate::text;

/// Show the profile that a killed program has left
///
/// With blackbox=y, as `hprof record` has it, the agent writes what it knows into
/// PROFILE.blackbox every second, or at most every 30 if that takes long. If the
/// program is killed, by SIGKILL, by the kernel because memory is short, or by a
/// crash of the VM, that file stays. This prints the profile in it as text; with
/// -o x.hprof or --format b it is written in the binary format. Lines on stderr say
/// first where the memory of the process was, how it has changed in the last
/// minutes, and what made it large, as `hprof memory` does, then how old the profile
/// is.
///
/// FILE may also be the profile, with the black box next to it. Every other command
/// takes such a file for the profile in it, too:
/// `hprof top java.hprof.txt.blackbox`.
///
/// Call times and cpu=old are kept as text: the binary format has no records for
/// them.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The file, PROFILE.blackbox
    file: PathBuf,

    /// Write to this file, readable only by its owner, instead of the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Text (a) or binary (b) [default: a, b for *.hprof]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
}

/// The end of the name of a black box, after that of its profile.
pub const END_OF_BLACK_BOX: &str = ".blackbox";

const BEGIN_OF_PROFILE: &[u8; 12] = b"JAVA PROFILE";
/// What is said of a profile without a black box next to it.
const NO_BLACK_BOX: &str = "is a profile, and there is no black box next to it: the agent writes one with blackbox=y, and removes it when the profile is complete";

/// The format of the output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    A,
    B,
}

/// Prints the profile, and what is to be said about it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (path, file, found) = find(&arguments.file)?;
    let mut memory = memory_lines(&found);
    memory.extend(growth::sentence(&found.growth));
    for line in &memory {
        // If nobody can read it, nothing else is lost.
        let _ = writeln!(io::stderr(), "hprof: {line}");
    }
    if found.profile.is_empty() {
        let what = "its snapshot has no profile, which was too large";
        return Err(Failure::about(&path, what));
    }
    let is_running = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    arguments.print(&found)?;
    // If nobody can read it, nothing else is lost.
    let _ = writeln!(io::stderr(), "hprof: {}", age(&found, is_running));
    Ok(())
}

impl Arguments {
    fn print(&self, found: &BlackBox) -> Result<(), Failure> {
        let is_named_so = |path: &PathBuf| path.extension().is_some_and(|end| end == "hprof");
        let by_name = match self.output.as_ref().is_some_and(is_named_so) {
            true => Format::B,
            false => Format::A,
        };
        match (self.format.unwrap_or(by_name), is_text(&found.profile)) {
            (Format::B, true) => Err(Failure::about(
                &self.file,
                "its profile is text, which the binary format has no records for; --format a writes it",
            )),
            (Format::B, false) => self.write(|out| out.write_all(&found.profile)),
            (Format::A, true) => self.write(|out| write_text(&found.profile, out)),
            (Format::A, false) => {
                let profile = Box::new(Cursor::new(found.profile.clone()));
                text::print_profile(profile, &self.file, self.output.as_deref())
            }
        }
    }

    fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        Output::open(self.output.as_deref(), &self.file)?.write(write)
    }
}

/// Writes text without what a terminal would take for commands.
fn write_text(text: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (&*line, ""),
        };
        for (number, part) in line.split('\t').enumerate() {
            let tab = if number > 0 { "\t" } else { "" };
            write!(out, "{tab}{}", printable(part))?;
        }
        out.write_all(end.as_bytes())?;
    }
    Ok(())
}

/// Finds the black box: the file itself, or the one next to a profile, which is said.
fn find(path: &Path) -> Result<(PathBuf, File, BlackBox), Failure> {
    match read(path) {
        Err(BlackBoxError::Other) => {}
        read => return found(path, read),
    }
    let mut black_box = path.as_os_str().to_owned();
    black_box.push(END_OF_BLACK_BOX);
    let black_box = PathBuf::from(black_box);
    match read(&black_box) {
        Err(BlackBoxError::Read(error)) if error.kind() == io::ErrorKind::NotFound => {
            match is_profile(path) {
                true => Err(Failure::about(path, NO_BLACK_BOX)),
                false => Err(Failure::about(path, BlackBoxError::Other)),
            }
        }
        read => {
            let name = black_box.display().to_string();
            let _ = writeln!(io::stderr(), "hprof: this is {}", printable(&name));
            found(&black_box, read)
        }
    }
}

/// Returns `true` if the file begins as profiles do.
fn is_profile(path: &Path) -> bool {
    let mut begin = [0; BEGIN_OF_PROFILE.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *BEGIN_OF_PROFILE
}

fn read(path: &Path) -> Result<(File, BlackBox), BlackBoxError> {
    let mut file = File::open(path)?;
    let found = BlackBox::read(&mut file)?;
    Ok((file, found))
}

fn found(
    path: &Path,
    read: Result<(File, BlackBox), BlackBoxError>,
) -> Result<(PathBuf, File, BlackBox), Failure> {
    let (file, found) = read.map_err(|error| Failure::about(path, error))?;
    Ok((path.to_owned(), file, found))
}

/// Returns where the memory of the process was when it was last looked at, and what that means; nothing if the agent was too old
/// to keep it.
fn memory_lines(found: &BlackBox) -> Vec<String> {
    let text = String::from_utf8_lossy(&found.memory);
    let accounts = hprof_footprint::decode_all(&text).unwrap_or_default();
    let Some((last, earlier)) = accounts.split_last() else {
        return Vec::new();
    };
    let before = found.time.0.saturating_sub(last.time) as f64 / 1e3;
    let seen = match before >= 1.0 {
        true => format!(" ({} before the last snapshot)", amounts::time(before)),
        false => String::new(),
    };
    let mut lines = vec![format!(
        "the process had {}{seen}",
        accounts::headline(last)
    )];
    let findings = verdict(earlier.first(), last);
    lines.extend(
        findings
            .iter()
            .map(|finding| format!("- {}", accounts::sentence(finding))),
    );
    lines
}

/// Returns how old the snapshot is, and what it knows of live objects.
fn age(found: &BlackBox, is_running: bool) -> String {
    let now = u64::try_from(Local::now().timestamp_millis()).unwrap_or(0);
    let seconds = |earlier: Millis, later: u64| later.saturating_sub(earlier.0) as f64 / 1e3;
    let written = i64::try_from(found.time.0)
        .ok()
        .and_then(DateTime::from_timestamp_millis)
        .map_or_else(
            || "an unknown time".to_owned(),
            |time| {
                time.with_timezone(&Local)
                    .format("%Y-%m-%d %H:%M:%S")
                    .to_string()
            },
        );
    let ago = amounts::time(seconds(found.time, now));
    let running = match is_running {
        true => "; the program is still running",
        false => "",
    };
    let swept = found.swept.map(|swept| {
        let before = amounts::time(seconds(swept, found.time.0));
        format!("; live objects as of {before} before that")
    });
    let swept = swept.unwrap_or_default();
    format!("the profile as of {written}, {ago} ago{swept}{running}")
}
