//! Gzip files that are unpacked once from beginning to end, and later from points in between.
//!
//! An access point is a place at which unpacking can begin: the start of a member, of which HotSpot's compressed dumps
//! have one for each megabyte, or the start of a block within a member, with the last 32 KB before it, its window.

use std::io::{self, BufRead, ErrorKind, Read};
use std::ops::Range;

use flate2::Crc;
use flate2::bufread::GzDecoder;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_HAS_MORE_INPUT, TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY,
    TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{BlockBoundaryState, DecompressorOxide, decompress};

use crate::source::ENDS_EARLY;

/// The bytes of content after which the next block gets an access point.
const FAR: u64 = 4 << 20;
/// The bytes of content after which the next member gets one.
const NEAR: u64 = 1 << 20;
/// The bytes before a block that it may refer to.
const WINDOW: usize = 32 << 10;
/// The bytes that are unpacked at once.
const PIECE: usize = 256 << 10;
/// [`AccessPoint::bits`] at the start of a member.
const MEMBER: u64 = 8;

/// A place from which a gzip file can be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessPoint {
    /// Its offset in the content.
    pub content: u64,
    /// The offset in the file of the first whole byte that belongs to it.
    pub file: u64,
    /// The number of bits of the byte before that belong to it, too; 8 at the start of a member.
    pub bits: u64,
    /// The end of its window among all windows, which follow each other.
    pub window_end: u64,
}

/// The access points of a file.
#[derive(Clone, Debug, Default)]
pub struct AccessPoints {
    /// In the order of their offsets, the first at 0.
    pub points: Vec<AccessPoint>,
    /// The bytes of all windows.
    pub windows: Vec<u8>,
    /// The length of the content.
    pub length: u64,
}

impl AccessPoints {
    /// Returns the number of bytes since the last point; `None` before the first.
    fn since_last(&self) -> Option<u64> {
        let last = self.points.last()?;
        Some(self.length - last.content)
    }

    fn add(&mut self, file: u64, bits: u64, window: &[u8]) {
        self.windows.extend_from_slice(window);
        self.points.push(AccessPoint {
            content: self.length,
            file,
            bits,
            window_end: self.windows.len() as u64,
        });
    }
}

