//! Files that are compressed by something else than gzip, and archives of one file: they are unpacked to a temporary
//! file before they are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};

use bzip2::bufread::MultiBzDecoder;
use hprof_format::{Source, decompressed};
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use tar::Archive;
use zip::ZipArchive;

use super::copy::{self, Limit};

/// The bytes that tell how a file is packed.
const TELLING: usize = 264;
/// The place of the mark of a tar file.
const TAR: usize = 257;
/// The beginning of every profile. What follows it is the program's, and may look like anything.
const PROFILE: &[u8] = b"JAVA PROFILE ";
/// How often one file may be packed into another, as in `heap.hprof.gz` in `dumps.tar.zst`.
const LAYERS: usize = 4;
/// The memory that unpacking xz may take, in KB: `xz -9` needs 65 MB.
const XZ_MEMORY: u32 = 1 << 20;
/// The bytes that are read at once.
const PIECE: usize = 256 << 10;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
    Zip,
    Tar,
}

impl Packing {
    /// Returns how a file is packed that starts with these bytes.
    fn of(start: &[u8]) -> Option<Packing> {
        match start {
            _ if start.starts_with(PROFILE) => None,
            [0x1F, 0x8B, ..] => Some(Packing::Gzip),
            // A frame, or one that may be skipped.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => {
                Some(Packing::Zstd)
            }
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Packing::Bzip2),
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Packing::Zip),
            _ if start.get(TAR..)?.starts_with(b"ustar") => Some(Packing::Tar),
            _ => None,
        }
    }

    /// Returns how the rest of `source` is packed, whose position is unchanged afterwards.
    fn of_rest(source: &mut impl Source) -> io::Result<Option<Packing>> {
        let position = source.stream_position()?;
        let mut start = Vec::with_capacity(TELLING);
        let read = source.by_ref().take(TELLING as u64).read_to_end(&mut start);
        source.seek(SeekFrom::Start(position))?;
        read.map(|_| Packing::of(&start))
    }

    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "compressed by gzip",
            Packing::Zstd => "compressed by zstd",
            Packing::Xz => "compressed by xz",
            Packing::Bzip2 => "compressed by bzip2",
            Packing::Zip => "a zip archive",
            Packing::Tar => "a tar archive",
        }
    }
}

/// Returns `true` if the rest of `source` has to be unpacked as a whole before it is read. Its position is unchanged.
///
/// What is only compressed by gzip has not: it is read as it is.
pub fn is_packed(source: &mut impl Source) -> io::Result<bool> {
    let position = source.stream_position()?;
    let is_packed = match Packing::of_rest(source)? {
        None => false,
        Some(Packing::Gzip) => {
            let inner = Packing::of_rest(&mut decompressed(&mut *source)?);
            // If it is damaged, that is found when it is read.
            inner.is_ok_and(|inner| inner.is_some_and(|inner| inner != Packing::Gzip))
        }
        Some(_) => true,
    };
    source.seek(SeekFrom::Start(position))?;
    Ok(is_packed)
}

/// The content of a packed file.
pub struct Unpacked {
    pub content: File,
    /// The place at which the file ends too early, in one line: the content is what there is.
    pub cut: Option<String>,
}

/// Unpacks a file of `length` bytes to a temporary file, with what is packed in it.
pub fn unpacked(file: impl Source + 'static, length: u64) -> io::Result<Unpacked> {
    let limit = Limit::of_compressed(length);
    let mut file: Box<dyn Source> = Box::new(file);
    let mut cut = None;
    for _ in 0..LAYERS {
        let Some(packing) = Packing::of_rest(&mut file)? else {
            break;
        };
        let layer = unpack(packing, file, limit)?;
        cut = cut.or(layer.cut);
        if Packing::of_rest(&mut &layer.content)?.is_none() {
            return Ok(Unpacked { cut, ..layer });
        }
        file = Box::new(layer.content);
    }
    Err(io::Error::other(format!(
        "is packed more than {LAYERS} times: unpack it and name the file that comes of it"
    )))
}

/// Takes away one layer.
fn unpack(packing: Packing, file: Box<dyn Source>, limit: Limit) -> io::Result<Unpacked> {
    let mut file = Counted::of(file);
    let copied = match packing {
        Packing::Gzip => copy::some(flate2::bufread::MultiGzDecoder::new(&mut file), limit),
        Packing::Zstd => copy::some(ZstdFrames::of(&mut file), limit),
        Packing::Xz => copy::some(XzReader::new_mem_limit(&mut file, true, XZ_MEMORY), limit),
        Packing::Bzip2 => copy::some(MultiBzDecoder::new(&mut file), limit),
        Packing::Zip => only_file_of_zip(&mut file, limit),
        Packing::Tar => only_file_of_tar(&mut file, limit),
    };
    let (content, error) = copied?;
    let name = packing.name();
    let at = file.position;
    let cut = match error {
        None => None,
        Some(_) if file.has_ended => Some(format!("is {name}, and ends too early, at byte {at}")),
        Some(error) => {
            return Err(io::Error::other(format!(
                "is {name}, and damaged at or before byte {at}: {error}"
            )));
        }
    };
    Ok(Unpacked { content, cut })
}

