//! The data that a HotSpot VM publishes in the file that `jps` and `jstat` read: /tmp/hsperfdata_<user>/<pid>.
//!
//! A header of 32 bytes in the VM's byte order (the magic number 0xcafec0c0 first, always big-endian; then the order,
//! two bytes of version, ..., the offset and the number of the entries), then entries: length, name's offset, elements
//! of a vector, type, ..., data's offset. Only strings and 64-bit numbers are read. A VM that runs without the file
//! (-XX:-UsePerfData) publishes nothing.

use std::collections::HashMap;
use std::io::Read;

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

/// The use of a program's heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapUse {
    /// The bytes in use after the last collection, or in all before the first.
    pub bytes: u64,
    /// The collector's name.
    pub collector: &'static str,
    /// The JDK's feature version, if it is known.
    pub jdk: Option<u32>,
}

impl HeapUse {
    /// Returns `true` if the collector works while the program runs.
    pub fn is_concurrent(&self) -> bool {
        matches!(self.collector, "Z" | "Shenandoah")
    }

    /// Returns `true` if exact sites can start without a full collection that stops the program. JDK 11 needs two.
    pub fn starts_concurrently(&self) -> bool {
        let is_enough = self.collector == "G1" && self.jdk.is_some_and(|jdk| jdk > 11);
        self.is_concurrent() || is_enough
    }
}

/// How collectors are called in the names of their counters.
const COLLECTORS: [(&str, &str); 9] = [
    ("G1", "G1"),
    ("Serial", "Serial"),
    ("Copy", "Serial"),
    ("MSC", "Serial"),
    ("Parallel", "Parallel"),
    ("PS", "Parallel"),
    ("ParNew", "CMS"),
    ("Z", "Z"),
    ("Shenandoah", "Shenandoah"),
];

/// Returns the use of the program's heap, if the VM publishes it.
pub fn heap_use(process: &Process) -> Option<HeapUse> {
    heap_use_in(&file(process)?)
}

fn heap_use_in(file: &[u8]) -> Option<HeapUse> {
    let (mut spaces, mut used) = (HashMap::new(), HashMap::new());
    let (mut collections, mut collector, mut jdk) = (0, None, None);
    each(file, |name, value| {
        let Ok(name) = std::str::from_utf8(name) else {
            return;
        };
        if let (VERSION, Value::Text(text)) = (name, &value) {
            let feature = text.split(|&byte| !byte.is_ascii_digit()).next();
            jdk = feature.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        }
        let Some(rest) = name.strip_prefix("sun.gc.") else {
            return;
        };
        match (rest.rsplit_once('.'), value) {
            (Some((space, "used")), Value::Number(bytes)) if space.starts_with("generation.") => {
                used.insert(space, bytes);
            }
            (Some((space, "name")), Value::Text(text)) if space.starts_with("generation.") => {
                spaces.insert(space, text);
            }
            (Some((of, "invocations")), Value::Number(count)) if of.starts_with("collector.") => {
                collections += count;
            }
            (Some((of, "name")), Value::Text(text)) if of.starts_with("collector.") => {
                let known = COLLECTORS
                    .iter()
                    .find(|(start, _)| text.starts_with(start.as_bytes()));
                collector = collector.or(known.map(|&(_, name)| name));
            }
            _ => {}
        }
    })?;
    // What is in the eden was made since the last collection, and most of it is garbage.
    let counts = |space: &&str| collections == 0 || spaces.get(*space) != Some(&&b"eden"[..]);
    let bytes = used.iter().filter(|(space, _)| counts(space));
    let bytes = bytes.fold(0_u64, |sum, (_, &bytes)| sum.saturating_add(bytes));
    (bytes > 0).then_some(HeapUse {
        bytes,
        collector: collector.unwrap_or("unknown collector"),
        jdk,
    })
}

fn read(process: &Process) -> Option<Facts> {
    parse(&file(process)?, &[VERSION, COMMAND, CAPABILITIES])
}

