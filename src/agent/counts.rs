//! The counts of a Java program, as its native methods ask for them: `io.hprof.Hprof` of the jar.

use crate::engines::allocations::CountScope;
use crate::session::{self, CountError};
use jvmti::{Jni, ReturnedBytes};

/// Begins a count of the current thread, or of all. Returns its number, and 0 if no profile runs; other errors become
/// exceptions.
pub fn begin_count(jni: Jni<'_>, all_threads: bool) -> i64 {
    let scope = match all_threads {
        true => CountScope::All,
        false => CountScope::Current,
    };
    match session::begin_count(jni, scope) {
        Ok(number) => number.cast_signed(),
        Err(CountError::NotRunning) => 0,
        Err(error) => {
            jni.throw_illegal_state(&error.to_string());
            0
        }
    }
}

/// Ends a count. Returns what was allocated since it began, as text, or null with an exception.
pub fn end_count(jni: Jni<'_>, number: i64) -> ReturnedBytes {
    let bytes = |text: &str| jni.bytes_to_return(text.as_bytes());
    or_thrown(jni, session::end_count(jni, number.cast_unsigned(), bytes))
}

/// Collects garbage. Returns the live objects of the sites that a count has met, as [`end_count`].
pub fn live_of_count(jni: Jni<'_>, number: i64) -> ReturnedBytes {
    let bytes = |text: &str| jni.bytes_to_return(text.as_bytes());
    or_thrown(
        jni,
        session::live_of_count(jni, number.cast_unsigned(), bytes),
    )
}

fn or_thrown(jni: Jni<'_>, answer: Result<ReturnedBytes, CountError>) -> ReturnedBytes {
    answer.unwrap_or_else(|error| {
        jni.throw_illegal_state(&error.to_string());
        ReturnedBytes::NULL
    })
}
