//! A command of `hprof` as a process of its own: the memory of a large dump is given back with the answer, a request that
//! is cancelled ends, and nothing that a command prints gets between the messages of the protocol.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{MAIN_SEPARATOR, PathBuf};
use std::process::Stdio;

use hprof_format::printable;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::input::WITHOUT_LINKS;

/// The most bytes of an answer before it is cut to its limit.
const LONGEST: u64 = 32 << 20;
/// The most bytes of an error that are read, and of the line that is made of it.
const LONGEST_ERROR: u64 = 64 << 10;
const LONGEST_LINE: usize = 1000;

/// The output of a command.
pub struct Printed {
    /// The standard output.
    pub out: Vec<u8>,
    /// Its complaint, as one line.
    pub error: Option<String>,
    /// Set if the command was carried out.
    pub is_success: bool,
}

/// This program.
pub struct Program(PathBuf);

impl Program {
    /// Finds the file of this program.
    pub fn find() -> io::Result<Program> {
        Ok(Program(std::env::current_exe()?))
    }

    /// Runs a command to its end; ends it if the future is dropped.
    pub async fn run(&self, arguments: &[OsString]) -> Result<Printed, String> {
        self.printed(arguments)
            .await
            .map_err(|error| format!("{}: {error}", self.0.display()))?
            .ok_or_else(|| {
                format!(
                    "the answer has more than {LONGEST} bytes before it is cut: ask for less, as with a higher \
                     `threshold` or `min`, or fewer rows"
                )
            })
    }

    async fn printed(&self, arguments: &[OsString]) -> io::Result<Option<Printed>> {
        let mut child = Command::new(&self.0)
            .args(arguments)
            .env(WITHOUT_LINKS, "")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (out, error) = (child.stdout.take(), child.stderr.take());
        let (out, error) = tokio::join!(bounded(out, LONGEST), bounded(error, LONGEST_ERROR));
        let (Some(out), Some(error)) = (out?, error?) else {
            child.kill().await?;
            return Ok(None);
        };
        let status = child.wait().await?;
        Ok(Some(Printed {
            out,
            error: complaint(&error),
            is_success: status.success(),
        }))
    }
}

/// Reads to the end; `None` if it is longer than `most`.
async fn bounded(source: Option<impl AsyncRead + Unpin>, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut read = Vec::new();
    if let Some(source) = source {
        source.take(most + 1).read_to_end(&mut read).await?;
    }
    Ok((read.len() as u64 <= most).then_some(read))
}

/// Returns what a command complained of: its own last message, or the first paragraph of clap's.
fn complaint(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let own = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("hprof: "));
    let paragraph = text.lines().take_while(|line| !line.is_empty());
    let line = match own {
        Some(line) => line.to_owned(),
        None => paragraph.map(str::trim).collect::<Vec<_>>().join(" "),
    };
    (!line.is_empty()).then(|| one_line(&line))
}

/// Returns an error as one line of a limited length.
pub fn one_line(line: &str) -> String {
    let line = printable(line);
    match line.len() {
        0..=LONGEST_LINE => line.into_owned(),
        _ => format!("{}…", &line[..line.floor_char_boundary(LONGEST_LINE)]),
    }
}

/// Returns the command line as a shell would take it.
pub fn words(arguments: &[OsString]) -> String {
    let words = arguments.iter().map(|word| quoted(word));
    std::iter::once("hprof".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    // The shells of Windows take the backslash for itself.
    let is_plain = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '-' | '_' | '=' | '/' | '.' | ',' | ':')
            || c == MAIN_SEPARATOR
    };
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_one_for_a_shell() {
        let words = words(&["top", "/a b/c'd", "--filter=x*"].map(OsString::from));
        assert_eq!(words, r"hprof top '/a b/c'\''d' '--filter=x*'");
    }

    #[test]
    fn an_error_is_one_short_line() {
        let error = b"hprof: note\nhprof: /x: \x1b[31mbroken\n";
        assert_eq!(complaint(error).as_deref(), Some("/x: ?[31mbroken"));
        let usage =
            b"error: invalid value 'x' for '--by <BY>'\n  [possible values: a]\n\nFor more\n";
        let usage = complaint(usage).expect("a line");
        assert!(
            usage.ends_with("'--by <BY>' [possible values: a]"),
            "{usage}"
        );
        assert_eq!(complaint(b""), None);
        assert!(one_line(&"é".repeat(5000)).len() < LONGEST_LINE + 4);
    }
}
