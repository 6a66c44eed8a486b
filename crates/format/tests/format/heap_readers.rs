//! Independent readers read the heap dumps that are written here.

use std::io::Write;
use std::process::Command;

use hprof_format::*;
use jvm_hprof::heap_dump::{FieldValue, SubRecord};
use jvm_hprof::{Id, RecordTag};

use crate::heap::records;
use crate::heap_check::{before, file_of, sound};

/// Returns the records that the agent writes; these readers know no others, and no constants of classes.
fn known() -> Vec<HeapRecord<'static>> {
    let mut known = records();
    known.retain(|record| record.kind().tag() < 0x80 || record.kind() == HeapKind::RootUnknown);
    for record in &mut known {
        if let HeapRecord::Class(class) = record {
            class.constants = Vec::new().into();
        }
    }
    known
}

#[test]
fn jvm_hprof_reads_every_record() {
    let (file, _) = file_of(&before(), &known());
    let file = jvm_hprof::parse_hprof(&file).expect("a header");
    let segment = file
        .records_iter()
        .map(|record| record.expect("a record"))
        .find(|record| record.tag() == RecordTag::HeapDumpSegment)
        .expect("a segment");
    let segment = segment.as_heap_dump_segment().expect("its tag");
    let read = segment.expect("its body");
    let read = read.sub_records().map(|record| record.expect("sound"));
    let mut count = 0;
    for (read, written) in read.zip(known()) {
        compare(&read, &written);
        count += 1;
    }
    assert_eq!(count, known().len());
}

/// Asserts that the reader has read what was written.
fn compare(read: &SubRecord<'_>, written: &HeapRecord<'_>) {
    let id = |object: ObjectId| Id::from(object.0);
    let optional = |object: ObjectId| (object.0 != 0).then(|| id(object));
    match (read, written) {
        (SubRecord::Class(read), HeapRecord::Class(class)) => {
            assert_eq!(read.obj_id(), id(class.class));
            assert_eq!(read.super_class_obj_id(), optional(class.super_class));
            assert_eq!(read.class_loader_obj_id(), optional(class.loader));
            assert_eq!(read.signers_obj_id(), optional(class.signers));
            let domain = optional(class.protection_domain);
            assert_eq!(read.protection_domain_obj_id(), domain);
            assert_eq!(read.instance_size_bytes(), class.instance_size);
            let statics: Vec<_> = read
                .static_fields()
                .map(|field| format!("{:?}", field.expect("sound").value()))
                .collect();
            let values = class.statics.iter();
            let values: Vec<_> = values.map(|&(_, value)| shown(value)).collect();
            assert_eq!(statics, values);
            let fields = read.instance_field_descriptors();
            assert_eq!(fields.count(), class.fields.len());
        }
        (
            SubRecord::Instance(read),
            HeapRecord::Instance {
                object,
                trace,
                class,
                fields,
            },
        ) => {
            assert_eq!(read.obj_id(), id(*object));
            assert_eq!(read.class_obj_id(), id(*class));
            assert_eq!(read.stack_trace_serial(), trace.0.into());
            assert_eq!(read.fields(), fields);
        }
        (
            SubRecord::ObjectArray(read),
            HeapRecord::ObjectArray {
                object, elements, ..
            },
        ) => {
            assert_eq!(read.obj_id(), id(*object));
            let ids = read.elements(jvm_hprof::IdSize::U64);
            let ids: Vec<_> = ids.map(|id| id.expect("sound")).collect();
            let written = elements.chunks(8).map(|bytes| {
                let value = u64::from_be_bytes(bytes.try_into().expect("8 bytes"));
                optional(ObjectId(value))
            });
            assert!(written.eq(ids));
        }
        (SubRecord::PrimitiveArray(read), HeapRecord::PrimitiveArray { object, .. }) => {
            assert_eq!(read.obj_id(), id(*object));
        }
        (SubRecord::GcRootJavaStackFrame(_), HeapRecord::Root { root, .. }) => {
            assert_eq!(root.kind(), HeapKind::RootJavaFrame);
        }
        (SubRecord::GcRootThreadObj(read), HeapRecord::Root { object, root }) => {
            assert_eq!(root.kind(), HeapKind::RootThread);
            assert_eq!(read.thread_obj_id(), optional(*object));
        }
        (_, HeapRecord::Root { .. }) => assert!(format!("{read:?}").starts_with("GcRoot")),
        _ => panic!("{read:?} for {written:?}"),
    }
}

/// Formats a value as the reader shows it.
fn shown(value: Value) -> String {
    let value = match value {
        Value::Object(object) => FieldValue::ObjectId(Some(Id::from(object.0))),
        Value::Boolean(value) => FieldValue::Boolean(value),
        Value::Char(value) => FieldValue::Char(value),
        Value::Float(value) => FieldValue::Float(value),
        Value::Double(value) => FieldValue::Double(value),
        Value::Byte(value) => FieldValue::Byte(value),
        Value::Short(value) => FieldValue::Short(value),
        Value::Int(value) => FieldValue::Int(value),
        Value::Long(value) => FieldValue::Long(value),
    };
    format!("{value:?}")
}

/// `scripts/test` installs it, and prints a line if that fails.
#[test]
fn hprof_slurp_reads_every_record() {
    let Some(slurp) = std::env::var_os("HPROF_SLURP") else {
        // Past libtest, which keeps what a test prints.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: tests of the reader in $HPROF_SLURP: it is not set"
        );
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.hprof");
    let mut dump = sound();
    dump.extend(known());
    std::fs::write(&path, file_of(&before(), &dump).0).expect("a file");
    let output = Command::new(slurp)
        .arg(&path)
        .output()
        .expect("hprof-slurp");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Point"), "{said}");
}
