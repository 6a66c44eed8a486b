//! The names of a file, and the texts of its STRING records that are none.
//!
//! HotSpot writes every text of every class file into its dumps: names, but also the string literals of the program.

use foldhash::HashMap;

use super::instance::is_of_jdk;
use super::pseudonym::{Pseudonym, RedactKey};
use super::selection::Chosen;
use crate::heap::{ClassDump, HeapRecord};
use crate::record::{BasicType, Record, StringId};
use crate::section::NoteMeaning;

/// The ending of the name of a source file, after its last dot.
const SOURCE_TYPES: [&[u8]; 4] = [b"java", b"kt", b"scala", b"groovy"];

/// The beginning of a note with the state of all monitors, and of a line in it with the signature of a class.
const MONITOR_DUMP: &[u8] = b"MONITOR DUMP BEGIN";
const MONITOR: &[u8] = b"MONITOR ";

/// The strings that other records name.
#[derive(Debug, Default)]
pub(super) struct NamesInUse(HashMap<StringId, NameUse>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameUse {
    /// Of a class of the JDK, or of a member of one.
    Jdk,
    /// Of another class, a member of one, or a thread.
    Program,
}

impl NamesInUse {
    /// Learns from a record outside of heap dumps, which `chosen` knows.
    pub(super) fn record(&mut self, record: &Record<'_>, chosen: &Chosen) {
        match record {
            Record::LoadClass(class) => {
                self.add(class.name, is_of_jdk(chosen.class_name(class.class_object)));
            }
            Record::Frame(frame) => {
                let is_of_jdk = is_of_jdk(Some(chosen.name_of(frame.class)));
                for name in [frame.method, frame.signature, frame.source_file] {
                    self.add(name, is_of_jdk);
                }
            }
            Record::StartThread(thread) => {
                for name in [thread.name, thread.group, thread.parent_group] {
                    self.add(name, false);
                }
            }
            _ => {}
        }
    }

    /// Learns from a record of a heap dump.
    pub(super) fn heap_record(&mut self, record: &HeapRecord<'_>, chosen: &Chosen) {
        match record {
            HeapRecord::Class(class) => {
                self.class(class, is_of_jdk(chosen.class_name(class.class)))
            }
            HeapRecord::HeapInfo { name, .. } => self.add(*name, true),
            _ => {}
        }
    }

    fn class(&mut self, class: &ClassDump<'_>, is_of_jdk: bool) {
        let statics = class.statics.iter().map(|&(name, _)| name);
        for name in statics.chain(class.fields.iter().map(|&(name, _)| name)) {
            self.add(name, is_of_jdk);
        }
    }

    fn add(&mut self, name: StringId, is_of_jdk: bool) {
        let used = match is_of_jdk {
            true => NameUse::Jdk,
            false => NameUse::Program,
        };
        let known = self.0.entry(name).or_insert(used);
        if is_of_jdk {
            *known = NameUse::Jdk;
        }
    }

    /// Returns `true` if a record names the string.
    pub(super) fn has(&self, string: StringId) -> bool {
        self.0.contains_key(&string)
    }

    /// Returns `true` if the string names something of the program, and nothing of the JDK.
    pub(super) fn is_of_program(&self, string: StringId) -> bool {
        self.0.get(&string) == Some(&NameUse::Program)
    }
}

/// Puts a pseudonym of the same length in the place of a name. The parts of a name have pseudonyms of their own, so that
/// packages, nested classes, arrays and source files still belong together; names of the JDK within it stay.
pub(super) fn replace_name(name: &mut [u8], key: &RedactKey) {
    if name.starts_with(b"<") {
        // A constructor or a class initializer.
        return;
    }
    if !name.starts_with(b"(") && !name.starts_with(b"[") {
        return replace_parts(name, key);
    }
    replace_in_descriptors(name, key);
}

/// Puts pseudonyms in the place of the classes that a MONITOR DUMP names, and of the new name of a thread, if a note has them.
pub(super) fn replace_in_note(note: &mut [u8], key: &RedactKey) {
    if let Some(start) = new_name(note) {
        return replace_name(&mut note[start..], key);
    }
    if !note.starts_with(MONITOR_DUMP) {
        return;
    }
    for line in note.split_mut(|&byte| byte == b'\n') {
        let start = line.iter().position(|byte| !byte.is_ascii_whitespace());
        let line = &mut line[start.unwrap_or_default()..];
        if line.starts_with(MONITOR) {
            replace_in_descriptors(&mut line[MONITOR.len()..], key);
        }
    }
}

/// Returns where the name begins in a note that a thread was renamed.
fn new_name(note: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(note).ok()?;
    match NoteMeaning::of(text) {
        NoteMeaning::Renamed { name, .. } => Some(text.len() - name.len()),
        _ => None,
    }
}

/// Replaces the classes in descriptors: letters for primitive types, `L<class>;` for others.
fn replace_in_descriptors(text: &mut [u8], key: &RedactKey) {
    let mut rest = text;
    while let Some(start) = rest.iter().position(|&byte| byte == b'L') {
        let (_, class) = rest.split_at_mut(start + 1);
        let end = class
            .iter()
            .position(|&byte| byte == b';')
            .unwrap_or(class.len());
        let (class, after) = class.split_at_mut(end);
        let is_jdk =
            std::str::from_utf8(class).is_ok_and(|class| is_of_jdk(Some(&class.replace('/', "."))));
        if !is_jdk {
            replace_parts(class, key);
        }
        rest = after;
    }
}

fn replace_parts(name: &mut [u8], key: &RedactKey) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    for part in name.split_mut(|byte| !is_part(byte)) {
        if SOURCE_TYPES.contains(&&*part) {
            continue;
        }
        Pseudonym::new(BasicType::Byte).replace(part, key);
        for byte in part {
            // A part of an identifier begins with a letter, and has no `-`.
            *byte = b'a' + *byte % 26;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_name_of_a_thread_gets_the_pseudonym_of_a_name() {
        let key = RedactKey::new(&[7; 16]);
        let mut name = *b"ledger-7";
        replace_name(&mut name, &key);
        let mut note = b"thread 200005 was renamed: ledger-7".to_vec();
        replace_in_note(&mut note, &key);
        let (fixed, new) = note.split_at(note.len() - name.len());
        assert_eq!(
            (fixed, new),
            (&b"thread 200005 was renamed: "[..], &name[..])
        );
        assert_ne!(new, b"ledger-7");
    }

    #[test]
    fn only_the_classes_in_a_monitor_dump_get_pseudonyms() {
        let replaced = |note: &str| {
            let mut bytes = note.as_bytes().to_vec();
            replace_in_note(&mut bytes, &RedactKey::new(&[7; 16]));
            String::from_utf8(bytes).expect("it stays UTF-8")
        };
        let note = "\
MONITOR DUMP BEGIN
    THREAD 200001, trace 300013, status: R
    MONITOR Lcom/acme/Vault; unowned
\twaiting to enter:
    MONITOR Ljava/lang/Object;
MONITOR DUMP END
";
        let hidden = replaced(note);
        assert!(!hidden.contains("acme") && !hidden.contains("Vault"));
        let others = |text: &str| {
            let lines = text.lines().filter(|line| !line.ends_with("unowned"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(others(&hidden), others(note));
        assert_eq!(hidden.len(), note.len());
        let other = "an estimate of Lcom/acme/Vault;";
        assert_eq!(replaced(other), other);
    }
}
