//! Where the profile goes: a file or a collector, compressed or not.

use std::net::TcpStream;
use std::path::{self, Path, PathBuf};

use super::StartError;
use crate::options::{self, Options, Surroundings};
use crate::output::{FileSink, GzipSink, Sink, SocketSink, exists_already};

/// The opened output.
pub(super) struct Output {
    /// Takes the profile.
    pub(super) sink: Box<dyn Sink>,
    /// Where it lies, if it is a file.
    pub(super) file: Option<PathBuf>,
    /// Where commands come from, if it goes to a collector.
    pub(super) commands: Option<TcpStream>,
}

impl Output {
    /// What the user calls it.
    pub(super) fn name(&self, options: &Options) -> String {
        match (&self.file, &options.net) {
            (Some(file), _) => {
                let path = path::absolute(file).unwrap_or_else(|_| file.clone());
                path.display().to_string()
            }
            (None, Some(address)) => address.to_string(),
            (None, None) => options.file.clone(),
        }
    }

    /// The path beside which files are put aside: the output's own, if it is a file.
    pub(super) fn path(&self) -> PathBuf {
        match &self.file {
            Some(file) => file.clone(),
            None => std::env::temp_dir().join("java.hprof"),
        }
    }
}

/// The file that the options name, if they name one; nothing is created yet.
pub(super) fn path(options: &Options) -> Result<Option<PathBuf>, StartError> {
    if options.net.is_some() {
        return Ok(None);
    }
    Ok(Some(Surroundings::of_this_process().expand(&options.file)?))
}

/// Creates the file of that path, or connects to the collector.
pub(super) fn open(options: &Options, path: Option<&Path>) -> Result<Output, StartError> {
    if let Some(address) = &options.net {
        let refused = |error| StartError::Collector {
            address: address.clone(),
            error,
        };
        let sink = SocketSink::connect(&address.host, address.port).map_err(refused)?;
        let commands = sink.commands().map_err(refused)?;
        return Ok(Output {
            sink: compressed(sink, options.compress == Some(true)),
            file: None,
            commands: Some(commands),
        });
    }
    let path = path.unwrap_or(Path::new(&options.file));
    let sink = create(path, options.force)?;
    let file = sink.path().to_owned();
    let is_compressed = options
        .compress
        .unwrap_or_else(|| file.extension().is_some_and(|suffix| suffix == "gz"));
    Ok(Output {
        sink: compressed(sink, is_compressed),
        file: Some(file),
        commands: None,
    })
}

fn compressed(sink: impl Sink + 'static, wanted: bool) -> Box<dyn Sink> {
    match wanted {
        true => Box::new(GzipSink::new(sink)),
        false => Box::new(sink),
    }
}

fn create(path: &Path, force: bool) -> Result<FileSink, StartError> {
    let cannot = |path: &Path| {
        let path = path.to_owned();
        move |error| StartError::File { path, error }
    };
    if force {
        return FileSink::create(path).map_err(cannot(path));
    }
    match FileSink::create_new(path) {
        Err(error) if exists_already(&error) => {
            let path = options::with_pid(path, std::process::id());
            FileSink::create_new(&path).map_err(cannot(&path))
        }
        sink => sink.map_err(cannot(path)),
    }
}
