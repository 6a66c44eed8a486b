//! The names of agents' files.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use hprof_os::files;

/// The most names that are tried for one file.
const TRIED: u32 = 100_000;
/// The suffix of a file that is not finished.
const PART: &str = ".part";

/// A name with placeholders for facts about an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

/// The reason a pattern is invalid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoPattern {
    /// It would lead to another folder.
    #[error("the name must not contain '/': all files go into the folder of --dir")]
    Path,
    /// An unknown placeholder between braces.
    #[error(
        "unknown variable {{{0}}}; there are {{peer}}, {{host}}, {{port}}, {{time}}, {{number}}"
    )]
    Unknown(String),
    /// A brace without its counterpart.
    #[error("'{{' must be closed by '}}'")]
    Open,
}

/// The facts about an agent when it begins.
pub struct AgentFacts {
    /// Its address.
    pub peer: SocketAddr,
    /// The number of agents before it.
    pub number: u64,
    /// The time at which it began.
    pub time: SystemTime,
}

impl FromStr for Pattern {
    type Err = NoPattern;

    fn from_str(text: &str) -> Result<Pattern, NoPattern> {
        let pattern = Pattern(text.to_owned());
        let known = AgentFacts {
            peer: SocketAddr::from(([127, 0, 0, 1], 1)),
            number: 1,
            time: SystemTime::UNIX_EPOCH,
        };
        let name = pattern.fill(&known)?;
        let mut parts = Path::new(&name).components();
        let is_plain =
            matches!(parts.next(), Some(Component::Normal(part)) if part == OsStr::new(&name));
        match is_plain && parts.next().is_none() && !name.contains('\0') {
            true => Ok(pattern),
            false => Err(NoPattern::Path),
        }
    }
}

impl Pattern {
    /// Returns the name for an agent. Values consist of digits, letters, `.`, `-` and `_`.
    pub fn name(&self, known: &AgentFacts) -> String {
        // It was filled in once already when it was parsed.
        self.fill(known).unwrap_or_default()
    }

    fn fill(&self, known: &AgentFacts) -> Result<String, NoPattern> {
        let mut name = String::new();
        let mut rest = self.0.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (what, after) = after.split_once('}').ok_or(NoPattern::Open)?;
            name.push_str(before);
            name.push_str(&known.value(what)?);
            rest = after;
        }
        name.push_str(rest);
        Ok(name)
    }
}

impl AgentFacts {
    fn value(&self, what: &str) -> Result<String, NoPattern> {
        let host = || self.peer.ip().to_string().replace([':', '%'], "_");
        Ok(match what {
            "peer" => format!("{}-{}", host(), self.peer.port()),
            "host" => host(),
            "port" => self.peer.port().to_string(),
            "number" => self.number.to_string(),
            "time" => time(self.time),
            _ => return Err(NoPattern::Unknown(what.to_owned())),
        })
    }
}

/// Formats a time as `20261122-003015`, in UTC.
fn time(time: SystemTime) -> String {
    chrono::DateTime::<chrono::Utc>::from(time)
        .format("%Y%m%d-%H%M%S")
        .to_string()
}

/// A file that has a temporary name until it is finished, under which it can be read if that never happens.
pub struct PartFile {
    pub file: File,
    folder: PathBuf,
    part: PathBuf,
    /// The final name.
    pub name: String,
}

impl PartFile {
    /// Creates a new private file. If the name is taken, a number is added.
    pub fn create(folder: &Path, wanted: &str) -> io::Result<PartFile> {
        for number in 1..TRIED {
            let name = numbered(wanted, number);
            let part = folder.join(format!("{name}{PART}"));
            if folder.join(&name).symlink_metadata().is_ok() {
                continue;
            }
            match files::create_new(&part) {
                Ok(file) => {
                    return Ok(PartFile {
                        file,
                        folder: folder.to_owned(),
                        part,
                        name,
                    });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "every name that it may have is taken",
        ))
    }

    /// Gives the file its final name, without replacing one that has appeared in the meantime.
    pub fn finish(&mut self) -> io::Result<()> {
        for number in 1..TRIED {
            let name = numbered(&self.name, number);
            match files::rename_to_new(&self.part, &self.folder.join(&name)) {
                Ok(()) => {
                    self.name = name;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }
}

/// Returns `a.hprof`, `a-2.hprof`, `a-3.hprof`.
fn numbered(name: &str, number: u32) -> String {
    if number == 1 {
        return name.to_owned();
    }
    let suffix = name.rfind(".hprof").or_else(|| name.rfind('.'));
    let end = suffix.filter(|&at| at > 0).unwrap_or(name.len());
    let (stem, suffix) = name.split_at(end);
    format!("{stem}-{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> AgentFacts {
        AgentFacts {
            peer: "[::1]:4711".parse().expect("an address"),
            number: 7,
            time: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_is_known_stands_in_the_name() {
        let name = |pattern: &str| {
            pattern
                .parse::<Pattern>()
                .map(|pattern| pattern.name(&known()))
        };
        assert_eq!(
            name("{peer}-{time}.hprof").as_deref(),
            Ok("__1-4711-19700101-000000.hprof")
        );
        assert_eq!(name("{host}.{port}.{number}").as_deref(), Ok("__1.4711.7"));
        assert_eq!(name("plain").as_deref(), Ok("plain"));
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for pattern in ["", ".", "..", "/x", "../x", "a/b", "x/", "./x", "\0"] {
            assert_eq!(
                pattern.parse::<Pattern>(),
                Err(NoPattern::Path),
                "{pattern:?}"
            );
        }
        assert_eq!(
            "{user}".parse::<Pattern>(),
            Err(NoPattern::Unknown("user".to_owned()))
        );
        assert_eq!("{peer".parse::<Pattern>(), Err(NoPattern::Open));
    }

    #[test]
    fn nothing_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a.hprof"), "mine").expect("a file");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/dev/null", path("a-2.hprof.part")).expect("a link");
        #[cfg(not(unix))]
        std::fs::write(path("a-2.hprof.part"), "mine").expect("a file");
        let mut first = PartFile::create(folder.path(), "a.hprof").expect("a folder of mine");
        let second = PartFile::create(folder.path(), "a.hprof").expect("a folder of mine");
        assert_eq!((&*first.name, &*second.name), ("a-3.hprof", "a-4.hprof"));
        std::fs::write(path("a-3.hprof"), "mine").expect("a file");
        first.finish().expect("it is there");
        assert_eq!(first.name, "a-3-2.hprof");
        assert_eq!(
            std::fs::read_to_string(path("a-3.hprof")).expect("a file"),
            "mine"
        );
        assert!(!path("a-3.hprof.part").exists());
        assert!(path("a-4.hprof.part").exists(), "readable until then");
    }
}
