//! The name of the source file in a class file.

use crate::class::Class;
use crate::error::Error;
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
