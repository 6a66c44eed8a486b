//! Hashes that are the same regardless of where a text or a file is.

use std::hash::Hasher;
use std::io::{self, ErrorKind, Read};

use twox_hash::XxHash3_64;

/// Returns the XXH3-64 hash of a text.
pub(crate) fn of_text(text: &str) -> i64 {
    XxHash3_64::oneshot(text.as_bytes()).cast_signed()
}

/// Returns the XXH3-64 hash of everything that `source` supplies, without the highest bit, so that it is never
/// negative; and the number of bytes.
pub(crate) fn of_content(mut source: impl Read, seed: u32) -> io::Result<(i64, u64)> {
    let mut hasher = XxHash3_64::with_seed(seed.into());
    let mut buffer = vec![0; 1 << 18];
    let mut length = 0;
    loop {
        match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                hasher.write(&buffer[..read]);
                length += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(((hasher.finish() & (u64::MAX >> 1)).cast_signed(), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_xxh3() {
        // As printed by `xxhsum -H3`.
        assert_eq!(of_text(""), 0x2d06_8005_38d3_94c2);
        let (run, length) = of_content(&b""[..], 0).expect("bytes");
        assert_eq!((run, length), (0x2d06_8005_38d3_94c2, 0));
    }
}
