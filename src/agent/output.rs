//! The destination of the profile: a file or a receiver, compressed or not.

use std::net::TcpStream;
use std::path::{self, Path, PathBuf};

use super::StartError;
use crate::console;
use crate::jvmti::Env;
use crate::options::{self, Options, Surroundings};
use crate::output::{ClientRequests, ClientSink, FileError, FileSink, GzipSink, Sink, SocketSink};

/// An opened output.
pub(super) struct OpenOutput {
    /// Takes the encoded profile.
    pub(super) sink: Box<dyn Sink>,
    /// The path, if it is a file.
    pub(super) file: Option<PathBuf>,
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

    /// Returns the path next to which temporary files are put: the output's own, if it is a file.
    pub(super) fn path(&self) -> PathBuf {
        match &self.file {
            Some(file) => file.clone(),
            None => std::env::temp_dir().join("java.hprof"),
        }
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
    let is_compressed = options
        .compress
        .unwrap_or_else(|| file.extension().is_some_and(|suffix| suffix == "gz"));
    Ok(OpenOutput {
        sink: compressed(sink, is_compressed),
        file: Some(file),
        commands: None,
        requests: None,
    })
}

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
