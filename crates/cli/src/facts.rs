//! The facts about the run in the head of a binary file.

use std::io::Read;

use hprof_format::{Item, Reader, Record, StringRecord};

/// The most facts about a run that its head has.
const MOST: usize = 64;

/// Reads the facts, with their labels, which stand before all other records but CONTROL SETTINGS. A fault ends them.
pub fn read<R: Read>(reader: &mut Reader<R>) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    while let Ok(Some(entry)) = reader.read() {
        match entry.item {
            Item::Record(Record::String(StringRecord { id, text }))
                if id.is_fact() && facts.len() < MOST =>
            {
                let text = String::from_utf8_lossy(&text);
                let fact = text.split_once(": ");
                facts.extend(fact.map(|(label, value)| (label.to_owned(), value.to_owned())));
            }
            Item::Record(Record::ControlSettings(_)) => {}
            _ => break,
        }
    }
    facts
}
