//! Recordings of the JDK Flight Recorder.

use hprof_jfr::{Chunk, Chunks, MAGIC, ReadError, Value};
use hprof_profile::{Metric, Profile, Wanted, export, load};

/// Reads every event. The profile of the recording is then written as one, and must have the same totals when it is read
/// again.
pub fn recording(data: &[u8]) {
    let mut chunks = Chunks::new(data);
    while let Ok(Some(chunk)) = chunks.read() {
        if events(&chunk).is_err() {
            break;
        }
    }
    if !data.starts_with(&MAGIC) {
        return;
    }
    let Ok(loaded) = load(data, Wanted::Last) else {
        return;
    };
    let totals = |profile: &Profile| Metric::ALL.map(|metric| profile.total(metric));
    let before = totals(&loaded.profile);
    // The format has numbers of 63 bits, and a sample of CPU time is an event.
    if before.iter().any(|&total| total > 1 << 20) {
        return;
    }
    let mut written = Vec::new();
    export::jfr(&loaded.profile, &mut written).expect("memory takes all");
    let again = load(written.as_slice(), Wanted::Last).expect("it was just written");
    assert!(again.fault.is_none(), "{:?}", again.fault);
    assert_eq!(totals(&again.profile), before);
}

fn events(chunk: &Chunk) -> Result<(), ReadError> {
    for event in chunk.events() {
        let event = event?;
        for field in &event.of().fields {
            if let Value::Struct(values) = event.values().get(&field.name)? {
                for field in &values.of().fields {
                    values.get(&field.name)?;
                }
            }
        }
    }
    Ok(())
}
