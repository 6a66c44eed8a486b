//! Numbers in the fields of events.

use hprof_jfr::{Chunk, Field, ReadError, Struct, Value};

/// Returns the number in a field; 0 if there is none or it is negative.
pub(super) fn number(values: Struct<'_>, field: &str) -> Result<u64, ReadError> {
    Ok(match values.get(field)? {
        Value::Integer(number) => u64::try_from(number).unwrap_or(0),
        _ => 0,
    })
}

/// Returns the time in a field, in nanoseconds; the unit is in the field's description.
pub(super) fn nanos(values: Struct<'_>, field: &str, chunk: &Chunk) -> Result<u64, ReadError> {
    let number = number(values, field)?;
    let described = values.of().field(field);
    let unit = described.and_then(|of: &Field| {
        chunk
            .metadata()
            .annotated(&of.annotations, "jdk.jfr.Timespan")
    });
    Ok(match unit {
        Some("NANOSECONDS") => number,
        Some("MICROSECONDS") => number.saturating_mul(1_000),
        Some("MILLISECONDS") => number.saturating_mul(1_000_000),
        Some("SECONDS") => number.saturating_mul(1_000_000_000),
        // TICKS, and the JDK's own durations have no other unit.
        _ => chunk.header().nanos(number),
    })
}