/// What has been copied, and the error that ended it.
type Copied = io::Result<(File, Option<io::Error>)>;

/// The rule for archives, in its error.
fn not_one(archive: &str, count: usize) -> io::Error {
    let what = match count {
        0 => "no file".to_owned(),
        count => format!("{count} files"),
    };
    io::Error::other(format!(
        "is {archive} with {what}; one of a single file is opened as that file: unpack this one, and name the dump in it"
    ))
}

/// Returns `true` for the files that macOS adds to archives.
fn is_attribute(name: &[u8]) -> bool {
    let base = name.rsplit(|&byte| byte == b'/').next();
    name.starts_with(b"__MACOSX/") || base.is_some_and(|base| base.starts_with(b"._"))
}

fn only_file_of_zip(file: &mut Counted, limit: Limit) -> Copied {
    let damaged = |error: zip::result::ZipError| match error {
        zip::result::ZipError::Io(error) => error,
        error => io::Error::other(format!("is a zip archive that cannot be read: {error}")),
    };
    let mut archive = ZipArchive::new(file).map_err(damaged)?;
    let mut files = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(damaged)?;
        if entry.is_file() && !is_attribute(entry.name_raw()) {
            files.push(index);
        }
    }
    match files[..] {
        [only] => copy::some(archive.by_index(only).map_err(damaged)?, limit),
        _ => Err(not_one("a zip archive", files.len())),
    }
}

fn only_file_of_tar(file: &mut Counted, limit: Limit) -> Copied {
    let mut archive = Archive::new(file);
    let mut found = None;
    let mut count = 0;
    for entry in archive.entries()? {
        let entry = match entry {
            Ok(entry) => entry,
            // The file that was found is whole: what is damaged comes after it.
            Err(error) => match found {
                Some((content, None)) => return Ok((content, Some(error))),
                _ => return Err(error),
            },
        };
        let kind = entry.header().entry_type();
        let is_file = kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse();
        if !is_file || is_attribute(&entry.path_bytes()) {
            continue;
        }
        count += 1;
        if found.is_none() {
            let length = entry.size();
            let (content, error) = copy::some(entry, limit)?;
            let ends_early = content.metadata()?.len() < length;
            let error = error.or_else(|| ends_early.then(|| ErrorKind::UnexpectedEof.into()));
            if error.is_some() {
                return Ok((content, error));
            }
            found = Some((content, error));
        }
    }
    match found {
        Some(found) if count == 1 => Ok(found),
        _ => Err(not_one("a tar archive", count)),
    }
}

/// The content of all frames of a zstd file.
struct ZstdFrames<'f> {
    file: &'f mut Counted,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<'f> ZstdFrames<'f> {
    fn of(file: &'f mut Counted) -> ZstdFrames<'f> {
        ZstdFrames {
            file,
            decoder: FrameDecoder::new(),
            is_in_frame: false,
        }
    }

    /// Begins the next frame that has content; returns `false` at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.file.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(&mut *self.file) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.file.by_ref().take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    fn check_sum(&self) -> io::Result<()> {
        let stated = self.decoder.get_checksum_from_data();
        match stated == self.decoder.get_calculated_checksum() || stated.is_none() {
            true => Ok(()),
            false => Err(io::Error::other("its checksum is wrong")),
        }
    }
}

impl Read for ZstdFrames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_in_frame && !self.begin()? {
                return Ok(0);
            }
            self.is_in_frame = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let blocks = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut *self.file, blocks);
                decoded.map_err(io::Error::other)?;
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            self.check_sum()?;
            self.is_in_frame = false;
        }
    }
}

/// A packed file, with the place up to which it has been read.
struct Counted {
    file: BufReader<Box<dyn Source>>,
    position: u64,
    /// `true` if more was asked for than there is.
    has_ended: bool,
}

impl Counted {
    fn of(file: Box<dyn Source>) -> Counted {
        Counted {
            file: BufReader::with_capacity(PIECE, file),
            position: 0,
            has_ended: false,
        }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let filled = self.file.fill_buf()?;
        self.has_ended = filled.is_empty();
        Ok(filled)
    }

    fn consume(&mut self, count: usize) {
        self.file.consume(count);
        self.position += count as u64;
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = self.file.seek(to)?;
        self.has_ended = false;
        Ok(self.position)
    }
}
