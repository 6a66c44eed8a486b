//! What a HotSpot VM tells of itself in the file that `jps` and `jstat` read: /tmp/hsperfdata_<user>/<pid>.
//!
//! A head of 32 bytes in the VM's byte order (the magic number 0xcafec0c0 first, always big-endian; then the order, two bytes of
//! version, ..., where the entries start and how many there are), then entries: length, name's offset, elements of a vector,
//! type, ..., data's offset. Only strings are read. A VM that runs without the file (-XX:-UsePerfData) tells nothing.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use rustix::fs::OFlags;

use super::process::Process;

const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const LITTLE_ENDIAN: u8 = 1;
/// The most bytes that are read; the VM's own limit for what has a fixed size is 32 KB, names and paths come on top.
const LARGEST: u64 = 16 << 20;

/// All names with a text.
pub fn of(process: &Process) -> HashMap<String, String> {
    read(process).unwrap_or_default()
}

fn read(process: &Process) -> Option<HashMap<String, String>> {
    let temporary = process.view().folder(Path::new("/tmp")).ok()?;
    let name = process.own_pid().to_string();
    let file = temporary.names("hsperfdata_").iter().find_map(|folder| {
        // Somebody else's file of that name is a leftover, or a trap.
        let folder = temporary.folder(folder).ok()?;
        folder.open(&name, process.owner(), OFlags::RDONLY).ok()
    });
    let mut bytes = Vec::new();
    file?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    parse(&bytes)
}

fn parse(file: &[u8]) -> Option<HashMap<String, String>> {
    if !file.starts_with(&MAGIC) {
        return None;
    }
    let number = |at: usize| {
        let bytes: [u8; 4] = file.get(at..at.checked_add(4)?)?.try_into().ok()?;
        let number = match file[4] {
            LITTLE_ENDIAN => u32::from_le_bytes(bytes),
            _ => u32::from_be_bytes(bytes),
        };
        Some(number as usize)
    };
    let text = |start: usize, end: usize| {
        let bytes = file.get(start..end.min(file.len()))?;
        let text = bytes.split(|&byte| byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    };
    let mut facts = HashMap::new();
    let mut entry = number(24)?;
    for _ in 0..number(28)? {
        let Some(length) = number(entry).filter(|&length| length > 0) else {
            break;
        };
        let elements = number(entry + 8)?;
        let is_text = elements > 0 && file.get(entry + 12) == Some(&b'B');
        let name = text(entry.checked_add(number(entry + 4)?)?, entry + length);
        if is_text && let Some(name) = name {
            let start = entry.checked_add(number(entry + 16)?)?;
            facts.extend(text(start, start.checked_add(elements)?).map(|text| (name, text)));
        }
        entry = entry.checked_add(length)?;
    }
    Some(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut file = Vec::from(MAGIC);
        file.extend([LITTLE_ENDIAN, 2, 0, 1]);
        file.resize(24, 0);
        file.extend(32u32.to_le_bytes());
        file.extend(2u32.to_le_bytes());
        for (name, kind, elements, data) in [
            ("n.one", b'J', 0u32, [7u8; 8]),
            ("n.two", b'B', 8, *b"Main x\0?"),
        ] {
            for number in [36u32, 20, elements] {
                file.extend(number.to_le_bytes());
            }
            file.extend([kind, 0, 0, 0]);
            file.extend(28u32.to_le_bytes());
            file.extend(name.as_bytes());
            file.extend([0; 3]);
            file.extend(data);
        }
        file
    }

    #[test]
    fn texts_are_read_by_name() {
        let facts = parse(&file()).expect("a file");
        assert_eq!(
            facts,
            HashMap::from([("n.two".to_owned(), "Main x".to_owned())])
        );
    }

    #[test]
    fn a_damaged_file_is_no_fault() {
        let whole = file();
        for length in 0..whole.len() {
            let _ = parse(&whole[..length]);
        }
        for index in 0..whole.len() {
            let mut file = whole.clone();
            file[index] = 0xff;
            let _ = parse(&file);
        }
    }
}
