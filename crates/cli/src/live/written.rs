//! The profile as a file.

use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use chrono::Local;
use hprof_os::files;
use hprof_profile::{Form, Profile, WriteError, write};

use crate::failure::Failure;

/// The most letters of a main class in the name of a file.
const LONGEST: usize = 100;
/// How many names are tried.
const TRIES: u32 = 1_000;

/// Writes a profile into a new file of the working folder, `Main-20261123-081500-4711.hprof`; returns its name.
pub fn file(profile: &Profile, main_class: &str, process: u32) -> Result<PathBuf, Failure> {
    let form = Form::for_profile(profile).map_err(|error| Failure::Message(error.to_string()))?;
    let suffix = match form {
        Form::Binary => "hprof",
        Form::Text | Form::OldProf => "hprof.txt",
    };
    for number in 0..=TRIES {
        let path = PathBuf::from(name(main_class, process, number, suffix));
        match files::create_new(&path) {
            Ok(file) => {
                let mut file = BufWriter::new(file);
                let written = write(profile, &mut file);
                let written = written.and_then(|_| file.flush().map_err(WriteError::Io));
                return match written {
                    Ok(()) => Ok(path),
                    Err(error) => Err(Failure::about(&path, error)),
                };
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < TRIES => {}
            Err(error) => return Err(Failure::about(&path, error)),
        }
    }
    Err(taken())
}

/// Returns the absolute path of a binary file in the working folder that does not exist yet.
pub fn new_path(main_class: &str, process: u32) -> Result<PathBuf, Failure> {
    let about = |error| Failure::about(Path::new("."), error);
    let folder = Path::new(".").canonicalize().map_err(about)?;
    let names = (0..=TRIES).map(|number| name(main_class, process, number, "hprof"));
    let mut paths = names.map(|name| folder.join(name));
    paths.find(|path| !path.exists()).ok_or_else(taken)
}

fn taken() -> Failure {
    Failure::Message("too many files of this second are in the working folder".to_owned())
}

fn name(main_class: &str, process: u32, number: u32, suffix: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "._$-".contains(*letter);
    let class: String = main_class.chars().filter(is_plain).take(LONGEST).collect();
    let class = class.trim_start_matches(['.', '-']);
    let class = if class.is_empty() { "java" } else { class };
    let time = Local::now().format("%Y%m%d-%H%M%S");
    let more = match number {
        0 => String::new(),
        number => format!("-{number}"),
    };
    format!("{class}-{time}-{process}{more}.{suffix}")
}
