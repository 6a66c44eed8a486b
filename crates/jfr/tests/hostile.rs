//! Recordings that a stranger may have made: each is read to an error with its place, or to the end.

use hprof_jfr::*;

/// A recording with a value of each kind.
fn recording() -> Vec<u8> {
    let mut recording = Recording::new(1_700_000_000_000_000_000, 5_000_000_000);
    let class = recording
        .classes
        .intern(&mut recording.symbols, "com/acme/Shop");
    let method = recording.methods.intern(Method {
        class,
        name: recording.symbols.intern("main"),
        signature: recording.symbols.intern("([Ljava/lang/String;)V"),
    });
    let frame = Frame {
        method,
        line: Some(7),
        frame_type: recording.frame_types.intern("Interpreted"),
    };
    let stack = recording.stacks.push(&[frame, frame], true);
    let thread = recording.threads.intern("main");
    let state = recording.thread_states.intern("STATE_RUNNABLE");
    let field = |name, kind| EventField {
        name,
        label: name,
        kind,
    };
    let sample = recording.event_type(EventType {
        name: "acme.Sample",
        label: "Sample",
        description: "A sample",
        category: &["Acme", "Shop"],
        fields: vec![
            EventField::DURATION,
            EventField::THREAD,
            EventField::STACK,
            field("class", FieldKind::Class),
            field("state", FieldKind::State),
            field("bytes", FieldKind::Bytes),
            field("text", FieldKind::Text),
        ],
    });
    for number in [0, 48, u64::MAX] {
        let values = [
            FieldValue::Number(number),
            FieldValue::Thread(Some(thread)),
            FieldValue::Stack(Some(stack)),
            FieldValue::Class(Some(class)),
            FieldValue::State(state),
            FieldValue::Number(number),
            FieldValue::Text("Zürich"),
        ];
        recording.event(sample, 1, &values).expect("its fields");
    }
    let mut file = Vec::new();
    recording.write(&mut file).expect("memory takes all");
    file
}

/// Reads everything; returns the number of values.
fn read(file: &[u8]) -> Result<usize, ReadError> {
    let mut chunks = Chunks::new(file);
    let mut values = 0;
    while let Some(chunk) = chunks.read()? {
        for event in chunk.events() {
            let event = event?;
            for field in &event.of().fields {
                values += count(event.values().get(&field.name)?)?;
            }
        }
    }
    Ok(values)
}

/// Counts a value and those in it, except for constants of constants.
fn count(value: Value<'_>) -> Result<usize, ReadError> {
    match value {
        Value::Struct(values) => {
            let mut all = 1;
            for field in &values.of().fields {
                all += match values.raw(&field.name)? {
                    Value::Array(values) => count(Value::Array(values))?,
                    _ => 1,
                };
            }
            Ok(all)
        }
        Value::Array(values) => values.map(|value| count(value?)).sum(),
        _ => Ok(1),
    }
}

#[test]
fn a_sound_recording_is_read_to_its_end() {
    let file = recording();
    // Of each event: the time, the duration, a thread with five fields, a stack with the mark and two frames of four, a
    // class with four, a state with one, the bytes and the text.
    let event = 1 + 1 + 6 + (1 + 1 + 2 * 5) + 5 + 2 + 1 + 1;
    assert_eq!(read(&file).expect("it is sound"), 3 * event);
    let twice = [file.as_slice(), &file].concat();
    assert_eq!(read(&twice).expect("it is sound"), 6 * event);
}

#[test]
fn a_number_beyond_those_of_the_format_is_the_largest() {
    let file = recording();
    let chunk = Chunks::new(file.as_slice()).read().expect("it is sound");
    let chunk = chunk.expect("there is one");
    let last = chunk.events().last().expect("there are events");
    let bytes = last.expect("it is sound").values().get("bytes");
    assert!(matches!(bytes, Ok(Value::Integer(i64::MAX))));
}

#[test]
fn what_is_cut_off_is_an_error_with_its_place() {
    let file = recording();
    for length in 1..file.len() {
        let error = read(&file[..length]).expect_err("it is cut off");
        let ReadError::Format { offset, .. } = error else {
            panic!("{length}: {error}");
        };
        assert!(offset <= length as u64, "{length}: {offset}");
    }
    assert_eq!(read(&[]).expect("it has no chunk"), 0);
}

#[test]
fn what_is_changed_is_read_or_refused() {
    let file = recording();
    let mut refused = 0;
    for place in 0..file.len() {
        for byte in [0, 1, 0x7F, 0x80, 0xFF] {
            let mut changed = file.clone();
            changed[place] = byte;
            if let Err(ReadError::Format { offset, .. }) = read(&changed) {
                assert!(offset <= file.len() as u64, "{place}: {offset}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_recording_of_another_kind_is_refused_with_the_reason() {
    let file = recording();
    let message = |change: fn(&mut Vec<u8>)| {
        let mut file = file.clone();
        change(&mut file);
        read(&file).expect_err("it is refused").to_string()
    };
    assert_eq!(
        message(|file| file[0] = b'X'),
        "byte 0: no chunk of a JFR recording begins here"
    );
    assert_eq!(
        message(|file| file[5] = 9),
        "byte 4: version 9.1 of the format is not known; 1 and 2 are"
    );
    let unfinished = message(|file| file[8..16].fill(0));
    assert!(unfinished.starts_with("byte 8: the chunk was never finished"));
    assert_eq!(
        message(|file| file[68..].fill(0)),
        "byte 68: an event of 0 bytes"
    );
}
