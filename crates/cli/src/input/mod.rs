//! The file that a command reads.

mod copy;
pub mod foreign;
mod packed;
mod spool;

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

use hprof_format::{
    AccessPoints, BLACK_BOX_BYTES, BlackBox, BlackBoxError, Source, black_box_head, decompressed,
    is_black_box, is_compressed, is_text, printable,
};
use hprof_os::files;

use crate::failure::Failure;
use crate::terminal::Watched;
use packed::is_packed;
use spool::Spool;

/// An environment variable that is set where the paths of files had no links when they were allowed: one that is there now was
/// put there since.
pub const WITHOUT_LINKS: &str = "HPROF_WITHOUT_LINKS";
/// The compressed bytes that are read at once.
const PIECE: usize = 256 << 10;

/// Opens `path`, or the standard input for `-`; unpacks it if necessary. The black box of a killed program is opened
/// as the profile in it.
///
/// Heap dumps may have to be read twice. A compressed file is then decompressed again; input from a pipe is kept in a
/// temporary file without a name while it is read.
pub fn open(path: &Path) -> Result<Box<dyn Source>, Failure> {
    let source = open_file(path).and_then(|file| seekable(file, path));
    source.map_err(|error| Failure::about(path, error))
}

/// As [`open`], and shows the progress on a terminal, so nothing else may be written there meanwhile.
pub fn open_watched(path: &Path) -> Result<Box<dyn Source>, Failure> {
    let file = open_file(path).map_err(|error| Failure::about(path, error))?;
    watched(file, path)
}

/// As [`open_watched`], of a file that is open; `path` is its name in messages.
pub fn watched(file: File, path: &Path) -> Result<Box<dyn Source>, Failure> {
    let watched = |file: File| {
        let found = file.metadata()?;
        let all = found.is_file().then_some(found.len());
        seekable(Watched::reading(file, path, all), path)
    };
    watched(file).map_err(|error| Failure::about(path, error))
}

/// Opens `path`, or the standard input, as a file that can be mapped. Compressed input and pipes are first written to a
/// temporary file without a name, which only its owner can read and which disappears with the process. The copy's size
/// is limited, so decompression cannot fill the disk.
pub fn open_mappable(path: &Path) -> Result<File, Failure> {
    let file = open_file(path).and_then(|file| mappable(file, path));
    file.map_err(|error| Failure::about(path, error))
}

/// A file for questions about its heap dumps.
pub enum ForDump {
    /// It can be mapped.
    Plain(File),
    /// It is compressed, and can be read again from any place.
    Compressed(File),
}

/// Opens `path` for questions about its heap dumps: as [`open_mappable`], but leaves a compressed file as it is.
pub fn open_for_dump(path: &Path) -> Result<ForDump, Failure> {
    let opened = |mut file: File| {
        let is_at_start = matches!(file.stream_position(), Ok(0));
        if is_at_start
            && file.metadata()?.is_file()
            && is_compressed(&mut file)?
            && !is_packed(&mut file)?
        {
            return Ok(ForDump::Compressed(file));
        }
        mappable(file, path).map(ForDump::Plain)
    };
    let file = open_file(path).and_then(opened);
    file.map_err(|error| Failure::about(path, error))
}

/// Unpacks a compressed file to a temporary one, as [`open_mappable`] does, and shows the progress on a terminal; also
/// returns the points from which it can be unpacked again, unless the content is that of a black box.
pub fn unpack(file: &File, path: &Path) -> Result<(File, Option<AccessPoints>), Failure> {
    let unpack = || -> io::Result<_> {
        let length = file.metadata()?.len();
        let watched = Watched::reading(file.try_clone()?, path, Some(length));
        let source = BufReader::with_capacity(PIECE, watched);
        let (mut content, points) = copy::available(source, length)?;
        if let Err(error) = &points {
            // If nobody reads it, the answer is not about a whole dump nonetheless.
            let name = path.display().to_string();
            let _ = writeln!(io::stderr(), "hprof: {}: {error}", printable(&name));
        }
        Ok(match profile_in_black_box(&mut content)? {
            Some(profile) => (copy::whole(profile.as_slice())?, None),
            None => (content, points.ok()),
        })
    };
    unpack().map_err(|error| Failure::about(path, error))
}