fn file(process: &Process) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = process.perf_data()?;
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns the texts of these names.
fn parse(file: &[u8], wanted: &[&'static str]) -> Option<Facts> {
    let mut facts = Facts::new();
    each(file, |name, value| {
        let name = wanted.iter().find(|wanted| name == wanted.as_bytes());
        if let (Some(&name), Value::Text(text)) = (name, value) {
            let text = || String::from_utf8_lossy(text).into_owned();
            facts.entry(name).or_insert_with(text);
        }
    })?;
    Some(facts)
}

/// The value of an entry.
#[derive(Clone, Copy)]
enum Value<'a> {
    Text(&'a [u8]),
    Number(u64),
}

/// Visits the entries of the file, which may contain anything: no byte is read for more than one entry except those of
/// names and values. `None` if it breaks off.
fn each<'a>(file: &'a [u8], mut visit: impl FnMut(&'a [u8], Value<'a>)) -> Option<()> {
    if !file.starts_with(&MAGIC) {
        return None;
    }
    let is_little = *file.get(4)? == LITTLE_ENDIAN;
    let number = |at: usize| {
        let bytes: [u8; 4] = file.get(at..at.checked_add(4)?)?.try_into().ok()?;
        let number = match is_little {
            true => u32::from_le_bytes(bytes),
            false => u32::from_be_bytes(bytes),
        };
        Some(number as usize)
    };
    let long = |at: usize| {
        let bytes: [u8; 8] = file.get(at..at.checked_add(8)?)?.try_into().ok()?;
        Some(match is_little {
            true => u64::from_le_bytes(bytes),
            false => u64::from_be_bytes(bytes),
        })
    };
    let text = |start: usize, end: usize| {
        let bytes = file.get(start..end.min(file.len()))?;
        bytes.split(|&byte| byte == 0).next()
    };
    let mut entry = number(24)?;
    for _ in 0..number(28)? {
        let Some(length) = number(entry).filter(|&length| length > 0) else {
            break;
        };
        let elements = number(entry + 8)?.min(LONGEST);
        let kind = file.get(entry + 12);
        let name = text(entry.checked_add(number(entry + 4)?)?, entry + length);
        let start = || entry.checked_add(number(entry + 16)?);
        let value = match (kind, elements) {
            (Some(b'J'), 0) => long(start()?).map(Value::Number),
            (Some(b'B'), 1..) => text(start()?, start()?.checked_add(elements)?).map(Value::Text),
            _ => None,
        };
        if let (Some(name), Some(value)) = (name, value) {
            visit(name, value);
        }
        entry = entry.checked_add(length)?;
    }
    Some(())
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
            // The name is after the five numbers, then a zero and the data.
            let data_at = 20 + u32::try_from(name.len()).expect("a short name") + 1;
            for number in [data_at + 8, 20, *elements] {
                file.extend(number.to_le_bytes());
            }
            file.extend([*kind, 0, 0, 0]);
            file.extend(data_at.to_le_bytes());
            file.extend(name.as_bytes());
            file.push(0);
            file.extend(data);
        }
        file
    }

    #[test]
    fn texts_are_read_by_name() {
        let facts = parse(&file(), &WANTED).expect("a file");
        assert_eq!(facts, HashMap::from([("n.two", "Main x".to_owned())]));
    }

    fn longs(entries: &[(&str, u64)], texts: &[(&str, [u8; 8])]) -> Vec<u8> {
        let texts = texts.iter().map(|&(name, data)| (name, b'B', 8, data));
        let longs = entries.iter();
        let longs = longs.map(|&(name, value)| (name, b'J', 0, value.to_le_bytes()));
        with_entries(&texts.chain(longs).collect::<Vec<_>>())
    }

    #[test]
    fn the_heap_in_use_is_that_of_the_last_collection() {
        let file = |collections| {
            longs(
                &[
                    ("sun.gc.collector.0.invocations", collections),
                    ("sun.gc.generation.0.space.0.used", 500),
                    ("sun.gc.generation.0.space.1.used", 20),
                    ("sun.gc.generation.1.space.0.used", 3000),
                    ("sun.gc.metaspace.used", 70_000),
                ],
                &[
                    ("sun.gc.collector.0.name", *b"G1 young"),
                    ("sun.gc.generation.0.space.0.name", *b"eden\0\0\0\0"),
                    ("sun.gc.generation.0.space.1.name", *b"s0\0\0\0\0\0\0"),
                ],
            )
        };
        let heap = |bytes| {
            Some(HeapUse {
                bytes,
                collector: "G1",
                jdk: None,
            })
        };
        assert_eq!(heap_use_in(&file(4)), heap(3020));
        assert_eq!(heap_use_in(&file(0)), heap(3520));
        assert_eq!(heap_use_in(&longs(&[], &[])), None);
        let whole = file(4);
        for length in 0..whole.len() {
            let _ = heap_use_in(&whole[..length]);
        }
        for index in 0..whole.len() {
            let mut file = whole.clone();
            file[index] = 0xff;
            let _ = heap_use_in(&file);
        }
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
