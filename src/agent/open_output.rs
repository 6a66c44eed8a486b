//! The destination of the profile: a file or a receiver, compressed or not.

use std::net::TcpStream;
use std::path::{self, Path, PathBuf};

use super::StartError;
use jvmti::Env;
use options::{Options, Surroundings};
use output::console;
use output::{
    ClientRequests, ClientSink, FileError, FileSink, GzipSink, Sink, SocketSink, may_be_replaced,
};

/// An opened output.
pub(super) struct OpenOutput {
    /// Takes the encoded profile.
    pub(super) sink: Box<dyn Sink>,
    /// The path, if it is a file.
    pub(super) file: Option<PathBuf>,
    /// `true` for a regular file that nobody else writes to.
    pub(super) is_plain: bool,
    /// The connection that commands come from, if it is a receiver.
    pub(super) commands: Option<TcpStream>,
    /// The requests of an `hprof live`.
    pub(super) requests: Option<ClientRequests>,
}

impl OpenOutput {
    /// Returns the name shown to the user.
    pub(super) fn name(&self, options: &Options) -> String {
        match (&self.file, &options.net) {
            (Some(file), _) => {
                let path = path::absolute(file).unwrap_or_else(|_| file.clone());
                path.display().to_string()
            }
            (None, Some(address)) => address.to_string(),
            (None, None) if options.live.is_some() => "hprof live".to_owned(),
            (None, None) => options.file.clone(),
        }
    }

    /// Returns the path next to which temporary files are put: the output's own, if it is a file. A descriptor
    /// (`/dev/stdout`) has that of the file behind it.
    pub(super) fn path(&self) -> PathBuf {
        let found = match &self.file {
            Some(file) if self.is_plain => Some(file.clone()),
            // A pipe without a name has none, nor has a file that was removed.
            Some(file) => file.canonicalize().ok(),
            None => None,
        };
        found.unwrap_or_else(|| std::env::temp_dir().join("java.hprof"))
    }
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
            file: None,
            is_plain: false,
            commands: None,
            requests: Some(requests),
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
            file: None,
            is_plain: false,
            commands: Some(commands),
            requests: None,
        });
    }
    let path = path.unwrap_or(Path::new(&options.file));
    let sink = create(path, options.force)?;
    let file = sink.path().to_owned();
    if options.rotate.is_some() && !sink.is_plain() {
        return Err(cannot(&file, FileError::NotPlain));
    }
    Ok(OpenOutput {
        is_plain: sink.is_plain(),
        sink: compressed(sink, is_compressed(options, &file)),
        file: Some(file),
        commands: None,
        requests: None,
    })
}

/// Returns `true` if the file at that path is to be compressed.
pub(super) fn is_compressed(options: &Options, path: &Path) -> bool {
    let by_name = || path.extension().is_some_and(|suffix| suffix == "gz");
    options.compress.unwrap_or_else(by_name)
}

/// As [`open`], for a file that is written beside the profile without having been named by the user: it replaces only
/// what is a profile, too.
pub(super) fn open_beside(options: &Options, path: &Path) -> Result<OpenOutput, StartError> {
    if may_be_replaced(path, is_profile).unwrap_or(false) {
        return open(options, Some(path));
    }
    let other = options::with_number(path, std::process::id());
    let sink = FileSink::create_new(&other).map_err(|error| cannot(&other, error))?;
    Ok(OpenOutput {
        is_plain: true,
        sink: compressed(sink, is_compressed(options, &other)),
        file: Some(other),
        commands: None,
        requests: None,
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
