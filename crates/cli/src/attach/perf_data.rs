//! The data that a HotSpot VM publishes in the file that `jps` and `jstat` read: /tmp/hsperfdata_<user>/<pid>.
//!
//! A header of 32 bytes in the VM's byte order (the magic number 0xcafec0c0 first, always big-endian; then the order,
//! two bytes of version, ..., the offset and the number of the entries), then entries: length, name's offset, elements
//! of a vector, type, ..., data's offset. Only strings are read. A VM that runs without the file (-XX:-UsePerfData)
//! publishes nothing.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use rustix::fs::OFlags;

use super::process::Process;

const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const LITTLE_ENDIAN: u8 = 1;
/// The most bytes that are read; the VM's own limit for data of fixed size is 32 KB, plus names and paths.
const LARGEST: u64 = 16 << 20;

/// The most bytes of a text.
const LONGEST: usize = 64 << 10;

/// The version of the JDK.
pub const VERSION: &str = "java.property.java.version";
/// The program that the VM runs, with its arguments.
pub const COMMAND: &str = "sun.rt.javaCommand";
/// The VM's capabilities, a digit each; the first is whether it accepts requests.
pub const CAPABILITIES: &str = "sun.rt.jvmCapabilities";

/// The texts with these names.
type Facts = HashMap<&'static str, String>;

/// Returns the available texts among those named above.
pub fn find(process: &Process) -> Facts {
    read(process).unwrap_or_default()
}

fn read(process: &Process) -> Option<Facts> {
    let temporary = process.view().folder(Path::new("/tmp")).ok()?;
    let name = process.own_pid().to_string();
    let file = temporary.names("hsperfdata_").iter().find_map(|folder| {
        // A file of that name that belongs to another user is left over, or a trap.
        let folder = temporary.folder(folder).ok()?;
        folder.open(&name, process.owner(), OFlags::RDONLY).ok()
    });
    let mut bytes = Vec::new();
    file?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    parse(&bytes, &[VERSION, COMMAND, CAPABILITIES])
}

/// Parses the file, which may contain anything: no byte is read for more than one entry except those of the texts, and
/// there is only one text for each name.
fn parse(file: &[u8], wanted: &[&'static str]) -> Option<Facts> {
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
        bytes.split(|&byte| byte == 0).next()
    };
    let mut facts = Facts::new();
    let mut entry = number(24)?;
    for _ in 0..number(28)? {
        let Some(length) = number(entry).filter(|&length| length > 0) else {
            break;
        };
        let elements = number(entry + 8)?.min(LONGEST);
        let is_text = elements > 0 && file.get(entry + 12) == Some(&b'B');
        let name = text(entry.checked_add(number(entry + 4)?)?, entry + length);
        let name = wanted.iter().find(|wanted| name == Some(wanted.as_bytes()));
        if let (true, Some(&name)) = (is_text, name)
            && !facts.contains_key(name)
        {
            let start = entry.checked_add(number(entry + 16)?)?;
            let fact = text(start, start.checked_add(elements)?);
            facts.extend(fact.map(|fact| (name, String::from_utf8_lossy(fact).into_owned())));
        }
        entry = entry.checked_add(length)?;
    }
    Some(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: [&str; 2] = ["n.one", "n.two"];

    fn file() -> Vec<u8> {
        with_entries(&[
            ("n.one", b'J', 0, *b"\x07\x07\x07\x07\x07\x07\x07\x07"),
            ("n.two", b'B', 8, *b"Main x\0?"),
            ("n.two", b'B', 8, *b"again\0\0?"),
            ("n.six", b'B', 8, *b"nobody\0?"),
        ])
    }

    fn with_entries(entries: &[(&str, u8, u32, [u8; 8])]) -> Vec<u8> {
        let mut file = Vec::from(MAGIC);
        file.extend([LITTLE_ENDIAN, 2, 0, 1]);
        file.resize(24, 0);
        file.extend(32u32.to_le_bytes());
        let count = u32::try_from(entries.len()).expect("a few entries");
        file.extend(count.to_le_bytes());
        for (name, kind, elements, data) in entries {
            for number in [36u32, 20, *elements] {
                file.extend(number.to_le_bytes());
            }
            file.extend([*kind, 0, 0, 0]);
            file.extend(28u32.to_le_bytes());
            file.extend(name.as_bytes());
            file.extend([0; 3]);
            file.extend(data);
        }
        file
    }

    #[test]
    fn texts_are_read_by_name() {
        let facts = parse(&file(), &WANTED).expect("a file");
        assert_eq!(facts, HashMap::from([("n.two", "Main x".to_owned())]));
    }

    #[test]
    fn a_damaged_file_is_no_fault() {
        let whole = file();
        for length in 0..whole.len() {
            let _ = parse(&whole[..length], &WANTED);
        }
        for index in 0..whole.len() {
            let mut file = whole.clone();
            file[index] = 0xff;
            let _ = parse(&file, &WANTED);
        }
    }

    #[test]
    fn a_text_has_an_end() {
        let mut file = with_entries(&[("n.one", b'B', u32::MAX, [b'x'; 8])]);
        file.resize(1 << 20, b'x');
        let facts = parse(&file, &WANTED).expect("a file");
        assert_eq!(facts["n.one"].len(), LONGEST);
    }
}
