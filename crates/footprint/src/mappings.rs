//! The mappings of a process, from `/proc/PID/maps`.

use std::ops::Range;

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its addresses.
    pub range: Range<usize>,
    /// `true` if the process may read or write it, or run code in it. What it may not is only reserved.
    pub is_accessible: bool,
    /// `true` if the process may run code in it.
    pub is_code: bool,
    /// `true` if it may be shared with other processes, or mapped several times.
    pub is_shared: bool,
    /// The file, a name of the kernel's such as `[heap]`, or nothing.
    pub name: String,
}

impl Mapping {
    /// Returns `true` if it is no part of a file, and private.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.name.is_empty() || self.name.starts_with("[anon")
    }
}

/// Parses the text of `/proc/PID/maps`. A line that cannot be understood is left out.
#[must_use]
pub fn parse(maps: &str) -> Vec<Mapping> {
    maps.lines().filter_map(mapping).collect()
}

/// Parses `7f00-7fff rw-p 00001000 fe:01 123   /path`.
fn mapping(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        rest = rest.trim_ascii_start();
        let end = rest.find(' ').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        word
    };
    let (begin, end) = word().split_once('-')?;
    let permissions = word().as_bytes();
    let [_offset, _device, _inode] = [word(), word(), word()];
    let &[read, write, execute, shared] = permissions else {
        return None;
    };
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    Some(Mapping {
        range: address(begin)?..address(end)?,
        is_accessible: [read, write, execute] != *b"---",
        is_code: execute == b'x',
        is_shared: shared == b's',
        name: rest.trim_ascii_start().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_wrote_is_understood() {
        let mappings = parse(include_str!("../tests/maps-g1-17.txt"));
        // As `wc -l FILE` says.
        assert_eq!(mappings.len(), 303);
        let named = |end: &str| {
            let mut named = mappings
                .iter()
                .filter(|mapping| mapping.name.ends_with(end));
            named.next().expect("it is there")
        };
        let heap = named("[heap]");
        assert_eq!(heap.range.len(), 284 << 10);
        assert!(heap.is_accessible && !heap.is_code && !heap.is_anonymous());
        assert!(named("libjvm.so").name.starts_with("/usr/lib/jvm/"));
        assert!(named("lib/modules").is_shared);
        let reserved = mappings.iter().filter(|mapping| !mapping.is_accessible);
        assert!(reserved.count() > 50);
        assert!(mappings.iter().any(|mapping| mapping.is_code));
        assert!(mappings.is_sorted_by_key(|mapping| mapping.range.start));
    }

    #[test]
    fn a_path_may_have_spaces_and_colons() {
        let text = "7f01000-7f02000 r--p 00026000 fe:01 1234     /a: b (deleted)\n";
        let [mapping] = &parse(text)[..] else {
            panic!("one mapping");
        };
        assert_eq!(mapping.name, "/a: b (deleted)");
        assert_eq!(mapping.range, 0x7f0_1000..0x7f0_2000);
        assert_eq!(parse("\n\nnonsense\n7-\n7-8 r\n"), []);
    }
}
