//! Collects records into chunks for the output.

use hprof_format::{HeapCounter, HeapRecord, HeapTotals, IdSize, ObjectLayout, Value};

use crate::engines::heap_dump::DumpOutput;
use jvmti::Primitive;
use memory::{List, OrStop};

/// The size at which a chunk is handed over, in bytes.
const PIECE: usize = 1024 * 1024;

/// Collects records into chunks.
pub(super) struct ChunkWriter<'o> {
    pub(super) output: &'o mut dyn DumpOutput,
    buffer: Vec<u8>,
    counter: HeapCounter,
    failed: bool,
}

impl<'o> ChunkWriter<'o> {
    pub(super) fn new(output: &'o mut dyn DumpOutput) -> Self {
        Self {
            output,
            buffer: Vec::with_capacity(PIECE + PIECE / 8),
            counter: HeapCounter::new(IdSize::Eight, ObjectLayout::USUAL),
            failed: false,
        }
    }

    /// Notes the layout of objects, before the first one.
    pub(super) fn layout(&mut self, layout: ObjectLayout) {
        self.counter.set_layout(layout);
        self.output.layout(layout);
    }

    pub(super) fn put(&mut self, record: &HeapRecord<'_>) {
        if self.failed {
            return;
        }
        self.counter.record(record);
        record.write(&mut self.buffer);
        if self.buffer.len() >= PIECE {
            self.flush();
        }
    }

    /// Hands over the current chunk.
    pub(super) fn flush(&mut self) {
        if !self.buffer.is_empty() && !self.failed {
            self.failed = !self.output.records(&self.buffer);
        }
        self.buffer.clear();
        // Keeping the memory for a large array is not worthwhile.
        self.buffer.shrink_to(2 * PIECE);
    }

    /// Returns the totals of the records so far.
    pub(super) fn totals(&self) -> HeapTotals {
        self.counter.totals()
    }

    /// Returns `true` if the output has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }
}

/// Converts a primitive value to the format's.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is in the low bits"
)]
pub(super) fn value(kind: Primitive, bits: u64) -> Value {
    match kind {
        Primitive::Boolean => Value::Boolean(bits & 0xFF != 0),
        Primitive::Byte => Value::Byte(bits as i8),
        Primitive::Char => Value::Char(bits as u16),
        Primitive::Short => Value::Short(bits as i16),
        Primitive::Int => Value::Int(bits as i32),
        Primitive::Long => Value::Long(bits.cast_signed()),
        Primitive::Float => Value::Float(f32::from_bits(bits as u32)),
        Primitive::Double => Value::Double(f64::from_bits(bits)),
    }
}

/// Writes a primitive value to its offset in an instance.
pub(super) fn write_bits(target: &mut [u8], offset: u32, kind: Primitive, bits: u64) {
    let bytes = bits.to_be_bytes();
    write_at(target, offset, &bytes[bytes.len() - kind.size()..]);
}

/// Copies `bytes` to their offset in an instance; bytes that reach beyond the end are dropped.
pub(super) fn write_at(target: &mut [u8], offset: u32, bytes: &[u8]) {
    let start = offset as usize;
    if let Some(place) = target.get_mut(start..start + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Converts elements from native byte order to the format's.
pub(super) fn big_endian(elements: &[u8], kind: Primitive, out: &mut List<u8>) {
    fn swap<const N: usize>(elements: &mut [u8]) {
        let (elements, _) = elements.as_chunks_mut::<N>();
        elements.iter_mut().for_each(|element| element.reverse());
    }
    out.clear();
    out.extend_from_slice(elements).or_stop();
    match kind.size() {
        _ if cfg!(target_endian = "big") => {}
        1 => {}
        2 => swap::<2>(out),
        4 => swap::<4>(out),
        _ => swap::<8>(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_turn_around() {
        let mut out = List::new();
        let longs: Vec<u8> = [1u64, u64::MAX - 1]
            .iter()
            .flat_map(|v| v.to_ne_bytes())
            .collect();
        big_endian(&longs, Primitive::Double, &mut out);
        assert_eq!(
            out,
            [
                0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 254
            ]
        );
        big_endian(&0x0102u16.to_ne_bytes(), Primitive::Char, &mut out);
        assert_eq!(out, [1, 2]);
        big_endian(&0x01020304u32.to_ne_bytes(), Primitive::Int, &mut out);
        assert_eq!(out, [1, 2, 3, 4]);
        big_endian(&[7, 8, 9], Primitive::Byte, &mut out);
        assert_eq!(out, [7, 8, 9]);
    }

    #[test]
    fn values_stand_in_their_last_bytes() {
        let mut fields = [0; 4];
        write_bits(&mut fields, 1, Primitive::Short, 0xFFFF_FFFF_FFFF_FED4);
        assert_eq!(fields, [0, 0xFE, 0xD4, 0]);
        write_bits(&mut fields, 3, Primitive::Int, 1);
        assert_eq!(fields, [0, 0xFE, 0xD4, 0], "what does not fit is left out");
        assert_eq!(
            value(Primitive::Float, u64::from(1.5f32.to_bits())),
            Value::Float(1.5)
        );
    }
}
