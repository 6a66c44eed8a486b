//! Native libraries: a process has whatever it has loaded.

use std::fs;

use elf::{Exported, Source, as_one_word};
use tempfile::TempDir;

/// The most rules whose functions are named.
const NAMED: usize = 256;

/// Reads the file of a library as the agent does: how its frames are undone, its functions and its variables.
pub fn library(bytes: &[u8]) {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("library.so");
    fs::write(&path, bytes).expect("room for a library");
    let source = Source::File(path);
    let frames = source.frames();
    // They are searched by halves.
    assert!(frames.functions.is_sorted());
    let is_next =
        |one: &elf::Entry, next: &elf::Entry| one.begin < next.begin && one.rule != next.rule;
    assert!(frames.entries.is_sorted_by(is_next));
    // Memory is in proportion to the file: an entry takes some bytes of it.
    assert!(frames.entries.len() <= 2 * bytes.len() && frames.code.len() <= bytes.len());
    let mut symbols = source.symbols();
    for entry in frames.entries.iter().take(NAMED) {
        let name = symbols.name(entry.begin.into(), || 0);
        let word = as_one_word(&name);
        assert!(!word.contains(|char: char| char.is_whitespace() || char.is_control()));
    }
    let exported = Exported {
        name: "gHotSpotVMStructs",
        address: 0x1000,
    };
    source.variables(exported, ["narrow", "wide"]);
}