/// Unpacks a gzip file from its beginning and passes the content to `out`; returns the access points.
///
/// # Errors
/// Those of reading and of `out`; or if the file is damaged or ends too early.
pub fn unpack(
    file: impl BufRead,
    mut out: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<AccessPoints> {
    let mut members = Members::of(file);
    let mut found = AccessPoints::default();
    while members.begin()? {
        if found.since_last().is_none_or(|since| since >= NEAR) {
            found.add(members.file.position, MEMBER, &[]);
        }
        let mut sum = Crc::new();
        loop {
            let is_far = found.since_last().is_some_and(|since| since >= FAR);
            let (piece, reached) = members.step(is_far)?;
            let piece = &members.buffer[piece];
            sum.update(piece);
            out(piece)?;
            found.length += piece.len() as u64;
            match reached {
                Reached::Block(bits) => {
                    let window = members.end.saturating_sub(WINDOW)..members.end;
                    found.add(members.file.position, bits, &members.buffer[window]);
                }
                Reached::MemberEnd => break,
                Reached::Nothing => {}
            }
        }
        if members.trailer()? != (sum.sum(), sum.amount()) {
            return Err(damaged(members.file.position, "its checksum is wrong"));
        }
    }
    Ok(found)
}

/// Unpacks `length` bytes of a gzip file from an access point, and passes them to `out`.
///
/// # Errors
/// Those of `out`; or if the file is damaged, or has no such point.
pub fn unpack_from(
    file: &[u8],
    point: &AccessPoint,
    window: &[u8],
    length: u64,
    mut out: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let no_such_point = || damaged(point.file, "it has no such access point");
    let start = usize::try_from(point.file).map_err(|_| no_such_point())?;
    let (before, rest) = file.split_at_checked(start).ok_or_else(no_such_point)?;
    let mut members = Members::of(rest);
    if point.bits < MEMBER {
        let last = before.last().ok_or_else(no_such_point)?;
        members.resume(point.bits, *last, window);
    }
    let mut left = length;
    while left > 0 {
        let (piece, reached) = members.step(false)?;
        let piece = &members.buffer[piece];
        let count = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        out(&piece[..count])?;
        left -= count as u64;
        if left > 0 && matches!(reached, Reached::MemberEnd) {
            members.trailer()?;
            if !members.begin()? {
                return Err(cut());
            }
        }
    }
    Ok(())
}

/// The members of a gzip file, one after the other.
struct Members<R> {
    file: Counted<R>,
    state: Box<DecompressorOxide>,
    /// The content last unpacked, after the window before it.
    buffer: Vec<u8>,
    /// The end of the content in the buffer.
    end: usize,
}

/// The place at which a step has ended.
enum Reached {
    /// The start of a block, with so many bits of the byte before.
    Block(u64),
    MemberEnd,
    Nothing,
}

impl<R: BufRead> Members<R> {
    fn of(file: R) -> Members<R> {
        let position = 0;
        Members {
            file: Counted { file, position },
            state: Box::default(),
            buffer: vec![0; WINDOW + PIECE],
            end: 0,
        }
    }

    /// Reads the header of the next member; returns `false` at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        if self.file.filled()?.is_empty() {
            return Ok(false);
        }
        let mut decoder = GzDecoder::new(&mut self.file);
        if decoder.header().is_none() {
            // It returns the reason.
            return match decoder.read(&mut [0]) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(cut()),
                Err(error) => Err(damaged(self.file.position, &error.to_string())),
                Ok(_) => Err(damaged(self.file.position, "a member has no header")),
            };
        }
        *self.state = DecompressorOxide::new();
        self.end = 0;
        Ok(true)
    }

    /// Goes on at the start of a block.
    fn resume(&mut self, bits: u64, byte_before: u8, window: &[u8]) {
        let state = BlockBoundaryState {
            // There are at most 7.
            num_bits: (bits & 7) as u8,
            bit_buf: ((u16::from(byte_before) << bits) >> 8) as u8,
            ..BlockBoundaryState::default()
        };
        *self.state = DecompressorOxide::from_block_boundary_state(&state);
        self.end = window.len().min(WINDOW);
        self.buffer[..self.end].copy_from_slice(&window[..self.end]);
    }

    /// Unpacks some of the member, at most up to the start of a block if `stops_at_block`.
    fn step(&mut self, stops_at_block: bool) -> io::Result<(Range<usize>, Reached)> {
        if self.end == self.buffer.len() {
            self.buffer.copy_within(self.end - WINDOW.., 0);
            self.end = WINDOW;
        }
        let input = self.file.filled()?;
        let mut flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        if stops_at_block {
            flags |= TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY;
        }
        if !input.is_empty() {
            flags |= TINFL_FLAG_HAS_MORE_INPUT;
        }
        let (status, read, written) =
            decompress(&mut self.state, input, &mut self.buffer, self.end, flags);
        self.file.consume(read);
        let piece = self.end..self.end + written;
        self.end = piece.end;
        let reached = match status {
            TINFLStatus::Done => Reached::MemberEnd,
            TINFLStatus::BlockBoundary => {
                let state = self.state.block_boundary_state().unwrap_or_default();
                Reached::Block(state.num_bits.into())
            }
            TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput => Reached::Nothing,
            TINFLStatus::FailedCannotMakeProgress => return Err(cut()),
            _ => return Err(damaged(self.file.position, "it is no deflate stream")),
        };
        Ok((piece, reached))
    }

    /// Reads the checksum and the length at the end of a member.
    fn trailer(&mut self) -> io::Result<(u32, u32)> {
        let mut bytes = [0; 8];
        let read = self.file.read_exact(&mut bytes);
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => cut(),
            _ => error,
        })?;
        let [a, b, c, d, e, f, g, h] = bytes;
        Ok((
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
        ))
    }
}

/// A file whose position is known.
struct Counted<R> {
    file: R,
    position: u64,
}

impl<R: BufRead> Counted<R> {
    /// Returns the next bytes; none at the end.
    fn filled(&mut self) -> io::Result<&[u8]> {
        while let Err(error) = self.file.fill_buf() {
            if error.kind() != ErrorKind::Interrupted {
                return Err(error);
            }
        }
        self.file.fill_buf()
    }
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.file.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.file.consume(count);
        self.position += count as u64;
    }
}

fn cut() -> io::Error {
    io::Error::other(ENDS_EARLY)
}

