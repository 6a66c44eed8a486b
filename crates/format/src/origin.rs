//! The run that the records of a merged file come from.

/// The beginning of a note that `hprof merge` writes: the labels of the samples in the following records.
const NOTE: &str = "labels: ";
/// The separator between two labels.
const SEPARATOR: &str = ", ";

/// The machine and the file of a run that was merged into a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The machine.
    pub host: Option<String>,
    /// The file.
    pub file: Option<String>,
}

impl Origin {
    /// Returns the origin of the records after a note; `None` if the note is about something else.
    pub(crate) fn of_note(note: &str) -> Option<Origin> {
        let labels = note.strip_prefix(NOTE)?;
        let mut origin = Origin::default();
        for label in labels.split(SEPARATOR) {
            match label.split_once('=') {
                Some(("host", host)) => origin.host = Some(host.to_owned()),
                Some(("file", file)) => origin.file = Some(file.to_owned()),
                _ => {}
            }
        }
        Some(origin)
    }

    /// Returns the note that says it.
    pub(crate) fn note(&self) -> String {
        let labels = [("host", &self.host), ("file", &self.file)];
        let labels = labels
            .into_iter()
            .filter_map(|(key, value)| Some(format!("{key}={}", value.as_ref()?)));
        format!("{NOTE}{}", labels.collect::<Vec<_>>().join(SEPARATOR))
    }
}
