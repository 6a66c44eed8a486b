//! The files of a recording, one for each JVM: `Main-20261123-081500-4711.hprof`.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Local, TimeDelta};

use crate::failure::Failure;

/// The folder and the time in the names of a recording's files, which no other recording has.
pub struct Files {
    /// The folder as the user named it.
    shown: PathBuf,
    /// Its absolute path.
    folder: String,
    /// `20261123-081500`.
    time: String,
    suffix: &'static str,
    _claim: Option<UnixListener>,
}

impl Files {
    /// Chooses names in a folder that can be written to, and creates the folder if it is missing. If another recording in
    /// this folder has begun within the same second, the next free second is taken.
    pub fn choose(shown: &Path, suffix: &'static str) -> Result<Self, Failure> {
        let about = |error: io::Error| Failure::about(shown, error);
        // A folder that cannot be used is not created.
        option_path(&std::path::absolute(shown).map_err(about)?)?;
        fs::create_dir_all(shown).map_err(about)?;
        let absolute = shown.canonicalize().map_err(about)?;
        let folder = option_path(&absolute)?;
        // Before anything starts, and without leaving anything behind.
        tempfile::tempfile_in(&absolute).map_err(about)?;
        let mut files = Self {
            shown: shown.to_owned(),
            folder,
            time: String::new(),
            suffix,
            _claim: None,
        };
        let mut moment: DateTime<Local> = Local::now();
        loop {
            files.time = moment.format("%Y%m%d-%H%M%S").to_string();
            match files.claim().map_err(about)? {
                Claim::Taken => moment += TimeDelta::seconds(1),
                Claim::Free(claim) if files.found().is_empty() => {
                    files._claim = claim;
                    return Ok(files);
                }
                Claim::Free(_) => moment += TimeDelta::seconds(1),
            }
        }
    }

    /// Claims the time until this process ends, by a name that only one process can have and that leaves no file behind.
    fn claim(&self) -> io::Result<Claim> {
        let folder = fs::metadata(&self.folder)?;
        let name = format!(
            "hprof-record-{}-{}-{}",
            folder.dev(),
            folder.ino(),
            self.time
        );
        let claim =
            SocketAddr::from_abstract_name(name).and_then(|name| UnixListener::bind_addr(&name));
        Ok(match claim {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Claim::Taken,
            // Where such names are forbidden, the agent still replaces no file.
            claim => Claim::Free(claim.ok()),
        })
    }

    /// Returns the options of the agent for the files.
    pub fn options(&self) -> String {
        let folder = self.folder.trim_end_matches('/').replace('%', "%%");
        let Self { time, suffix, .. } = self;
        format!("file={folder}/%m-{time}-%p.{suffix},force=n")
    }

    /// Returns the absolute path of the folder.
    pub fn folder(&self) -> &Path {
        Path::new(&self.folder)
    }

    /// Returns the files that exist by now, as the user would name them, in the order of their names.
    pub fn found(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mark = format!("-{}-", self.time);
        let end = format!(".{}", self.suffix);
        let mut names: Vec<String> = names
            .filter(|name| name.contains(&mark) && name.ends_with(&end))
            .collect();
        names.sort_unstable();
        let is_here = self.shown == Path::new(".");
        let path = |name| match is_here {
            true => PathBuf::from(name),
            false => self.shown.join(name),
        };
        names.into_iter().map(path).collect()
    }

    /// Returns the program in the name of one of the files.
    pub fn program(&self, file: &Path) -> Option<String> {
        let name = file.file_name()?.to_str()?;
        let (program, _) = name.rsplit_once(&format!("-{}-", self.time))?;
        Some(program.to_owned())
    }

    /// Returns the process id in the name of one of the files.
    pub fn process(&self, file: &Path) -> Option<u32> {
        let name = file.file_name()?.to_str()?;
        let (_, after) = name.rsplit_once(&format!("-{}-", self.time))?;
        after.split('.').next()?.parse().ok()
    }
}

enum Claim {
    Taken,
    Free(Option<UnixListener>),
}

/// Returns a folder as options of the agent can name it.
fn option_path(folder: &Path) -> Result<String, Failure> {
    let path = folder.to_str().filter(|path| !path.contains(','));
    path.map(str::to_owned).ok_or_else(|| {
        let what = "the path of this folder has a comma or is not UTF-8, which options of the agent cannot hold; \
                    name another with --dir";
        Failure::about(folder, what)
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn choose(folder: &Path) -> Files {
        Files::choose(folder, "hprof").unwrap_or_else(|_| panic!("{}", folder.display()))
    }

    #[test]
    fn no_two_recordings_share_a_name() {
        let folder = TempDir::new().expect("a folder");
        let first = choose(folder.path());
        let second = choose(folder.path());
        assert_ne!(first.options(), second.options());
        let name = format!("Main-{}-4711.hprof", first.time);
        fs::write(folder.path().join(&name), "").expect("a file");
        assert_eq!(first.found(), [folder.path().join(&name)]);
        assert_eq!(first.process(&first.found()[0]), Some(4711));
        assert!(second.found().is_empty());
        let time = first.time.clone();
        drop(first);
        assert_ne!(choose(folder.path()).time, time);
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_refused() {
        let folder = TempDir::new().expect("a folder");
        let comma = folder.path().join("a,b");
        fs::create_dir(&comma).expect("a folder");
        let missing = folder.path().join("c,d");
        for path in [&comma, &missing, Path::new("/proc")] {
            assert!(Files::choose(path, "hprof").is_err(), "{}", path.display());
        }
        assert!(!missing.exists());
    }

    #[test]
    fn a_missing_folder_is_created() {
        let folder = TempDir::new().expect("a folder");
        let missing = folder.path().join("of/today");
        choose(&missing);
        assert!(missing.is_dir());
    }

    #[test]
    fn a_percent_sign_in_a_folder_stands_for_itself() {
        let folder = TempDir::new().expect("a folder");
        let percent = folder.path().join("100%p");
        fs::create_dir(&percent).expect("a folder");
        assert!(choose(&percent).options().contains("/100%%p/%m-"));
    }
}
