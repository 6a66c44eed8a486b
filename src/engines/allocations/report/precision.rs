//! The note above ALLOC SITES on what its numbers leave open.

/// How sure the numbers are.
pub(in super::super) struct Precision {
    /// `sample=`: the mean number of bytes between two sampled allocations.
    pub(in super::super) sampled: Option<u32>,
    /// The percentage of `budget=`, if counting has cost more.
    pub(in super::super) exceeded: Option<u8>,
    /// `true` if there may be objects without identity.
    pub(in super::super) has_value_objects: bool,
    /// `true` if garbage was collected just before.
    pub(in super::super) collected: bool,
}

/// Returns the note; `None` if the numbers are exact.
pub(in super::super) fn precision(precision: Precision) -> Option<String> {
    let mut notes = Vec::new();
    if let Some(bytes) = precision.sampled {
        notes.push(format!("sampled every {bytes} bytes"));
    }
    if let Some(percentage) = precision.exceeded {
        notes.push(format!(
            "estimated while counting cost more than budget={percentage}%"
        ));
    }
    if precision.has_value_objects {
        let note = "value objects count where they are made, as far as they are in the heap, and those alive in trace 300000: nobody knows which they are";
        notes.push(note.to_owned());
    }
    if !precision.collected {
        notes.push("live as of the last garbage collection".to_owned());
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}
