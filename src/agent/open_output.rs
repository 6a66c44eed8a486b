//! The destination of the profile: a file or a receiver, compressed or not.

use std::path::{Path, PathBuf};

use super::StartError;
use crate::session::Destination;
use jvmti::Env;
use options::{Options, Surroundings};
use output::console;
use output::{ClientSink, FileError, FileSink, GzipSink, Sink, SocketSink, may_be_replaced};

/// An opened output.
pub(super) struct OpenOutput {
    /// Takes the encoded profile.
    pub(super) sink: Box<dyn Sink>,
    /// Where it goes.
    pub(super) destination: Destination,
}

/// Returns the path of the file that the options name, if any; creates nothing.
pub(super) fn path(env: Env, options: &Options) -> Result<Option<PathBuf>, StartError> {
    if options.net.is_some() || options.live.is_some() {
        return Ok(None);
    }
    let command = env.property(c"sun.java.command");
    let surroundings = Surroundings::of_this_process(command.as_deref());
    Ok(Some(surroundings.expand(&options.file)?))
}

/// Creates the file at that path, or connects to the receiver or to `hprof live`.
pub(super) fn open(options: &Options, path: Option<&Path>) -> Result<OpenOutput, StartError> {
    if let Some(socket) = &options.live {
        let refused = |error| StartError::Client {
            socket: socket.clone(),
            error,
        };
        let (sink, requests) = ClientSink::connect(socket).map_err(refused)?;
        return Ok(OpenOutput {
            sink: Box::new(sink),
            destination: Destination::Client {
                requests: Some(requests),
            },
        });
    }
    if let Some(address) = &options.net {
        let refused = |error| StartError::Receiver {
            address: address.clone(),
            error,
        };
        let sink = SocketSink::connect(&address.host, address.port).map_err(refused)?;
        let commands = sink.commands().map_err(refused)?;
        return Ok(OpenOutput {
            sink: compressed(sink, options.compress == Some(true)),
            destination: Destination::receiver(address.to_string(), commands, options.net_exit),
        });
    }
    let path = path.unwrap_or(Path::new(&options.file));
    let sink = create(path, options.force)?;
    let (path, is_plain) = (sink.path().to_owned(), sink.is_plain());
    if options.rotate.is_some() && !is_plain {
        return Err(cannot(&path, FileError::NotPlain));
    }
    Ok(OpenOutput {
        sink: compressed(sink, is_compressed(options, &path)),
        destination: Destination::File { path, is_plain },
    })
}

/// Returns `true` if the file at that path is to be compressed.
pub(super) fn is_compressed(options: &Options, path: &Path) -> bool {
    let by_name = || path.extension().is_some_and(|suffix| suffix == "gz");
    options.compress.unwrap_or_else(by_name)
}

/// As [`open`], for a file that is written next to the profile without having been named by the user: it replaces only
/// what is a profile, too.
pub(super) fn open_companion(options: &Options, path: &Path) -> Result<OpenOutput, StartError> {
    if may_be_replaced(path, is_profile).unwrap_or(false) {
        return open(options, Some(path));
    }
    let other = options::with_number(path, std::process::id());
    let sink = FileSink::create_new(&other).map_err(|error| cannot(&other, error))?;
    Ok(OpenOutput {
        sink: compressed(sink, is_compressed(options, &other)),
        destination: Destination::File {
            path: other,
            is_plain: true,
        },
    })
}

/// Returns `true` if a file with these first bytes is empty, or begins like a profile.
fn is_profile(first: &[u8]) -> bool {
    first.is_empty() || MAGICS.iter().any(|magic| first.starts_with(magic))
}

/// The first bytes of a profile, and of a compressed file.
const MAGICS: [&[u8]; 2] = [b"JAVA PROFILE ", &[0x1f, 0x8b, 8]];

fn compressed(sink: impl Sink + 'static, wanted: bool) -> Box<dyn Sink> {
    match wanted {
        true => Box::new(GzipSink::new(sink)),
        false => Box::new(sink),
    }
}

fn create(path: &Path, force: bool) -> Result<FileSink, StartError> {
    let create = |path: &Path| match force {
        true => FileSink::create(path),
        false => FileSink::create_new(path),
    };
    let taken = match create(path) {
        Ok(sink) => return Ok(sink),
        Err(error) if error.is_in_use() || !force && error.exists_already() => error,
        Err(error) => return Err(cannot(path, error)),
    };
    let other = options::with_number(path, std::process::id());
    if force {
        let (path, other) = (path.display(), other.display());
        console::line(format_args!("{path}: {taken}; this one goes to {other}"));
    }
    create(&other).map_err(|error| cannot(&other, error))
}

fn cannot(path: &Path, error: FileError) -> StartError {
    StartError::File {
        path: path.to_owned(),
        error,
    }
}
