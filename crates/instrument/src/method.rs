//! The facts about a class and its methods that decide what is instrumented.

use std::fmt;

use crate::error::Error;
use crate::pool::Pool;
use crate::reader::Reader;
use crate::tables;

/// The facts about a class in its file.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ClassInfo<'a> {
    /// With slashes: `java/lang/String`; modified UTF-8.
    pub name: &'a [u8],
    /// The superclass; `None` for `java/lang/Object` and modules.
    pub super_name: Option<&'a [u8]>,
    /// The flags of the class file.
    pub access: u16,
    /// The class file's version: 52 is Java 8.
    pub major: u16,
}

/// The facts about a method in the class file.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Method<'a> {
    /// Its index in the class file's table of methods, from 0.
    pub index: u16,
    /// In modified UTF-8; `<init>` and `<clinit>` are methods too.
    pub name: &'a [u8],
    /// As in `(I)V`.
    pub descriptor: &'a [u8],
    /// The flags of the class file.
    pub access: u16,
    /// The original length in bytes; 0 if it has no code.
    pub code_length: u32,
    /// `true` if it carries the annotation of methods that the VM replaces by its own code.
    pub is_intrinsic: bool,
    pub(crate) annotations: Annotations<'a>,
    pub(crate) code: &'a [u8],
}

impl Method<'_> {
    /// Returns the line of its first instruction; `None` if the class file does not have it.
    pub fn first_line(&self) -> Option<u16> {
        first_line(self.annotations.pool, self.code)
    }

    /// Returns `true` if it has a run-time visible annotation of this type: `Ljdk/internal/vm/annotation/Hidden;`.
    pub fn has_annotation(&self, descriptor: &[u8]) -> bool {
        self.annotations.contains(descriptor)
    }
}

/// The run-time visible annotations of a method, not parsed yet.
#[derive(Clone, Copy)]
pub(crate) struct Annotations<'a> {
    pub(crate) pool: &'a Pool<'a>,
    pub(crate) contents: &'a [u8],
}

impl<'a> Annotations<'a> {
    /// Annotations after one that cannot be read are not found.
    pub(crate) fn contains(&self, descriptor: &[u8]) -> bool {
        let mut reader = Reader::new(self.contents);
        let count = reader.u16().unwrap_or(0);
        (0..count)
            .map_while(|_| tables::skip_annotation(&mut reader, 0).ok())
            .any(|kind| self.pool.utf8(kind) == Ok(descriptor))
    }
}

impl fmt::Debug for Annotations<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Annotations({} bytes)", self.contents.len())
    }
}

/// Returns the line of the first instruction of a Code attribute.
fn first_line(pool: &Pool, code: &[u8]) -> Option<u16> {
    find_first_line(pool, code).ok()?
}

fn find_first_line(pool: &Pool, code: &[u8]) -> Result<Option<u16>, Error> {
    let mut reader = Reader::new(code);
    reader.take(4)?;
    reader.sized()?;
    let handlers = reader.u16()?;
    reader.take(usize::from(handlers) * 8)?;
    for _ in 0..reader.u16()? {
        let name = pool.utf8(reader.u16()?)?;
        let mut lines = Reader::new(reader.sized()?);
        if name != b"LineNumberTable" {
            continue;
        }
        for _ in 0..lines.u16()? {
            if let (0, line) = (lines.u16()?, lines.u16()?) {
                return Ok(Some(line));
            }
        }
    }
    Ok(None)
}