/// Returns `true` for the error of a compressed file that ends too early.
#[must_use]
pub fn ends_early(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|why| why.to_string() == ENDS_EARLY)
}

fn damaged(position: u64, why: &str) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("the compressed data is damaged at or before byte {position}: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::bytes::in_memory;

    /// Returns bytes that compress somewhat, and differ everywhere.
    fn content(length: usize) -> Vec<u8> {
        let mut state = 7_u32;
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let count = (state >> 28) as usize + 1;
            bytes.resize(bytes.len() + count, (state >> 16).to_le_bytes()[0]);
        }
        bytes.truncate(length);
        bytes
    }

    fn member(content: &[u8]) -> Vec<u8> {
        // At the fastest level, it would begin few blocks.
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(content).expect("a vector has room");
        encoder.finish().expect("a vector has room")
    }

    fn unpacked(file: &[u8]) -> io::Result<(Vec<u8>, AccessPoints)> {
        let mut all = Vec::new();
        let points = unpack(file, |piece| {
            all.extend_from_slice(piece);
            Ok(())
        })?;
        Ok((all, points))
    }

    /// Unpacks from each point to the next one but one, and compares.
    fn assert_points(file: &[u8], content: &[u8], count: usize) {
        let (all, found) = unpacked(file).expect("a sound file");
        assert!(all == content);
        assert_eq!(found.length, content.len() as u64);
        assert_eq!(found.points.len(), count);
        let mut window_start = 0;
        for (number, point) in found.points.iter().enumerate() {
            let window = &found.windows[window_start..in_memory(point.window_end)];
            window_start = in_memory(point.window_end);
            let end = found.points.get(number + 2);
            let end = in_memory(end.map_or(found.length, |next| next.content));
            let expected = &content[in_memory(point.content)..end];
            let mut part = Vec::new();
            unpack_from(file, point, window, expected.len() as u64, |piece| {
                part.extend_from_slice(piece);
                Ok(())
            })
            .expect("a sound file");
            assert!(part == expected, "point {number}");
        }
    }

    #[test]
    fn one_member_has_points_at_blocks() {
        let content = content(9 << 20);
        assert_points(&member(&content), &content, 3);
    }

    #[test]
    fn members_are_points_unless_they_are_small() {
        let content = content(3 << 20);
        let megabytes: Vec<u8> = content.chunks(1 << 20).flat_map(member).collect();
        assert_points(&megabytes, &content, 3);
        let small: Vec<u8> = content.chunks(300_000).flat_map(member).collect();
        assert_points(&small, &content, 3);
        let empty = [member(&[]), member(&content[..10]), member(&[])].concat();
        assert_points(&empty, &content[..10], 1);
    }

    #[test]
    fn a_file_that_is_cut_or_damaged_is_an_error() {
        let content = content(4_000);
        let file = [member(&content), member(&content)].concat();
        let whole = file.len() / 2;
        for length in (0..file.len()).step_by(29).chain(1..40) {
            let found = unpacked(&file[..length]).map(|(content, _)| content);
            match length == 0 || length == whole {
                true => drop(found.expect("whole members")),
                false => {
                    let error = found.expect_err("it is cut").to_string();
                    assert!(error.contains("before its end"), "{length}: {error}");
                }
            }
        }
        for place in (0..whole).step_by(23) {
            let mut damaged = file.clone();
            damaged[place] ^= 1 << (place % 8);
            // The time in the header may be any.
            if let Ok((found, _)) = unpacked(&damaged) {
                assert!(found.starts_with(&content), "byte {place}");
            }
        }
        unpacked(&[&file[..], b"more"].concat()).expect_err("it is no member");
    }

    #[test]
    fn a_point_that_is_not_there_is_an_error() {
        let content = content(100_000);
        let file = member(&content);
        for (at, bits) in [
            (0, 3),
            (u64::MAX, 8),
            (9, 8),
            (500, 5),
            (file.len() as u64, 8),
        ] {
            let point = AccessPoint {
                content: 0,
                file: at,
                bits,
                window_end: 0,
            };
            let mut count = 0;
            let found = unpack_from(&file, &point, &[], 1 << 40, |piece| {
                count += piece.len();
                Ok(())
            });
            found.expect_err("there is nothing");
            assert!(count < 100 << 20);
        }
    }
}
