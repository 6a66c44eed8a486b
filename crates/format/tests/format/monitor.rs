//! Records about monitors: the text format's layout, and the notes that take their place in the binary format.

use std::borrow::Cow;

use hprof_format::{
    BinaryEncoder, ClassSerial, ContendedTime, Encoder, LoadClassRecord, Micros, MonitorRecord,
    MonitorState, ObjectId, Record, Section, StringId, StringRecord, TextEncoder, ThreadSerial,
    ThreadState, ThreadStatus, TraceSerial,
};

fn text(encoder: &mut dyn Encoder, record: &MonitorRecord<'_>) -> String {
    let mut out = Vec::new();
    encoder.monitor(Micros(0), record, &mut out);
    String::from_utf8(out).expect("UTF-8")
}

/// The note that a binary file has for a section.
fn noted(section: &Section<'_>) -> Record<'static> {
    let note = section.note().expect("a note").into_owned();
    Record::String(StringRecord {
        id: StringId::note(3),
        text: note.into_bytes().into(),
    })
}

fn state(thread: u32, status: ThreadStatus) -> ThreadState {
    ThreadState {
        thread: ThreadSerial(thread),
        name: String::new(),
        trace: TraceSerial(300_000),
        status,
        suspended: false,
        interrupted: false,
        in_native: false,
    }
}

fn dump() -> MonitorRecord<'static> {
    use ThreadStatus::*;
    let mut threads: Vec<ThreadState> = (200_001..)
        .zip([
            Runnable, Sleeping, Entering, Waiting, Ended, NotStarted, Unknown,
        ])
        .map(|(thread, status)| state(thread, status))
        .collect();
    threads[0].suspended = true;
    threads[0].interrupted = true;
    threads[0].in_native = true;
    threads[1].interrupted = true;
    threads[1].name = "main".to_owned();
    threads[2].name = "two\nlines \"".to_owned();
    let monitors = vec![
        MonitorState {
            signature: "Ljava/lang/Object;".to_owned(),
            owner: Some((ThreadSerial(200_001), 2)),
            entering: vec![ThreadSerial(200_003), ThreadSerial(200_000)],
            waiting: vec![],
        },
        MonitorState {
            signature: "[I".to_owned(),
            owner: None,
            entering: vec![],
            waiting: vec![ThreadSerial(200_004)],
        },
        MonitorState {
            signature: "LFoo;".to_owned(),
            owner: Some((ThreadSerial(200_000), 1)),
            entering: vec![],
            waiting: vec![],
        },
    ];
    MonitorRecord::Dump {
        threads: threads.into(),
        monitors: monitors.into(),
    }
}

fn two_rows() -> Vec<ContendedTime> {
    let row = |nanos, count, class| ContendedTime {
        nanos,
        count,
        trace: TraceSerial(300_117),
        class: ClassSerial(class),
    };
    vec![row(75_000_000, 12, 7), row(999_999, 4_294_967_296, 8)]
}

#[test]
fn waits_print_as_scripts_know_them() {
    let mut encoder = TextEncoder::new();
    let wait = |signature: &'static str, thread| MonitorRecord::Wait {
        signature: Cow::Borrowed(signature),
        timeout: 200,
        thread: ThreadSerial(thread),
    };
    assert_eq!(
        text(&mut encoder, &wait("Ljava/lang/Object;", 200_006)),
        "WAIT: MONITOR Ljava/lang/Object;, timeout=200, thread 200006\n"
    );
    assert_eq!(
        text(&mut encoder, &wait("LA\nB;", 200_000)),
        "WAIT: MONITOR LA?B;, timeout=200, <unknown thread>\n"
    );
    let waited = MonitorRecord::Waited {
        signature: Cow::Borrowed("[[J"),
        time_waited: 12_345_678_901,
        thread: ThreadSerial(200_006),
    };
    assert_eq!(
        text(&mut encoder, &waited),
        "WAITED: MONITOR [[J, time_waited=12345678901, thread 200006\n"
    );
}

#[test]
fn a_dump_prints_threads_and_monitors() {
    let expected = "\
MONITOR DUMP BEGIN
    THREAD 200001, trace 300000, status: S|intr|native|R
    THREAD 200002, trace 300000, status: intr|SL \"main\"
    THREAD 200003, trace 300000, status: MW \"two?lines \"\"
    THREAD 200004, trace 300000, status: CW
    THREAD 200005, trace 300000, status: ZO
    THREAD 200006, trace 300000, status: NS
    THREAD 200007, trace 300000, status: UN
    MONITOR Ljava/lang/Object;
\towner: thread 200001, entry count: 2
\twaiting to enter: thread 200003, <unknown thread>
\twaiting to be notified:
    MONITOR [I unowned
\twaiting to enter:
\twaiting to be notified: thread 200004
    MONITOR LFoo;
\towner: <unknown thread>, entry count: 1
\twaiting to enter:
\twaiting to be notified:
MONITOR DUMP END
";
    assert_eq!(text(&mut TextEncoder::new(), &dump()), expected);
}

#[test]
fn times_print_as_rows_of_shares() {
    let mut encoder = TextEncoder::new();
    let mut out = Vec::new();
    let name = StringId(1);
    let text_of = Cow::Borrowed(&b"int[]"[..]);
    let records = [
        Record::String(StringRecord {
            id: name,
            text: text_of,
        }),
        Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(7),
            class_object: ObjectId(1),
            trace: TraceSerial(300_000),
            name,
        }),
    ];
    for record in &records {
        encoder.record(Micros(0), record, &mut out);
    }
    let time = MonitorRecord::Time {
        total: 82_999_999,
        count: 4_294_967_308,
        rows: two_rows().into(),
    };
    let printed = text(&mut encoder, &time);
    let (head, rows) = printed.split_once('\n').expect("lines");
    assert!(
        head.starts_with("MONITOR TIME BEGIN (total = 82 ms) "),
        "{head}"
    );
    assert_eq!(
        rows,
        "\
rank   self  accum   count trace monitor
   1 90.36% 90.36%      12 300117 int[] (Java)
   2  1.20% 91.57% 4294967296 300117 <unknown> (Java)
MONITOR TIME END
"
    );
}

#[test]
fn the_binary_format_has_notes_in_their_place() {
    assert_eq!(text(&mut BinaryEncoder::new(), &dump()), "");
    let time = MonitorRecord::Time {
        total: u64::MAX,
        count: 4_294_967_308,
        rows: two_rows().into(),
    };
    let section = Section::of_monitor(&time).expect("a section");
    let note = noted(&section);
    assert_eq!(Section::of(&note), Some(section));
    // The names of threads are in the records of their start.
    let mut unnamed = dump();
    if let MonitorRecord::Dump { threads, .. } = &mut unnamed {
        threads
            .to_mut()
            .iter_mut()
            .for_each(|thread| thread.name.clear());
    }
    let named = dump();
    let note = noted(&Section::of_monitor(&named).expect("a section"));
    assert_eq!(Section::of(&note), Section::of_monitor(&unnamed));
    // The text format prints the note as the record.
    let mut out = Vec::new();
    TextEncoder::new().record(Micros(0), &note, &mut out);
    let printed = String::from_utf8(out).expect("UTF-8");
    assert_eq!(printed, text(&mut TextEncoder::new(), &unnamed));
    let wait = MonitorRecord::Wait {
        signature: Cow::Borrowed("LA;"),
        timeout: 0,
        thread: ThreadSerial(200_001),
    };
    assert_eq!(Section::of_monitor(&wait), None);
}