fn mappable(mut file: File, path: &Path) -> io::Result<File> {
    if file.stream_position().is_err() || !file.metadata()?.is_file() {
        file = copy::whole(file)?;
    }
    if is_packed(&mut file)? {
        let length = file.metadata()?.len();
        file = unpacked(Watched::reading(file, path, Some(length)), length, path)?;
    } else if is_compressed(&mut file)? {
        let length = file.metadata()?.len();
        (file, _) = copy::decompressed(BufReader::with_capacity(PIECE, file), length)?;
    }
    match profile_in_black_box(&mut file)? {
        Some(profile) => copy::whole(profile.as_slice()),
        None => Ok(file),
    }
}

/// Returns the source, or the profile in it if it is the black box of a killed program.
fn or_its_profile(mut source: Box<dyn Source>) -> io::Result<Box<dyn Source>> {
    Ok(match profile_in_black_box(&mut source)? {
        Some(profile) => Box::new(Cursor::new(profile)),
        None => source,
    })
}

/// Returns the profile in a black box; `None` for another file, whose position is unchanged.
fn profile_in_black_box(source: &mut impl Source) -> io::Result<Option<Vec<u8>>> {
    let start = source.stream_position()?;
    let mut bytes = Vec::new();
    let first = black_box_head().len() as u64;
    source.by_ref().take(first).read_to_end(&mut bytes)?;
    if !is_black_box(&bytes) {
        source.seek(SeekFrom::Start(start))?;
        return Ok(None);
    }
    let rest = BLACK_BOX_BYTES - first;
    source.by_ref().take(rest).read_to_end(&mut bytes)?;
    let found = BlackBox::read(&mut Cursor::new(bytes));
    found
        .map(|found| Some(found.profile))
        .map_err(|error| match error {
            BlackBoxError::Read(error) => error,
            error => io::Error::other(error),
        })
}

fn open_file(path: &Path) -> io::Result<File> {
    if is_standard(path) {
        let file = files::standard_input()?;
        // Whoever seeks in it would take what comes next for what is there.
        let is_copied =
            files::SEEKS_IN_PIPES && !file.metadata().is_ok_and(|found| found.is_file());
        return if is_copied {
            copy::whole(file)
        } else {
            Ok(file)
        };
    }
    match std::env::var_os(WITHOUT_LINKS) {
        Some(_) => files::open_without_links(path),
        None => File::open(path),
    }
}

/// Unpacks a file that cannot be read as it is. If it ends too early, the reader of what there is finds the end; that the file was
/// cut is said here.
fn unpacked(file: impl Source + 'static, length: u64, path: &Path) -> io::Result<File> {
    let unpacked = packed::unpacked(file, length)?;
    if let Some(cut) = unpacked.cut {
        let name = path.display().to_string();
        // If nobody reads it, the answer is not about a whole file nonetheless.
        let _ = writeln!(io::stderr(), "hprof: {}: {cut}", printable(&name));
    }
    Ok(unpacked.content)
}

fn seekable(mut file: impl Source + 'static, path: &Path) -> io::Result<Box<dyn Source>> {
    match file.stream_position() {
        Ok(_) => readable(file, path),
        // A pipe, or a device.
        Err(_) => readable(Spool::new(file)?, path),
    }
    .and_then(or_its_profile)
}

/// Returns a reader of what is packed in a file.
fn readable(mut file: impl Source + 'static, path: &Path) -> io::Result<Box<dyn Source>> {
    if !is_packed(&mut file)? {
        return decompressed(file);
    }
    let start = file.stream_position()?;
    let Ok(end) = file.seek(SeekFrom::End(0)) else {
        // A pipe, which an archive cannot be read from: its table is at its end.
        let copy = copy::whole(file)?;
        let length = copy.metadata()?.len();
        return Ok(Box::new(unpacked(copy, length, path)?));
    };
    file.seek(SeekFrom::Start(start))?;
    Ok(Box::new(unpacked(file, end.saturating_sub(start), path)?))
}

/// Returns `true` if the file, which [`open_mappable`] opened, is a profile in the text format.
pub fn is_text_profile(file: &File) -> bool {
    const TELLING: usize = 32;
    let mut start = [0; TELLING];
    let count = files::read_at(file, &mut start, 0).unwrap_or(0);
    is_text(&start[..count])
}

/// Returns `true` if `path` means a standard stream.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
