//! The content of objects' records.

use hprof_format::{BasicType, ClassDump, IdSize, ObjectId, Value};

/// Iterates over the ids that a class refers to, statics last. None of them is 0.
pub(crate) fn class_references<'a>(class: &'a ClassDump<'_>) -> impl Iterator<Item = u64> + 'a {
    let own = [
        class.super_class,
        class.loader,
        class.signers,
        class.protection_domain,
    ];
    let constants = class.constants.iter().map(|&(_, value)| value);
    let statics = class.statics.iter().map(|&(_, value)| value);
    let values = constants.chain(statics).filter_map(|value| match value {
        Value::Object(object) => Some(object),
        _ => None,
    });
    let all = own.into_iter().chain(values);
    all.map(|ObjectId(id)| id).filter(|&id| id != 0)
}

/// Returns the value of a field of this type at the start of `bytes`; `None` if they are too short.
pub(crate) fn value(bytes: &[u8], kind: BasicType, id_size: IdSize) -> Option<Value> {
    let bytes = bytes.get(..kind.size(id_size.bytes() as usize))?;
    let number = bytes
        .iter()
        .fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
    Some(match kind {
        BasicType::Object => Value::Object(ObjectId(number)),
        BasicType::Boolean => Value::Boolean(number != 0),
        BasicType::Char => Value::Char(number as u16),
        BasicType::Float => Value::Float(f32::from_bits(number as u32)),
        BasicType::Double => Value::Double(f64::from_bits(number)),
        BasicType::Byte => Value::Byte(number as i8),
        BasicType::Short => Value::Short(number as i16),
        BasicType::Int => Value::Int(number as i32),
        BasicType::Long => Value::Long(number as i64),
    })
}
