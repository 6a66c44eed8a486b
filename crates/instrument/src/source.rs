//! The facts about its source in a class file: the file's name, and the line where a method begins.

use crate::class::Class;
use crate::error::Error;
use crate::pool::Pool;
use crate::reader::Reader;

/// Returns the file that a class was compiled from, in modified UTF-8; `None` if the class does not have it, or cannot
/// be read.
pub fn source_file(class: &[u8]) -> Option<&[u8]> {
    Class::parse(class).ok()?.source_file().ok()?
}

impl<'a> Class<'a> {
    fn source_file(&self) -> Result<Option<&'a [u8]>, Error> {
        let mut reader = Reader::at(self.bytes, self.fields);
        for _members in ["fields", "methods"] {
            for _ in 0..reader.u16()? {
                reader.take(6)?;
                for _ in 0..reader.u16()? {
                    reader.u16()?;
                    reader.sized()?;
                }
            }
        }
        for _ in 0..reader.u16()? {
            let name = self.pool.utf8(reader.u16()?)?;
            let mut contents = Reader::new(reader.sized()?);
            if name == b"SourceFile" {
                return self.pool.utf8(contents.u16()?).map(Some);
            }
        }
        Ok(None)
    }
}

/// Returns the line of the first instruction of a Code attribute.
pub(crate) fn first_line(pool: &Pool, code: &[u8]) -> Option<u16> {
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
