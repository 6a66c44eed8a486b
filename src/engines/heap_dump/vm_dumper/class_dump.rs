//! Rewrites a CLASS DUMP record in place: replaces its names, and zeroes its primitive statics.

use hprof_format::BasicType;
use memory::{List, OrStop};

use hprof_format::bytes::{read_u16_be, read_u64_be, write_u64_be};

/// The offset of the superclass's id in the record.
pub(super) const SUPER_CLASS: usize = 13;
/// The offset of the number of constants: after the tag, the class, the trace, six objects and a size.
const CONSTANTS: usize = 1 + 8 + 4 + 6 * 8 + 4;

/// Replaces the names of fields; with `zeroes`, the primitive values of statics and constants become 0.
pub(super) fn rewrite(record: &mut [u8], zeroes: bool, mut name: impl FnMut(u64) -> u64) {
    let mut at = CONSTANTS;
    for _ in 0..count(record, &mut at) {
        at += 2;
        value(record, &mut at, zeroes);
    }
    for _ in 0..count(record, &mut at) {
        write_u64_be(record, at, name(read_u64_be(record, at)));
        at += 8;
        value(record, &mut at, zeroes);
    }
    for _ in 0..count(record, &mut at) {
        write_u64_be(record, at, name(read_u64_be(record, at)));
        at += 9;
    }
}

/// Returns the types of the instance fields that the class declares.
pub(super) fn field_types(record: &[u8]) -> List<BasicType> {
    let mut at = CONSTANTS;
    for before in [2, 8] {
        for _ in 0..count(record, &mut at) {
            at += before;
            at += 1 + basic_type(record[at]).size(8);
        }
    }
    let count = count(record, &mut at);
    let fields = 0..usize::from(count);
    List::collect(fields.map(|field| basic_type(record[at + field * 9 + 8]))).or_stop()
}

fn count(record: &[u8], at: &mut usize) -> u16 {
    let count = read_u16_be(record, *at);
    *at += 2;
    count
}

fn value(record: &mut [u8], at: &mut usize, zeroes: bool) {
    let kind = basic_type(record[*at]);
    *at += 1;
    let end = *at + kind.size(8);
    if zeroes && kind != BasicType::Object {
        record[*at..end].fill(0);
    }
    *at = end;
}

/// The record's length has been computed already, so its types are valid.
fn basic_type(byte: u8) -> BasicType {
    BasicType::from_byte(byte).unwrap_or(BasicType::Object)
}

#[cfg(test)]
mod tests {
    use hprof_format::{ClassDump, HeapRecord, HeapRecords, IdSize, StringId, Value};

    use super::*;

    fn class() -> ClassDump<'static> {
        ClassDump {
            constants: vec![
                (7, Value::Char(8)),
                (8, Value::Object(hprof_format::ObjectId(9))),
            ]
            .into(),
            statics: vec![
                (StringId(1), Value::Long(-1)),
                (StringId(2), Value::Object(hprof_format::ObjectId(77))),
                (StringId(3), Value::Byte(5)),
            ]
            .into(),
            fields: vec![
                (StringId(4), BasicType::Double),
                (StringId(5), BasicType::Object),
            ]
            .into(),
            ..ClassDump::default()
        }
    }

    fn rewritten(zeroes: bool) -> ClassDump<'static> {
        let mut bytes = Vec::new();
        HeapRecord::Class(class()).write(&mut bytes);
        assert_eq!(field_types(&bytes), [BasicType::Double, BasicType::Object]);
        rewrite(&mut bytes, zeroes, |name| name + 100);
        let record = HeapRecords::new(&bytes, IdSize::Eight).next();
        match record
            .expect("one")
            .expect("whole")
            .decode()
            .expect("valid")
        {
            HeapRecord::Class(class) => ClassDump {
                constants: class.constants.into_owned().into(),
                statics: class.statics.into_owned().into(),
                fields: class.fields.into_owned().into(),
                ..class
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_are_replaced_and_values_stay() {
        let right = ClassDump {
            statics: class()
                .statics
                .iter()
                .map(|&(name, value)| (StringId(name.0 + 100), value))
                .collect(),
            fields: class()
                .fields
                .iter()
                .map(|&(name, kind)| (StringId(name.0 + 100), kind))
                .collect(),
            ..class()
        };
        assert_eq!(rewritten(false), right);
    }

    #[test]
    fn primitive_values_become_zero_and_references_stay() {
        let class = rewritten(true);
        let values: Vec<Value> = class.statics.iter().map(|&(_, value)| value).collect();
        let reference = |id| Value::Object(hprof_format::ObjectId(id));
        assert_eq!(values, [Value::Long(0), reference(77), Value::Byte(0)]);
        assert_eq!(
            class.constants[..],
            [(7, Value::Char(0)), (8, reference(9))]
        );
    }
}
