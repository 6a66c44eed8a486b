//! The command line of the process.

use std::fs::File;
use std::io::Read;

/// The most bytes of a command line that are read.
const MOST_READ: u64 = 1 << 20;

/// Returns the program and its arguments; nothing without /proc.
pub(crate) fn arguments() -> Vec<String> {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open("/proc/self/cmdline") {
        let _ = file.take(MOST_READ).read_to_end(&mut bytes);
    }
    split(&bytes)
}

/// Splits a command line into arguments, each of which ends with a zero.
fn split(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let arguments = bytes.split(|&byte| byte == 0);
    arguments
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_may_be_empty_and_have_spaces() {
        assert_eq!(
            split(b"java\0-Xmx1g\0Main\0two words\0\0"),
            ["java", "-Xmx1g", "Main", "two words", ""]
        );
    }
}
