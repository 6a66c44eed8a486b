//! The parts of files that are mapped as code.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The name that the kernel has for its own code in a process.
pub(super) const VDSO: &str = "[vdso]";

/// A part of a file that is mapped as code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    /// The addresses.
    pub(super) begin: usize,
    pub(super) end: usize,
    /// The position in the file.
    pub(super) offset: u64,
    /// The file's number in its file system.
    pub(super) inode: u64,
    /// The file, or [`VDSO`].
    pub(super) path: PathBuf,
    /// `true` if the file has been removed: another one may have its name.
    pub(super) is_removed: bool,
}

impl Mapping {
    /// Returns those of this process, none if the system does not tell.
    pub(super) fn of_code() -> Vec<Self> {
        let lines = fs::read("/proc/self/maps").unwrap_or_default();
        let lines = lines.split(|&byte| byte == b'\n');
        lines.filter_map(Self::parse).collect()
    }

    /// Parses `7f00-7fff r-xp 00001000 fe:01 123   /path`, if that is code of a file.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut rest = line;
        let mut field = || {
            rest = rest.trim_ascii_start();
            let end = rest.iter().position(|&byte| byte == b' ');
            let (field, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after;
            std::str::from_utf8(field).ok()
        };
        let (begin, end) = field()?.split_once('-')?;
        let permissions = field()?;
        let offset = field()?;
        let _device = field()?;
        let inode = field()?.parse().ok()?;
        let path = rest.trim_ascii_start();
        let removed = path.strip_suffix(b" (deleted)");
        let is_file = path.starts_with(b"/") || path == VDSO.as_bytes();
        if permissions.as_bytes().get(2) != Some(&b'x') || !is_file {
            return None;
        }
        Some(Self {
            begin: usize::from_str_radix(begin, 16).ok()?,
            end: usize::from_str_radix(end, 16).ok()?,
            offset: u64::from_str_radix(offset, 16).ok()?,
            inode,
            path: PathBuf::from(OsStr::from_bytes(removed.unwrap_or(path))),
            is_removed: removed.is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_files_is_found() {
        let parse = |line: &str| Mapping::parse(line.as_bytes());
        let line = "7f01000-7f02000 r-xp 00026000 fe:01 1234     /usr/lib/my lib.so.1";
        let mapping = parse(line).expect("code");
        assert_eq!(
            (mapping.begin, mapping.end, mapping.offset),
            (0x7f0_1000, 0x7f0_2000, 0x26000)
        );
        assert_eq!(mapping.path, PathBuf::from("/usr/lib/my lib.so.1"));
        assert_eq!((mapping.inode, mapping.is_removed), (1234, false));
        let removed = parse(&format!("{line} (deleted)")).expect("code");
        assert_eq!((removed.path, removed.is_removed), (mapping.path, true));
        assert!(parse("7ff-800 r-xp 00000000 00:00 0     [vdso]").is_some());
        for other in [
            "7f01000-7f02000 rw-p 00026000 fe:01 1234     /usr/lib/libc.so.6",
            "7f01000-7f02000 rwxp 00000000 00:00 0 ",
            "",
            "7f01000 r-xp",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
        let own = Mapping::of_code();
        assert!(
            own.iter().any(|mapping| mapping.path.ends_with("[vdso]")),
            "{own:?}"
        );
    }
}
