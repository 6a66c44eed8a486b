//! Traces that are written although no other record names them.

use super::journal::Journal;

/// Writes all traces that have not been written yet.
pub fn traces(journal: &Journal) {
    journal.entry(|entry| {
        for id in entry.tables.traces.iter() {
            entry.trace(id);
        }
    });
}
