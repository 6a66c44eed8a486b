//! Files that are something else than a profile or a heap dump, which people give to `hprof` nonetheless. Those in which one is
//! packed are unpacked (`packed.rs`).

use std::fs::File;

use hprof_os::files;

/// The bytes that tell what a file is.
const TELLING: usize = 512;
/// The place of its kind in an ELF file, and the kind of core files.
const ELF_KIND: usize = 16;
const ELF_CORE: u8 = 4;

/// Returns what a file is, and what to do with it; `None` if that is not known.
pub fn described(file: &File) -> Option<&'static str> {
    let mut start = [0; TELLING];
    let count = files::read_at(file, &mut start, 0).ok()?;
    of(&start[..count])
}

/// Returns what a file is that starts with these bytes.
fn of(start: &[u8]) -> Option<&'static str> {
    let text = start.trim_ascii_start().to_ascii_lowercase();
    let is_core =
        start.get(ELF_KIND) == Some(&ELF_CORE) || start.get(ELF_KIND + 1) == Some(&ELF_CORE);
    Some(match start {
        [] => "is empty: nothing has been written into it",
        [0x7F, b'E', b'L', b'F', ..] if is_core => {
            "is a core file: `jhsdb jmap --binaryheap --core FILE --exe JAVA` of the same JDK makes a heap dump of it"
        }
        [0x7F, b'E', b'L', b'F', ..] => "is a program or a library",
        [b'F', b'L', b'R', 0, ..] => {
            "is a recording of JDK Flight Recorder, which `hprof top` shows; it has no heap dump"
        }
        _ if start
            .windows(PHD.len())
            .take(PHD_WITHIN)
            .any(|part| part == PHD) =>
        {
            "is a portable heap dump of OpenJ9: `-Xdump:heap:opts=CLASSIC` or `jcmd PID GC.heap_dump` of a HotSpot JDK writes others; \
             `hprof heap` reads dumps in the HPROF format"
        }
        _ if start.starts_with(b"version https://git-lfs") => {
            "is a pointer of Git LFS instead of the file: `git lfs pull` fetches it"
        }
        _ if text.starts_with(b"<!doctype html") || text.starts_with(b"<html") => {
            "is a web page, such as the error of a download"
        }
        _ if text.starts_with(b"{") || text.starts_with(b"[") => {
            "is JSON, such as the error of a download or an answer of another tool"
        }
        _ => return None,
    })
}

/// The mark of a portable heap dump, and the bytes within which it begins.
const PHD: &[u8] = b"portable heap dump";
const PHD_WITHIN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_dump_has_a_name() {
        let mut core = b"\x7FELF\x02\x01\x01".to_vec();
        core.resize(ELF_KIND, 0);
        let program = [&core[..], &[3, 0]].concat();
        core.extend([4, 0]);
        for (start, name) in [
            (&b""[..], "empty"),
            (&core, "jhsdb jmap --binaryheap --core"),
            (&program, "program"),
            (b"\x00\x12portable heap dump\x00", "OpenJ9"),
            (b"FLR\x00\x00\x02", "hprof top"),
            (b"\n<!DOCTYPE html><html>", "web page"),
            (b" {\"error\": 404}", "JSON"),
            (
                b"version https://git-lfs.github.com/spec/v1\n",
                "git lfs pull",
            ),
        ] {
            assert!(of(start).is_some_and(|what| what.contains(name)), "{name}");
        }
        for start in [
            &b"JAVA PROFILE 1.0.2\0"[..],
            b"what it is nobody knows",
            b"\0",
        ] {
            assert_eq!(of(start), None);
        }
    }
}
