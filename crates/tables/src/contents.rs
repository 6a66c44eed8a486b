//! The tables of what objects have in them: values of fields, texts of strings.

use std::panic::resume_unwind;
use std::thread;

use hprof_format::Value;
use hprof_heap::{Dump, Heap, Silent, Walk};

use crate::error::Error;
use crate::file::TableFile;
use crate::names::id;

/// The most characters of a string's text in the table.
const CHARACTERS: usize = 10_000;

/// Does `aside` on another thread while `main` runs, whose result is returned.
pub(crate) fn at_the_same_time<T>(
    aside: impl FnOnce() -> Result<(), Error> + Send,
    main: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    thread::scope(|scope| {
        let aside = scope.spawn(aside);
        let result = main();
        let of_aside = aside.join().unwrap_or_else(|panic| resume_unwind(panic));
        let result = result?;
        of_aside.map(|()| result)
    })
}

/// Writes the values of fields that are not references.
pub(crate) fn write_values(dump: &Dump, out: &mut TableFile) -> Result<(), Error> {
    let mut walk = Walk::of(dump, None, &Silent)?;
    walk.visit_values(
        |object, field, value| {
            let (number, real) = columns(value);
            out.row(|row| {
                row.long(id(object.0))
                    .int(field.cast_signed())
                    .long(number)
                    .real(real);
            })?;
            Ok::<_, Error>(())
        },
        &Silent,
    )
}

/// Returns the column that has a value.
fn columns(value: Value) -> (Option<i64>, Option<f64>) {
    match value {
        Value::Boolean(value) => (Some(value.into()), None),
        Value::Byte(value) => (Some(value.into()), None),
        Value::Char(value) => (Some(value.into()), None),
        Value::Short(value) => (Some(value.into()), None),
        Value::Int(value) => (Some(value.into()), None),
        Value::Long(value) => (Some(value), None),
        Value::Float(value) => (None, Some(value.into())),
        Value::Double(value) => (None, Some(value)),
        Value::Object(_) => (None, None),
    }
}

/// Writes the texts of strings.
pub(crate) fn write_strings(heap: &Heap<'_>, out: &mut TableFile) -> Result<(), Error> {
    heap.visit_texts(
        CHARACTERS,
        |string| {
            let length = i32::try_from(string.length).unwrap_or(i32::MAX);
            out.row(|row| {
                row.long(id(string.object.0)).int(length).text(string.text);
            })?;
            Ok::<_, Error>(())
        },
        &Silent,
    )
}
